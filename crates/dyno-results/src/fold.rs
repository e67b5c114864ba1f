//! Folds a run's events into its report, incrementally: the same code serves a run under way and one read back.
//!
//! It counts, merges and derives, and holds no opinion: findings are the [`crate::judge`]'s. A fold of events cut
//! off anywhere gives the report of what there is.

mod accompanied;
pub(crate) mod block;
mod limits;
mod resources;
pub(crate) mod seconds;
mod series;
mod sizes;
mod stage;
mod sums;
mod telemetry;
mod timeline;

use std::collections::BTreeMap;

pub use self::stage::StageFold;
pub use self::sums::{ReadingSum, StageLevels, StageSums};
use self::telemetry::Telemetry;
use self::timeline::Timelines;
use crate::document::{Report, Series, StageResult, Timeline};
use crate::event::{self, Event, Stage, StageKey, Stamped};
use crate::passes::PassLoad;
use crate::{passes, variants};

/// The report of a whole run.
pub fn fold(events: &[Stamped]) -> Report {
    let mut fold = Fold::new();
    for stamped in events {
        fold.add(stamped);
    }
    fold.report()
}

/// A report in the making.
#[derive(Debug)]
pub struct Fold {
    /// What is told once. Stages, series, timelines and sizes are empty here.
    told: Report,
    finished: bool,
    /// When the latest event happened.
    last_ms: u64,
    stages: BTreeMap<u32, StageFold>,
    timelines: Timelines,
    telemetry: Telemetry,
}

impl Default for Fold {
    fn default() -> Self {
        Self {
            told: Report::new(),
            finished: false,
            last_ms: 0,
            stages: BTreeMap::new(),
            timelines: Timelines::default(),
            telemetry: Telemetry::default(),
        }
    }
}

impl Fold {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event in. Events come in the order of their `seq`.
    pub fn add(&mut self, stamped: &Stamped) {
        self.last_ms = self.last_ms.max(stamped.at_ms);
        self.told.note(stamped);
        match &stamped.event {
            Event::StageStarted(stage) => {
                self.stages.insert(stage.id, StageFold::new(stage.clone(), stamped.at_ms));
            }
            Event::Interval(interval) => {
                if let Some(stage) = self.stages.get_mut(&interval.stage) {
                    for second in stage.add(interval) {
                        self.timelines.add(stage.stage(), stage.start_s(), &second);
                    }
                }
            }
            Event::QueriesRunning(running) => {
                if let Some(stage) = self.stages.get_mut(&running.stage) {
                    stage.running(&running.queries);
                }
            }
            Event::Sample(sample) => self.telemetry.add(stamped.at_ms, sample),
            Event::StageFinished(finished) => {
                if let Some(stage) = self.stages.get_mut(&finished.stage) {
                    for second in stage.end(finished) {
                        self.timelines.add(stage.stage(), stage.start_s(), &second);
                    }
                }
            }
            Event::Finished(_) => self.finished = true,
            _ => {}
        }
    }

    /// The report as it stands.
    pub fn report(&self) -> Report {
        let mut report = self.report_without_timelines();
        report.timelines = self.timelines().into_iter().map(Timeline::into_owned).collect();
        report
    }

    /// The report as it stands, but for its timelines: of a long run they are nearly all of it, and need not be copied
    /// to be looked at ([`Fold::timelines`]).
    #[must_use]
    pub fn report_without_timelines(&self) -> Report {
        let mut stages: Vec<_> = self.stages.values().map(StageFold::result).collect();
        resources::fill(&mut stages, &self.timelines(), &self.told.targets, |_| true);
        accompanied::fill(&mut stages);
        let series = series::group(&stages, Some(&self.told));
        self.report_of(stages, series)
    }

    /// The report with the stages that stand for its series, but without what takes time to work out: latencies, costs,
    /// intervals and where a ladder was saturated. For the list of runs, which is kept up with every second of load.
    pub(crate) fn outline(&self) -> Report {
        // A pass has few queries: their times are soon worked out, and it has no other figure.
        let outline = |stage: &StageFold| if stage.stage().pass { stage.result() } else { stage.outline() };
        let stages: Vec<_> = self.stages.values().map(outline).collect();
        let mut series = series::group(&stages, None);
        for one in &mut series {
            one.passes = passes::of(one, &stages, &self.told);
        }
        self.report_of(stages, series)
    }

    fn report_of(&self, stages: Vec<StageResult>, series: Vec<Series>) -> Report {
        let mut report = self.told.clone();
        report.run.seconds = self.last_ms as f64 / 1000.0;
        let report = Report { series, stages, sizes: sizes::sizes(&self.told.data), ..report };
        let report = Report { variants: variants::of(&report), ..report };
        let findings = report.findings.clone();
        report.judged(findings)
    }

    /// What has come out of one stage so far.
    pub fn stage(&self, id: u32) -> Option<StageResult> {
        let mut stages: Vec<_> = self.stages.values().map(StageFold::result).collect();
        let place = stages.iter().position(|result| result.stage.id == id)?;
        resources::fill(&mut stages, &self.timelines(), &self.told.targets, |other| other == place);
        Some(stages.swap_remove(place))
    }

    /// The load of a stage that is the first of its series.
    pub fn first_of_series(&self, stage: u32) -> Option<PassLoad> {
        let of = |id: u32| self.stages.get(&id).map(StageFold::stage);
        let Stage { key: StageKey { system: target, .. }, series, workload, clients, .. } = of(stage)?;
        let is_same = |id: &u32| of(*id).is_some_and(|it| it.key.system == *target && it.series == *series);
        let first = self.stages.keys().find(|id| is_same(id));
        (first == Some(&stage)).then(|| PassLoad {
            target: target.clone(),
            product: self.told.target(target).and_then(|target| target.product.clone()),
            workload: workload.clone(),
            scale: self.told.scale(target, workload),
            clients: *clients,
        })
    }

    /// p50, p90 and p99 of the second of load or the stage that an event has ended, microseconds.
    pub(crate) fn percentiles_of(&self, event: &Event) -> Option<[f64; 3]> {
        match event {
            Event::Interval(interval) if !interval.drain => {
                // A part of a second has none.
                let stage = self.stages.get(&interval.stage).filter(|stage| stage.stage().generators == 1)?;
                self.timelines.last_percentiles(stage.stage())
            }
            Event::StageFinished(finished) => {
                let result = self.stages.get(&finished.stage)?.result();
                result.latency().map(|of| [of.p50_us, of.p90_us, of.p99_us])
            }
            _ => None,
        }
    }

    /// When the latest event happened, milliseconds since the run started.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// True once the run has said that it has ended.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// What is known of the run but for its load: name, targets, hosts, what was done and noted.
    pub fn told(&self) -> &Report {
        &self.told
    }

    /// Everything over time, as it stands.
    pub fn timelines(&self) -> Vec<Timeline<'_>> {
        self.timelines.views(&self.told.targets, &self.telemetry)
    }

    /// The report as it will be when the run ends like this: for judging a run before its last event.
    pub fn report_ending(&self, finished: &event::Finished) -> Report {
        let mut report = self.report();
        report.run.end(finished);
        report
    }
}

#[cfg(test)]
mod tests;
