use dyno_results::event::{Event, OwnCount, Sample, Stamped};

use std::collections::BTreeMap;

use dyno_results::fold::Fold;

use super::families::Type;
use super::*;
use crate::stream::Plan;

fn folded(events: &[Stamped]) -> Fold {
    let mut fold = Fold::new();
    events.iter().for_each(|stamped| fold.add(stamped));
    fold
}

fn exposed(events: &[Stamped]) -> Exposition {
    Exposition::of(&folded(events))
}

/// Every sample line but the comments, split into what it is of and its value.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(of, value)| (of.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn counters_and_buckets_never_go_back_within_a_run() {
    let mut events = Plan { ladder: vec![1, 2, 4], rung_s: 3, hold_s: 3, ..Plan::default() }.events();
    // The server restarts in the middle, and counts from zero again.
    let middle = events.len() / 2;
    for stamped in &mut events[middle..] {
        if let Event::Sample(Sample { values, .. }) = &mut stamped.event {
            values.values_mut().for_each(|value| *value /= 1000.0);
        }
    }
    let mut fold = Fold::new();
    let mut before = BTreeMap::new();
    for stamped in &events {
        fold.add(stamped);
        let counters: BTreeMap<_, _> = samples(&render(&Exposition::of(&fold), Format::OpenMetrics))
            .into_iter()
            .filter(|(of, _)| {
                ["_total{", "_bucket{", "_sum{", "_count{"].iter().any(|suffix| of.contains(suffix))
            })
            .collect();
        for (of, value) in &before {
            assert!(
                counters.get(of).is_some_and(|now| now >= value),
                "{of} was {value}, is {:?}",
                counters.get(of)
            );
        }
        before = counters;
    }
    assert!(before.len() > 50);
}

#[test]
fn counts_and_buckets_are_the_reports() {
    let events = Plan::default().events();
    let told = samples(&render(&exposed(&events), Format::Prometheus));
    let report = dyno_results::fold::fold(&events);
    for series in &report.series {
        let of = |name: &str| {
            format!(
                "{name}{{run=\"{}\",target=\"{}\",series=\"{}\",workload=\"{}\"",
                report.run.name, series.target, series.name, series.workload
            )
        };
        let stages = || report.stages.iter().filter(|result| result.stage.series == series.name);
        let done: u64 = stages().map(|result| result.totals.done_with_drain).sum();
        assert_eq!(told[&format!("{}}}", of("dyno_transactions_total"))], done as f64);
        let count: u64 = stages().filter_map(|result| result.service).map(|service| service.count).sum();
        assert_eq!(told[&format!("{}}}", of("dyno_service_seconds_count"))], count as f64);
        let bucket = |le: &str| told[&format!("{},le=\"{le}\"}}", of("dyno_service_seconds_bucket"))];
        let buckets = ["0.0001", "0.001", "0.01", "0.1", "1.0", "60.0", "+Inf"].map(bucket);
        assert!(buckets.is_sorted() && buckets[0] < buckets[3], "{buckets:?}");
        assert_eq!(bucket("+Inf"), count as f64);
    }
}

#[test]
fn what_a_workload_counts_adds_up_over_the_stages_of_its_series() {
    let mut events = Plan::default().events();
    let mut counted = 0;
    for stamped in &mut events {
        match &mut stamped.event {
            Event::StageStarted(stage) => {
                let (of, key) = (stage.types[0].clone(), "far".to_owned());
                stage.counts = vec![OwnCount { of, key, about: "far away".to_owned() }];
            }
            Event::Interval(interval) => {
                interval.types[0].own = vec![3];
                counted += 3;
            }
            _ => {}
        }
    }
    let told = samples(&render(&exposed(&events), Format::OpenMetrics));
    let own = told.iter().filter(|(of, _)| of.starts_with("dyno_workload_counted_total{"));
    let own: Vec<_> = own.collect();
    assert!(
        own.iter().all(|(of, _)| of.contains(",count=\"far\"}") && of.contains(",transaction=\"")),
        "{own:?}"
    );
    assert_eq!(own.iter().map(|(_, count)| **count).sum::<f64>(), f64::from(counted));
    assert!(counted > 0);
}

#[test]
fn what_ends_is_no_longer_a_gauge() {
    let events = Plan::default().events();
    let end = events.iter().rposition(|stamped| matches!(stamped.event, Event::StageFinished(_))).unwrap();
    let clients = |events: &[Stamped]| render(&exposed(events), Format::Prometheus).contains("dyno_clients{");
    assert!(clients(&events[..end]));
    assert!(!clients(&events[..=end]));
}

#[test]
fn a_level_that_is_not_read_any_more_is_not_told() {
    let mut fold = Fold::new();
    let mut read = |at_ms: u64, key: &str| {
        let (source, target) = ("host".to_owned(), "pg".to_owned());
        let event = Event::Sample(Sample { source, target, values: [(key.to_owned(), 1.0)].into() });
        fold.add(&Stamped { seq: at_ms, at_ms, event });
        render(&Exposition::of(&fold), Format::Prometheus)
    };
    read(0, "cpu_idle_seconds_total");
    assert!(read(1000, "server_memory_bytes").contains("dyno_host_server_memory_bytes"));
    assert!(read(20_000, "cpus").contains("dyno_host_server_memory_bytes"));
    let late = read(40_000, "cpus");
    assert!(!late.contains("dyno_host_server_memory_bytes"), "{late}");
    assert!(late.contains("dyno_host_cpu_idle_seconds_total"), "a counter stays: {late}");
}

#[test]
fn labels_of_keys_and_hostile_texts_stay_texts() {
    let mut fold = folded(&Plan { intruder: "\"} 1\n\\".to_owned(), ..Plan::default() }.events());
    let values = [("table_bytes[event]", 5.0), ("waits_total[Lock]", 7.0), ("driver_cpu_seconds_total", 1.0)];
    let values = values.map(|(key, value)| (key.to_owned(), value)).into();
    let sample = Sample { source: "database".to_owned(), target: "pg".to_owned(), values };
    let at_ms = fold.last_ms();
    fold.add(&Stamped { seq: 0, at_ms, event: Event::Sample(sample) });
    let text = render(&Exposition::of(&fold), Format::OpenMetrics);
    for of in [
        "dyno_database_table_bytes{",
        "name=\"event\"} 5.0",
        "dyno_database_waits_total{",
        "name=\"Lock\"} 7.0",
        "dyno_driver_cpu_seconds_total{",
        "# UNIT dyno_database_table_bytes bytes",
    ] {
        assert!(text.contains(of), "{of} in {text}");
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("dyno_")), "{text}");
}

#[test]
fn what_is_asked_for_is_told_by_accept() {
    for (accept, format) in [
        ("", Format::Prometheus),
        ("*/*", Format::Prometheus),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Format::Prometheus),
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75",
            Format::OpenMetrics,
        ),
        ("application/openmetrics-text; q=0, text/plain", Format::Prometheus),
    ] {
        assert_eq!(Format::accepted(accept), format, "{accept}");
    }
}

#[test]
fn every_family_has_samples_and_one_place() {
    let exposition = exposed(&Plan { errors: true, rate_per_s: Some(100.0), ..Plan::default() }.events());
    let families = exposition.families;
    let mut names: Vec<_> = families.iter().map(|family| family.name.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), families.len());
    assert!(
        families.iter().any(|family| family.of == Type::Histogram && family.name == "dyno_response_seconds")
    );
    assert!(families.iter().any(|family| family.name == "dyno_errors"));
}

#[test]
fn streams_at_the_same_time_have_gauges_of_their_own() {
    let events = Plan::default().events();
    let started = events.iter().position(|stamped| matches!(stamped.event, Event::StageStarted(_))).unwrap();
    let mut events = events[..=started].to_vec();
    let Event::StageStarted(mut beside) = events[started].event.clone() else { unreachable!() };
    (beside.id, beside.key.stream, beside.series) = (99, 1, "beside".to_owned());
    events.push(Stamped { event: Event::StageStarted(beside), ..events[started].clone() });
    let told = samples(&render(&exposed(&events), Format::Prometheus));
    assert_eq!(told.keys().filter(|of| of.starts_with("dyno_stage{")).count(), 2, "{told:?}");
}
