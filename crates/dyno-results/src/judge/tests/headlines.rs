//! What is found of a headline stage: its noise, its length, and the driver beside it.

use super::*;

#[test]
fn a_headline_that_scatters_is_found() {
    let mut report = clean_report();
    let throughput = hold(&mut report).throughput.as_mut().unwrap();
    throughput.half_width = Some(throughput.mean * 0.76);
    must_find(&report, "noisy", Severity::Doubt, &["in the hold of 20 s at 8 clients", "give or take 76 %"]);
    let throughput = hold(&mut report).throughput.as_mut().unwrap();
    throughput.half_width = Some(throughput.mean * 0.14);
    must_be_silent(&report, "noisy");
    hold(&mut report).throughput.as_mut().unwrap().half_width = None;
    must_find(&report, "noisy", Severity::Doubt, &["too short a time"]);
}

#[test]
fn a_headline_of_a_few_transactions_is_found() {
    let mut script = Script::started("2026-11-20-1");
    script.play(&Load::write(StageKind::Hold, 1, &[3, 3]));
    script.finish();
    must_find(
        &fold(&script.events),
        "noisy",
        Severity::Doubt,
        &["only 6 transactions ended well", "too short"],
    );
}

#[test]
fn a_hold_far_below_its_own_ladder_is_found() {
    let slow = wobble(750, 20);
    must_find(
        &with_hold(&Load::write(StageKind::Hold, 8, &slow)),
        "noisy",
        Severity::Doubt,
        &["25 % below the 998 TPS of its own ladder at 8 clients"],
    );
    must_be_silent(&with_hold(&Load::write(StageKind::Hold, 8, &wobble(950, 20))), "noisy");
    // Fewer clients, or a rate, are chosen to be slower.
    must_be_silent(&with_hold(&Load::write(StageKind::Hold, 2, &slow)), "noisy");
    let mut load = Load::write(StageKind::Hold, 8, &slow);
    load.open = Some((750.0, 20));
    must_be_silent(&with_hold(&load), "noisy");
}

#[test]
fn what_the_driver_took_of_a_ramp_is_known() {
    let mut script = clean_script();
    script.events.retain(|stamped| {
        !matches!(stamped.event, Event::StageStarted(_) | Event::Interval(_) | Event::StageFinished(_))
    });
    script.play(&Load::read(StageKind::Ramp, 8, &[5000; 10]));
    let mut report = fold(&script.events);
    report.targets[0].same_host = Some(true);
    must_find(&report, "shared-host", Severity::Doubt, &["the driver took"]);
    assert!(!found(&report, "shared-host").unwrap().evidence.contains("not known"));
}

#[test]
fn a_hold_without_a_ladder_is_made_longer_by_its_duration() {
    let mut script = Script::started("2026-11-20-1");
    script.read("database", "checkpoints_timed_total", 3.0);
    script.grow("database", "tuples_updated_total", 3000.0);
    script.play(&Load::write(StageKind::Hold, 8, &[1000; 10]));
    script.finish();
    assert!(found(&fold(&script.events), "too-short").unwrap().advice.ends_with("--duration"));
}
