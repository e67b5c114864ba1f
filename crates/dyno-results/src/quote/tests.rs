//! What is to be quoted of runs of every shape.

use super::*;
use crate::document::Report;
use crate::fixture::{Fixture, FixtureStage, clean_report, wobble};
use crate::fold::fold;
use crate::judge::judge;

fn quoted(report: Report) -> Vec<String> {
    let findings = judge(&report);
    report.judged(findings).quotes.into_iter().map(|quote| quote.text).collect()
}

fn of(play: impl Fn(&mut Fixture)) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    play(&mut fixture);
    fixture.finish();
    fold(&fixture.events)
}

fn ladder(fixture: &mut Fixture) {
    for (clients, level) in [(1, 250), (2, 480), (4, 900), (8, 850)] {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(level, 5)));
    }
}

#[test]
fn the_hold_is_quoted_with_its_interval() {
    let report = clean_report();
    assert_eq!(report.quotes[0].stages, [5]);
    assert_eq!(quoted(report), ["990 TPS ±0.4% (tpcb-like, 8 clients, hold)"]);
    let open = FixtureStage { open: Some((500.0, 20)), ..FixtureStage::read(StageKind::Hold, 64, &[500; 5]) };
    let report = of(|fixture| {
        fixture.play(&open);
    });
    assert_eq!(quoted(report), ["500 TPS ±<0.1% (select-only, 500/s, hold)"]);
}

#[test]
fn repeats_are_quoted_as_their_median() {
    let report = of(|fixture| {
        for level in [1000, 1100, 1200] {
            fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(level, 5)));
        }
    });
    let [only] = &quoted(report)[..] else { panic!() };
    assert!(
        only.ends_with("(tpcb-like, 8 clients, median of 3 holds)") && only.starts_with("1,098 TPS ±"),
        "{only}"
    );
}

#[test]
fn the_best_of_several_is_not_quoted_and_has_no_interval() {
    let report = of(ladder);
    let series = &report.series[0];
    assert_eq!(series.headline.as_ref().unwrap().throughput.half_width, None);
    assert_eq!(series.peak.as_ref().unwrap().throughput.half_width, None);
    assert!(report.stage(2).unwrap().throughput.unwrap().half_width.is_some());
    assert!(report.quotes[0].stages.is_empty());
    let [only] = &quoted(report)[..] else { panic!() };
    assert!(only.starts_with("nothing (tpcb-like): the best of 4 steps"), "{only}");
    // One step is a choice.
    let report = of(|fixture| {
        fixture.play(&FixtureStage::write(StageKind::Ladder, 8, &wobble(900, 5)));
    });
    assert!(quoted(report)[0].contains("(tpcb-like, 8 clients, step)"));
}

#[test]
fn what_is_hardly_known_is_not_quoted() {
    let wild = of(|fixture| {
        ladder(fixture);
        fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[10, 2000, 5, 1800]));
    });
    let [only] = &quoted(wild)[..] else { panic!() };
    assert_eq!(*only, "nothing (tpcb-like): 954 TPS is not known to within a factor of two");
    let short = of(|fixture| {
        fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[900, 900]));
    });
    let expected = "nothing (tpcb-like): 900 TPS: too short to say how far it can be trusted";
    assert_eq!(quoted(short)[0], expected);
    let ramp = of(|fixture| {
        fixture.play(&FixtureStage::write(StageKind::Ramp, 1, &[100, 400, 800]));
    });
    assert!(quoted(ramp)[0].starts_with("nothing (tpcb-like): a ramp has no level"));
    let idle = of(|fixture| {
        fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[0; 5]));
    });
    assert!(quoted(idle)[0].ends_with(": no transaction ended well"));
}

#[test]
fn what_is_invalid_is_not_quoted_and_other_series_are() {
    let mut report = of(|fixture| {
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(900, 5)));
        fixture.play(&FixtureStage::read(StageKind::Hold, 8, &wobble(5000, 5)));
    });
    let failed = &mut report.stages[0].totals;
    failed.failed_with_drain = failed.done_with_drain;
    let findings = judge(&report);
    report = report.judged(findings);
    assert_eq!(report.invalid_in_part().unwrap(), "1 of 2 series (write)");
    let quotes = quoted(report);
    assert_eq!(quotes[0], "nothing (tpcb-like): invalid, see errors");
    assert!(quotes[1].starts_with("4,990 TPS"), "{quotes:?}");
}

#[test]
fn series_of_one_workload_are_told_apart_and_so_are_targets() {
    let report = of(|fixture| {
        for (target, series) in [("pg", "tp"), ("pg", "more"), ("my", "tp")] {
            fixture.target = target;
            fixture.push(crate::event::Event::Target(crate::fixture::target(target)));
            let tps = wobble(900, 5);
            fixture.play(&FixtureStage { series, ..FixtureStage::write(StageKind::Hold, 8, &tps) });
        }
    });
    let quotes = quoted(report);
    for (quote, name) in quotes.iter().zip(["(pg: tp,", "(pg: more,", "(my: tpcb-like,"]) {
        assert!(quote.contains(name), "{quote}");
    }
}

/// What is quoted of passes that take so many milliseconds.
fn passes_quoted(service_ms: &[u64]) -> String {
    let mut fixture = Fixture::started("2026-11-20-1");
    for ms in service_ms {
        let load = FixtureStage::write(StageKind::Hold, 1, &[1000; 5]);
        fixture.play(&FixtureStage { service_us: ms * 1000, ..load });
    }
    for stamped in &mut fixture.events {
        if let crate::event::Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    fixture.finish();
    quoted(fold(&fixture.events)).remove(0)
}

#[test]
fn a_query_set_is_quoted_by_its_pass_with_the_interval_over_passes() {
    let expected = "101 ms a pass ±3.1% (tpcb-like, 1 query, 1 client, median of 3 passes)";
    assert_eq!(passes_quoted(&[100, 101, 102]), expected);
    assert_eq!(passes_quoted(&[100]), "100 ms a pass (tpcb-like, 1 query, 1 client, one pass)");
    let expected = "101 ms a pass (tpcb-like, 1 query, 1 client, median of 2 passes)";
    assert_eq!(passes_quoted(&[100, 102]), expected);
    assert_eq!(
        passes_quoted(&[5100, 4800, 2500]),
        "nothing (tpcb-like): 4.8 s a pass, median of 3 passes, is not known to within a factor of two"
    );
}
