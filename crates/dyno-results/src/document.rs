//! The report of a run as a document: what `--json` prints, what the page draws and what the terminal tabulates.
//!
//! It is a fold over the events and holds no opinion of its own. Its JSON form is versioned by [`SCHEMA`] and
//! described in `docs/json.md`; within a version fields are only added. Unknown is `null`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::latency::Latency;
pub use crate::passes::{AnswerCounts, Passes, QueryTimes};
use crate::plan::{Plan, mark_rows_off};
pub use crate::quote::Quote;
use crate::spec::{RunSpec, StreamSpec, Time};
pub use crate::speed_up::{QueryRatio, SpeedUp};
pub use crate::timeline::{LoadColumns, Metric, PoolLoad, Timeline};
pub use crate::variants::{Cell, Row, Unit, Variants};
use crate::{event, words};

/// Name and version of the document's JSON form.
pub const SCHEMA: &str = "dyno.report/1";
/// Reason given for a run that has no last event.
pub const NOT_FINISHED: &str = "it was killed or is still going";

/// The whole report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    pub run: Run,
    pub targets: Vec<event::Target>,
    pub hosts: Vec<event::Host>,
    pub settings: Vec<event::Settings>,
    /// The data as they were last, of each target and workload.
    pub data: Vec<event::Data>,
    /// The same as the first load found them.
    pub found: Vec<event::Data>,
    pub prepare: Vec<event::PrepareStep>,
    pub series: Vec<Series>,
    pub stages: Vec<StageResult>,
    pub timelines: Vec<Timeline<'static>>,
    /// What the data takes on disk, one for each target and workload whose rows are known.
    pub sizes: Vec<Size>,
    pub checks: Vec<event::Check>,
    /// What queries returned; what the passes of a series say of it is written.
    #[serde(skip)]
    pub answers: Vec<event::Answer>,
    /// Why queries did not end well; what the passes of a series say of it is written.
    #[serde(skip)]
    pub query_failures: Vec<event::QueryFailure>,
    /// How queries were run, in the order in which that was asked; a plan of before the passes only where that of after them
    /// has another shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<ShownPlan>,
    pub hooks: Vec<HookRun>,
    /// Targets that were given up in mid-run.
    pub lost: Vec<Lost>,
    /// What variants could not do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_done: Vec<event::NotDone>,
    /// The data as each series has left them.
    #[serde(skip)]
    pub data_after: Vec<event::Data>,
    /// What the systems of one target came to, side by side; `None` where each target has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Variants>,
    /// Servers that were others behind the load, or behind a hook between stages, than before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_changes: Vec<event::ServerChanged>,
    /// What servers counted; the findings of durability say what follows.
    #[serde(skip)]
    pub log_syncs: Vec<event::LogSyncs>,
    pub findings: Vec<event::Finding>,
    /// What to quote of each series, in their order.
    pub quotes: Vec<Quote>,
    pub notices: Vec<event::Notice>,
}

impl Report {
    /// Of a run before its first event. It stays incomplete until the run says how it has ended.
    #[must_use]
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
                let Run { seconds, outcome, reason, .. } = std::mem::take(&mut self.run);
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

    /// The report with these findings, and with what is then to be quoted.
    #[must_use]
    pub fn judged(self, findings: Vec<event::Finding>) -> Self {
        let report = Self { findings, ..self };
        Self { quotes: crate::quote::of(&report), ..report }
    }

    #[must_use]
    pub fn target(&self, name: &str) -> Option<&event::Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// The server that a system is on; `None` where it was not described.
    #[must_use]
    pub fn server(&self, system: &str) -> Option<&str> {
        self.target(system).map(|target| target.server.as_str())
    }

    /// Whether a finding bears on a system: it is of the system itself, of its server, or of the run.
    #[must_use]
    pub fn bears_on(&self, subject: &event::Subject, system: &str) -> bool {
        subject.system.as_deref().is_none_or(|name| name == system)
            && subject.server.as_deref().is_none_or(|name| Some(name) == self.server(system))
    }

    /// Findings that weigh on a series: its own, and those of its system or of the run.
    pub fn findings_of<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a event::Finding> {
        self.findings.iter().filter(|finding| {
            let of_series = finding.subject.series.as_ref();
            self.bears_on(&finding.subject, &series.target)
                && of_series.is_none_or(|name| *name == series.name)
        })
    }

    /// The series of which a finding says that their figures must not be used.
    pub fn invalid_series(&self) -> impl Iterator<Item = &Series> {
        let is_invalid = |finding: &event::Finding| finding.severity == event::Severity::Invalid;
        self.series.iter().filter(move |series| self.findings_of(series).any(is_invalid))
    }

    /// `1 of 10 series (oltp_delete)`; `None` where all are invalid, or none is.
    #[must_use]
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
    #[must_use]
    pub fn has_statements_of_the_user(&self, series: &Series) -> bool {
        let streams = self.run.resolved.phases.iter().flat_map(|phase| &phase.streams);
        streams.filter(|stream| stream.workload.as_ref() == Some(&series.workload)).any(StreamSpec::has_texts)
    }

    /// The machine of this role: `driver`, or the name of the target whose server runs on it.
    #[must_use]
    pub fn host(&self, role: &str) -> Option<&event::Host> {
        self.hosts.iter().find(|host| host.roles.iter().any(|of| of == role))
    }

    /// The machine of a target's server: also the driver's, where they share it.
    #[must_use]
    pub fn server_host(&self, target: &str) -> Option<&event::Host> {
        let shared = self.target(target).is_some_and(|target| target.same_host == Some(true));
        self.host(target).or_else(|| self.host("driver").filter(|_| shared))
    }

    /// The plan of a query of a series, taken before the passes or after them, by executing it or not.
    #[must_use]
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
    #[must_use]
    pub fn scale(&self, target: &str, workload: &str) -> Option<f64> {
        let family = workload.split('/').next()?;
        self.data.iter().find(|data| data.target == target && data.workload == family)?.scale
    }

    /// How long a statement of a stage may take before it is cancelled, as its stream says it.
    #[must_use]
    pub fn time_limit(&self, key: &event::StageKey) -> Option<Time> {
        let stream = |spec: &RunSpec| {
            let phase = spec.phases.get(key.phase as usize)?;
            phase.streams.get(key.stream as usize)?.time_limit
        };
        stream(&self.run.resolved).or_else(|| stream(&self.run.spec))
    }

    #[must_use]
    pub fn stage(&self, id: u32) -> Option<&StageResult> {
        self.stages.iter().find(|result| result.stage.id == id)
    }
}

/// A plan as a report has it.
#[derive(Debug, Clone, Serialize)]
pub struct ShownPlan {
    /// A digest of its steps, what they are on and their order; `None` where there is no plan.
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
#[derive(Debug, Clone, Default, Serialize)]
pub struct Run {
    pub name: String,
    pub dyno_version: String,
    /// RFC 3339.
    pub started_at: String,
    pub command: Vec<String>,
    pub spec: RunSpec,
    /// The same with every default that does not depend on the target.
    pub resolved: RunSpec,
    pub seed: u64,
    /// From the first event to the last that is stored.
    pub seconds: f64,
    /// `complete`; `incomplete` where it was stopped, or killed before it could say so.
    pub outcome: event::Outcome,
    /// Why it is incomplete.
    pub reason: Option<String>,
}

impl Run {
    /// As it is when the run ends like this.
    pub(crate) fn end(&mut self, finished: &event::Finished) {
        self.outcome = finished.outcome;
        self.reason.clone_from(&finished.reason);
    }

    /// The command as it can be pasted into a shell.
    #[must_use]
    pub fn command_line(&self) -> String {
        words::command_line(&self.command)
    }
}

/// The stages of one workload on one target that belong together: a ladder with its peak, and a hold.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    pub target: String,
    /// `read`, `write`, …
    pub name: String,
    /// As its stages' keys have it.
    pub phase: u32,
    pub stream: u32,
    pub workload: String,
    /// Ids of the ladder's stages, by clients and then by rate, ascending.
    pub ladder: Vec<u32>,
    /// Ids of holds and ramps, in the order they ran.
    pub holds: Vec<u32>,
    /// The figures that stand for the series; `None` where nothing was measured.
    pub headline: Option<Headline>,
    /// `None` where no ladder was run.
    pub peak: Option<Peak>,
    /// Where the ladder was saturated; `None` where it was not, or has too few rungs to say.
    pub saturation: Option<Saturation>,
    /// `None` where its stages are no passes over queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
}

/// What stands for a series: its hold, or the median of several that repeat each other, or the rung of its peak.
#[derive(Debug, Clone, Serialize)]
pub struct Headline {
    /// Ids of the stages that it is of, in the order they ran.
    pub stages: Vec<u32>,
    /// The one of them whose throughput is nearest to the headline's.
    pub stage: u32,
    /// Of several stages their median, with the interval over them; of the best of several rungs without one.
    pub throughput: Estimate,
    /// Response time in an open loop or over a pool, else service time; of several stages the median of each figure.
    pub latency: Option<Percentiles>,
    /// As [`StageResult::cpu_taken_share`], of several stages the most.
    pub cpu_taken_share: Option<f64>,
}

/// The rung of a ladder at which a target was saturated, and what was at its limit there.
#[derive(Debug, Clone, Serialize)]
pub struct Saturation {
    /// The first rung from which on more load brought no more throughput.
    pub stage: u32,
    /// The last rung that was still good; `None` where the first was not.
    pub last_good: Option<u32>,
    pub clients: u32,
    /// The rate asked for, of an open load.
    pub rate_per_s: Option<f64>,
    pub sign: SaturationSign,
    pub throughput_per_s: f64,
    /// Of the response time in an open loop or over a pool, else of the service time.
    pub p99_us: Option<f64>,
    /// One sentence with the figures that decided it.
    pub evidence: String,
    /// What was at its limit, the fullest first; behind them a pool's connections, since they fill up behind whatever is
    /// slow, and last what was so at the lowest step already.
    /// Empty where nothing that was read was at its limit, and where others took what was missing.
    pub limits: Vec<Limit>,
    /// Resources of the machine that were at their limit because others than the server and dyno took them: a cause that says
    /// nothing of what the server can do. Unless transactions failed, nothing else is then named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_by_others: Vec<Limit>,
}

/// By what a saturation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaturationSign {
    /// Throughput no longer rises while latency does.
    ThroughputFlat,
    /// Transactions begin to fail.
    Errors,
    /// Arrivals of an open load are no longer kept up with.
    RateNotMet,
}

/// A resource at or near its bound while a stage ran.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// `cpu`, `cpu-quota`, `disk`, `memory`, `locks`, `log`, `connections`, `driver`.
    pub resource: String,
    /// How full it was, 0 to 1.
    pub share: f64,
    /// One sentence with figures.
    pub evidence: String,
}

/// What a workload's tables take on disk at the run's end, or before its stages where that is not known.
#[derive(Debug, Clone, Serialize)]
pub struct Size {
    pub target: String,
    pub workload: String,
    /// Of all its tables.
    pub rows: u64,
    /// Whether they were counted, and are not the server's estimate.
    pub rows_counted: bool,
    /// Tables and indexes.
    pub bytes: u64,
    pub bytes_per_row: f64,
}

/// [`event::Hook`] with its time.
#[derive(Debug, Clone, Serialize)]
pub struct HookRun {
    /// When it ended, seconds since the run started.
    pub at_s: f64,
    #[serde(flatten)]
    pub hook: event::Hook,
}

/// [`event::TargetLost`] with its time.
#[derive(Debug, Clone, Serialize)]
pub struct Lost {
    /// Seconds since the run started.
    pub at_s: f64,
    #[serde(flatten)]
    pub lost: event::TargetLost,
}

/// The highest throughput of a ladder.
#[derive(Debug, Clone, Serialize)]
pub struct Peak {
    /// Stage where it was reached.
    pub stage: u32,
    pub clients: u32,
    /// Of a search without an interval: the rung's own would be that of a rung that was not chosen for being the highest.
    pub throughput: Estimate,
    /// Client counts whose throughput cannot be told from the peak's (their intervals overlap), ascending, the
    /// peak itself included.
    pub clients_indistinguishable: Vec<u32>,
    /// The same without the peak, in words: `1–4, 16`, where a range stands for neighbours on the ladder. `None` where
    /// there are no others.
    pub indistinguishable_from: Option<String>,
    /// True where a higher client count was tried and was clearly slower, or throughput had stopped rising:
    /// otherwise the peak may lie beyond the ladder, or at a client count whose throughput is not known to within a factor of two.
    pub passed: bool,
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

/// A mean with the interval that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Half-width of the 95 % interval, in the unit of `mean`; `None` where there are too few intervals to say.
    pub half_width: Option<f64>,
    /// Intervals that it rests on.
    pub samples: u32,
    /// Effective number of independent samples, after autocorrelation.
    pub effective_samples: Option<f64>,
}

/// Above this half-width, as a share of the mean, a figure is not known to within a factor of two.
const HALF_WIDTH_KNOWN_MAX: f64 = 0.5;

impl Estimate {
    /// Without an interval: of the best of several, which is a little too high, and the interval of one says nothing of that.
    pub(crate) fn without_interval(self) -> Self {
        Self { half_width: None, effective_samples: None, ..self }
    }

    /// False where its interval says that it may be half as much, or less. Without an interval nothing says so.
    pub(crate) fn is_known_within_two(&self) -> bool {
        self.half_width.is_none_or(|half_width| is_known_within_two(self.mean, half_width))
    }
}

/// False where a figure's interval says that it may be half as much, or less. Nothing at all is known to be nothing.
pub(crate) fn is_known_within_two(figure: f64, half_width: f64) -> bool {
    figure == 0.0 || half_width <= HALF_WIDTH_KNOWN_MAX * figure
}

/// What came out of a stage.
#[derive(Debug, Clone, Serialize)]
pub struct StageResult {
    #[serde(flatten)]
    pub stage: event::Stage,
    /// Of a load that stayed the same beside another stream's ladder: that stream's stage at the same time, whose clients or
    /// rate are those of the step. `None` where it has a course of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accompanies: Option<u32>,
    /// Since the run started, seconds.
    pub start_s: f64,
    /// Duration of the load, without the drain, seconds.
    pub seconds: f64,
    /// False where it was cut short.
    pub complete: bool,
    /// Transactions per second; `None` where nothing was measured.
    pub throughput: Option<Estimate>,
    pub totals: Totals,
    /// Sent to answered, of all that began in the stage, as the other two; `None` where nothing ended well.
    pub service: Option<Percentiles>,
    /// Scheduled to answered; `None` in a closed loop whose clients have a connection each.
    pub response: Option<Percentiles>,
    /// Scheduled to sent; `None` in a closed loop whose clients have a connection each.
    pub lag: Option<Percentiles>,
    /// What clients waited for a connection, a part of `lag`; `None` where they share none.
    pub wait: Option<Percentiles>,
    /// The connections that the clients shared, without the drain; `None` where they shared none.
    pub pool: Option<event::Pool>,
    /// What the server's host and the database did while the load ran: the mean of each [`Metric`] by its key, to five
    /// significant digits. What was read of the driver's own host alone begins with `driver.`, but for keys that begin
    /// with `driver_` by themselves; where host and database have the same key, the database's begins with `database.`.
    /// `checkpoints` are those that began in the stage. Sizes of single tables are left out. What was not read is not
    /// there.
    pub resources: BTreeMap<String, f64>,
    /// Of the processor time of the server's host while the load ran, what neither the server nor dyno used: other programs,
    /// and other machines of its hypervisor (steal), 0 to 1. `None` where it cannot be told, and where another target's load
    /// ran on the host.
    pub cpu_taken_share: Option<f64>,
    /// Whether `cpu_taken_share` and what `resources` has of processors were read over all stages that repeat this one, which is
    /// too short to have a reading of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub processors_by_repeats: bool,
    /// What a transaction cost the server; `None` where nothing of it is known.
    pub costs: Option<Costs>,
    /// One for each transaction type that occurred. Not `types`: those are the flattened stage's names.
    pub by_type: Vec<TypeResult>,
    /// Statements by what they did; `None` where the workload does not tell.
    pub queries: Option<QueryResult>,
    /// By SQLSTATE or MySQL's number, or `connection`; those of the drain included.
    pub errors: BTreeMap<String, u64>,
    /// CPU of the driver's threads, microseconds per transaction.
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// Share of its time that the busiest driver thread was on a processor, 0 to 1.
    pub driver_thread_busy_max: Option<f64>,
    pub clients_aborted: u32,
    pub not_begun: u64,
    /// Arrivals of an open load that were skipped because they were later than the plan allows.
    pub skipped: u64,
    /// Seconds of which not all generators have told: what they did is in the totals, and no rate is of them.
    #[serde(skip_serializing_if = "event::is_zero")]
    pub incomplete_seconds: u32,
    /// Queries of a pass under way that have run for some seconds; empty once the stage has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<event::RunningQuery>,
}

/// Missing transactions of an open load from this share on are a sign, as in the finding `rate-not-met`.
pub const SHORTFALL: f64 = 0.02;

impl StageResult {
    /// Whether a rate was asked for, and as good as all of it ended.
    #[must_use]
    pub fn met_its_rate(&self) -> bool {
        let asked = self.stage.rate_per_s().zip(self.throughput);
        asked.is_some_and(|(rate_per_s, throughput)| throughput.mean >= rate_per_s * (1.0 - SHORTFALL))
    }

    /// What was read while its load ran, by its key in `resources`.
    #[must_use]
    pub fn reading(&self, key: &str) -> Option<f64> {
        self.resources.get(key).copied()
    }

    /// Of the time of all processors of the server's host, what was neither idle nor waiting for disks.
    #[must_use]
    pub fn busy_share(&self) -> Option<f64> {
        Some(1.0 - self.reading("cpu_idle_share")? - self.reading("cpu_iowait_share").unwrap_or(0.0))
    }

    /// Of the bytes that the disk under the server's data moved, those of the server: of its control group, else of its own
    /// processes. `None` where that was not read, or nothing was moved.
    #[must_use]
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
    #[must_use]
    pub fn latency(&self) -> Option<&Percentiles> {
        self.response.as_ref().or(self.service.as_ref())
    }
}

/// Counts of a stage. Outcomes come twice: of what ended within the load, which is what throughput rests on, and
/// `_with_drain`, of everything that the stage began. All others include the drain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub done: u64,
    pub failed: u64,
    pub unknown: u64,
    /// Further tries, those of the drain included.
    pub retries: u64,
    /// Statements answered, those of the drain included.
    pub statements: u64,
    /// Connections that were lost and opened again, those of the drain included.
    pub reconnects: u64,
    /// Time that clients could not work because their connections were lost, summed over clients, the drain
    /// included; seconds.
    pub lost_s: f64,
    /// Transactions that ended well, those of the drain included: what verification must find.
    pub done_with_drain: u64,
    pub failed_with_drain: u64,
    pub unknown_with_drain: u64,
    /// Cancelled on the server because a statement outlasted its limit or its stage; those of the drain included.
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
    #[must_use]
    pub fn bad_with_drain(&self) -> u64 {
        self.failed_with_drain + self.unknown_with_drain
    }

    /// Ended in any way, those of the drain included.
    pub(crate) fn ended_with_drain(&self) -> u64 {
        self.done_with_drain + self.bad_with_drain()
    }
}

/// What one transaction that ended well cost the server; `None` where it was not read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Of the server's own processes.
    pub server_cpu_us: Option<f64>,
    /// Of everything on the server's host: processors that were not idle. `None` where the driver runs there as well, or
    /// another target's load.
    pub host_cpu_us: Option<f64>,
    pub disk_read_bytes: Option<f64>,
    pub disk_write_bytes: Option<f64>,
    pub disk_read_operations: Option<f64>,
    pub disk_write_operations: Option<f64>,
    /// Whose bytes these are: `server` (its own processes), `cgroup` (its own), or `disk` (all of the device's).
    pub disk_source: Option<String>,
    /// Whose operations: `cgroup` or `disk`; the kernel does not count them by process.
    pub disk_operations_source: Option<String>,
    /// Write-ahead or redo log.
    pub wal_bytes: Option<f64>,
    /// Of the server's host. `None` where the driver runs there as well (what they say to each other is not counted), or
    /// another target's load.
    pub network_receive_bytes: Option<f64>,
    pub network_transmit_bytes: Option<f64>,
}

/// Statements of a stage by what they did, of what was answered within the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QueryResult {
    /// Those that returned rows.
    pub reads: u64,
    /// Those that changed at least one row.
    pub writes: u64,
    /// All that is neither: `BEGIN`, `COMMIT`, and writes in vain.
    pub other: u64,
    /// Writes that touched no row; a part of `other`.
    pub writes_in_vain: u64,
    /// All of them, each second.
    pub per_s: f64,
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub other_per_s: f64,
    /// Writes in vain among all writes, 0 to 1; `None` where nothing was to be written.
    pub in_vain_share: Option<f64>,
}

/// One transaction type of a stage.
#[derive(Debug, Clone, Serialize)]
pub struct TypeResult {
    pub name: String,
    /// Ended well within the load.
    pub done: u64,
    /// Failed within the load.
    pub failed: u64,
    pub failed_with_drain: u64,
    /// Those of the drain included.
    pub retries: u64,
    pub service: Option<Percentiles>,
    pub response: Option<Percentiles>,
}

/// A latency distribution in figures, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    pub count: u64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

impl Percentiles {
    /// `None` where nothing was recorded.
    #[must_use]
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
