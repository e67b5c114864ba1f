//! What a workload counts, and the transactions of a mix.

use super::*;
use crate::document::{CountLoad, HeadlineFigure, TypeResult};
use crate::event::{Event, Per};
use crate::fixture::{clean_fixture, divided, mix_fixture};

#[test]
fn a_transaction_has_its_share_and_its_limits() {
    let report = fold(&mix_fixture(500.0, 1).events);
    let stage = only_stage(&report);
    let [order, payment] = stage.by_type.as_slice() else { panic!("{:?}", stage.by_type) };
    let told = |it: &TypeResult| (it.done, it.rolled_back, it.share, it.per_s);
    assert_eq!(told(order), (300, 10, Some(0.6), Some(30.0)));
    assert_eq!(told(payment), (200, 0, Some(0.4), Some(20.0)));
    let kept = |it: &TypeResult| it.response_limits.iter().map(|limit| limit.kept).collect::<Vec<_>>();
    assert_eq!((kept(order), kept(payment)), (vec![Some(true)], vec![Some(false)]));
    let found_us = order.response_limits[0].found_us.unwrap();
    assert!((found_us - 2000.0).abs() < 2.0, "{found_us}");
}

#[test]
fn a_transaction_that_never_ended_is_told_with_zeros() {
    let mut fixture = mix_fixture(500.0, 1);
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.types.push("delivery".to_owned());
        }
    }
    let report = fold(&fixture.events);
    let stage = only_stage(&report);
    assert_eq!(stage.by_type.len(), 3);
    let TypeResult { name, done, failed, share, per_s, service, .. } = &stage.by_type[2];
    assert_eq!((name.as_str(), *done, *failed, *share, *per_s), ("delivery", 0, 0, Some(0.0), Some(0.0)));
    assert!(service.is_none());
    assert_eq!(
        stage.rolled_back_text().as_deref(),
        Some("TPS counts the 2% that were rolled back by design")
    );
    // A query that was not reached has no time at all.
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.query_set = true;
        }
    }
    assert_eq!(only_stage(&fold(&fixture.events)).by_type.len(), 2);
}

#[test]
fn the_transactions_of_a_mix_have_columns_over_time() {
    let report = fold(&mix_fixture(500.0, 1).events);
    let load = &report.timelines[0].load;
    let names: Vec<&str> = load.by_type.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["order", "payment"]);
    let order = &load.by_type[0];
    assert_eq!((order.tps.len(), order.tps[3], order.rolled_back_per_s[3]), (10, Some(30.0), Some(1.0)));
    let p50_us = order.p50_us[3].unwrap();
    assert!((p50_us - 2000.0).abs() < 2.0, "{p50_us}");
    // Of a single transaction they would only say the same again.
    let alone = fold(&clean_fixture().events);
    assert!(alone.timelines.iter().all(|timeline| timeline.load.by_type.is_empty()));
}

#[test]
fn a_figure_leaves_out_what_was_rolled_back_and_has_the_interval_of_its_seconds() {
    let figure = |holds| {
        let report = fold(&mix_fixture(1000.0, holds).events);
        report.series[0].headline.clone().unwrap().figure.unwrap()
    };
    let HeadlineFigure { figure: of, value, possible_share } = figure(1);
    assert_eq!((of.about.as_str(), of.per), ("new orders", Per::Minute));
    assert_eq!((value.mean, value.samples, possible_share), (29.0 * 60.0, 10, Some(0.5)));
    // One more or less in ten seconds is six a minute.
    assert_eq!(value.half_width, Some(6.0));
    assert_eq!(figure(1).text(), "1,740 new orders a minute ±0.3%");
    assert_eq!(figure(1).possible_text().as_deref(), Some("50% of the possible 3,480"));
    let of_repeats = figure(3);
    assert_eq!((of_repeats.value.mean, of_repeats.value.samples), (1740.0, 3));
}

#[test]
fn what_a_workload_counts_adds_up_by_its_key() {
    let fixture = mix_fixture(500.0, 1);
    for events in [&fixture.events, &divided(&fixture.events)] {
        let report = fold(events);
        let [order, payment] = only_stage(&report).by_type.as_slice() else { panic!("two types") };
        let told = |it: &TypeResult| {
            let counts = it.counts.iter();
            counts.map(|it| (it.key.clone(), it.count, it.per_transaction)).collect::<Vec<_>>()
        };
        let of = |key: &str, count, transactions| {
            (key.to_owned(), count, Some(count as f64 / f64::from(transactions)))
        };
        assert_eq!(told(order), [of("lines", 2900, 290), of("far", 30, 290)]);
        assert_eq!(told(payment), [of("late", 45, 200)]);
        let counts = &report.timelines[0].load.counts;
        let names: Vec<_> = counts.iter().map(CountLoad::name).collect();
        assert_eq!(names, ["order.lines (1/s)", "payment.late (1/s)", "order.far (1/s)"]);
        let late: Vec<_> = (0..10).map(|index| Some(f64::from(index))).collect();
        assert_eq!(counts[1].per_s, late);
    }
}
