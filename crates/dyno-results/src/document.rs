//! The report of a run as a document: what `--json` prints, what the page draws and what the terminal tabulates.
//!
//! It is a fold over the events and holds no opinion of its own. Its JSON form is versioned by [`SCHEMA`] and
//! described in `docs/json.md`; within a version fields are only added. Unknown is `null`.

mod parts;
mod series;
mod stage;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::parts::{
    AnswerCounts, Cell, Passes, QueryRatio, QueryTimes, Quote, Row, SpeedUp, Unit, Variants,
};
pub use self::series::{Headline, HeadlineFigure, Limit, Peak, Saturation, SaturationSign, Series};
pub use self::stage::{
    Costs, CountResult, Percentiles, QueryResult, ResponseLimitResult, SHORTFALL, StageResult, Totals,
    TypeResult,
};
pub use crate::estimate::Estimate;
use crate::event::Event;
use crate::plan::{Plan, mark_rows_off};
use crate::spec::{RunSpec, StreamSpec, Time};
pub use crate::timeline::{CountLoad, LoadColumns, Metric, PoolLoad, Timeline, TypeLoad};
use crate::{event, words};

/// Name and version of the document's JSON form.
pub const SCHEMA: &str = "dyno.report/1";
/// Reason given for a run that has no last event.
pub const NOT_FINISHED: &str = "it was killed or is still going";

/// With a time limit of so much or more, a statement may outlast the load without reaching it: then it is cancelled behind the
/// load.
pub(crate) const OUTLASTS: Duration = Duration::from_secs(10);

/// The report of a run.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Report {
    /// `dyno.report/1`: name and version of this form.
    pub schema: &'static str,
    /// The run as a whole.
    pub run: Run,
    /// The systems under test, each with its server.
    pub targets: Vec<event::Target>,
    /// The machines of the run.
    pub hosts: Vec<event::Host>,
    /// The settings of each target.
    pub settings: Vec<event::Settings>,
    /// The data of each workload on each target, as last read.
    pub data: Vec<event::Data>,
    /// As `data`, but read before the first load.
    pub found: Vec<event::Data>,
    /// The steps of the preparation that have ended.
    pub prepare: Vec<event::PrepareStep>,
    /// Ladders with their peaks, and holds.
    pub series: Vec<Series>,
    /// The results of each stage.
    pub stages: Vec<StageResult>,
    /// Everything over time.
    pub timelines: Vec<Timeline<'static>>,
    /// The size of the data on disk, for each target and workload. A workload is missing if the rows or the size of one of
    /// its tables are unknown.
    pub sizes: Vec<Size>,
    /// Checks of the data and of answers.
    pub checks: Vec<event::Check>,
    /// What queries returned; what the passes of a series say of it is written.
    #[serde(skip)]
    pub answers: Vec<event::Answer>,
    /// Why queries did not end well; what the passes of a series say of it is written.
    #[serde(skip)]
    pub query_failures: Vec<event::QueryFailure>,
    /// How queries were run, in the order in which the plans were taken; left out if there are none. A plan from before the
    /// passes is left out if that from after them has the same shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<ShownPlan>,
    /// What was done before and after loads.
    pub hooks: Vec<HookRun>,
    /// Targets that were given up during the run.
    pub lost: Vec<Lost>,
    /// What variants could not do; left out if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_done: Vec<event::NotDone>,
    /// The data as each series has left them.
    #[serde(skip)]
    pub data_after: Vec<event::Data>,
    /// The systems of one target side by side; `None` if each target has one system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Variants>,
    /// Servers that changed during the load, or by a hook between two stages; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_changes: Vec<event::ServerChanged>,
    /// What servers counted; the findings of durability say what follows.
    #[serde(skip)]
    pub log_syncs: Vec<event::LogSyncs>,
    /// Reasons to trust the figures less, and facts to know about them.
    pub findings: Vec<event::Finding>,
    /// What to quote of each series, in their order.
    pub quotes: Vec<Quote>,
    /// Remarks of the run, with the texts of errors.
    pub notices: Vec<event::Notice>,
}

impl Report {
    /// Of a run before its first event. It stays incomplete until the run says how it has ended.
    pub fn new() -> Self {
        let run = Run { reason: Some(NOT_FINISHED.to_owned()), ..Run::default() };
        Self { schema: SCHEMA, run, ..Self::default() }
    }

    /// Takes in an event that is told once, and shown as it is: any but those of load and readings.
    pub fn note(&mut self, stamped: &event::Stamped) {
        let at_s = stamped.at_ms as f64 / 1000.0;
        self.run.seconds = self.run.seconds.max(at_s);
        match &stamped.event {
            Event::Started(started) => {
                let event::Started { run, dyno_version, started_at, command, spec, resolved, seed } =
                    started.clone();
                let Run { seconds, outcome, reason, targets_lost, .. } = std::mem::take(&mut self.run);
                self.run = Run {
                    name: run,
                    dyno_version,
                    started_at,
                    command,
                    spec,
                    resolved,
                    seed,
                    seconds,
                    outcome,
                    reason,
                    targets_lost,
                };
            }
            Event::Target(target) => {
                replace_or_push(&mut self.targets, target, |known| known.name == target.name);
            }
            Event::Host(host) => self.hosts.push(host.clone()),
            Event::Settings(settings) => {
                replace_or_push(&mut self.settings, settings, |known| known.target == settings.target);
            }
            Event::Data(data) => {
                if !self.found.iter().any(|known| known.is_of_same(data)) {
                    self.found.push(data.clone());
                }
                replace_or_push(&mut self.data, data, |known| known.is_of_same(data));
                if data.after.is_some() {
                    self.data_after.push(data.clone());
                }
            }
            Event::Prepare(step) => self.prepare.push(step.clone()),
            Event::Check(check) => self.checks.push(check.clone()),
            Event::Answer(answer) => self.answers.push(answer.clone()),
            Event::QueryFailure(failure) => self.query_failures.push(failure.clone()),
            Event::Plan(plan) => {
                let shown = ShownPlan::of(plan);
                self.plans.retain(|known| !known.is_told_by(&shown));
                self.plans.push(shown);
            }
            Event::Hook(hook) => self.hooks.push(HookRun { at_s, hook: hook.clone() }),
            Event::TargetLost(lost) => self.lost.push(Lost { at_s, lost: lost.clone() }),
            Event::NotDone(not_done) => self.not_done.push(not_done.clone()),
            Event::ServerChanged(changed) => self.server_changes.push(changed.clone()),
            Event::LogSyncs(syncs) => self.log_syncs.push(syncs.clone()),
            Event::Finding(finding) => self.findings.push(finding.clone()),
            Event::Notice(notice) => self.notices.push(notice.clone()),
            Event::Finished(finished) => self.run.end(finished),
            Event::StageStarted(_)
            | Event::Interval(_)
            | Event::QueriesRunning(_)
            | Event::Sample(_)
            | Event::StageFinished(_) => {}
        }
    }

    pub fn target(&self, name: &str) -> Option<&event::Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// The server that a system is on; `None` where it was not described.
    pub fn server(&self, system: &str) -> Option<&str> {
        self.target(system).map(|target| target.server.as_str())
    }

    /// Whether a finding bears on a system: it is of the system itself, of its server, or of the run.
    pub fn bears_on(&self, subject: &event::Subject, system: &str) -> bool {
        subject.system.as_deref().is_none_or(|name| name == system)
            && subject.server.as_deref().is_none_or(|name| Some(name) == self.server(system))
    }

    /// Findings that weigh on a series: its own, and those of its system or of the run.
    pub fn findings_of<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a event::Finding> {
        self.findings.iter().filter(|finding| self.weighs_on(finding, series))
    }

    pub(crate) fn weighs_on(&self, finding: &event::Finding, series: &Series) -> bool {
        let of_series = finding.subject.series.as_ref();
        self.bears_on(&finding.subject, &series.target) && of_series.is_none_or(|name| *name == series.name)
    }

    /// The series of which a finding says that their figures must not be used.
    pub fn invalid_series(&self) -> impl Iterator<Item = &Series> {
        let is_invalid = |finding: &event::Finding| finding.severity == event::Severity::Invalid;
        self.series.iter().filter(move |series| self.findings_of(series).any(is_invalid))
    }

    /// `1 of 10 series (oltp_delete)`; `None` where all are invalid, or none is.
    pub fn invalid_in_part(&self) -> Option<String> {
        let several = self.targets.len() > 1;
        let name = |series: &Series| match several {
            true => format!("{}/{}", series.target, series.name),
            false => series.name.clone(),
        };
        let names: Vec<String> = self.invalid_series().map(name).collect();
        let in_part = (1..self.series.len()).contains(&names.len());
        in_part.then(|| format!("{} of {} series ({})", names.len(), self.series.len(), words::list(&names)))
    }

    /// Whether a series runs a script or a folder of queries of the user's, whose tables dyno does not make.
    pub fn has_statements_of_the_user(&self, series: &Series) -> bool {
        let streams = self.run.resolved.phases.iter().flat_map(|phase| &phase.streams);
        streams.filter(|stream| stream.workload.as_ref() == Some(&series.workload)).any(StreamSpec::has_texts)
    }

    /// The machine of this role: `driver`, or the name of the target whose server runs on it.
    pub fn host(&self, role: &str) -> Option<&event::Host> {
        self.hosts.iter().find(|host| host.roles.iter().any(|of| of == role))
    }

    /// The machine of a target's server: also the driver's, where they share it.
    pub fn server_host(&self, target: &str) -> Option<&event::Host> {
        let shared = self.target(target).is_some_and(|target| target.same_host == Some(true));
        self.host(target).or_else(|| self.host("driver").filter(|_| shared))
    }

    /// The plan of a query of a series, taken before the passes or after them, by executing it or not.
    pub fn plan(
        &self,
        series: &Series,
        query: &str,
        (when, executed): (event::HookTime, bool),
    ) -> Option<&Plan> {
        let all = self.plans.iter().map(|shown| &shown.plan);
        let mut own = all.filter(|plan| plan.target == series.target && plan.series == series.name);
        own.find(|plan| plan.query == query && plan.when == when && plan.executed == executed)
    }

    /// Of the data that a workload needs, as they were last.
    pub fn scale(&self, target: &str, workload: &str) -> Option<f64> {
        let family = workload.split('/').next()?;
        self.data.iter().find(|data| data.target == target && data.workload == family)?.scale
    }

    /// How long a statement of a stage may take before it is cancelled, as its stream says it.
    pub fn time_limit(&self, key: &event::StageKey) -> Option<Time> {
        let stream = |spec: &RunSpec| {
            let phase = spec.phases.get(key.phase as usize)?;
            phase.streams.get(key.stream as usize)?.time_limit
        };
        stream(&self.run.resolved).or_else(|| stream(&self.run.spec))
    }

    /// The same, where a statement of the stage can have reached it within the load. A longer one may outlast the load instead,
    /// and is then cancelled behind it.
    pub fn time_limit_within(&self, result: &StageResult) -> Option<Time> {
        let limit = self.time_limit(&result.stage.key)?;
        (limit.0 < OUTLASTS || limit.0.as_secs_f64() < result.seconds).then_some(limit)
    }

    pub fn stage(&self, id: u32) -> Option<&StageResult> {
        self.stages.iter().find(|result| result.stage.id == id)
    }
}

/// The plan of a query.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "QueryPlan")]
pub struct ShownPlan {
    /// A digest of the steps, of the tables and indexes that they read, and of their order. Two plans of one product with the
    /// same shape differ at most in costs, rows, times and conditions. `None` if there is no plan.
    pub shape: Option<String>,
    #[serde(flatten)]
    pub plan: Plan,
}

impl ShownPlan {
    fn of(plan: &Plan) -> Self {
        let text = plan.text.clone().filter(|_| plan.nodes.is_empty());
        let mut plan = Plan { text, ..plan.clone() };
        mark_rows_off(&mut plan.nodes);
        Self { shape: plan.shape(), plan }
    }

    /// Whether it is of before the passes, and `other` says the same of after them.
    fn is_told_by(&self, other: &Self) -> bool {
        let (plan, other_plan) = (&self.plan, &other.plan);
        let passed = (plan.when, other_plan.when) == (event::HookTime::Before, event::HookTime::After);
        passed
            && plan.query == other_plan.query
            && plan.executed == other_plan.executed
            && (&plan.target, &plan.series) == (&other_plan.target, &other_plan.series)
            && self.shape.is_some()
            && self.shape == other.shape
    }
}

/// What is told again of the same thing takes the place of what was known.
fn replace_or_push<T: Clone>(known: &mut Vec<T>, new: &T, is_same: impl Fn(&T) -> bool) {
    match known.iter_mut().find(|old| is_same(old)) {
        Some(old) => *old = new.clone(),
        None => known.push(new.clone()),
    }
}

/// The run as a whole.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Run {
    /// The name of the run, `2026-11-20-1`.
    pub name: String,
    /// The version of the dyno that ran it.
    pub dyno_version: String,
    /// When it started: RFC 3339 with offset.
    pub started_at: String,
    /// The command line, passwords removed.
    pub command: Vec<String>,
    /// The run specification as given: a scenario, as `dyno plan --json` writes it.
    #[schemars(with = "serde_json::Value")]
    pub spec: RunSpec,
    /// The specification with every default that does not depend on the target.
    #[schemars(with = "serde_json::Value")]
    pub resolved: RunSpec,
    /// The seed of every random stream.
    pub seed: u64,
    /// Seconds until the last stored event.
    pub seconds: f64,
    /// `incomplete` if it was stopped, or killed before it could say so.
    pub outcome: event::Outcome,
    /// Why it is incomplete; `None` if it is complete.
    pub reason: Option<String>,
    /// As [`event::Finished::targets_lost`]: the reason then has those of [`Report::lost`].
    #[serde(skip)]
    pub targets_lost: bool,
}

impl Run {
    /// As it is when the run ends like this.
    pub(crate) fn end(&mut self, finished: &event::Finished) {
        self.outcome = finished.outcome;
        self.reason.clone_from(&finished.reason);
        self.targets_lost = finished.targets_lost;
    }

    /// The command as it can be pasted into a shell.
    pub fn command_line(&self) -> String {
        words::command_line(&self.command)
    }
}

/// What the tables of a workload take on disk, from the last reading of the data: at the end of the run or before its stages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Size {
    /// The name of the system.
    pub target: String,
    /// The family of the workload, `tpcb`.
    pub workload: String,
    /// Rows of all its tables.
    pub rows: u64,
    /// Whether they were counted, and are not the server's estimate.
    pub rows_counted: bool,
    /// Bytes of tables and indexes.
    pub bytes: u64,
    /// Bytes of tables and indexes for each row.
    pub bytes_per_row: f64,
}

/// Something that was done before or after a load.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Hook")]
pub struct HookRun {
    /// When it ended, seconds since the run started.
    pub at_s: f64,
    #[serde(flatten)]
    pub hook: event::Hook,
}

/// A target that was given up, while the others continued.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Lost {
    /// Seconds since the run started.
    pub at_s: f64,
    #[serde(flatten)]
    pub lost: event::TargetLost,
}
