//! Timelines, in a report with columns of their own, or looked at as they lie in memory: of a run of a day the columns are
//! hundreds of megabytes, so they are cut and thinned without a copy of what is not wanted.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

/// Everything over time for one target and one of the streams that run there at the same time, in columns of equal
/// length.
#[derive(Debug, Clone, Serialize)]
pub struct Timeline<'a> {
    pub target: Cow<'a, str>,
    /// [`crate::event::Stage::stream`]; the target's telemetry is with its first.
    #[serde(skip_serializing_if = "crate::event::is_zero")]
    pub stream: u32,
    pub load: Cow<'a, LoadColumns>,
    /// CPU, disk and database over time; keys and units in `docs/telemetry.md`.
    pub metrics: Vec<Metric<'a>>,
}

/// The load's intervals in columns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoadColumns {
    /// Middle of the interval, seconds since the run started.
    pub t_s: Vec<f64>,
    pub stage: Vec<u32>,
    pub clients: Vec<u32>,
    /// `null` in an interval that is shorter than half of a full one, whose rates would be noise.
    pub tps: Vec<Option<f64>>,
    pub failed_per_s: Vec<Option<f64>>,
    /// Latency of what ended well: response time in an open loop or over a pool, else service time; microseconds,
    /// `null` in an interval in which nothing ended.
    pub p50_us: Vec<Option<f64>>,
    pub p90_us: Vec<Option<f64>>,
    pub p95_us: Vec<Option<f64>>,
    pub p99_us: Vec<Option<f64>>,
    pub p999_us: Vec<Option<f64>>,
    pub max_us: Vec<Option<f64>>,
    /// `None` where no stage's clients shared connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolLoad>,
}

/// Shared connections in columns as long as those of [`LoadColumns`]; `null` in stages whose clients shared none.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolLoad {
    pub in_use: Vec<Option<f64>>,
    pub idle: Vec<Option<f64>>,
    /// Clients.
    pub waiting: Vec<Option<f64>>,
    pub wait_p99_us: Vec<Option<f64>>,
}

impl PoolLoad {
    /// Of so many rows of which nothing is known.
    pub(crate) fn unknown(rows: usize) -> Self {
        let column = vec![None; rows];
        Self { in_use: column.clone(), idle: column.clone(), waiting: column.clone(), wait_p99_us: column }
    }
}

/// One series of telemetry: gauges as read, counters as rates or shares.
#[derive(Debug, Clone, Serialize)]
pub struct Metric<'a> {
    /// `host`, `database` or `driver`
    pub source: Cow<'a, str>,
    /// `cpu_user_share`, `disk_write_bytes_per_s`, `wal_bytes_per_s`, `server_cpu_cores`, …
    pub key: Cow<'a, str>,
    /// `share` (0 to 1), `cores`, `bytes/s`, `operations/s`, `1/s`, `bytes`, `connections`, …
    pub unit: Cow<'a, str>,
    pub t_s: Cow<'a, [f64]>,
    pub values: Cow<'a, [Option<f64>]>,
}

impl Timeline<'_> {
    /// A copy of all of it.
    #[must_use]
    pub fn into_owned(self) -> Timeline<'static> {
        Timeline {
            target: self.target.into_owned().into(),
            stream: self.stream,
            load: Cow::Owned(self.load.into_owned()),
            metrics: self.metrics.iter().map(|metric| metric.rows(0..metric.t_s.len())).collect(),
        }
    }
}

impl Metric<'_> {
    /// A copy of these points.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Metric<'static> {
        Metric {
            source: self.source.to_string().into(),
            key: self.key.to_string().into(),
            unit: self.unit.to_string().into(),
            t_s: self.t_s[rows.clone()].to_vec().into(),
            values: self.values[rows].to_vec().into(),
        }
    }
}

impl LoadColumns {
    /// A copy of these rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> LoadColumns {
        self.map(
            |t_s| t_s[rows.clone()].to_vec(),
            |counts| counts[rows.clone()].to_vec(),
            |values| values[rows.clone()].to_vec(),
        )
    }

    /// The columns that these make of the times, of the counts, and of what may be unknown.
    pub(crate) fn map(
        &self,
        always: impl Fn(&[f64]) -> Vec<f64>,
        counts: impl Fn(&[u32]) -> Vec<u32>,
        known: impl Fn(&[Option<f64>]) -> Vec<Option<f64>>,
    ) -> LoadColumns {
        LoadColumns {
            t_s: always(&self.t_s),
            stage: counts(&self.stage),
            clients: counts(&self.clients),
            tps: known(&self.tps),
            failed_per_s: known(&self.failed_per_s),
            p50_us: known(&self.p50_us),
            p90_us: known(&self.p90_us),
            p95_us: known(&self.p95_us),
            p99_us: known(&self.p99_us),
            p999_us: known(&self.p999_us),
            max_us: known(&self.max_us),
            pool: self.pool.as_ref().map(|pool| PoolLoad {
                in_use: known(&pool.in_use),
                idle: known(&pool.idle),
                waiting: known(&pool.waiting),
                wait_p99_us: known(&pool.wait_p99_us),
            }),
        }
    }
}
