//! The metric families that runs fill: names, types, units, and where their values are.

use std::collections::BTreeMap;

use dyno_results::fold::ReadingSum;
use dyno_results::latency::Latency;

use super::{Exposition, SeriesLabels, Sums};

/// Upper bounds of the histograms' buckets, seconds.
const BOUNDS_S: [f64; 20] = [
    0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// What kind of figures a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Counter,
    Gauge,
    Histogram,
    Info,
}

type Label = (&'static str, String);

/// A metric family with its samples.
#[derive(Debug)]
pub(super) struct Family {
    /// Without `_total` and `_info`, which its type adds.
    pub(super) name: String,
    pub(super) of: Type,
    pub(super) help: String,
    pub(super) samples: Vec<MetricSample>,
}

#[derive(Debug)]
pub(super) struct MetricSample {
    /// `_total`, `_bucket`, ….
    pub(super) suffix: &'static str,
    pub(super) labels: Vec<Label>,
    pub(super) value: f64,
}

/// A family of a count for each series.
type Count = (&'static str, &'static str, fn(&Sums) -> u64);

const COUNTS: [Count; 7] = [
    ("dyno_transactions", "Transactions that ended well", |sums| sums.done),
    ("dyno_transactions_failed", "Transactions that failed for good", |sums| sums.failed),
    (
        "dyno_transactions_unknown",
        "Transactions whose commit was under way when the connection was lost",
        |sums| sums.unknown,
    ),
    ("dyno_retries", "Further tries after a serialization failure or deadlock", |sums| sums.retries),
    ("dyno_statements", "Statements answered", |sums| sums.statements),
    ("dyno_reconnects", "Connections lost and reopened", |sums| sums.reconnects),
    (
        "dyno_arrivals_skipped",
        "Arrivals of an open load that were skipped because they were too late",
        |sums| sums.skipped,
    ),
];

/// A family of times for each series.
type Distribution = (&'static str, &'static str, fn(&Sums) -> &Option<Latency>);

const TIMES: [Distribution; 3] = [
    ("dyno_service_seconds", "Sent to answered, of transactions that ended well", |sums| &sums.service),
    ("dyno_response_seconds", "Scheduled to answered, in an open loop or over shared connections", |sums| {
        &sums.response
    }),
    (
        "dyno_connection_wait_seconds",
        "Asked for a connection to lent one, where clients share them",
        |sums| &sums.wait,
    ),
];

/// All families of these runs. One without samples is left out.
pub(super) fn families(runs: &[&Exposition]) -> Vec<Family> {
    let mut families = vec![run_info(runs), target_info(runs)];
    families.extend(COUNTS.iter().map(|(name, help, count)| {
        of_series(runs, name, Type::Counter, help, |sums, labels, samples| {
            samples.push(MetricSample {
                suffix: "_total",
                labels: labels.to_vec(),
                value: count(sums) as f64,
            });
        })
    }));
    families.push(of_series(
        runs,
        "dyno_errors",
        Type::Counter,
        "Failed or retried statements by code",
        errors,
    ));
    families.extend(TIMES.iter().map(|(name, help, times)| {
        of_series(runs, name, Type::Histogram, help, |sums, labels, samples| {
            histogram(times(sums).as_ref(), labels, samples);
        })
    }));
    families.extend(gauges(runs));
    families.extend(telemetry(runs));
    families.retain(|family| !family.samples.is_empty());
    families
}

fn run_info(runs: &[&Exposition]) -> Family {
    let sample = |run: &&Exposition| MetricSample {
        suffix: "_info",
        labels: vec![("run", run.run.clone()), ("dyno_version", run.dyno_version.clone())],
        value: 1.0,
    };
    Family {
        name: "dyno_run".to_owned(),
        of: Type::Info,
        help: "A run under way".to_owned(),
        samples: runs.iter().map(sample).collect(),
    }
}

fn target_info(runs: &[&Exposition]) -> Family {
    let mut samples = Vec::new();
    for run in runs {
        for target in &run.targets {
            let mut labels = vec![("run", run.run.clone()), ("target", target.name.clone())];
            // What is not known has no label, which to Prometheus is the same as an empty one.
            labels.extend(target.product.clone().map(|product| ("product", product)));
            labels.extend(target.version.clone().map(|version| ("version", version)));
            samples.push(MetricSample { suffix: "_info", labels, value: 1.0 });
        }
    }
    Family {
        name: "dyno_target".to_owned(),
        of: Type::Info,
        help: "A database under test".to_owned(),
        samples,
    }
}

fn of_series(
    runs: &[&Exposition],
    name: &str,
    of: Type,
    help: &str,
    add: impl Fn(&Sums, &[Label], &mut Vec<MetricSample>),
) -> Family {
    let mut samples = Vec::new();
    for run in runs {
        for (labels, sums) in &run.series {
            add(sums, &series_labels(run, labels), &mut samples);
        }
    }
    Family { name: name.to_owned(), of, help: help.to_owned(), samples }
}

fn series_labels(run: &Exposition, labels: &SeriesLabels) -> Vec<Label> {
    vec![
        ("run", run.run.clone()),
        ("target", labels.target.clone()),
        ("series", labels.series.clone()),
        ("workload", labels.workload.clone()),
    ]
}

fn errors(sums: &Sums, labels: &[Label], samples: &mut Vec<MetricSample>) {
    for (code, count) in &sums.errors {
        let mut labels = labels.to_vec();
        labels.push(("code", code.clone()));
        samples.push(MetricSample { suffix: "_total", labels, value: *count as f64 });
    }
}

fn histogram(times: Option<&Latency>, labels: &[Label], samples: &mut Vec<MetricSample>) {
    let Some((all, mean_ns)) = times.and_then(|all| Some((all, all.mean_ns()?))) else { return };
    let mut bucket = |bound: String, count: u64| {
        let mut labels = labels.to_vec();
        labels.push(("le", bound));
        samples.push(MetricSample { suffix: "_bucket", labels, value: count as f64 });
    };
    for bound_s in BOUNDS_S {
        bucket(super::text::number(bound_s), all.count_at_most((bound_s * 1e9).round() as u64));
    }
    bucket("+Inf".to_owned(), all.count());
    samples.push(MetricSample {
        suffix: "_sum",
        labels: labels.to_vec(),
        value: mean_ns * all.count() as f64 / 1e9,
    });
    samples.push(MetricSample { suffix: "_count", labels: labels.to_vec(), value: all.count() as f64 });
}

/// What goes on at this moment.
fn gauges(runs: &[&Exposition]) -> [Family; 6] {
    let mut families = [
        ("dyno_stage", "Number of the stage that is under way"),
        ("dyno_clients", "Clients that are active"),
        (
            "dyno_backlog",
            "Arrivals of an open load that were due and had not begun at the end of the last second",
        ),
        ("dyno_connections_in_use", "Shared connections that a client had, mean of the last second"),
        ("dyno_connections_idle", "Shared connections that no client had, mean of the last second"),
        ("dyno_clients_waiting", "Clients that waited for a connection, mean of the last second"),
    ]
    .map(|(name, help)| Family {
        name: name.to_owned(),
        of: Type::Gauge,
        help: help.to_owned(),
        samples: Vec::new(),
    });
    for run in runs {
        for current in run.current.values() {
            let labels = series_labels(run, &current.labels);
            let levels = &current.levels;
            let pool = levels.pool.as_ref();
            let values = [
                Some(f64::from(current.stage)),
                Some(f64::from(levels.clients)),
                Some(levels.backlog as f64),
                pool.map(|pool| pool.in_use_mean),
                pool.map(|pool| (f64::from(pool.connections) - pool.in_use_mean).max(0.0)),
                pool.map(|pool| pool.waiting_mean),
            ];
            for (family, value) in families.iter_mut().zip(values) {
                family.samples.extend(value.map(|value| MetricSample {
                    suffix: "",
                    labels: labels.to_vec(),
                    value,
                }));
            }
        }
    }
    families
}

/// `dyno_host_cpu_user_seconds_total`, `dyno_database_connections_active`: the readings under their own keys.
fn telemetry(runs: &[&Exposition]) -> Vec<Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for run in runs {
        for ReadingSum { target, source, key, value, at_ms } in &run.telemetry {
            // What is read of dyno itself is the driver's, whoever's host it runs on.
            let (source, key) = match key.strip_prefix("driver_") {
                Some(rest) => ("driver", rest),
                None => (source.as_str(), key.as_str()),
            };
            let (base, label) = key.split_once('[').unwrap_or((key, ""));
            let counter = counter(key);
            if counter.is_none() && run.now_ms.saturating_sub(*at_ms) > super::STALE_MS {
                continue;
            }
            let name = valid(&format!("dyno_{source}_{}", counter.unwrap_or(base)));
            let family = families.entry(name.clone()).or_insert_with(|| Family {
                name,
                of: if counter.is_some() { Type::Counter } else { Type::Gauge },
                help: format!("{base}, as read of the {source} (docs/telemetry.md)"),
                samples: Vec::new(),
            });
            let mut labels = vec![("run", run.run.clone()), ("target", target.clone())];
            if !label.is_empty() {
                labels.push(("name", label.trim_end_matches(']').to_owned()));
            }
            let suffix = if counter.is_some() { "_total" } else { "" };
            family.samples.push(MetricSample { suffix, labels, value: *value });
        }
    }
    families.into_values().collect()
}

/// What a key counts, `waits` of `waits_total[Lock]`; `None` for a gauge.
pub(super) fn counter(key: &str) -> Option<&str> {
    key.split('[').next()?.strip_suffix("_total")
}

/// A name that has only what names may have.
fn valid(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect()
}
