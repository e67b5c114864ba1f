//! The report of a run as a document: what `--json` prints, what the page draws and what the terminal tabulates.
//!
//! It is a fold over the events and holds no opinion of its own. Its JSON form is versioned by [`SCHEMA`] and
//! described in `docs/json.md`; within a version fields are only added. Unknown is `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event;

/// Name and version of the document's JSON form.
pub const SCHEMA: &str = "dyno.report/1";

/// The whole report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    pub run: Run,
    pub targets: Vec<event::Target>,
    pub hosts: Vec<event::Host>,
    pub settings: Vec<event::Settings>,
    pub data: Vec<event::Data>,
    pub prepare: Vec<event::PrepareStep>,
    pub series: Vec<Series>,
    pub stages: Vec<StageResult>,
    pub timelines: Vec<Timeline>,
    pub checks: Vec<event::Check>,
    pub findings: Vec<event::Finding>,
    pub notices: Vec<event::Notice>,
}

/// The run as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    pub name: String,
    pub dyno_version: String,
    /// RFC 3339.
    pub started_at: String,
    pub command: Vec<String>,
    pub scenario: serde_json::Value,
    pub seed: u64,
    /// From the first event to the last that is stored.
    pub seconds: f64,
    /// `complete`; `incomplete` where it was stopped, or killed before it could say so.
    pub outcome: event::Outcome,
    /// Why it is incomplete.
    pub reason: Option<String>,
}

/// The stages of one workload on one target that belong together: a ladder with its peak, and a hold.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    pub target: String,
    /// `read`, `write`, …
    pub name: String,
    pub workload: String,
    /// Ids of the ladder's stages, by clients ascending.
    pub ladder: Vec<u32>,
    /// Ids of holds and ramps, in the order they ran.
    pub holds: Vec<u32>,
    /// `None` where no ladder was run.
    pub peak: Option<Peak>,
}

/// The highest throughput of a ladder.
#[derive(Debug, Clone, Serialize)]
pub struct Peak {
    /// Stage where it was reached.
    pub stage: u32,
    pub clients: u32,
    pub throughput: Estimate,
    /// Client counts whose throughput cannot be told from the peak's (their intervals overlap), ascending, the
    /// peak itself included.
    pub clients_indistinguishable: Vec<u32>,
    /// True where a higher client count was tried and was clearly slower, or throughput had stopped rising:
    /// otherwise the peak may lie beyond the ladder.
    pub passed: bool,
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

/// What came out of a stage.
#[derive(Debug, Clone, Serialize)]
pub struct StageResult {
    #[serde(flatten)]
    pub stage: event::Stage,
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
    /// Scheduled to answered; `None` in a closed loop.
    pub response: Option<Percentiles>,
    /// Scheduled to sent; `None` in a closed loop.
    pub lag: Option<Percentiles>,
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
}

/// Counts of a stage. Outcomes come twice: of what ended within the load, which is what throughput rests on, and
/// `_with_drain`, of everything that the stage began. All others include the drain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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

/// Everything over time for one target, in columns of equal length.
#[derive(Debug, Clone, Serialize)]
pub struct Timeline {
    pub target: String,
    pub load: Load,
    /// CPU, disk and database over time; keys and units in `docs/telemetry.md`.
    pub metrics: Vec<Metric>,
}

/// The load's intervals in columns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Load {
    /// Middle of the interval, seconds since the run started.
    pub t_s: Vec<f64>,
    pub stage: Vec<u32>,
    pub clients: Vec<u32>,
    pub tps: Vec<f64>,
    pub failed_per_s: Vec<f64>,
    /// Latency of what ended well: response time in an open loop, service time in a closed one; microseconds,
    /// `null` in an interval in which nothing ended.
    pub p50_us: Vec<Option<f64>>,
    pub p95_us: Vec<Option<f64>>,
    pub p99_us: Vec<Option<f64>>,
    pub max_us: Vec<Option<f64>>,
}

/// One series of telemetry: gauges as read, counters as rates or shares.
#[derive(Debug, Clone, Serialize)]
pub struct Metric {
    /// `host`, `database` or `driver`
    pub source: String,
    /// `cpu_user_share`, `disk_write_bytes_per_s`, `wal_bytes_per_s`, `server_cpu_cores`, …
    pub key: String,
    /// `share` (0 to 1), `cores`, `bytes/s`, `operations/s`, `1/s`, `bytes`, `connections`, …
    pub unit: String,
    pub t_s: Vec<f64>,
    pub values: Vec<Option<f64>>,
}
