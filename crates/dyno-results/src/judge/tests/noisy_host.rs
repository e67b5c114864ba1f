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
                stage.target = "pg".to_owned();
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
        other.stage.target = "my".to_owned();
        report.stages.push(other);
        report
    };
    must_be_silent(&of(5.0), "noisy-host");
    must_find(&of(90.0), "noisy-host", Severity::Note, &["something waited for a disk"]);
}
