//! What is found of a headline stage: its noise, its length, and the driver beside it.

use super::*;

#[test]
fn a_headline_that_scatters_is_found() {
    let mut report = clean_report();
    let throughput = hold(&mut report).throughput.as_mut().unwrap();
    throughput.half_width = Some(throughput.mean * 0.76);
    must_find(&report, "noisy", Severity::Doubt, &["in the hold of 20 s at 8 clients", "give or take 76%"]);
    let throughput = hold(&mut report).throughput.as_mut().unwrap();
    throughput.half_width = Some(throughput.mean * 0.14);
    must_be_silent(&report, "noisy");
    hold(&mut report).throughput.as_mut().unwrap().half_width = None;
    must_find(&report, "noisy", Severity::Doubt, &["not measured for long enough"]);
}

#[test]
fn a_headline_of_a_few_transactions_is_found() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[3, 3]));
    fixture.finish();
    must_find(
        &fold(&fixture.events),
        "noisy",
        Severity::Doubt,
        &["only 6 transactions ended well", "not measured for long enough"],
    );
}

#[test]
fn a_hold_that_its_own_ladder_contradicts_is_found() {
    let slow = wobble(750, 20);
    must_find(
        &with_hold(&FixtureStage::write(StageKind::Hold, 8, &slow)),
        "noisy",
        Severity::Doubt,
        &["25% below the 998 TPS ±2.4% of its own ladder at 8 clients", "intervals do not meet"],
    );
    // Faster than the step is as far from it; and it need not be the peak's.
    let fast = with_hold(&FixtureStage::write(StageKind::Hold, 2, &slow));
    must_find(&fast, "noisy", Severity::Doubt, &["above the 479 TPS", "at 2 clients"]);
    // No more than intervals that are somewhat too narrow.
    let near = with_hold(&FixtureStage::write(StageKind::Hold, 8, &wobble(950, 20)));
    must_find(&near, "noisy", Severity::Note, &["4.9% below the 998 TPS"]);
    must_be_silent(&with_hold(&FixtureStage::write(StageKind::Hold, 8, &wobble(985, 20))), "noisy");
    // Of another load nothing is expected.
    must_be_silent(&with_hold(&FixtureStage::write(StageKind::Hold, 3, &slow)), "noisy");
    let mut load = FixtureStage::write(StageKind::Hold, 8, &slow);
    load.open = Some((750.0, 20));
    must_be_silent(&with_hold(&load), "noisy");
    // A step that is hardly known contradicts nothing.
    let mut report = with_hold(&FixtureStage::write(StageKind::Hold, 8, &slow));
    let step = report.stages.iter_mut().find(|result| result.stage.clients == 8).unwrap();
    step.throughput.as_mut().unwrap().half_width = Some(600.0);
    must_be_silent(&report, "noisy");
}

#[test]
fn what_the_driver_took_of_a_ramp_is_known() {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| {
        !matches!(stamped.event, Event::StageStarted(_) | Event::Interval(_) | Event::StageFinished(_))
    });
    fixture.play(&FixtureStage::read(StageKind::Ramp, 8, &[5000; 10]));
    let mut report = fold(&fixture.events);
    report.targets[0].same_host = Some(true);
    must_find(&report, "shared-host", Severity::Doubt, &["the driver took"]);
    assert!(!found(&report, "shared-host").unwrap().evidence.contains("not known"));
}

#[test]
fn a_hold_without_a_ladder_is_made_longer_by_its_duration() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.read("database", "checkpoints_timed_total", 3.0);
    fixture.grow("database", "tuples_updated_total", 3000.0);
    fixture.play(&FixtureStage::write(StageKind::Hold, 8, &[1000; 10]));
    fixture.finish();
    let mut report = fold(&fixture.events);
    assert!(found(&report, "too-short").unwrap().advice.ends_with("--duration"));
    // pgbench and sysbench refuse that.
    let program = "pgbench".to_owned();
    let front_end = crate::spec::FrontEndSpec { program, options: serde_json::Map::new() };
    report.run.spec.front_end = Some(front_end);
    assert!(found(&report, "too-short").unwrap().advice.ends_with("--time"));
}

#[test]
fn a_stage_is_longer_than_its_clients_pause() {
    let run = |pause_s, done: u64| {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.play(&FixtureStage::read(StageKind::Hold, 8, &[done; 20]));
        fixture.finish();
        for stamped in &mut fixture.events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.pause_s = pause_s;
            }
        }
        fold(&fixture.events)
    };
    must_be_silent(&run(None, 0), "too-short");
    must_be_silent(&run(Some(2.0), 5), "too-short");
    must_find(
        &run(Some(30.0), 5),
        "too-short",
        Severity::Doubt,
        &["clients pause 30 s", "weigh on its figures"],
    );
    let report = run(Some(30.0), 0);
    must_find(
        &report,
        "too-short",
        Severity::Doubt,
        &["no transaction ended in the hold of 20 s at 8 clients"],
    );
    assert_eq!(found(&report, "too-short").unwrap().advice, "make it at least 5 min long, with --duration");
}

/// The clean run with its hold in place of so many.
fn repeated(times: usize, change: impl Fn(usize, &mut crate::document::StageResult)) -> Report {
    let mut fixture = clean_fixture();
    fixture.events.pop();
    for _ in 1..times {
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(990, 20)));
    }
    fixture.finish();
    let mut report = fold(&fixture.events);
    let holds = report.stages.iter_mut().filter(|result| result.stage.kind == StageKind::Hold);
    holds.enumerate().for_each(|(index, result)| change(index + 1, result));
    report
}

#[test]
fn what_is_found_in_several_repeats_is_one_finding_that_says_in_which() {
    let scattered = |which: &'static [usize]| {
        repeated(20, move |number, result| {
            let throughput = result.throughput.as_mut().unwrap();
            throughput.half_width = Some(throughput.mean * if which.contains(&number) { 0.3 } else { 0.01 });
        })
    };
    let evidence = |which| found(&scattered(which), "noisy").unwrap().evidence;
    assert!(!evidence(&[7]).contains("found in"));
    assert!(
        evidence(&[2, 3, 19]).ends_with("; found in 3 of 20 holds (2, 3 and 19)"),
        "{}",
        evidence(&[2, 3, 19])
    );
    const MANY: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    assert!(
        evidence(MANY).ends_with("found in 10 of 20 holds (1, 2, 3, 4, 5, 6, 7 and others)"),
        "{}",
        evidence(MANY)
    );
    must_find(
        &repeated(20, |_, _| ()),
        "closed-loop-latency",
        Severity::Note,
        &["found in 20 of 20 holds (all)"],
    );
}

#[test]
fn the_gravest_of_several_repeats_is_told() {
    use crate::document::QueryResult;
    let report = repeated(3, |number, result| {
        let in_vain = [0, 10, 900][number - 1];
        let queries = QueryResult {
            reads: 0,
            writes: 1000 - in_vain,
            other: in_vain,
            writes_in_vain: in_vain,
            per_s: 50.0,
            reads_per_s: 0.0,
            writes_per_s: (1000 - in_vain) as f64 / 20.0,
            other_per_s: in_vain as f64 / 20.0,
            in_vain_share: Some(in_vain as f64 / 1000.0),
        };
        result.queries = Some(queries);
    });
    must_find(
        &report,
        "no-work",
        Severity::Invalid,
        &["90% of 1,000 writes", "found in 2 of 3 holds (2 and 3)"],
    );
}

/// A run of holds of the same load, or of passes, of these levels.
fn holds(levels: &[u64], pass: bool) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for level in levels {
        fixture.play(&FixtureStage {
            service_us: 1_000_000_000 / level,
            ..FixtureStage::write(StageKind::Hold, 1, &wobble(*level, 20))
        });
    }
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = pass;
        }
    }
    fixture.finish();
    fold(&fixture.events)
}

#[test]
fn repeats_that_differ_beyond_what_their_number_allows_are_found() {
    let words =
        "3 holds of the same load came to 11,808, 17,361 and 18,307 TPS: their median is not known to within";
    must_find(&holds(&[11_814, 17_370, 18_316], false), "noisy", Severity::Doubt, &[words]);
    let words = ["their median is known to ±"];
    must_find(&holds(&[15_800, 17_370, 18_316], false), "noisy", Severity::Doubt, &words);
    must_be_silent(&holds(&[17_100, 17_370, 17_600], false), "noisy");
    // Of two, half of what lies between them.
    must_find(&holds(&[1000, 1500], false), "noisy", Severity::Doubt, &["2 holds of the same load"]);
    must_be_silent(&holds(&[1000, 1200], false), "noisy");
}

#[test]
fn passes_that_differ_beyond_what_their_number_allows_are_found() {
    // Seconds of a pass are those of its query: 5.1, 4.8 and 2.5 times 10⁵ µs.
    let report = holds(&[1961, 2083, 4000], true);
    must_find(&report, "noisy", Severity::Doubt, &["3 passes took 510 ms, 480 ms and 250 ms: their median"]);
    let passes = report.series[0].passes.as_ref().unwrap();
    let share = passes.total_half_width_s.unwrap() / passes.total_s.unwrap();
    assert!(share > 0.5, "{share}");
    let of_mean = passes.geometric_mean_half_width_s.unwrap() / passes.geometric_mean_s.unwrap();
    assert!((of_mean / share - 1.0).abs() < 1e-9, "{of_mean}");
    let even = holds(&[1961, 1970, 1980], true);
    must_be_silent(&even, "noisy");
    assert!(even.series[0].passes.as_ref().unwrap().total_half_width_s.is_some());
    // One pass, or two, say nothing of how much they differ.
    for few in [&[1961][..], &[1961, 1970]] {
        assert_eq!(holds(few, true).series[0].passes.as_ref().unwrap().total_half_width_s, None);
    }
}
