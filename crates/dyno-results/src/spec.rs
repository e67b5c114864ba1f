//! The run specification: what a run is to do, as one value. Command lines, files (TOML), the front ends and stored runs
//! all produce it or are it; it names no workload and no product by itself.
//!
//! Leaf structs are read by clap from the command line and by serde from a file or a store, so that an option and a field
//! have one name, one text and one place. What is left out is `None`. A run is stored with what was asked for, and with what
//! that was resolved to before anything was known of the target.

mod definition;
mod load;
mod or;
mod order;
mod quantity;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::definition::Definition;
pub use self::load::{Arrivals, Course, Distribution, End, LoadSpec, Ramp, Rungs};
pub use self::order::{Segment, StageKind, StageOrder};
pub use self::quantity::{Clients, Count, Quantity, Rate, Steps, Time, from_text};

/// The version of the format that this dyno reads and writes.
pub const VERSION: u32 = 1;

/// On which side of a load something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookTime {
    Before,
    After,
}

/// What a run is to do.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Version of this format
    #[arg(skip)]
    pub version: u32,

    /// One line for a list of specifications; has no effect
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,

    /// Seed of all random streams [default: from the clock; it is stored with the run]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,

    /// Create the data: auto (if they are missing), always (drops existing data) or never [default: auto; --prepare
    /// alone means always]
    #[arg(
        long,
        value_name = "WHEN",
        help_heading = "Workload",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Prepare>,

    /// Bring the data of all targets to as many rows as the largest has, where earlier loads have added different numbers
    #[arg(long, help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub top_up: bool,

    /// Do not verify that the tables have all their rows before the load, and every acknowledged commit after it
    #[arg(long, help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub no_verify: bool,

    /// Do not read host and database during the load: their use of resources stays unknown
    #[arg(long, help_heading = "Load")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub no_telemetry: bool,

    /// A rough answer in under thirty seconds: small data, short stages
    #[arg(long, help_heading = "Load")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub quick: bool,

    /// Threads of the load generator [default: half the processors if the server shares them, else all]
    #[arg(long, short = 'j', value_name = "N", help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,

    /// Real-time priority for the load threads of an open loop (--rate), if the system allows it: for a driver on a
    /// host of its own
    #[arg(long, help_heading = "Load")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub realtime: bool,

    /// How the load threads wait for their connections [default: auto, else the environment variable DYNO_POLLER]
    #[arg(long, value_name = "POLLER", hide_possible_values = true, help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poller: Option<PollerChoice>,

    /// The databases; where there is none, dyno starts one of its own.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSpec>,

    /// What is compared; where there is none, each target with what the workload does by itself.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<SystemSpec>,

    /// What is done before and after loads.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,

    /// One after the other; where there is none, a workload that reads and one that writes.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSpec>,

    /// What another program's command line asks for that only that program knows.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_end: Option<FrontEndSpec>,
}

impl RunSpec {
    /// The run of another program's command line: one stream, and what only that program knows.
    pub fn of_front_end(program: &str, options: Value, stream: StreamSpec) -> Self {
        let options = if let Value::Object(options) = options { options } else { Map::new() };
        // A load beyond what a specification takes is in the program's options alone.
        let text = serde_json::to_string(&stream.load);
        let readable = text.and_then(|text| serde_json::from_str::<LoadSpec>(&text)).is_ok();
        let load = if readable { stream.load } else { LoadSpec::default() };
        let streams = vec![StreamSpec { load, ..stream }];
        Self {
            version: VERSION,
            phases: vec![PhaseSpec { streams, ..PhaseSpec::default() }],
            front_end: Some(FrontEndSpec { program: program.to_owned(), options }),
            ..Self::default()
        }
    }
}

/// A database: a server that runs, by its URL, or one that dyno starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TargetSpec {
    /// The short name in the report [default: pg or my, by the protocol]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A URL or a libpq connection string. It is stored without a password, which is looked up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A node_exporter's URL, where the server's host is not this one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_metrics: Option<String>,
    /// A server that dyno starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<EmbeddedSpec>,
}

/// A server that dyno starts.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Target")]
pub struct EmbeddedSpec {
    /// Binaries of the embedded server: postgres, postgres@17, postgres@16.4 or a directory [default: the newest
    /// that is installed, else fetched]
    #[arg(long, value_name = "SERVER")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,

    /// Settings of the embedded server: default, production (durable, sized to the machine) or extreme (unsafe)
    /// [default: production]
    #[arg(long, value_name = "PROFILE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,

    /// Directory for the embedded server's data [default: /var/tmp]
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
}

/// What is compared: a target, and the data on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemSpec {
    /// [default: that of its target]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The target's name; may be left out where there is one
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The workload's options: scale, rows, ….
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

/// A command or a statement before or after a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HookSpec {
    pub when: HookTime,
    /// `run`, a series (`join`), or a kind of stage (`warm-up`, `ladder`, `ramp`, `hold`); `NAME:…` for one system
    pub stage: String,
    /// A command for the shell, or `sql:…`. It is stored with what looks like a secret hidden.
    pub action: String,
}

/// Loads that run at the same time on each system, from the warm-up to the last stage.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PhaseSpec {
    /// Duration of the warm-up before a series [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Time>,

    /// Run the hold (or the one stage) so many times; with several targets in turn
    #[arg(long, value_name = "N", help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,

    /// Load several targets at the same time instead of in turn: for servers on different hosts
    #[arg(long, help_heading = "Target")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub together: bool,

    /// Drop what is cached before each series and each pass: a server of dyno's own is restarted
    #[arg(long, help_heading = "Target")]
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub cold: bool,

    /// The loads
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamSpec>,
}

/// One load: a workload, how much of it, and how it is sent.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StreamSpec {
    /// What it is called in the report, where a phase has several [default: what its workload does: read, write, …]
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// Workload by name or beginning of one (`dyno workloads`): tpcb, sysbench, events (each reads, then writes),
    /// tpcb/select-only, sysbench/oltp_read_write, …; or a path: ./report.sql, a folder with a workload.toml, ./shop, or a folder of
    /// queries, ./queries/
    /// [default: tpcb; on MySQL sysbench]
    #[arg(long, short = 'w', value_name = "NAME", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,

    /// The text of the workload's file, as it was read; where it is here, the file is not read again.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,

    /// The same of a folder: the texts of its files by their names without .sql.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queries: BTreeMap<String, String>,

    /// The same of a folder with a `workload.toml`.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderSpec>,

    /// Give the variable `:NAME` of a script, or `:NAME` (also `:'NAME'` and `:"NAME"`) in the queries of a folder, this value;
    /// once for each name. `FILE:NAME` is for one query
    #[arg(long, short = 'D', value_name = "NAME=VALUE", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub define: Vec<Definition>,

    /// Compare what the queries return with the answers in a file of --record
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<PathBuf>,

    /// How the product runs each query of a query set: `analyze` runs it once more after the passes, apart from their times,
    /// `estimate` only asks, `none` [default: analyze]
    #[arg(long, value_name = "HOW", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,

    /// How statements are sent [default: prepared]
    #[arg(long, short = 'M', value_name = "MODE", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,

    /// Connections that the clients share, for each target; response time includes the wait for a connection [default:
    /// each client has its own]
    #[arg(long, value_name = "N", help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,

    /// Tries of a transaction that fails with a serialization failure or a deadlock [default: 10]
    #[arg(long, value_name = "N", help_heading = "Load")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<u32>,

    /// Cancel a statement on the server that takes longer, and count its transaction as cancelled [default: 5 minutes for
    /// query sets, else no limit within a stage]
    #[arg(long, value_name = "TIME", help_heading = "Workload")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Time>,

    #[command(flatten)]
    #[serde(default)]
    pub load: LoadSpec,

    /// Another load on some systems, by their names: what it says goes before `load`
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub systems: BTreeMap<String, LoadSpec>,
}

impl StreamSpec {
    /// Whether it runs texts of the user's own, which are here.
    pub fn has_texts(&self) -> bool {
        self.script.is_some() || !self.queries.is_empty()
    }
}

/// A workload that is a folder, as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FolderSpec {
    /// As it is called: `./shop`. Its workloads are `./shop/NAME`.
    pub name: String,
    /// The texts of its files, by their paths in it
    pub files: BTreeMap<String, String>,
}

/// What a front end's program asks for beyond what a specification can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FrontEndSpec {
    /// `pgbench` or `sysbench`
    pub program: String,
    pub options: Map<String, Value>,
}

/// When the data is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    Auto,
    Always,
    Never,
}

/// How the plans of queries are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plans {
    /// Each query is run once more, so that rows and times of its steps are known.
    #[default]
    Analyze,
    /// No query is run for it.
    Estimate,
    None,
}

/// How statements travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// As text, one message for each statement.
    Simple,
    /// Parsed anew for each execution.
    Extended,
    /// Prepared once for each connection.
    #[default]
    Prepared,
}

impl Protocol {
    /// `prepared`
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

/// How load threads wait for their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PollerChoice {
    /// io_uring from eight connections a load thread, where the kernel allows it; epoll else.
    #[default]
    Auto,
    /// The kernel says which connections are ready, and each is then read.
    Epoll,
    /// io_uring, where the kernel allows it, with a notice where it does not: many requests leave with one system call, and answers come with it.
    Uring,
}

impl PollerChoice {
    /// `epoll`
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Epoll => "epoll",
            Self::Uring => "uring",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Auto, Self::Epoll, Self::Uring].into_iter().find(|poller| poller.name() == name)
    }
}
