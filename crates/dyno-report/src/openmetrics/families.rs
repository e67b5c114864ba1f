//! The metric families that runs fill: names, types, units, and where their values are.

use std::collections::BTreeMap;

use dyno_results::event::{Stage, TypeInterval};
use dyno_results::fold::{Fold, ReadingSum, StageLevels, StageSums};
use dyno_results::latency::Latency;
use dyno_results::measure::{COUNTS, GAUGES, TIMES};

/// A level that was not read for longer is not known any more. Sizes are read every ten seconds.
const STALE_MS: u64 = 30_000;
const WORKLOAD_COUNTED: &str =
    "What the workload counts within its transactions that ended well and were not rolled back";
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

/// A metric family with its samples; there is none without any.
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

/// The figures of runs under way.
#[derive(Debug, Default)]
pub struct Exposition {
    pub(super) families: Vec<Family>,
}

/// What a series has come to since the run began.
#[derive(Default)]
struct Sums {
    all: TypeInterval,
    reconnects: u64,
    skipped: u64,
    /// By SQLSTATE or MySQL's number, or `connection`.
    errors: BTreeMap<String, u64>,
    /// What the workload itself counts, by transaction type and key.
    counts: BTreeMap<(String, String), u64>,
}

impl Sums {
    fn add(&mut self, stage: &StageSums<'_>) {
        self.all.add(&stage.all);
        self.reconnects += stage.reconnects;
        self.skipped += stage.skipped;
        for (code, count) in stage.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
        for (of, count) in &stage.counts {
            *self.counts.entry((of.of.clone(), of.key.clone())).or_default() += count;
        }
    }
}

impl Exposition {
    #[must_use]
    pub fn of(fold: &Fold) -> Self {
        let mut exposition = Self::default();
        exposition.add(fold);
        exposition
    }

    /// Adds the figures of a run.
    pub fn add(&mut self, fold: &Fold) {
        let told = fold.told();
        let run = ("run", told.run.name.clone());
        let labels = [run.clone(), ("dyno_version", told.run.dyno_version.clone())];
        self.push(("dyno_run", Type::Info, "A run under way"), "_info", &labels, 1.0);
        for target in &told.targets {
            let named = [("target", &target.name), ("system", &target.name), ("server", &target.server)];
            let named = named.map(|(label, name)| (label, name.clone()));
            let mut labels: Vec<Label> = std::iter::once(run.clone()).chain(named).collect();
            // What is not known has no label, which to Prometheus is the same as an empty one.
            labels.extend(target.product.clone().map(|product| ("product", product)));
            labels.extend(target.version.clone().map(|version| ("version", version)));
            self.push(("dyno_target", Type::Info, "A database under test"), "_info", &labels, 1.0);
        }
        // In the order in which they began, which no name decides.
        let mut series: Vec<(Vec<Label>, Sums)> = Vec::new();
        let mut current: Vec<(Vec<Label>, &Stage, &StageLevels)> = Vec::new();
        for sums in fold.stage_sums() {
            let Stage { key, series: name, workload, .. } = sums.stage;
            let labels = [("target", &key.system), ("series", name), ("workload", workload)];
            let labels = labels.map(|(label, value)| (label, value.clone()));
            let labels: Vec<Label> = std::iter::once(run.clone()).chain(labels).collect();
            let known = series.iter().position(|(known, _)| *known == labels).unwrap_or(series.len());
            if known == series.len() {
                series.push((labels.clone(), Sums::default()));
            }
            series[known].1.add(&sums);
            if let Some(now) = sums.now {
                let is_same = |it: &Stage| (&it.key.system, it.key.stream) == (&key.system, key.stream);
                current.retain(|(_, stage, _)| !is_same(stage));
                current.push((labels, sums.stage, now));
            }
        }
        for (labels, sums) in series {
            self.add_series(&labels, &sums);
        }
        for (labels, stage, now) in current {
            let number = ("dyno_stage", Type::Gauge, "Number of the stage that is under way");
            self.push(number, "", &labels, f64::from(stage.id));
            for (gauge, value) in GAUGES.iter().zip(now.gauges()) {
                if let Some(value) = value {
                    self.push((gauge.family, Type::Gauge, gauge.meaning), "", &labels, value);
                }
            }
        }
        for reading in fold.reading_sums() {
            self.add_reading(&run, reading, fold.last_ms());
        }
    }

    fn push(&mut self, family: (&str, Type, &str), suffix: &'static str, labels: &[Label], value: f64) {
        let (name, of, help) = family;
        let known = self.families.iter().position(|family| family.name == name);
        let place = known.unwrap_or_else(|| {
            let (name, help) = (name.to_owned(), help.to_owned());
            self.families.push(Family { name, of, help, samples: Vec::new() });
            self.families.len() - 1
        });
        self.families[place].samples.push(MetricSample { suffix, labels: labels.to_vec(), value });
    }

    fn add_series(&mut self, labels: &[Label], sums: &Sums) {
        let counts = COUNTS.iter().map(|measure| (measure.family, measure.meaning)).zip(sums.all.counts());
        let others = [
            (("dyno_reconnects", "Connections lost and reopened"), sums.reconnects),
            (
                (
                    "dyno_arrivals_skipped",
                    "Arrivals of an open load that were skipped because they were too late",
                ),
                sums.skipped,
            ),
        ];
        for ((name, help), count) in counts.chain(others) {
            self.push((name, Type::Counter, help), "_total", labels, count as f64);
        }
        for (code, count) in &sums.errors {
            let family = ("dyno_errors", Type::Counter, "Failed or retried statements by code");
            self.push(family, "_total", &[labels, &[("code", code.clone())]].concat(), *count as f64);
        }
        for ((of, key), count) in &sums.counts {
            let family = ("dyno_workload_counted", Type::Counter, WORKLOAD_COUNTED);
            let labels = [labels, &[("transaction", of.clone()), ("count", key.clone())]].concat();
            self.push(family, "_total", &labels, *count as f64);
        }
        for (measure, times) in TIMES.iter().zip(sums.all.times()) {
            self.add_histogram((measure.family, Type::Histogram, measure.meaning), labels, times);
        }
    }

    fn add_histogram(&mut self, family: (&str, Type, &str), labels: &[Label], all: &Latency) {
        let Some(mean_ns) = all.mean_ns() else { return };
        let at_most = |bound_s: f64| all.count_at_most((bound_s * 1e9).round() as u64);
        let buckets = BOUNDS_S.map(|bound_s| (super::text::number(bound_s), at_most(bound_s)));
        for (bound, count) in buckets.into_iter().chain([("+Inf".to_owned(), all.count())]) {
            self.push(family, "_bucket", &[labels, &[("le", bound)]].concat(), count as f64);
        }
        self.push(family, "_sum", labels, mean_ns * all.count() as f64 / 1e9);
        self.push(family, "_count", labels, all.count() as f64);
    }

    /// `dyno_host_cpu_user_seconds_total`, `dyno_database_connections_active`: the readings under their own keys.
    fn add_reading(&mut self, run: &Label, reading: ReadingSum, now_ms: u64) {
        let ReadingSum { target, source, key, value, at_ms } = reading;
        // What is read of dyno itself is the driver's, whoever's host it runs on.
        let (source, key) = match key.strip_prefix("driver_") {
            Some(rest) => ("driver", rest),
            None => (source.as_str(), key.as_str()),
        };
        let (base, label) = key.split_once('[').unwrap_or((key, ""));
        let counter = counter(key);
        if counter.is_none() && now_ms.saturating_sub(at_ms) > STALE_MS {
            return;
        }
        let mut labels = vec![run.clone(), ("target", target)];
        if !label.is_empty() {
            labels.push(("name", label.trim_end_matches(']').to_owned()));
        }
        let name = valid(&format!("dyno_{source}_{}", counter.unwrap_or(base)));
        let help = format!("{base}, as read of the {source} (docs/telemetry.md)");
        let (of, suffix) = if counter.is_some() { (Type::Counter, "_total") } else { (Type::Gauge, "") };
        self.push((&name, of, &help), suffix, &labels, value);
    }
}

/// What a key counts, `waits` of `waits_total[Lock]`; `None` for a gauge.
pub(super) fn counter(key: &str) -> Option<&str> {
    key.split('[').next()?.strip_suffix("_total")
}

/// A name that has only what names may have.
fn valid(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect()
}
