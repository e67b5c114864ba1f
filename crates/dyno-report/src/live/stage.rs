//! A stage while it runs and once it has ended, in figures for watching.

use dyno_results::event::{Interval, Pool, Stage};
use dyno_results::latency::Latency;

/// A stage with what came of it so far.
#[derive(Debug)]
pub(super) struct RunningStage {
    pub(super) stage: Stage,
    pub(super) since_ms: u64,
    /// The last whole interval.
    pub(super) last: Option<Moment>,
    pub(super) tally: StageTally,
}

/// A stage that has ended, in figures, so that drawing it again costs nothing.
#[derive(Debug, Clone)]
pub(super) struct EndedStage {
    pub(super) stage: Stage,
    pub(super) seconds: f64,
    pub(super) tps: Option<f64>,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) failed: u64,
    /// Of the last interval.
    pub(super) pool: Option<Pool>,
    /// False where it was cut short.
    pub(super) complete: bool,
}

/// One interval's figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) tps: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) clients: u32,
    /// Arrivals that are due and not yet begun.
    pub(super) backlog: u64,
    /// The connections that clients share.
    pub(super) pool: Option<Pool>,
}

/// A stage's sums. As in the report, latency and troubles include the drain, and throughput does not.
#[derive(Debug, Default)]
pub(super) struct StageTally {
    /// Ended well within the load.
    pub(super) done: u64,
    /// Failed for good, or of unknown outcome.
    pub(super) failed: u64,
    pub(super) retries: u64,
    /// Of load.
    pub(super) seconds: f64,
    latency: Option<Latency>,
}

impl RunningStage {
    pub(super) fn new(stage: &Stage, since_ms: u64) -> Self {
        Self { stage: stage.clone(), since_ms, last: None, tally: StageTally::default() }
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        let mut latency: Option<Latency> = None;
        for kind in &interval.types {
            self.tally.failed += kind.failed + kind.unknown;
            self.tally.retries += kind.retries;
            merge(&mut latency, kind.response.as_ref().unwrap_or(&kind.service));
        }
        if let Some(latency) = &latency {
            merge(&mut self.tally.latency, latency);
        }
        if interval.drain {
            return;
        }
        let done: u64 = interval.types.iter().map(|kind| kind.done).sum();
        let seconds = interval.duration_ms / 1e3;
        self.tally.done += done;
        self.tally.seconds += seconds;
        self.last = Some(Moment {
            tps: if seconds > 0.0 { done as f64 / seconds } else { 0.0 },
            p50_us: percentile_us(latency.as_ref(), 50.0),
            p99_us: percentile_us(latency.as_ref(), 99.0),
            clients: interval.clients,
            backlog: interval.backlog,
            pool: interval.pool,
        });
    }

    pub(super) fn end(self, complete: bool) -> EndedStage {
        let Self { stage, last, tally, .. } = self;
        EndedStage {
            seconds: tally.seconds,
            tps: tally.tps(),
            p50_us: tally.percentile_us(50.0),
            p99_us: tally.percentile_us(99.0),
            failed: tally.failed,
            pool: last.and_then(|moment| moment.pool),
            complete,
            stage,
        }
    }

    /// Seconds of its plan that have not gone by; `None` where a count ends it.
    pub(super) fn left_s(&self, now_ms: u64) -> Option<f64> {
        Some((self.stage.planned_s? - self.elapsed_s(now_ms)).max(0.0))
    }

    pub(super) fn elapsed_s(&self, now_ms: u64) -> f64 {
        now_ms.saturating_sub(self.since_ms) as f64 / 1e3
    }
}

impl StageTally {
    /// Transactions per second; `None` before the first interval.
    pub(super) fn tps(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.done as f64 / self.seconds)
    }

    /// A percentile (0 to 100) of the stage's latency so far, microseconds.
    pub(super) fn percentile_us(&self, percentile: f64) -> Option<f64> {
        percentile_us(self.latency.as_ref(), percentile)
    }
}

fn merge(into: &mut Option<Latency>, from: &Latency) {
    if from.is_empty() {
        return;
    }
    match into {
        Some(into) => into.merge(from),
        None => *into = Some(from.clone()),
    }
}

fn percentile_us(latency: Option<&Latency>, percentile: f64) -> Option<f64> {
    latency?.percentile_ns(percentile).map(|ns| ns as f64 / 1e3)
}
