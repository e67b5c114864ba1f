//! What others than the server and dyno did on the machines of a run.

use super::*;
use crate::event::Target;
use crate::fixture::target;

/// A hold on a server of 2 processors, of which shares were used: by the server, by dyno, by other machines, by nobody.
fn with(server: f64, stolen: f64, idle: f64, more: impl Fn(&mut Fixture)) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(Target { same_host: Some(true), ..target("pg") }));
    fixture.read("host", "cpus", 2.0);
    for (key, share) in [
        ("cpu_user_seconds_total", 1.0 - stolen - idle),
        ("cpu_steal_seconds_total", stolen),
        ("cpu_idle_seconds_total", idle),
        ("server_cpu_seconds_total", server),
        ("driver_cpu_seconds_total", 0.05),
    ] {
        fixture.grow("host", key, 2.0 * share);
    }
    more(&mut fixture);
    fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(990, 20)));
    fixture.finish();
    fold(&fixture.events)
}

#[test]
fn other_programs_that_left_nothing_are_a_doubt_and_stand_beside_the_figure() {
    let report = with(0.3, 0.0, 0.01, |fixture| {
        fixture.grow("host", "pressure_cpu_seconds_total", 0.88);
    });
    must_find(
        &report,
        "noisy-host",
        Severity::Doubt,
        &[
            "in the hold of 20 s at 8 clients other programs took 64% of the 2 processors of the server's host; 1% was idle",
            "; for 88% of the time something waited for a processor",
        ],
    );
    assert_eq!(report.series[0].headline.as_ref().unwrap().cpu_taken_share, Some(0.64));
    let findings = judge(&report);
    let quotes = report.judged(findings).quotes;
    assert!(
        quotes[0].text.ends_with("(tpcb-like, 8 clients, hold, while others took 64% of the processors)")
    );
}

#[test]
fn other_machines_are_others() {
    let report = with(0.5, 0.3, 0.02, |_| ());
    let words = [
        "other programs took 13% and other machines took 30% (steal) of the 2 processors of the server's host; 2% was idle",
    ];
    must_find(&report, "noisy-host", Severity::Doubt, &words);
    // Through a node_exporter no process is seen, and steal is all that is known of others.
    let mut report = with(0.5, 0.3, 0.02, |_| ());
    hold(&mut report).cpu_taken_share = None;
    must_find(
        &report,
        "noisy-host",
        Severity::Doubt,
        &["at 8 clients other machines took 30% (steal) of the 2 processors"],
    );
}

#[test]
fn others_are_a_note_while_processors_are_idle_and_few_are_none() {
    let report = with(0.3, 0.0, 0.45, |_| ());
    must_find(
        &report,
        "noisy-host",
        Severity::Note,
        &["other programs took 20% of the 2 processors of the server's host; 45% was idle"],
    );
    let findings = judge(&report);
    assert!(report.judged(findings).quotes[0].text.ends_with("(tpcb-like, 8 clients, hold)"));
    // The load itself may leave nothing.
    must_be_silent(&with(0.86, 0.0, 0.01, |_| ()), "noisy-host");
    must_be_silent(&clean_report(), "noisy-host");
}

#[test]
fn a_library_in_dynos_process_is_not_another_program() {
    let of = |driver: f64| {
        let mut fixture = Fixture::started("2026-11-20-1");
        let own = Target { same_host: Some(true), in_process: true, ..target("pg") };
        fixture.push(Event::Target(own));
        fixture.read("host", "cpus", 2.0);
        fixture.grow("host", "cpu_user_seconds_total", 1.98);
        fixture.grow("host", "cpu_idle_seconds_total", 0.02);
        fixture.grow("host", "driver_cpu_seconds_total", driver);
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(990, 20)));
        fold(&fixture.events)
    };
    must_be_silent(&of(1.9), "noisy-host");
    must_find(&of(0.4), "noisy-host", Severity::Doubt, &["other programs took 79%"]);
}

#[test]
fn pressure_counts_where_it_is_not_the_loads_own() {
    let pressed = |key: &'static str, share: f64, disk: f64| {
        with(0.5, 0.0, 0.43, move |fixture| {
            fixture.grow("host", key, share);
            for (key, per_second) in [("disk_read_bytes_total", 1e6), ("disk_write_bytes_total", 9e6)] {
                fixture.grow("host", key, per_second);
            }
            fixture.grow("host", "server_disk_read_bytes_total", 1e6 * disk);
            fixture.grow("host", "server_disk_write_bytes_total", 9e6 * disk);
        })
    };
    must_be_silent(&pressed("pressure_cpu_seconds_total", 0.9, 1.0), "noisy-host");
    let memory = pressed("pressure_memory_seconds_total", 0.12, 1.0);
    must_find(&memory, "noisy-host", Severity::Note, &["for 12% of the time something waited for memory"]);
    let disk = pressed("pressure_io_seconds_total", 0.35, 0.2);
    let words = ["for 35% of the time something waited for a disk, and 20% of its traffic was the server's"];
    must_find(&disk, "noisy-host", Severity::Note, &words);
    must_be_silent(&pressed("pressure_io_seconds_total", 0.35, 0.9), "noisy-host");
}

#[test]
fn every_kind_of_load_is_judged() {
    let of = |kind: StageKind, pass: bool| {
        let mut report = with(0.3, 0.0, 0.01, |_| ());
        let stages: Vec<_> = report
            .stages
            .iter_mut()
            .map(|result| (result.stage.kind, result.stage.pass) = (kind, pass))
            .collect();
        assert_eq!(stages.len(), 1);
        if kind == StageKind::Ladder {
            report.series[0].ladder = std::mem::take(&mut report.series[0].holds);
        }
        report
    };
    must_find(&of(StageKind::Hold, true), "noisy-host", Severity::Doubt, &["in the pass of 20 s"]);
    must_find(&of(StageKind::Ramp, false), "noisy-host", Severity::Doubt, &["in the ramp of 20 s"]);
    must_find(&of(StageKind::Ladder, false), "noisy-host", Severity::Doubt, &["in the rung of 20 s"]);
}

#[test]
fn a_ladder_names_the_steps_that_were_disturbed() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(target("pg")));
    fixture.read("host", "cpus", 2.0);
    for (clients, others) in [(1, 0.1), (2, 1.2), (4, 1.2), (8, 0.1)] {
        fixture.grow("host", "cpu_user_seconds_total", 0.75 + others);
        fixture.grow("host", "cpu_idle_seconds_total", 1.25 - others);
        fixture.grow("host", "server_cpu_seconds_total", 0.75);
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(500, 5)));
    }
    fixture.finish();
    let report = fold(&fixture.events);
    must_find(&report, "noisy-host", Severity::Doubt, &["at 2 clients", "; found in 2 of 4 rungs (2 and 3)"]);
}

#[test]
fn dynos_own_machine_is_judged_where_no_server_is_on_it() {
    let of = |same_host: bool| {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.push(Event::Target(target("pg")));
        if same_host {
            fixture.push(Event::Target(Target { same_host: Some(true), ..target("my") }));
        }
        fixture.target = "driver";
        fixture.read("host", "cpus", 2.0);
        fixture.grow("host", "cpu_user_seconds_total", 1.9);
        fixture.grow("host", "cpu_idle_seconds_total", 0.1);
        fixture.grow("host", "driver_cpu_seconds_total", 0.5);
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(990, 20)));
        for stamped in &mut fixture.events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.key.system = "pg".to_owned();
            }
        }
        fold(&fixture.events)
    };
    must_find(
        &of(false),
        "noisy-host",
        Severity::Doubt,
        &["other programs took 70% of the 2 processors of dyno's machine"],
    );
    must_be_silent(&of(true), "noisy-host");
}

#[test]
fn the_load_of_another_target_on_the_host_is_not_others() {
    let of = |start_s: f64| {
        let mut report = with(0.5, 0.0, 0.43, |fixture| {
            fixture.grow("host", "pressure_io_seconds_total", 0.35);
            for (key, per_second) in [
                ("disk_read_bytes_total", 1e6),
                ("disk_write_bytes_total", 1e6),
                ("server_disk_read_bytes_total", 1e5),
                ("server_disk_write_bytes_total", 1e5),
            ] {
                fixture.grow("host", key, per_second);
            }
        });
        report.targets.push(Target { same_host: Some(true), ..target("my") });
        let mut other = report.stages[0].clone();
        (other.stage.id, other.start_s) = (1, start_s);
        other.stage.key.system = "my".to_owned();
        report.stages.push(other);
        report
    };
    must_be_silent(&of(5.0), "noisy-host");
    must_find(&of(90.0), "noisy-host", Severity::Note, &["something waited for a disk"]);
}

/// `count` stages of `ms` milliseconds each, one behind the other, on a host that is read once a second and on which others took 64% of
/// the processors. `change` is shown each stage with its place.
fn short(count: usize, ms: u64, change: impl Fn(&mut crate::event::Stage, usize)) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    let host_source = Some("this host".to_owned());
    fixture.push(Event::Target(Target { same_host: Some(true), host_source, ..target("pg") }));
    fixture.read("host", "cpus", 2.0);
    for (key, cores) in [
        ("cpu_user_seconds_total", 1.98),
        ("cpu_idle_seconds_total", 0.02),
        ("server_cpu_seconds_total", 0.6),
        ("driver_cpu_seconds_total", 0.1),
    ] {
        fixture.grow("host", key, cores * ms as f64 / 1000.0);
    }
    (0..count).for_each(|_| {
        fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[5]));
    });
    fixture.finish();
    let (mut stages, mut sampled_s) = (0, None);
    fixture.events.retain_mut(|stamped| {
        // A second of the fixture is a stage.
        stamped.at_ms = stamped.at_ms * ms / 1000;
        match &mut stamped.event {
            Event::StageStarted(stage) => {
                change(stage, stages);
                stages += 1;
            }
            Event::Interval(interval) => interval.duration_ns = ms * 1_000_000,
            Event::StageFinished(finished) => finished.seconds = ms as f64 / 1000.0,
            Event::Sample(_) => return sampled_s.replace(stamped.at_ms / 1000) != Some(stamped.at_ms / 1000),
            _ => {}
        }
        true
    });
    fold(&fixture.events)
}

#[test]
fn stages_too_short_for_a_reading_of_their_own_are_judged_together() {
    let passes = short(10, 300, |stage, _| stage.pass = true);
    let words = [
        "in the pass of 0.3 s at 1 client (read over all passes together) other programs took 64% of the 2 processors",
        "; found in 10 of 10 passes (all)",
    ];
    must_find(&passes, "noisy-host", Severity::Doubt, &words);
    must_be_silent(&passes, "noisy-host-unknown");
    // What it cost is known only of those that were read.
    let is_read = |result: &&crate::document::StageResult| result.costs.is_some();
    assert_eq!(passes.stages.iter().filter(is_read).count(), 3);
    assert_eq!(passes.series[0].headline.as_ref().unwrap().cpu_taken_share, Some(0.64));
    let holds = short(6, 400, |_, _| ());
    let words = ["in the hold of 0.4 s at 1 client (read over all holds together) other programs took 64%"];
    must_find(&holds, "noisy-host", Severity::Doubt, &words);
    must_be_silent(&short(4, 1100, |stage, _| stage.pass = true), "noisy-host-unknown");
}

#[test]
fn it_is_told_where_nobody_knows_of_others() {
    let unknown = |report: &Report, stage: &str| {
        must_be_silent(report, "noisy-host");
        let words = [stage, "too little was read of the server's host (this host)"];
        must_find(report, "noisy-host-unknown", Severity::Note, &words);
    };
    // They end before the host is read a second time.
    unknown(&short(3, 300, |stage, _| stage.pass = true), "in the pass of 0.3 s at 1 client");
    unknown(&short(1, 700, |_, _| ()), "in the hold of 0.7 s");
    unknown(&short(1, 700, |stage, _| stage.kind = StageKind::Ladder), "in the rung of 0.7 s");
    // In turn with another target, whose load was most of what was read.
    let in_turn = short(10, 300, |stage, place| {
        stage.pass = true;
        if place % 3 > 0 {
            stage.key.system = "my".to_owned();
        }
    });
    must_find(&in_turn, "noisy-host-unknown", Severity::Note, &["; found in 4 of 4 passes (all)"]);
    // A run that goes on has its next reading before it.
    let so_far = judge_so_far(&short(1, 700, |_, _| ()));
    assert!(so_far.iter().all(|finding| finding.code != "noisy-host-unknown"));
    // A host that nobody reads is unknown by itself.
    must_be_silent(&clean_report(), "noisy-host-unknown");
}

#[test]
fn a_ladder_that_is_cut_short_in_its_first_step_is_judged_by_that() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(target("pg")));
    fixture.read("host", "cpus", 2.0);
    for (key, cores) in [
        ("cpu_user_seconds_total", 1.98),
        ("cpu_idle_seconds_total", 0.02),
        ("server_cpu_seconds_total", 0.4),
    ] {
        fixture.grow("host", key, cores);
    }
    fixture.play(&FixtureStage::write(StageKind::Ladder, 1, &wobble(500, 5)));
    for stamped in &mut fixture.events {
        if let Event::StageFinished(finished) = &mut stamped.event {
            finished.complete = false;
        }
    }
    let report = fold(&fixture.events);
    must_find(&report, "noisy-host", Severity::Doubt, &["in the rung of 5 s", "other programs took 79%"]);
    let findings = judge(&report);
    let expected = "nothing (tpcb-like): the ladder was cut short in its first step, and no load was held";
    assert_eq!(report.judged(findings).quotes[0].text, expected);
}
