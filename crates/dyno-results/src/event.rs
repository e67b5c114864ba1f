//! The events of a run: the one stream that the engine and the probes write and everything else reads.
//!
//! A run is stored as this stream, appended as it happens, and a report is a fold over it. The types here are
//! therefore the file format: a field is added as an `Option` or with a default, and never changes its meaning
//! or its unit. What is unknown stays `None`; nothing is filled in by default.

mod data;
mod load;
mod server;
mod stage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de};

pub use self::data::{Check, Data, PrepareStep, SettingsSet, Table};
pub use self::load::{EarlierTime, Interval, Pool, QueriesRunning, QueryFailure, RunningQuery, Sample};
pub use self::server::{
    Embedded, Host, LogSyncs, ServerChange, ServerChanged, Setting, SettingFacts, Settings, Target,
};
pub use self::stage::{Arrival, Figure, OwnCount, Per, ResponseLimit, Stage, StageFinished, StageKey};
pub use crate::answer::{Answer, QueryAnswer};
pub use crate::finding::{Code, Fact, FactUnit, FactValue, Facts, Finding, Severity, Subject};
pub use crate::measure::{Queries, TypeInterval};
use crate::plan::Plan;
use crate::spec::RunSpec;
pub use crate::spec::{Distribution, HookTime, StageKind};

/// An event with its place in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// 0, 1, 2, … without gaps within a run.
    pub seq: u64,
    /// Milliseconds since the run started (monotonic clock).
    pub at_ms: u64,
    #[serde(flatten)]
    pub event: Event,
}

/// What can happen in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Started(Started),
    Target(Target),
    Host(Host),
    Settings(Settings),
    Data(Data),
    Prepare(PrepareStep),
    StageStarted(Stage),
    Interval(Interval),
    QueriesRunning(QueriesRunning),
    Sample(Sample),
    StageFinished(StageFinished),
    Check(Check),
    Answer(Answer),
    QueryFailure(QueryFailure),
    Plan(Plan),
    Hook(Hook),
    TargetLost(TargetLost),
    NotDone(NotDone),
    ServerChanged(ServerChanged),
    LogSyncs(LogSyncs),
    Finding(Finding),
    Notice(Notice),
    Finished(Finished),
}

/// No run lasts longer, milliseconds: ten years. A later time is no time, and would make a report of one that is nearly
/// all empty.
const TIME_MS_MAX: f64 = 10.0 * 365.0 * 86_400_000.0;

impl Stamped {
    /// An event as it is stored: of this `kind`, with a `body` that says so too.
    ///
    /// # Errors
    /// The body is no event, or it holds a time that no run has.
    pub fn read(seq: u64, at_ms: u64, kind: &str, body: &str) -> serde_json::Result<Self> {
        // Nearly all are of these two kinds. To find out from the body takes longer than all else that is read in it.
        let event = match kind {
            "interval" => Event::Interval(serde_json::from_str(body)?),
            "sample" => Event::Sample(serde_json::from_str(body)?),
            _ => serde_json::from_str(body)?,
        };
        let times_ms = match &event {
            Event::Interval(interval) => [interval.start_ns, interval.duration_ns].map(|ns| ns as f64 / 1e6),
            Event::StageFinished(finished) => [finished.seconds * 1000.0, finished.drain_s * 1000.0],
            _ => [0.0; 2],
        };
        if let Some(ms) = times_ms.into_iter().chain([at_ms as f64]).find(|ms| ms.abs() > TIME_MS_MAX) {
            let told = format!("a time of {:.0} years, longer than any run", ms / TIME_MS_MAX * 10.0);
            return Err(de::Error::custom(told));
        }
        Ok(Self { seq, at_ms, event })
    }
}

impl Event {
    /// The event's name as it is written: `stage-started`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Target(_) => "target",
            Self::Host(_) => "host",
            Self::Settings(_) => "settings",
            Self::Data(_) => "data",
            Self::Prepare(_) => "prepare",
            Self::StageStarted(_) => "stage-started",
            Self::Interval(_) => "interval",
            Self::QueriesRunning(_) => "queries-running",
            Self::Sample(_) => "sample",
            Self::StageFinished(_) => "stage-finished",
            Self::Check(_) => "check",
            Self::Answer(_) => "answer",
            Self::QueryFailure(_) => "query-failure",
            Self::Plan(_) => "plan",
            Self::Hook(_) => "hook",
            Self::TargetLost(_) => "target-lost",
            Self::NotDone(_) => "not-done",
            Self::ServerChanged(_) => "server-changed",
            Self::LogSyncs(_) => "log-syncs",
            Self::Finding(_) => "finding",
            Self::Notice(_) => "notice",
            Self::Finished(_) => "finished",
        }
    }
}

/// The first event of every run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The run's name, unique in its store: `2026-11-20-1`.
    pub run: String,
    pub dyno_version: String,
    /// Wall-clock time, RFC 3339 with offset.
    pub started_at: String,
    /// The command line as typed, passwords removed.
    pub command: Vec<String>,
    /// What was asked for, passwords removed.
    pub spec: RunSpec,
    /// The same with every default that does not depend on the target.
    pub resolved: RunSpec,
    /// Seed of every random stream of the run.
    pub seed: u64,
}

/// Something that was done before or after a load: a command, SQL, or a cold start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// The name of the system.
    pub target: String,
    /// The series or kind of stage that it belongs to, as the user named it: `join`, `hold`.
    pub about: String,
    /// The phase that it belongs to, from 0; `None` before and after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// On which side of the load.
    pub when: HookTime,
    /// The command or SQL, passwords removed; `cold` if caches were dropped.
    pub action: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// False if it failed; the run then ends.
    pub succeeded: bool,
    /// The last lines of its output, or what could not be done.
    pub said: Option<String>,
    /// What a cold start came to; `None` of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
}

/// What was dropped of the caches on a target before a load, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cold {
    /// What was dropped: `the server's own cache (restarted)`.
    pub dropped: Vec<String>,
    /// What was not dropped, with the reason: `the system's cache of files: the server is on another host`.
    pub kept: Vec<String>,
}

/// A target that was given up, while the others go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetLost {
    /// The name of the system.
    pub target: String,
    /// Id of the stage that ran there; `None` if there was none.
    pub stage: Option<u32>,
    /// What failed, and what the server said.
    pub reason: String,
}

/// What a variant cannot do, and therefore does not. The run goes on without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotDone {
    /// The name of the system.
    pub target: String,
    /// A step of the preparation (`tables`, `keys`), or a series (`tpcb`).
    pub what: String,
    /// Whether it is a series; left out if false.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub series: bool,
    /// What the server said.
    pub said: String,
}

/// Something that a reader should know and that is no measurement: the text of an error, a ladder that was cut, ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// The name of the system; `None` if it is about the run.
    pub target: Option<String>,
    /// Id of the stage; `None` if it is about none.
    pub stage: Option<u32>,
    /// The remark.
    pub text: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Complete,
    /// Ended early: what was measured is kept.
    #[default]
    Incomplete,
}

/// The last event of a run that was not killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub outcome: Outcome,
    /// Why it ended early.
    pub reason: Option<String>,
    /// Targets were lost, and the others did all that was asked for.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub targets_lost: bool,
    pub seconds: f64,
}
