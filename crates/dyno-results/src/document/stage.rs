//! What a report says of a stage.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::event;
use crate::format;
use crate::latency::Latency;

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
    /// What the workload counts beside transactions, per its unit of time; `None` if it counts nothing, or nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure_value: Option<Estimate>,
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
    /// One for each transaction type that occurred, and of a mix for each that it has.
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

    /// `TPS counts the 4.5% that were rolled back by design`; `None` where nothing was.
    pub fn rolled_back_text(&self) -> Option<String> {
        let rolled_back: u64 = self.by_type.iter().map(|of_type| of_type.rolled_back).sum();
        (rolled_back > 0 && self.totals.done > 0).then(|| {
            let share = format::share(rolled_back as f64 / self.totals.done as f64);
            format!("TPS counts the {share} that were rolled back by design")
        })
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
    /// Of `done`, those that undid what they did, by design.
    pub rolled_back: u64,
    /// Of all transactions that ended well within the load, 0 to 1; `None` if there were none.
    pub share: Option<f64>,
    /// Transactions per second that ended well within the load; `None` if nothing was measured.
    pub per_s: Option<f64>,
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
    /// Limits of its response time; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_limits: Vec<ResponseLimitResult>,
    /// What the workload counts within them; left out if nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CountResult>,
}

impl TypeResult {
    /// As [`StageResult::latency`].
    pub fn latency(&self) -> Option<&Percentiles> {
        self.response.as_ref().or(self.service.as_ref())
    }
}

/// What a workload counts within the transactions of a type that ended well within the load and were not rolled back.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CountResult {
    /// Its name among the counts of the type.
    pub key: String,
    /// What is counted.
    pub about: String,
    /// How many there were.
    pub count: u64,
    /// How many there were on average in a transaction; `None` if there was no transaction.
    pub per_transaction: Option<f64>,
}

/// A limit of a response time, and what was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ResponseLimitResult {
    /// Which percentile is limited, 0 to 100.
    pub percentile: f64,
    /// The most that it may be, microseconds.
    pub limit_us: f64,
    /// What it was, microseconds; `None` if nothing ended well.
    pub found_us: Option<f64>,
    /// Whether the limit was kept; `None` if nothing ended well.
    pub kept: Option<bool>,
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
