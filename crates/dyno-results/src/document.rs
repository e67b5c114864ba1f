//! The report of a run as a document: what `--json` prints, what the page draws and what the terminal tabulates.
//!
//! It is a fold over the events and holds no opinion of its own. Its JSON form is versioned by [`SCHEMA`] and
//! described in `docs/json.md`; within a version fields are only added. Unknown is `null`.

mod parts;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::parts::{
    AnswerCounts, Cell, Passes, QueryRatio, QueryTimes, Quote, Row, SpeedUp, Unit, Variants,
};
pub use crate::estimate::Estimate;
use crate::event::Event;
use crate::latency::Latency;
use crate::plan::{Plan, mark_rows_off};
use crate::spec::{RunSpec, StreamSpec, Time};
pub use crate::timeline::{COLUMNS, LoadColumns, Metric, POOL_COLUMNS, PoolLoad, Timeline};
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

/// The stages of one workload on one target that belong together: a ladder with its peak, and holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Series {
    /// The name of the system.
    pub target: String,
    /// The name of the stream: `read`, `write`, ….
    pub name: String,
    /// The phase, as its stages have it.
    pub phase: u32,
    /// The place of the stream in its phase, as its stages have it.
    pub stream: u32,
    /// The workload, `tpcb/tpcb-like`.
    pub workload: String,
    /// What must stand beside its figures; `None` if nothing must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Ids of the rungs, sorted by clients and then by rate.
    pub ladder: Vec<u32>,
    /// Ids of holds and ramps, in the order in which they ran.
    pub holds: Vec<u32>,
    /// The main result; `None` if nothing was measured.
    pub headline: Option<Headline>,
    /// The rung with the highest throughput; `None` if no rung ran to its end, or none is known to within a factor of two.
    pub peak: Option<Peak>,
    /// Where more load added no throughput; `None` if there is no such rung, or there are too few rungs to say.
    pub saturation: Option<Saturation>,
    /// The passes over a query set; `None` for other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    /// Which of the report's findings weigh on it, by their places from 0, the gravest first: its own, and those of its target
    /// or of the run.
    pub findings: Vec<usize>,
}

/// The main result of a series: its hold, or the median of several repeated holds, or the rung of the peak, or the first rung
/// if the run was killed in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Headline {
    /// Ids of its stages, in the order in which they ran.
    pub stages: Vec<u32>,
    /// The one of `stages` whose throughput is nearest to the headline's.
    pub stage: u32,
    /// Transactions per second. For repeats the median, with the interval over them (`samples` is their number); for the best
    /// of several rungs without an interval.
    pub throughput: Estimate,
    /// Response time in an open loop or over a pool, otherwise service time; for repeats the median of each percentile.
    /// `None` if nothing ended well.
    pub latency: Option<Percentiles>,
    /// As that of a stage, 0 to 1; of several stages the highest.
    pub cpu_taken_share: Option<f64>,
}

/// The rung from which on more load added no throughput, and what was at its limit there.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Saturation {
    /// Id of the first rung from which on more load added no throughput.
    pub stage: u32,
    /// Id of the rung before it; `None` if the first was not good.
    pub last_good: Option<u32>,
    /// Clients at that rung.
    pub clients: u32,
    /// The rate asked for at that rung, transactions per second; `None` in a closed loop.
    pub rate_per_s: Option<f64>,
    /// What showed it.
    pub sign: SaturationSign,
    /// Transactions per second at that rung.
    pub throughput_per_s: f64,
    /// 99th percentile at that rung, microseconds: of the response time in an open loop or over a pool, otherwise of the
    /// service time.
    pub p99_us: Option<f64>,
    /// One sentence with the figures that decided it.
    pub evidence: String,
    /// Resources at their limit from that rung on, the fullest first; then the connections of a pool, because they fill up
    /// behind whatever is slow; last those that were at their limit at the lowest rung already. Empty if there are none, and
    /// if others took what was missing.
    pub limits: Vec<Limit>,
    /// Resources of the machine that were at their limit because others than the server and dyno took them; left out if there
    /// are none. Unless transactions failed, `limits` is then empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_by_others: Vec<Limit>,
}

/// By what a saturation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SaturationSign {
    /// Throughput no longer rises while latency does.
    ThroughputFlat,
    /// Transactions begin to fail.
    Errors,
    /// Arrivals of an open load are no longer kept up with.
    RateNotMet,
}

/// A resource at or near its limit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Limit {
    /// `cpu`, `cpu-quota`, `disk`, `memory`, `log`, `locks`, `connections`, `driver`.
    pub resource: String,
    /// How full it was, 0 to 1.
    pub share: f64,
    /// One sentence with figures.
    pub evidence: String,
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

/// The highest throughput of a ladder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Peak {
    /// Id of the rung where throughput was highest.
    pub stage: u32,
    /// Clients at that rung.
    pub clients: u32,
    /// Transactions per second; of several rungs without an interval, because the best of several is too high by chance. The
    /// rung's own estimate is in `stages`.
    pub throughput: Estimate,
    /// Client counts whose intervals overlap that of the peak, ascending, the peak itself included.
    pub clients_indistinguishable: Vec<u32>,
    /// The same without the peak, as text: `1–4, 16`, with a range for neighbours on the ladder; `None` if there are none.
    pub indistinguishable_from: Option<String>,
    /// Whether the ladder went past the peak: a higher step was clearly slower, or throughput had stopped rising. If false,
    /// the peak may lie beyond the ladder, or at a step whose throughput is not known to within a factor of two. For a ladder
    /// of rates: whether one was no longer met.
    pub passed: bool,
    /// Whether it is the highest rate of a ladder of rates, and was met: then no peak was looked for.
    pub rate_met: bool,
}

impl Peak {
    /// Of the steps of its ladder those at which the peak may be as well: their mean is higher, and not known to within a factor of
    /// two.
    pub fn maybe_higher<'a>(
        &self,
        steps: impl Iterator<Item = &'a StageResult>,
    ) -> impl Iterator<Item = &'a StageResult> {
        let peak = self.throughput.mean;
        steps.filter(move |step| {
            step.throughput.is_some_and(|own| own.mean > peak && !own.is_known_within_two())
        })
    }
}

/// What came out of a stage.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StageResult {
    #[serde(flatten)]
    pub stage: event::Stage,
    /// Of a load that stayed the same beside another stream's ladder: the id of that stream's stage at the same time, which
    /// has the clients or the rate of the step. `None` of all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accompanies: Option<u32>,
    /// When it began, seconds since the run started.
    pub start_s: f64,
    /// How long the load lasted without the drain, seconds.
    pub seconds: f64,
    /// False if it was cut short.
    pub complete: bool,
    /// Transactions per second; `None` if nothing was measured.
    pub throughput: Option<Estimate>,
    /// The longest time within the load in which no transaction ended well, whole seconds; 0 if there was none. It counts if 10
    /// transactions a second or more ended well in the 10 s before. `None` of a pass, and if no such 10 s are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_gap_s: Option<f64>,
    /// How long after the longest gap throughput was back, seconds: the first three seconds with 90% of the mean of the 10 s before
    /// the gap. `None` if that was not seen within the load, and if there was no gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_s: Option<f64>,
    /// Counts of the stage.
    pub totals: Totals,
    /// Sent to answered, what ended in the drain included (so also `response` and `lag`); `None` if nothing ended well.
    pub service: Option<Percentiles>,
    /// Scheduled to answered; `None` in a closed loop whose clients have a connection each.
    pub response: Option<Percentiles>,
    /// Scheduled to sent; `None` in a closed loop whose clients have a connection each.
    pub lag: Option<Percentiles>,
    /// How long clients waited for a connection, a part of `lag`; `None` if they share none.
    pub wait: Option<Percentiles>,
    /// The connections that the clients shared, without the drain; `None` if they shared none.
    pub pool: Option<event::Pool>,
    /// What host and database did during the load: means by key.
    pub resources: BTreeMap<String, f64>,
    /// The share of the host's processor time that neither the server nor dyno used, 0 to 1: other programs, and other
    /// machines of its hypervisor (steal). `None` if that is unknown, and if another target's load ran there.
    pub cpu_taken_share: Option<f64>,
    /// Whether `cpu_taken_share` and the keys of processors in `resources` were read over all holds or passes that repeat
    /// this stage, because it is too short for a reading of its own; left out if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub processors_by_repeats: bool,
    /// What a transaction cost the server; `None` if nothing of it is known.
    pub costs: Option<Costs>,
    /// One for each transaction type that occurred.
    pub by_type: Vec<TypeResult>,
    /// Statements by what they did; `None` if the workload does not say.
    pub queries: Option<QueryResult>,
    /// Failed and retried statements by SQLSTATE or MySQL's number, or `connection`; the drain included.
    pub errors: BTreeMap<String, u64>,
    /// Processor time of all load threads, microseconds per transaction.
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// The share of its time that the busiest load thread was on a processor, 0 to 1.
    pub driver_thread_busy_max: Option<f64>,
    /// Clients that gave up.
    pub clients_aborted: u32,
    /// Arrivals of an open load that were due before the end and never begun, not even in the drain.
    pub not_begun: u64,
    /// Arrivals of an open load that were skipped because they were later than the latency limit (`dyno pgbench -L`).
    pub skipped: u64,
    /// Seconds of which not all generators told: what they did is in the totals, and no rate is of them. Left out if 0.
    #[serde(skip_serializing_if = "crate::defaults::is_default")]
    pub incomplete_seconds: u32,
    /// Queries of a pass under way that have run for three seconds or more, the longest first; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<event::RunningQuery>,
}

/// Missing transactions of an open load from this share on are a sign, as in the finding `rate-not-met`.
pub const SHORTFALL: f64 = 0.02;

impl StageResult {
    /// Whether a rate was asked for, and as good as all of it ended.
    pub fn met_its_rate(&self) -> bool {
        let asked = self.stage.rate_per_s().zip(self.throughput);
        asked.is_some_and(|(rate_per_s, throughput)| throughput.mean >= rate_per_s * (1.0 - SHORTFALL))
    }

    /// What was read while its load ran, by its key in `resources`.
    pub fn reading(&self, key: &str) -> Option<f64> {
        self.resources.get(key).copied()
    }

    /// Of the time of all processors of the server's host, what was neither idle nor waiting for disks.
    pub fn busy_share(&self) -> Option<f64> {
        Some(1.0 - self.reading("cpu_idle_share")? - self.reading("cpu_iowait_share").unwrap_or(0.0))
    }

    /// Of the bytes that the disk under the server's data moved, those of the server: of its control group, else of its own
    /// processes. `None` where that was not read, or nothing was moved.
    pub fn server_disk_share(&self) -> Option<f64> {
        let moved = |whose: &str| {
            let read = |way: &str| self.reading(&format!("{whose}disk_{way}_bytes_per_s"));
            Some(read("read")? + read("write")?)
        };
        let all = moved("").filter(|all| *all > 0.0)?;
        // The kernel may count a page for its processes that it wrote earlier, or later.
        Some((moved("server_cgroup_").or_else(|| moved("server_"))? / all).min(1.0))
    }

    /// What a user would see: the response time in an open loop or over a pool, else the service time.
    pub fn latency(&self) -> Option<&Percentiles> {
        self.response.as_ref().or(self.service.as_ref())
    }
}

/// Counts of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Transactions that ended well within the load: throughput is computed from them.
    pub done: u64,
    /// Transactions that failed within the load.
    pub failed: u64,
    /// Transactions of unknown outcome that ended within the load.
    pub unknown: u64,
    /// Retries, the drain included.
    pub retries: u64,
    /// Statements answered, the drain included.
    pub statements: u64,
    /// Connections that were lost and opened again, the drain included.
    pub reconnects: u64,
    /// Time in which clients could not work because their connections were lost, summed over clients, the drain included;
    /// seconds.
    pub lost_s: f64,
    /// Transactions that ended well, those of the drain included: verification must find them.
    pub done_with_drain: u64,
    /// Transactions that failed, those of the drain included.
    pub failed_with_drain: u64,
    /// Transactions of unknown outcome, those of the drain included.
    pub unknown_with_drain: u64,
    /// Transactions that were cancelled on the server because a statement outlasted `--time-limit` or its stage, those of the
    /// drain included. They are in no other count and in no latency.
    #[serde(default)]
    pub cancelled: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.unknown += other.unknown;
        self.retries += other.retries;
        self.statements += other.statements;
        self.reconnects += other.reconnects;
        self.lost_s += other.lost_s;
        self.done_with_drain += other.done_with_drain;
        self.failed_with_drain += other.failed_with_drain;
        self.unknown_with_drain += other.unknown_with_drain;
        self.cancelled += other.cancelled;
    }

    /// Failed for good or of unknown outcome, those of the drain included.
    pub fn bad_with_drain(&self) -> u64 {
        self.failed_with_drain + self.unknown_with_drain
    }

    /// Ended in any way, those of the drain included.
    pub(crate) fn ended_with_drain(&self) -> u64 {
        self.done_with_drain + self.bad_with_drain()
    }
}

/// What one transaction that ended well cost the server; `null` if it was not read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// Processor time of the server's own processes, microseconds.
    pub server_cpu_us: Option<f64>,
    /// Processor time of everything on the server's host, microseconds; `None` if the driver runs or may run there too, and
    /// if another target's load ran there.
    pub host_cpu_us: Option<f64>,
    /// Bytes read from the disk.
    pub disk_read_bytes: Option<f64>,
    /// Bytes written to the disk.
    pub disk_write_bytes: Option<f64>,
    /// Reads of the disk.
    pub disk_read_operations: Option<f64>,
    /// Writes of the disk.
    pub disk_write_operations: Option<f64>,
    /// Whose bytes these are: `cgroup` (of the server's control group), `server` (of its own processes), `disk` (of the whole
    /// device; not if another target's load ran there). The first of these that was read counts; not `server` if its
    /// processes seem to have written more than the whole device, as on kernels with large folios in their page cache.
    pub disk_source: Option<String>,
    /// Whose operations these are: `cgroup` or `disk`; the kernel does not count them by process.
    pub disk_operations_source: Option<String>,
    /// Bytes of write-ahead or redo log.
    pub wal_bytes: Option<f64>,
    /// Bytes that the server's host received; `None` as `host_cpu_us`.
    pub network_receive_bytes: Option<f64>,
    /// Bytes that the server's host sent; `None` as `host_cpu_us`.
    pub network_transmit_bytes: Option<f64>,
}

/// Statements of a stage by what they did, of what was answered within the load. Counted as by sysbench.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct QueryResult {
    /// Statements that returned rows.
    pub reads: u64,
    /// Statements that changed at least one row.
    pub writes: u64,
    /// All other statements: `BEGIN`, `COMMIT`, and writes in vain.
    pub other: u64,
    /// Writes that touched no row; a part of `other`.
    pub writes_in_vain: u64,
    /// All statements for each second of load.
    pub per_s: f64,
    /// `reads` for each second of load.
    pub reads_per_s: f64,
    /// `writes` for each second of load.
    pub writes_per_s: f64,
    /// `other` for each second of load.
    pub other_per_s: f64,
    /// Writes in vain among all writes, 0 to 1; `None` if there were no writes.
    pub in_vain_share: Option<f64>,
}

/// One transaction type of a stage.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TypeResult {
    /// The name of the transaction type.
    pub name: String,
    /// Transactions that ended well within the load.
    pub done: u64,
    /// Transactions that failed within the load.
    pub failed: u64,
    /// Transactions that failed, those of the drain included.
    pub failed_with_drain: u64,
    /// Retries, the drain included.
    pub retries: u64,
    /// As that of the stage.
    pub service: Option<Percentiles>,
    /// As that of the stage.
    pub response: Option<Percentiles>,
    /// Sent to the first row of the answer, of a query of a set. `None` if none of those that ended well returned any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_row: Option<Percentiles>,
}

/// A latency of the transactions that ended well, from merged histograms of three significant digits; microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// How many values there are.
    pub count: u64,
    /// Mean, microseconds.
    pub mean_us: f64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 90th percentile, microseconds.
    pub p90_us: f64,
    /// 95th percentile, microseconds.
    pub p95_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// 99.9th percentile, microseconds.
    pub p999_us: f64,
    /// Maximum, microseconds.
    pub max_us: f64,
}

impl Percentiles {
    /// `None` where nothing was recorded.
    pub fn of(latency: &Latency) -> Option<Self> {
        Some(Self {
            count: latency.count(),
            mean_us: latency.mean_ns()? / 1e3,
            p50_us: latency.percentile_us(50.0)?,
            p90_us: latency.percentile_us(90.0)?,
            p95_us: latency.percentile_us(95.0)?,
            p99_us: latency.percentile_us(99.0)?,
            p999_us: latency.percentile_us(99.9)?,
            max_us: latency.max_ns()? as f64 / 1e3,
        })
    }
}
