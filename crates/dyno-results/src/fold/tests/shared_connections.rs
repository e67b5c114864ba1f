//! Clients that share connections, and ladders of rates.

use super::*;

fn over_a_pool() -> FixtureStage<'static> {
    let pool = Pool { connections: 4, in_use_mean: 3.0, in_use_max: 4, waiting_mean: 2.0, waiting_max: 9 };
    FixtureStage { pool: Some((pool, 4000)), ..FixtureStage::write(StageKind::Hold, 40, &[100; 4]) }
}

#[test]
fn waiting_for_a_connection_is_part_of_the_response() {
    let report = with_intervals(&over_a_pool(), |_, _| {});
    let stage = only_stage(&report);
    let p50_us = |latency: Option<crate::document::Percentiles>| latency.unwrap().p50_us.round();
    assert_eq!([p50_us(stage.service), p50_us(stage.wait), p50_us(stage.lag)], [1000.0, 4002.0, 4002.0]);
    assert!((p50_us(stage.response) - 5000.0).abs() < 5.0);
    let shown = report.timelines[0].load.p99_us[0].unwrap();
    assert!((shown - 5000.0).abs() < 5.0, "the timeline shows the response: {shown}");
}

#[test]
fn a_pool_is_told_over_time_and_without_its_drain() {
    let report = with_intervals(&over_a_pool(), |index, interval| {
        let pool = interval.pool.as_mut().unwrap();
        if index == 1 {
            (pool.in_use_mean, pool.waiting_max) = (4.0, 30);
            interval.duration_ns = 3_000_000_000;
        }
        if index == 3 {
            pool.in_use_max = 99;
            interval.drain = true;
        }
    });
    let pool = only_stage(&report).pool.unwrap();
    assert_eq!((pool.connections, pool.in_use_max, pool.waiting_max), (4, 4, 30));
    // Three seconds with four, two with three.
    assert!((pool.in_use_mean - 3.6).abs() < 1e-9 && (pool.waiting_mean - 2.0).abs() < 1e-9, "{pool:?}");
}

#[test]
fn the_timeline_has_columns_of_the_pool_from_the_first_stage_that_has_one() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[100; 2]));
    fixture.play(&over_a_pool());
    fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[100; 1]));
    let report = fold(&fixture.events);
    let load = &report.timelines[0].load;
    let pool = load.pool.as_ref().unwrap();
    let seven = |inner: f64| [None, None, Some(inner), Some(inner), Some(inner), Some(inner), None];
    assert_eq!(
        (pool.in_use.as_slice(), pool.idle.as_slice()),
        (seven(3.0).as_slice(), seven(1.0).as_slice())
    );
    assert_eq!(pool.waiting, seven(2.0));
    assert!((pool.wait_p99_us[2].unwrap() - 4000.0).abs() < 5.0 && pool.wait_p99_us[6].is_none());
    assert_eq!(load.t_s.len(), 7);
    assert!(clean_report().timelines[0].load.pool.is_none());
}

#[test]
fn a_ladder_of_rates_stands_by_rate_and_its_end_by_the_rate_that_was_not_met() {
    let play = |rates: &[f64]| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for rate in rates {
            let tps = [rate.min(600.0) as u64; 10];
            fixture.play(&FixtureStage {
                open: Some((*rate, 0)),
                ..FixtureStage::write(StageKind::Ladder, 8, &tps)
            });
        }
        fold(&fixture.events).series.remove(0)
    };
    let met = play(&[300.0, 100.0, 200.0]);
    assert_eq!(met.ladder, [1, 2, 0]);
    assert!(met.saturation.is_none() && !met.peak.unwrap().passed);

    let series = play(&[200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0]);
    let saturation = series.saturation.unwrap();
    assert_eq!((saturation.stage, saturation.last_good, saturation.rate_per_s), (3, Some(2), Some(800.0)));
    assert_eq!(saturation.sign, crate::document::SaturationSign::RateNotMet);
    assert!(series.peak.unwrap().passed);
}

#[test]
fn two_targets_have_a_series_and_a_timeline_each() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for name in ["pg", "my"] {
        fixture.push(Event::Target(crate::fixture::target(name)));
    }
    for clients in [1, 2] {
        for target in ["pg", "my"] {
            fixture.target = target;
            fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &[100; 3]));
        }
    }
    let report = fold(&fixture.events);
    let ladders: Vec<_> =
        report.series.iter().map(|series| (series.target.as_str(), series.ladder.clone())).collect();
    assert_eq!(ladders, [("pg", vec![0, 2]), ("my", vec![1, 3])]);
    assert_eq!(report.timelines.len(), 2);
    assert!(report.timelines.iter().all(|timeline| timeline.load.t_s.len() == 6));
}
