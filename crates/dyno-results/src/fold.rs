//! Folds a run's events into its report, incrementally: the same code serves a run under way and one read back.
//!
//! It counts, merges and derives, and holds no opinion: findings are the [`crate::judge`]'s. A fold of events cut
//! off anywhere gives the report of what there is.

pub(crate) mod block;
mod limits;
mod resources;
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
use crate::document::{HookRun, Lost, Report, Run, SCHEMA, Series, StageResult, Timeline};
use crate::event::{self, Event, Outcome, Stamped};

/// Reason given for a run that has no last event.
pub const NOT_FINISHED: &str = "it was killed or is still going";

/// The report of a whole run.
#[must_use]
pub fn fold(events: &[Stamped]) -> Report {
    let mut fold = Fold::new();
    for stamped in events {
        fold.add(stamped);
    }
    fold.report()
}

/// A report in the making.
#[derive(Debug, Default)]
pub struct Fold {
    started: Option<event::Started>,
    finished: Option<event::Finished>,
    /// When the latest event happened.
    last_ms: u64,
    targets: Vec<event::Target>,
    hosts: Vec<event::Host>,
    settings: Vec<event::Settings>,
    data: Vec<event::Data>,
    found: Vec<event::Data>,
    prepare: Vec<event::PrepareStep>,
    stages: BTreeMap<u32, StageFold>,
    timelines: Timelines,
    telemetry: Telemetry,
    checks: Vec<event::Check>,
    hooks: Vec<HookRun>,
    lost: Vec<Lost>,
    server_changes: Vec<event::ServerChanged>,
    findings: Vec<event::Finding>,
    notices: Vec<event::Notice>,
}

impl Fold {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event in. Events come in the order of their `seq`.
    pub fn add(&mut self, stamped: &Stamped) {
        self.last_ms = self.last_ms.max(stamped.at_ms);
        match &stamped.event {
            Event::Started(started) => self.started = Some(started.clone()),
            Event::Target(target) => {
                replace_or_push(&mut self.targets, target, |known| known.name == target.name);
            }
            Event::Host(host) => self.hosts.push(host.clone()),
            Event::Settings(settings) => {
                replace_or_push(&mut self.settings, settings, |known| known.target == settings.target);
            }
            Event::Data(data) => {
                let is_same =
                    |known: &event::Data| known.target == data.target && known.workload == data.workload;
                if !self.found.iter().any(is_same) {
                    self.found.push(data.clone());
                }
                replace_or_push(&mut self.data, data, is_same);
            }
            Event::Prepare(step) => self.prepare.push(step.clone()),
            Event::StageStarted(stage) => {
                self.stages.insert(stage.id, StageFold::new(stage.clone(), stamped.at_ms));
            }
            Event::Interval(interval) => {
                if let Some(stage) = self.stages.get_mut(&interval.stage) {
                    stage.add(interval);
                    self.timelines.add(stage.stage(), stage.start_s(), interval);
                }
            }
            Event::Sample(sample) => self.telemetry.add(stamped.at_ms, sample),
            Event::StageFinished(finished) => {
                if let Some(stage) = self.stages.get_mut(&finished.stage) {
                    stage.finish(finished);
                }
            }
            Event::Check(check) => self.checks.push(check.clone()),
            Event::Hook(hook) => self.hooks.push(HookRun { at_s: seconds(stamped), hook: hook.clone() }),
            Event::TargetLost(lost) => self.lost.push(Lost { at_s: seconds(stamped), lost: lost.clone() }),
            Event::ServerChanged(changed) => self.server_changes.push(changed.clone()),
            Event::Finding(finding) => self.findings.push(finding.clone()),
            Event::Notice(notice) => self.notices.push(notice.clone()),
            Event::Finished(finished) => self.finished = Some(finished.clone()),
        }
    }

    /// The report as it stands.
    #[must_use]
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
        resources::fill(&mut stages, &self.timelines(), &self.targets, |_| true);
        let known = limits::RunFacts { targets: &self.targets, hosts: &self.hosts, settings: &self.settings };
        let series = series::group(&stages, Some(&known));
        self.report_of(stages, series)
    }

    /// The report with the stages that stand for its series, but without what takes time to work out: latencies, costs,
    /// intervals and where a ladder was saturated. For the list of runs, which is kept up with every second of load.
    pub(crate) fn outline(&self) -> Report {
        let stages: Vec<_> = self.stages.values().map(StageFold::outline).collect();
        let series = series::group(&stages, None);
        self.report_of(stages, series)
    }

    fn report_of(&self, stages: Vec<StageResult>, series: Vec<Series>) -> Report {
        Report {
            schema: SCHEMA,
            run: self.run(),
            targets: self.targets.clone(),
            hosts: self.hosts.clone(),
            settings: self.settings.clone(),
            data: self.data.clone(),
            found: self.found.clone(),
            prepare: self.prepare.clone(),
            series,
            stages,
            timelines: Vec::new(),
            sizes: sizes::sizes(&self.data),
            checks: self.checks.clone(),
            hooks: self.hooks.clone(),
            lost: self.lost.clone(),
            server_changes: self.server_changes.clone(),
            findings: self.findings.clone(),
            notices: self.notices.clone(),
        }
    }

    /// What has come out of one stage so far.
    #[must_use]
    pub fn stage(&self, id: u32) -> Option<StageResult> {
        let mut stages: Vec<_> = self.stages.values().map(StageFold::result).collect();
        let place = stages.iter().position(|result| result.stage.id == id)?;
        resources::fill(&mut stages, &self.timelines(), &self.targets, |other| other == place);
        Some(stages.swap_remove(place))
    }

    /// p50, p90 and p99 of the second of load or the stage that an event has ended, microseconds.
    pub(crate) fn percentiles_of(&self, event: &Event) -> Option<[f64; 3]> {
        match event {
            Event::Interval(interval) if !interval.drain => {
                self.timelines.last_percentiles(self.stages.get(&interval.stage)?.stage())
            }
            Event::StageFinished(finished) => {
                let result = self.stages.get(&finished.stage)?.result();
                result.latency().map(|of| [of.p50_us, of.p90_us, of.p99_us])
            }
            _ => None,
        }
    }

    /// When the latest event happened, milliseconds since the run started.
    #[must_use]
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// True once the run has said that it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// The run's first event, once it is there.
    #[must_use]
    pub fn started(&self) -> Option<&event::Started> {
        self.started.as_ref()
    }

    #[must_use]
    pub fn targets(&self) -> &[event::Target] {
        &self.targets
    }

    /// Everything over time, as it stands.
    #[must_use]
    pub fn timelines(&self) -> Vec<Timeline<'_>> {
        self.timelines.views(&self.targets, &self.telemetry)
    }

    /// The report as it will be when the run ends like this: for judging a run before its last event.
    #[must_use]
    pub fn report_ending(&self, finished: &event::Finished) -> Report {
        let mut report = self.report();
        report.run.outcome = finished.outcome;
        report.run.reason.clone_from(&finished.reason);
        report
    }

    fn run(&self) -> Run {
        let (outcome, reason) = match &self.finished {
            Some(finished) => (finished.outcome, finished.reason.clone()),
            None => (Outcome::Incomplete, Some(NOT_FINISHED.to_owned())),
        };
        let started = self.started.as_ref();
        Run {
            name: started.map(|started| started.run.clone()).unwrap_or_default(),
            dyno_version: started.map(|started| started.dyno_version.clone()).unwrap_or_default(),
            started_at: started.map(|started| started.started_at.clone()).unwrap_or_default(),
            command: started.map(|started| started.command.clone()).unwrap_or_default(),
            spec: started.map(|started| started.spec.clone()).unwrap_or_default(),
            resolved: started.map(|started| started.resolved.clone()).unwrap_or_default(),
            seed: started.map(|started| started.seed).unwrap_or_default(),
            seconds: self.last_ms as f64 / 1000.0,
            outcome,
            reason,
        }
    }
}

/// When an event happened, seconds since the run started.
fn seconds(stamped: &Stamped) -> f64 {
    stamped.at_ms as f64 / 1000.0
}

/// What is told again of the same thing takes the place of what was known.
fn replace_or_push<T: Clone>(known: &mut Vec<T>, new: &T, is_same: impl Fn(&T) -> bool) {
    match known.iter_mut().find(|old| is_same(old)) {
        Some(old) => *old = new.clone(),
        None => known.push(new.clone()),
    }
}

#[cfg(test)]
mod tests;
