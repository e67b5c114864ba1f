//! A stage while it runs, in figures for watching.

use dyno_results::document::StageResult;
use dyno_results::event::{Interval, Pool, RunningQuery, Stage};
use dyno_results::fold::StageFold;
use dyno_results::format;

use crate::text::visible;

/// A stage with what came of it so far.
#[derive(Debug)]
pub(super) struct RunningStage {
    pub(super) stage: Stage,
    pub(super) since_ms: u64,
    /// The last whole interval.
    pub(super) last: Option<Moment>,
    /// What came of it so far, as the report adds it up.
    pub(super) fold: StageFold,
    /// Queries that go on for some time, and when that was told, milliseconds of the run.
    pub(super) queries: Vec<RunningQuery>,
    pub(super) queries_at_ms: u64,
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

impl RunningStage {
    pub(super) fn new(stage: &Stage, since_ms: u64) -> Self {
        Self {
            stage: stage.clone(),
            since_ms,
            last: None,
            fold: StageFold::new(stage.clone(), since_ms),
            queries: Vec::new(),
            queries_at_ms: since_ms,
        }
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        let Some(interval) = self.fold.watch(interval).filter(|interval| !interval.drain) else { return };
        let latency = interval.latency();
        let done: u64 = interval.types.iter().map(|kind| kind.done).sum();
        let seconds = interval.duration_ns as f64 / 1e9;
        self.last = Some(Moment {
            tps: if seconds > 0.0 { done as f64 / seconds } else { 0.0 },
            p50_us: latency.as_ref().and_then(|times| times.percentile_us(50.0)),
            p99_us: latency.as_ref().and_then(|times| times.percentile_us(99.0)),
            clients: interval.clients,
            backlog: interval.backlog,
            pool: interval.pool,
        });
    }

    /// Seconds of its plan that have not gone by; `None` where a count ends it.
    pub(super) fn left_s(&self, now_ms: u64) -> Option<f64> {
        Some((self.stage.planned_s? - self.elapsed_s(now_ms)).max(0.0))
    }

    /// `Q9 12 s, 45% read (last 4.1 s) and 2 more`: the query that goes on the longest, how far it is, and what it took in the
    /// pass before, or else in an earlier run.
    pub(super) fn query_words(&self, before: Option<&StageResult>, now_ms: u64) -> Option<String> {
        let (longest, others) = self.queries.split_first()?;
        let seconds = longest.seconds + now_ms.saturating_sub(self.queries_at_ms) as f64 / 1e3;
        let known = before.and_then(|pass| pass.by_type.iter().find(|of_type| of_type.name == longest.query));
        let last = known.and_then(|of_type| Some(of_type.service.as_ref()?.mean_us / 1e6));
        let told = |seconds: f64| format!(" (last {})", format::duration_s(seconds));
        let earlier = longest.earlier.as_ref();
        let earlier =
            earlier.map(|it| format!(" (last {} in {})", format::duration_s(it.seconds), visible(&it.run)));
        let last = last.map(told).or(earlier).unwrap_or_default();
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let query = visible(&longest.query);
        let read = longest.read_share.map(|share| format!(", {} read", format::share(share)));
        let read = read.unwrap_or_default();
        Some(format!("{query} {}{read}{last}{more}", format::duration_s(seconds.floor())))
    }

    pub(super) fn elapsed_s(&self, now_ms: u64) -> f64 {
        now_ms.saturating_sub(self.since_ms) as f64 / 1e3
    }
}
