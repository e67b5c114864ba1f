//! The figures of runs under way for Prometheus and what understands it: the text format 0.0.4 and OpenMetrics 1.0.
//!
//! An [`Exposition`] takes a run's events in as they come and adds them up since the run began, so that a counter never goes
//! back within a run: not when a stage ends, nor when the server under test restarts and counts from zero again.

mod families;
mod text;

use std::collections::BTreeMap;

use dyno_results::event::{Event, Interval, Pool, Sample, Stage, Stamped, TypeInterval};
use dyno_results::latency::Latency;

pub use self::text::{Format, render};

/// A run under way, added up.
#[derive(Debug, Clone, Default)]
pub struct Exposition {
    run: String,
    dyno_version: String,
    targets: BTreeMap<String, TargetLabels>,
    /// The stages that have begun.
    stages: BTreeMap<u32, Stage>,
    series: BTreeMap<SeriesLabels, Sums>,
    /// By target, while a stage goes on there.
    current: BTreeMap<String, Current>,
    telemetry: BTreeMap<TelemetryKey, Reading>,
    /// When the last event was.
    now_ms: u64,
}

#[derive(Debug, Clone)]
struct TargetLabels {
    product: Option<String>,
    version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SeriesLabels {
    target: String,
    series: String,
    workload: String,
}

/// What a series has come to since the run began.
#[derive(Debug, Clone, Default)]
struct Sums {
    done: u64,
    failed: u64,
    unknown: u64,
    retries: u64,
    statements: u64,
    reconnects: u64,
    skipped: u64,
    /// By SQLSTATE or MySQL's number, or `connection`.
    errors: BTreeMap<String, u64>,
    service: Times,
    /// Empty where it is the same as `service`.
    response: Times,
    wait: Times,
}

/// Times, added up.
#[derive(Debug, Clone, Default)]
struct Times {
    all: Option<Latency>,
    sum_s: f64,
}

/// What goes on at a target.
#[derive(Debug, Clone)]
struct Current {
    labels: SeriesLabels,
    stage: u32,
    clients: u32,
    backlog: u64,
    pool: Option<Pool>,
}

/// A reading by what it is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TelemetryKey {
    /// `host`, `database` or `driver`.
    source: String,
    key: String,
    target: String,
}

#[derive(Debug, Clone)]
struct Reading {
    /// As it was read last.
    raw: f64,
    /// What is told: as read, or for a counter the first reading and all that it has grown by since.
    told: f64,
    /// When it was read last.
    at_ms: u64,
}

/// A level that was not read for longer is not known any more. Sizes are read every ten seconds.
const STALE_MS: u64 = 30_000;

impl Exposition {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event in. Events come in the order of their `seq`.
    pub fn add(&mut self, stamped: &Stamped) {
        self.now_ms = self.now_ms.max(stamped.at_ms);
        match &stamped.event {
            Event::Started(started) => {
                self.run.clone_from(&started.run);
                self.dyno_version.clone_from(&started.dyno_version);
            }
            Event::Target(target) => {
                let labels =
                    TargetLabels { product: target.product.clone(), version: target.version.clone() };
                self.targets.insert(target.name.clone(), labels);
            }
            Event::StageStarted(stage) => {
                let current =
                    Current { labels: labels_of(stage), stage: stage.id, clients: 0, backlog: 0, pool: None };
                self.current.insert(stage.target.clone(), current);
                self.stages.insert(stage.id, stage.clone());
            }
            Event::Interval(interval) => self.interval(interval),
            Event::StageFinished(finished) => {
                self.current.retain(|_, current| current.stage != finished.stage);
            }
            Event::TargetLost(lost) => drop(self.current.remove(&lost.target)),
            Event::Sample(sample) => self.sample(stamped.at_ms, sample),
            _ => {}
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(stage) = self.stages.get(&interval.stage) else { return };
        let sums = self.series.entry(labels_of(stage)).or_default();
        interval.types.iter().for_each(|of_type| sums.add(of_type));
        sums.reconnects += interval.reconnects;
        sums.skipped += interval.skipped;
        for (code, count) in &interval.errors {
            *sums.errors.entry(code.clone()).or_default() += count;
        }
        if let Some(current) = self.current.get_mut(&stage.target) {
            current.clients = interval.clients;
            current.backlog = interval.backlog;
            current.pool.clone_from(&interval.pool);
        }
    }

    fn sample(&mut self, at_ms: u64, sample: &Sample) {
        for (key, value) in sample.values.iter().filter(|(_, value)| value.is_finite()) {
            // What is read of dyno itself is the driver's, whoever's host it runs on.
            let (source, key_of) = match key.strip_prefix("driver_") {
                Some(rest) => ("driver", rest),
                None => (sample.source.as_str(), key.as_str()),
            };
            let known = TelemetryKey {
                source: source.to_owned(),
                key: key_of.to_owned(),
                target: sample.target.clone(),
            };
            let counter = families::counter(key_of).is_some();
            match self.telemetry.get_mut(&known) {
                Some(reading) => {
                    // A counter that goes back has begun anew, or the kernel has changed its mind: nothing is known to
                    // have been added.
                    reading.told =
                        if counter { reading.told + (value - reading.raw).max(0.0) } else { *value };
                    reading.raw = *value;
                    reading.at_ms = at_ms;
                }
                None => drop(self.telemetry.insert(known, Reading { raw: *value, told: *value, at_ms })),
            }
        }
    }
}

fn labels_of(stage: &Stage) -> SeriesLabels {
    SeriesLabels {
        target: stage.target.clone(),
        series: stage.series.clone(),
        workload: stage.workload.clone(),
    }
}

impl Sums {
    fn add(&mut self, interval: &TypeInterval) {
        self.done += interval.done;
        self.failed += interval.failed;
        self.unknown += interval.unknown;
        self.retries += interval.retries;
        self.statements += interval.statements;
        self.service.add(Some(&interval.service));
        self.response.add(interval.response.as_ref());
        self.wait.add(interval.wait.as_ref());
    }
}

impl Times {
    fn add(&mut self, times: Option<&Latency>) {
        let Some((times, mean_ns)) = times.and_then(|times| Some((times, times.mean_ns()?))) else { return };
        self.sum_s += mean_ns * times.count() as f64 / 1e9;
        match &mut self.all {
            Some(all) => all.merge(times),
            None => self.all = Some(times.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
