//! dashboards/grafana.json asks for nothing that /metrics does not give.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used)]

#[path = "stream/mod.rs"]
mod stream;

use std::collections::BTreeSet;

use dyno_report::openmetrics::{Exposition, Format, render};
use dyno_results::fold::Fold;
use serde_json::Value;

use self::stream::Plan;

const DASHBOARD: &str = include_str!("../../../dashboards/grafana.json");
const TELEMETRY: &str = include_str!("../../../docs/telemetry.md");
const METRICS: &str = include_str!("../../../docs/metrics.md");

/// Everything that the dashboard asks Prometheus.
fn questions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if ["expr", "query", "definition"].contains(&key.as_str()) => {
                        found.push(text.clone());
                    }
                    _ => questions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| questions(value, found)),
        _ => {}
    }
}

fn metrics_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.filter(|word| word.starts_with("dyno_")).map(str::to_owned).collect()
}

/// The load's metrics of runs that between them have all there is: shared connections, and failures in an open loop.
fn given() -> BTreeSet<String> {
    let brief = Plan { ladder: vec![4], rung_s: 3, hold_s: 3, errors: true, ..Plan::default() };
    let plans = [Plan { connections: Some(2), ..brief.clone() }, Plan { rate_per_s: Some(500.0), ..brief }];
    let mut names = BTreeSet::new();
    for plan in plans {
        let mut fold = Fold::new();
        for stamped in plan.events() {
            fold.add(&stamped);
            names.extend(metrics_of(&render(&Exposition::of(&fold), Format::Prometheus)));
        }
    }
    names
}

/// `dyno_host_cpu_user_seconds_total` is the key `cpu_user_seconds_total`.
fn telemetry_key(metric: &str) -> Option<String> {
    let own = ["dyno_host_", "dyno_database_"].iter().find_map(|prefix| metric.strip_prefix(prefix));
    own.map(str::to_owned).or_else(|| metric.strip_prefix("dyno_driver_").map(|key| format!("driver_{key}")))
}

#[test]
fn every_metric_that_is_asked_for_is_given() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut asked = Vec::new();
    questions(&dashboard, &mut asked);
    let (given, mut load, mut telemetry) = (given(), 0, 0);
    for metric in asked.iter().flat_map(|question| metrics_of(question)) {
        match telemetry_key(&metric) {
            Some(key) => {
                assert!(
                    TELEMETRY.contains(&format!("`{key}`")),
                    "{metric}: docs/telemetry.md has no `{key}`"
                );
                telemetry += 1;
            }
            None => {
                assert!(given.contains(&metric), "{metric} is not given: {given:?}");
                load += 1;
            }
        }
    }
    assert!(load > 10 && telemetry > 10, "{load} and {telemetry}");
}

/// Labels that a question sums by or a legend writes out.
fn labels_of(panel: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for target in panel["targets"].as_array().into_iter().flatten() {
        let texts = [(&target["expr"], "by (", ')'), (&target["legendFormat"], "{{", '}')];
        for (text, before, behind) in texts {
            for part in text.as_str().unwrap_or_default().split(before).skip(1) {
                let inside = part.split(behind).next().unwrap_or_default();
                found.extend(inside.split(',').map(|label| label.trim().to_owned()));
            }
        }
    }
    found
}

#[test]
fn every_label_that_is_named_is_one_of_the_metrics() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let plan = Plan { ladder: vec![4], rung_s: 3, hold_s: 3, errors: true, ..Plan::default() };
    let mut fold = Fold::new();
    plan.events().iter().for_each(|stamped| fold.add(stamped));
    let text = render(&Exposition::of(&fold), Format::Prometheus);
    let mut named = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for label in labels_of(panel) {
            let given =
                [format!("{{{label}=\""), format!(",{label}=\"")].iter().any(|label| text.contains(label));
            assert!(given, "{}: no metric has the label `{label}`", panel["title"]);
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

#[test]
fn the_data_source_is_the_readers_to_choose() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert_eq!((&variables[0]["name"], &variables[0]["type"]), (&"datasource".into(), &"datasource".into()));
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}", panel["title"]);
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        }
    }
    assert!(panels.len() > 10);
}

#[test]
fn what_is_given_is_described() {
    let suffixes = ["_bucket", "_sum", "_count"];
    for metric in given().iter().filter(|metric| telemetry_key(metric).is_none()) {
        let family = suffixes.iter().find_map(|suffix| metric.strip_suffix(suffix)).unwrap_or(metric);
        assert!(METRICS.contains(&format!("`{family}`")), "{metric} is not in docs/metrics.md");
    }
}
