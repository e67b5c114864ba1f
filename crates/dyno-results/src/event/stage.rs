//! A stage that begins or ends, and the key by which it is found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, StageKind};

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
    pub fn is_beside(&self, other: &Self) -> bool {
        self.system == other.system && self.turn() == other.turn()
    }

    /// Whether they are of one stream, and of the same turn of another system.
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
    /// How long a client pauses from one transaction to the next by the workload's design, on average, seconds; of several
    /// transactions where that is longest. `None` if clients do not pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_s: Option<f64>,
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
    /// What the workload counts beside transactions; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
    /// Limits of response times that the workload sets; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_limits: Vec<ResponseLimit>,
    /// What the workload counts within its transactions; left out if nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<OwnCount>,
}

/// What a workload counts beside transactions: those of one type that ended well, without those that were rolled back by design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What is counted, `new orders`.
    pub about: String,
    /// The name of the transaction type.
    pub of: String,
    /// The unit of time.
    pub per: Per,
    /// The most that is possible in the unit of time, because clients wait between transactions; `None` if nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// What stands beside it, because others count the same otherwise: `each transaction draws its home warehouse`; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    Second,
    Minute,
    Hour,
}

impl Per {
    pub fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
        }
    }

    /// The unit of a rate.
    pub fn rate(self) -> &'static str {
        match self {
            Self::Second => "1/s",
            Self::Minute => "1/min",
            Self::Hour => "1/h",
        }
    }

    /// `a minute`
    pub fn words(self) -> &'static str {
        match self {
            Self::Second => "a second",
            Self::Minute => "a minute",
            Self::Hour => "an hour",
        }
    }
}

/// A limit of the response time of a transaction type. Without a schedule it is the service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseLimit {
    /// The name of the transaction type.
    pub of: String,
    /// Which percentile is limited, 0 to 100.
    pub percentile: f64,
    /// The most that it may be, microseconds.
    pub limit_us: f64,
}

/// What a workload counts within the transactions of a type that ended well and were not rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCount {
    /// The name of the transaction type.
    pub of: String,
    /// Its name among the counts of the type.
    pub key: String,
    /// What is counted, `districts skipped`.
    pub about: String,
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
            pause_s: None,
            pass: false,
            query_set: false,
            fixed: false,
            only_reads: None,
            generators: 1,
            types: Vec::new(),
            figure: None,
            response_limits: Vec::new(),
            counts: Vec::new(),
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
    pub fn noun(&self) -> &'static str {
        match self.kind {
            StageKind::Hold if self.pass => "pass",
            kind => kind.stage_name(),
        }
    }

    /// What is counted of the workload's own, by what was counted in the slots of each type.
    pub fn counted<'a>(
        &'a self,
        slots_of: impl Fn(usize) -> Option<&'a [u64]>,
    ) -> impl Iterator<Item = (&'a OwnCount, u64)> {
        self.counts.iter().enumerate().filter_map(move |(place, count)| {
            let type_index = self.types.iter().position(|name| *name == count.of)?;
            let slot = self.counts[..place].iter().filter(|before| before.of == count.of).count();
            let counted = slots_of(type_index).and_then(|slots| slots.get(slot).copied());
            Some((count, counted.unwrap_or(0)))
        })
    }

    /// What one of its transactions is called: `query` of a query set.
    pub fn unit(&self) -> &'static str {
        if self.pass || self.query_set { "query" } else { "transaction" }
    }

    /// Whether it is fixed work: how long it takes is the figure, and not its throughput. A pass is, and what is `fixed`.
    pub fn is_fixed_work(&self) -> bool {
        self.pass || self.fixed
    }

    /// Transactions per second that are asked for, of an open load: at its beginning, where they are ramped.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self.arrival {
            Arrival::Open { rate_per_s, .. } => Some(rate_per_s),
            Arrival::Closed { .. } => None,
        }
    }
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
