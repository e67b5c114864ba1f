//! The figures of runs under way for Prometheus and what understands it: the text format 0.0.4 and OpenMetrics 1.0.
//!
//! An [`Exposition`] is made of a run's fold, whose sums never go back within a run: not when a stage ends, nor when the server
//! under test restarts and counts from zero again.

mod families;
mod text;

use std::collections::BTreeMap;

use dyno_results::event::{Stage, Target};
use dyno_results::fold::{Fold, ReadingSum, StageLevels, StageSums};
use dyno_results::latency::{Latency, add_to};

pub use self::text::{Format, render};

/// A run under way, added up.
#[derive(Debug, Clone, Default)]
pub struct Exposition {
    run: String,
    dyno_version: String,
    targets: Vec<Target>,
    series: BTreeMap<SeriesLabels, Sums>,
    /// By target and place of the stream, while a stage goes on there.
    current: BTreeMap<(String, u32), Current>,
    telemetry: Vec<ReadingSum>,
    /// When the last event was.
    now_ms: u64,
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
    service: Option<Latency>,
    /// Empty where it is the same as `service`.
    response: Option<Latency>,
    wait: Option<Latency>,
}

/// What goes on at a target.
#[derive(Debug, Clone)]
struct Current {
    labels: SeriesLabels,
    stage: u32,
    levels: StageLevels,
}

/// A level that was not read for longer is not known any more. Sizes are read every ten seconds.
const STALE_MS: u64 = 30_000;

impl Exposition {
    #[must_use]
    pub fn of(fold: &Fold) -> Self {
        let mut exposition = Self {
            targets: fold.targets().to_vec(),
            telemetry: fold.reading_sums(),
            now_ms: fold.last_ms(),
            ..Self::default()
        };
        if let Some(started) = fold.started() {
            exposition.run.clone_from(&started.run);
            exposition.dyno_version.clone_from(&started.dyno_version);
        }
        for sums in fold.stage_sums() {
            let labels = labels_of(sums.stage);
            exposition.series.entry(labels.clone()).or_default().add(&sums);
            if let Some(levels) = sums.now.cloned() {
                let current = Current { labels, stage: sums.stage.id, levels };
                exposition.current.insert((sums.stage.target.clone(), sums.stage.stream), current);
            }
        }
        exposition
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
    fn add(&mut self, stage: &StageSums<'_>) {
        self.done += stage.totals.done_with_drain;
        self.failed += stage.totals.failed_with_drain;
        self.unknown += stage.totals.unknown_with_drain;
        self.retries += stage.totals.retries;
        self.statements += stage.totals.statements;
        self.reconnects += stage.totals.reconnects;
        self.skipped += stage.skipped;
        for (code, count) in stage.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
        add_to(&mut self.service, stage.service.as_deref());
        add_to(&mut self.response, stage.response.as_deref());
        add_to(&mut self.wait, stage.wait.as_deref());
    }
}

#[cfg(test)]
mod tests;
