//! Ladders that end too early or begin too high, and rates that are not met.

use super::*;

#[test]
fn a_ladder_that_ends_while_rising_is_found() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for (clients, level) in [(4, 400), (8, 700), (16, 1200)] {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(level, 5)));
    }
    fixture.finish();
    let words = ["ended at 16 clients", "1,198 TPS at 16 clients"];
    must_find(&fold(&fixture.events), "peak-not-reached", Severity::Doubt, &words);
}

#[test]
fn a_ladder_that_begins_too_high_is_found() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for (clients, level) in [(32, 1000), (64, 800)] {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(level, 5)));
    }
    fixture.finish();
    must_find(&fold(&fixture.events), "peak-not-reached", Severity::Doubt, &["lowest count, 32 clients"]);
}

#[test]
fn a_single_rung_is_no_search() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Ladder, 8, &wobble(1000, 5)));
    fixture.finish();
    must_be_silent(&fold(&fixture.events), "peak-not-reached");
}

/// A ladder of rates of which so many are met; the last rung may be cut short.
fn rates(rungs: &[(f64, u64)], cut_short: bool) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for (rate, done) in rungs {
        let tps = [*done; 5];
        let mut load = FixtureStage::write(StageKind::Ladder, 8, &tps);
        load.open = Some((*rate, 20));
        fixture.play(&load);
    }
    if cut_short {
        let rung = fixture.events.iter_mut().rev().find_map(|stamped| match &mut stamped.event {
            Event::StageFinished(rung) => Some(rung),
            _ => None,
        });
        rung.unwrap().complete = false;
    }
    fixture.finish();
    fold(&fixture.events)
}

#[test]
fn of_a_ladder_of_rates_the_highest_whole_rung_says_whether_all_were_met() {
    let met = |rungs: &[(f64, u64)], cut_short| {
        let report = rates(rungs, cut_short);
        let peak = report.series[0].peak.as_ref().unwrap();
        (peak.stage, peak.rate_met)
    };
    assert_eq!(met(&[(100.0, 100), (200.0, 200)], false), (1, true));
    assert_eq!(met(&[(100.0, 100), (200.0, 200), (400.0, 250)], false), (2, false));
    assert_eq!(met(&[(100.0, 100), (200.0, 200), (400.0, 250)], true), (1, true));
}

#[test]
fn a_rate_that_was_not_met_is_found() {
    let mut load = FixtureStage::write(StageKind::Hold, 8, &[900; 10]);
    load.open = Some((1000.0, 500_000));
    must_find(
        &with_hold(&load),
        "rate-not-met",
        Severity::Doubt,
        &["900 transactions a second", "where 1,000 were due", "10%"],
    );
    // Within what Poisson arrivals vary by: 4 standard deviations of 100 are 40 %.
    load = FixtureStage::write(StageKind::Hold, 8, &[8; 10]);
    load.open = Some((10.0, 20));
    must_be_silent(&with_hold(&load), "rate-not-met");
    must_be_silent(&clean_report(), "rate-not-met");
}

#[test]
fn a_transaction_that_was_never_begun_is_found_however_few() {
    let mut load = FixtureStage::write(StageKind::Hold, 8, &[1000; 10]);
    load.open = Some((1000.0, 20));
    let mut report = with_hold(&load);
    must_be_silent(&report, "rate-not-met");
    let last = report.stages.last_mut().unwrap();
    last.not_begun = 1;
    let words = ["in the hold of 10 s at 8 clients 1 transaction that was due was never begun"];
    must_find(&report, "rate-not-met", Severity::Doubt, &words);
    report.stages.last_mut().unwrap().not_begun = 2000;
    let words = ["2,000 transactions that were due were never begun"];
    must_find(&report, "rate-not-met", Severity::Doubt, &words);
}

#[test]
fn a_transaction_that_was_skipped_is_found_however_few() {
    let mut load = FixtureStage::write(StageKind::Hold, 8, &[1000; 10]);
    load.open = Some((1000.0, 20));
    let mut report = with_hold(&load);
    must_be_silent(&report, "rate-not-met");
    report.stages.last_mut().unwrap().skipped = 3;
    let words = ["3 transactions were skipped for being too late"];
    must_find(&report, "rate-not-met", Severity::Doubt, &words);
}

#[test]
fn a_ramp_is_held_to_the_mean_of_its_rates() {
    let mut load =
        FixtureStage::write(StageKind::Ramp, 8, &[500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400]);
    load.open = Some((500.0, 20));
    let mut report = with_hold(&load);
    let ramp = report.stages.last_mut().unwrap();
    // 950 a second ended, and so many were due.
    ramp.stage.rate_end_per_s = Some(1400.0);
    must_be_silent(&report, "rate-not-met");
    report.stages.last_mut().unwrap().stage.rate_end_per_s = Some(1900.0);
    let words =
        ["in the ramp of 10 s", "950 transactions a second ended where 1,200 were due (21% are missing)"];
    must_find(&report, "rate-not-met", Severity::Doubt, &words);
    // One that was cut short after half of its time had come to 1,200 a second: 850 on average.
    let ramp = report.stages.last_mut().unwrap();
    ramp.stage.planned_s = Some(20.0);
    must_be_silent(&report, "rate-not-met");
}

#[test]
fn a_driver_is_found_to_bound_a_ramp() {
    let mut report = with_hold(&FixtureStage::write(StageKind::Ramp, 8, &[100; 10]));
    must_be_silent(&report, "driver-bound");
    report.stages.last_mut().unwrap().driver_thread_busy_max = Some(0.95);
    must_find(&report, "driver-bound", Severity::Doubt, &["95% of the ramp of 10 s"]);
}
