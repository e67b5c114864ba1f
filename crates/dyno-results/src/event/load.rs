//! What is heard of while load runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::latency::{self, Latency};
use crate::measure::TypeInterval;

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
