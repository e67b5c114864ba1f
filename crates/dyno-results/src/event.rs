//! The events of a run: the one stream that the engine and the probes write and everything else reads.
//!
//! A run is stored as this stream, appended as it happens, and a report is a fold over it. The types here are
//! therefore the file format: a field is added as an `Option` or with a default, and never changes its meaning
//! or its unit. What is unknown stays `None`; nothing is filled in by default.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer, de};

use schemars::JsonSchema;

pub use crate::answer::{Answer, QueryAnswer};
pub use crate::finding::{Code, Fact, FactUnit, FactValue, Facts, Finding, Severity, Subject};
use crate::latency::{self, Latency};
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
    #[must_use]
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

/// A system under test, and the server that it is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The name of the system, which is what is compared: `pg`, or `my` for a server that speaks MySQL's protocol, the name
    /// that the user gave, or that of a variant; unique in the run. `target` everywhere else is this name.
    pub name: String,
    /// The target's name in the specification, the same for all systems on it.
    pub server: String,
    /// The URL without any password.
    pub url: String,
    /// The product, `PostgreSQL`; `None` if it was not recognised.
    pub product: Option<String>,
    /// Its version, `15.18`.
    pub version: Option<String>,
    /// The server's own words, `PostgreSQL 15.18 (Debian …) on x86_64-pc-linux-gnu, …`.
    pub version_text: Option<String>,
    /// The version of TLS, `TLSv1.3`; `None` if the connection is not encrypted.
    pub tls: Option<String>,
    /// Whether server and driver share a host; `None` if that is unknown.
    pub same_host: Option<bool>,
    /// The server that dyno started for the run; `None` if it did not start this one.
    pub embedded: Option<Embedded>,
    /// How many connections the server allows this user in all.
    pub connections_max: Option<u32>,
    /// Where the readings of the server's host come from: `this host`, or a node_exporter's URL without any password. `None`
    /// if its host cannot be read: processors, memory and disks of it are then unknown.
    #[serde(default)]
    pub host_source: Option<String>,
    /// The isolation level with which sessions begin, `read committed`; `None` if the server does not say.
    #[serde(default)]
    pub isolation: Option<String>,
    /// The kind of disk under its data, as that of a host; `None` if it is unknown.
    #[serde(default)]
    pub disk_kind: Option<String>,
    /// Whether the database is a library in dyno's own process, as SQLite and DuckDB are: what the processors do for the one
    /// cannot be told from what they do for the other.
    #[serde(default)]
    pub in_process: bool,
}

impl Target {
    /// The kind of disk under its data; of runs of before, that of its host, which is the first target's there.
    #[must_use]
    pub fn disk_on<'a>(&'a self, host: &'a Host) -> Option<&'a str> {
        self.disk_kind.as_deref().or(host.disk_kind.as_deref())
    }

    /// `PostgreSQL 18.1`; `None` where the product was not recognised.
    #[must_use]
    pub fn product_with_version(&self) -> Option<String> {
        let version = self.version.iter().map(|version| format!(" {version}"));
        Some(self.product.iter().cloned().chain(version).collect()).filter(|_| self.product.is_some())
    }

    /// Whether both servers are known to be on one host: dyno's own, or that of one node_exporter.
    pub(crate) fn shares_host_with(&self, other: &Self) -> bool {
        let both_here = self.same_host == Some(true) && other.same_host == Some(true);
        both_here || (self.host_source.is_some() && self.host_source == other.host_source)
    }
}

/// A server that dyno started for the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Embedded {
    /// `default`, `production` or `extreme`.
    pub profile: String,
    /// Where the binaries came from: a directory, or the registry's artifact and version.
    pub source: String,
    /// Whether a crash can lose or corrupt what was acknowledged.
    pub unsafe_profile: bool,
}

/// A machine that takes part. What is unknown is `null`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// `driver`, and the names of the targets whose servers run on it.
    pub roles: Vec<String>,
    /// Its name.
    pub hostname: Option<String>,
    /// The model of its processors.
    pub cpu_model: Option<String>,
    /// Processors that the kernel shows.
    pub cpus: Option<u32>,
    /// Processors that this process may use, if that is fewer than the kernel shows: quota divided by period of the cgroup,
    /// or the affinity. `None` if there is no limit.
    pub cpus_limit: Option<f64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The limit of the cgroup, bytes; `None` if there is none.
    pub memory_limit_bytes: Option<u64>,
    /// The kind of disk under the data directory: `nvme`, `ssd`, `hdd`, `virtual`, `tmpfs`, ….
    pub disk_kind: Option<String>,
    /// The model of that disk.
    pub disk_model: Option<String>,
    /// The file system of the data directory, `ext4`.
    pub filesystem: Option<String>,
    /// The version of the kernel.
    pub kernel: Option<String>,
    /// The name and version of the operating system.
    pub os: Option<String>,
    /// `kvm`, `container`, …; `None` if it looks like bare metal or that is unknown.
    pub virtualization: Option<String>,
    /// The governor of the processors' frequency, `performance`.
    pub cpu_governor: Option<String>,
    /// The setting of transparent huge pages, `madvise`.
    pub transparent_hugepages: Option<String>,
}

/// The settings of a target: those that differ from the product's default, and all that affect durability, which come first.
/// Then come those that most often decide a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The name of the system.
    pub target: String,
    /// The settings.
    pub rows: Vec<Setting>,
    /// What the settings come to.
    #[serde(default)]
    pub facts: SettingFacts,
}

/// What the settings come to, in terms that hold for every product: findings judge by these and know no setting. Reasons are
/// in the product's own words, `fsync is off`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SettingFacts {
    /// Why a crash of the machine may corrupt the data, or lose any part of them.
    pub crash_corrupts: Vec<String>,
    /// Why a crash may lose the last acknowledged commits.
    pub crash_loses_last: Vec<String>,
    /// The settings by which neither happens; `None` if not all that decide are known.
    pub durable_by: Option<String>,
    /// What a reader wants beside that and what decides nothing: `wal_level replica`.
    pub durability_details: Vec<String>,
    /// What makes it durable: `set synchronous_commit = on`; `None` if it is, or nothing is known.
    pub durability_advice: Option<String>,
    /// Whether the log's file is opened to be written through, so that no sync of it is counted.
    pub log_written_through: bool,
    /// Whether what the server reads is not in the operating system's cache.
    pub bypasses_system_cache: bool,
    /// The setting that says after how long a checkpoint begins.
    pub checkpoint_setting: Option<String>,
}

/// One setting of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value as the server prints it, in `unit`.
    pub value: String,
    /// The unit of `value` and `default`; `None` if it has none.
    pub unit: Option<String>,
    /// The product's default; `None` if the server does not say.
    pub default: Option<String>,
    /// Where the value came from: `configuration file`, `command line`, `session`, ….
    pub source: Option<String>,
    /// Whether the value differs from the default.
    pub changed: bool,
    /// Whether the setting affects if an acknowledged commit survives a crash.
    pub durability: bool,
}

/// The data of a workload on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// The name of the system.
    pub target: String,
    /// The family of the workload, `tpcb`.
    pub workload: String,
    /// The scale; `None` if the workload has none, or it is unknown.
    pub scale: Option<f64>,
    /// The size of the whole database, bytes.
    pub database_bytes: Option<u64>,
    /// The server's own cache (`shared_buffers`, buffer pool), bytes.
    pub cache_bytes: Option<u64>,
    /// What other caches of the server may take, of which none holds all that is read: bytes by the name of the setting. Left
    /// out if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, u64>,
    /// The memory of the server's host, bytes.
    pub memory_bytes: Option<u64>,
    /// The tables of the workload.
    pub tables: Vec<Table>,
    /// What else stands on the server by which other tables may be changed (functions, views, triggers of the tables, names
    /// that a variable holds), if the tables are those whose names stand in a user's statements; `None` if the tables are the
    /// workload's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indirect: Option<Vec<String>>,
    /// What a user's statements set that affects durability; `None` if they set nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_set: Option<SettingsSet>,
    /// Keys and indexes that were made with the data and were dropped since, `index lineitem_fk1 of lineitem`; left out if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_indexes: Vec<String>,
    /// The series after which the data were read, in words; `None` if they were read before all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The phase of these series, from 0; `None` if the data were read before all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
}

impl Data {
    /// What all its tables take with their indexes, bytes; `None` where one is not known. The database may hold much else.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let bytes = self.tables.iter().map(Table::bytes).sum::<Option<u64>>()?;
        (!self.tables.is_empty()).then_some(bytes)
    }

    /// The memory of the server's host, bytes, where the operating system can be taken to cache all its tables in it.
    pub(crate) fn caching_memory(&self) -> Option<u64> {
        const SHARE_CACHES: f64 = 0.8;
        let tables = self.bytes()? as f64;
        self.memory_bytes.filter(|memory| tables <= SHARE_CACHES * *memory as f64)
    }

    /// Whether both tell of the data of one workload on one target.
    #[must_use]
    pub fn is_of_same(&self, other: &Self) -> bool {
        self.target == other.target && self.workload == other.workload
    }
}

/// What statements set that affects durability, as far as the server's own settings do not say the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SettingsSet {
    /// As in the facts of the settings; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crash_corrupts: Vec<String>,
    /// As in the facts of the settings; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crash_loses_last: Vec<String>,
    /// Settings whose new value the text does not say, or whose effect is unknown; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// A table of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: Option<u64>,
    /// Whether the rows were counted, and are not the server's estimate; left out if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_counted: bool,
    /// Its size without indexes, bytes.
    pub table_bytes: Option<u64>,
    /// The size of its indexes, bytes.
    pub index_bytes: Option<u64>,
    /// False if a crash empties the table (UNLOGGED); `None` if that is unknown.
    pub logged: Option<bool>,
    /// The first columns of its indexes, without the primary key; `None` if they are unknown.
    #[serde(default)]
    pub indexed: Option<Vec<String>>,
    /// Whether the planner has statistics of its rows; `None` if that is unknown, or if it has no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analyzed: Option<bool>,
}

impl Table {
    /// Its size with its indexes, bytes. Where one of the two is not known, neither is the sum.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        Some(self.table_bytes? + self.index_bytes?)
    }
}

/// A step of the preparation that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrepareStep {
    /// The name of the system.
    pub target: String,
    /// The family of the workload, `tpcb`.
    pub workload: String,
    /// `drop`, `tables`, `data`, `vacuum`, `keys`, ….
    pub step: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Rows that it wrote.
    pub rows: Option<u64>,
    /// Bytes that it sent.
    pub bytes: Option<u64>,
}

/// How transactions arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "arrival", rename_all = "kebab-case")]
pub enum Arrival {
    /// The next transaction starts when the last was answered, after the think time.
    Closed {
        /// Of a closed loop: from an answer to the next transaction, milliseconds.
        think_time_ms: f64,
    },
    /// Transactions are due at absolute times, whatever the server does.
    Open {
        /// Of an open load: transactions per second; at the beginning, if they are ramped.
        rate_per_s: f64,
        /// Of an open load: the distribution of the time between arrivals.
        distribution: Distribution,
    },
}

/// Where a stage has its place in the run. No two stages have the same key; those of two systems whose keys differ in nothing
/// else are counterparts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageKey {
    /// The name of the system.
    #[serde(rename = "target")]
    pub system: String,
    /// The position of the phase in the run, from 0; left out if 0.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub phase: u32,
    /// 0 for the warm-up and for a ladder or ramp in steps; 1, 2, … for what is repeated after them. Left out if 0.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub round: u32,
    /// The position within the round, from 0: of the warm-up and of each rung. Left out if 0.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub step: u32,
    /// The position of the stream in its phase, from 0; left out if 0.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub stream: u32,
}

impl StageKey {
    /// Whether the two are of one turn of their systems, be it of another stream.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        self.system == other.system && self.turn() == other.turn()
    }

    /// Whether they are of one stream, and of the same turn of another system.
    #[must_use]
    pub fn is_counterpart(&self, other: &Self) -> bool {
        self.system != other.system && self.stream == other.stream && self.turn() == other.turn()
    }

    fn turn(&self) -> (u32, u32, u32) {
        (self.phase, self.round, self.step)
    }
}

/// A stage that begins: clients are connected and prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Unique within the run, ascending.
    pub id: u32,
    #[serde(flatten)]
    pub key: StageKey,
    /// The name of the stream: the stages of one series make one curve and one hold.
    pub series: String,
    /// What the stage is for.
    pub kind: StageKind,
    /// The workload, `tpcb/select-only`.
    pub workload: String,
    /// What must stand beside the figures of the workload; `None` if nothing must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Clients; at the beginning, if they are ramped.
    pub clients: u32,
    /// Clients at the end; `None` if they are not ramped.
    pub clients_end: Option<u32>,
    /// Connections that the clients share; `None` if each has its own.
    #[serde(default)]
    pub connections: Option<u32>,
    /// Load threads.
    pub threads: u32,
    /// `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// How the load threads wait for their connections: `epoll` or `uring` (io_uring). `None` if a driver has the
    /// connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poller: Option<String>,
    #[serde(flatten)]
    pub arrival: Arrival,
    /// The rate at the end, transactions per second; `None` if it is not ramped.
    pub rate_end_per_s: Option<f64>,
    /// The planned duration, seconds; `None` if a count ends the stage.
    pub planned_s: Option<f64>,
    /// The planned number of transactions; `None` if time ends the stage.
    pub planned_transactions: Option<u64>,
    /// Each transaction changes one of so many rows, by the workload's design, so that more clients wait for each other;
    /// `None` if there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contended_rows: Option<u32>,
    /// Whether it is a pass of each client over all queries of the workload, each of which is a transaction type; left out if
    /// false.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub pass: bool,
    /// Whether each transaction is a query of a query set, in passes or not; left out if false.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub query_set: bool,
    /// Whether it is fixed work of one client, whatever load is asked for; left out if false.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub fixed: bool,
    /// Whether it is known of the statements that they change nothing; `None` if dyno does not know the statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_reads: Option<bool>,
    /// How many processes or machines produce the load; left out if 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub generators: u32,
    /// The names of the transaction types.
    pub types: Vec<String>,
}

impl Default for Stage {
    /// A hold of one client in a closed loop.
    fn default() -> Self {
        Self {
            id: 0,
            key: StageKey::default(),
            series: String::new(),
            kind: StageKind::Hold,
            workload: String::new(),
            caveat: None,
            clients: 1,
            clients_end: None,
            connections: None,
            threads: 1,
            protocol: "prepared".to_owned(),
            poller: None,
            arrival: Arrival::Closed { think_time_ms: 0.0 },
            rate_end_per_s: None,
            planned_s: None,
            planned_transactions: None,
            contended_rows: None,
            pass: false,
            query_set: false,
            fixed: false,
            only_reads: None,
            generators: 1,
            types: Vec::new(),
        }
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Stage {
    /// What one such stage is called: `hold`, of a ladder `rung`, and `pass` over a query set.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self.kind {
            StageKind::Hold if self.pass => "pass",
            kind => kind.stage_name(),
        }
    }

    /// What one of its transactions is called: `query` of a query set.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.pass || self.query_set { "query" } else { "transaction" }
    }

    /// Whether it is fixed work: how long it takes is the figure, and not its throughput. A pass is, and what is `fixed`.
    #[must_use]
    pub fn is_fixed_work(&self) -> bool {
        self.pass || self.fixed
    }

    /// Transactions per second that are asked for, of an open load: at its beginning, where they are ramped.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        match self.arrival {
            Arrival::Open { rate_per_s, .. } => Some(rate_per_s),
            Arrival::Closed { .. } => None,
        }
    }
}

/// What the load did in one interval (one second, the last one shorter), all threads together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The stage's id.
    pub stage: u32,
    /// 0, 1, 2, … within the stage.
    pub index: u32,
    /// The process or machine that produced the load; 0 is the one that writes the run. Each of a stage's
    /// [`Stage::generators`] has an interval of its own for each second of the stage.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub generator: u32,
    /// Nanoseconds since the stage started.
    pub start_ns: u64,
    pub duration_ns: u64,
    /// Clients that were active at the interval's end.
    pub clients: u32,
    pub types: Vec<TypeInterval>,
    /// CPU time of each driver thread in the interval, nanoseconds.
    pub driver_cpu_ns: Vec<u64>,
    pub reconnects: u64,
    /// Client time lost to broken connections, nanoseconds.
    pub lost_ns: u64,
    /// Arrivals of an open load that were due and not yet begun at the interval's end.
    pub backlog: u64,
    /// Arrivals that were skipped in the interval because they were later than the plan allows.
    #[serde(default)]
    pub skipped: u64,
    /// The connections that the clients share; `None` where each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Failed or retried statements by SQLSTATE (or `connection` for a lost one).
    pub errors: BTreeMap<String, u64>,
    /// True for transactions that ended after the stage's time was up, while it drained; they count for latency,
    /// errors and verification, and not for throughput.
    pub drain: bool,
}

impl Interval {
    /// Adds what another thread or generator did of a type. Types are in their order.
    pub fn add_type(&mut self, part: &TypeInterval) {
        let place = self.types.partition_point(|known| known.type_index < part.type_index);
        match self.types.get_mut(place).filter(|known| known.type_index == part.type_index) {
            Some(known) => known.add(part),
            None => self.types.insert(place, part.clone()),
        }
    }

    /// What users saw, of all types; `None` where nothing ended well.
    #[must_use]
    pub fn latency(&self) -> Option<Cow<'_, Latency>> {
        latency::sum(self.types.iter().map(TypeInterval::latency))
    }

    /// Adds what another generator did in the same second.
    pub(crate) fn add(&mut self, other: &Self) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.clients += other.clients;
        other.types.iter().for_each(|part| self.add_type(part));
        self.driver_cpu_ns.extend_from_slice(&other.driver_cpu_ns);
        self.reconnects += other.reconnects;
        self.lost_ns += other.lost_ns;
        self.backlog += other.backlog;
        self.skipped += other.skipped;
        if let Some(pool) = &other.pool {
            self.pool.get_or_insert_default().add(pool);
        }
        for (code, count) in &other.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
    }
}

/// The connections that clients share, over a second or a stage. Means are over time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// Connections that were open at the end of a second; of a stage the most.
    pub connections: u32,
    /// Connections that a client used, on average.
    pub in_use_mean: f64,
    /// Connections that a client used, the most at one moment. Of several threads or generators the sum of each one's most:
    /// an upper bound.
    pub in_use_max: u32,
    /// Clients that waited for a connection, on average.
    pub waiting_mean: f64,
    /// Clients that waited for a connection, the most at one moment; an upper bound as `in_use_max`.
    pub waiting_max: u32,
}

impl Pool {
    /// Adds the connections of another generator in the same second.
    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.in_use_mean += other.in_use_mean;
        self.in_use_max += other.in_use_max;
        self.waiting_mean += other.waiting_mean;
        self.waiting_max += other.waiting_max;
    }
}

/// Queries of a pass that have run for some seconds and go on, about once a second; empty once there are none any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueriesRunning {
    /// The stage's id.
    pub stage: u32,
    /// The longest first.
    pub queries: Vec<RunningQuery>,
}

/// A query that a client waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningQuery {
    /// Its name, `Q1`.
    pub query: String,
    /// Seconds since it was begun.
    pub seconds: f64,
    /// Of the rows that the server expects to read, the share that it has read about a second before, 0 to 1; only of the
    /// first query. `None` if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_share: Option<f64>,
    /// How long it took in the first pass of its series in an earlier run; `None` if no earlier run of the same load is
    /// stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierTime>,
}

/// How long a query took in an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierTime {
    /// Seconds.
    pub seconds: f64,
    /// The name of the run.
    pub run: String,
}

/// A reading of a host or a database, about one a second.
///
/// Keys are documented in `docs/telemetry.md`: the unit is the key's last word, and a key that ends in `_total`
/// is a counter of which only differences mean anything. A value that cannot be read is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// `host` or `database`
    pub source: String,
    /// Target that it was read of; `driver` for the driver's own host.
    pub target: String,
    #[serde(serialize_with = "finite_only")]
    pub values: BTreeMap<String, f64>,
}

/// JSON knows no NaN and no infinity: a reading that is neither is left out, as one that could not be made.
fn finite_only<S: Serializer>(values: &BTreeMap<String, f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().filter(|(_, value)| value.is_finite()))
}

/// A stage that ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StageFinished {
    pub stage: u32,
    /// Seconds of load, without the drain.
    pub seconds: f64,
    /// Seconds until the last transaction that was under way had ended.
    pub drain_s: f64,
    /// False where it was stopped before its plan was fulfilled.
    pub complete: bool,
    /// Clients that gave up because of an error.
    pub clients_aborted: u32,
    /// Arrivals of an open load that were due before the end and not begun within the drain's limit either.
    pub not_begun: u64,
    /// Whether the load threads had real-time priority, as an open load may ask for. `None` where it was not noted.
    #[serde(default)]
    pub realtime: Option<bool>,
}

/// A check of the data of a workload, or of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The name of the system.
    pub target: String,
    /// The workload.
    pub workload: String,
    /// The series whose queries' answers were checked; `None` for a check of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Its name, `history-holds-every-commit`.
    pub name: String,
    /// Whether it passed; `None` if it could not be made, and `detail` says why.
    pub passed: Option<bool>,
    /// What was expected.
    pub expected: Option<String>,
    /// What was found.
    pub found: Option<String>,
    /// One sentence for a reader.
    pub detail: String,
}

/// The first failure of a query of a query set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryFailure {
    pub target: String,
    /// [`Stage::series`]
    pub series: String,
    /// `Q1`
    pub query: String,
    /// What the server said, or after how long it was cancelled.
    pub said: String,
    /// It was cancelled at the time limit.
    pub over_limit: bool,
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

/// What had changed on a server after the load, or after a hook between two stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerChanged {
    /// The name of the system.
    pub target: String,
    /// Whether it has started since, though dyno did not have that done.
    pub restarted: bool,
    /// Whether the user had it changed between two stages.
    #[serde(default)]
    pub by_hook: bool,
    /// What has changed.
    pub changes: Vec<ServerChange>,
}

/// Something that a server says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerChange {
    /// `version`, or the name of a setting.
    pub what: String,
    /// Its value before; `None` if it was the default.
    pub before: Option<String>,
    /// Its value after; `None` if it is the default.
    pub after: Option<String>,
    /// Whether the figures before and after it are of different things: it is the version, or affects whether a crash may
    /// lose what was acknowledged.
    pub decides: bool,
}

/// How often a target's server has synced its log, where it counts that: before all that dyno did there, and behind the load
/// and a commit of dyno's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogSyncs {
    pub target: String,
    pub before: f64,
    pub after: f64,
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
