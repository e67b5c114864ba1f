//! Timelines, in a report with columns of their own, or looked at as they lie in memory: of a run of a day the columns are
//! hundreds of megabytes, so they are cut and thinned without a copy of what is not wanted.

use std::borrow::Cow;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::measure::{COLUMNS, POOL_COLUMNS};

/// Everything over time, for one target and one stream of a phase.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Timeline<'a> {
    /// The name of the system.
    pub target: Cow<'a, str>,
    /// The position of the stream in its phase; left out if 0. The telemetry of the target is with its first stream.
    #[serde(skip_serializing_if = "crate::defaults::is_default")]
    pub stream: u32,
    /// The load, by interval.
    pub load: Cow<'a, LoadColumns>,
    /// The telemetry of hosts and databases.
    pub metrics: Vec<Metric<'a>>,
}

/// The load in columns of equal length, one entry for each interval of load. Drains are left out.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LoadColumns {
    /// The middle of the interval, seconds since the run started.
    pub t_s: Vec<f64>,
    /// Id of the stage.
    pub stage: Vec<u32>,
    /// Clients.
    pub clients: Vec<u32>,
    /// Transactions per second that ended well; `null` in the last interval of a stage if it is shorter than half of a full
    /// one.
    pub tps: Vec<Option<f64>>,
    /// Transactions per second that failed; `null` as `tps`.
    pub failed_per_s: Vec<Option<f64>>,
    /// Median of the latency of what ended well, microseconds: response time in an open loop or over a pool, otherwise
    /// service time; `null` if nothing ended.
    pub p50_us: Vec<Option<f64>>,
    /// 90th percentile, as `p50_us`.
    pub p90_us: Vec<Option<f64>>,
    /// 95th percentile, as `p50_us`.
    pub p95_us: Vec<Option<f64>>,
    /// 99th percentile, as `p50_us`.
    pub p99_us: Vec<Option<f64>>,
    /// 99.9th percentile, as `p50_us`.
    pub p999_us: Vec<Option<f64>>,
    /// Maximum, as `p50_us`.
    pub max_us: Vec<Option<f64>>,
    /// Shared connections; `None` if the clients of no stage shared any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolLoad>,
    /// What the workloads count within their transactions; left out if nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CountLoad>,
    /// The transactions of mixes, each by its name; left out if no stage has several. Queries of a query set are not among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_type: Vec<TypeLoad>,
}

/// A transaction of a mix in columns as long as those of the load; `null` in stages of other transactions, and as `tps` and `p50_us` are.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct TypeLoad {
    /// The name of the transaction type.
    pub name: String,
    /// As that of the load.
    pub tps: Vec<Option<f64>>,
    /// Of these, how many a second were rolled back by design.
    pub rolled_back_per_s: Vec<Option<f64>>,
    /// As that of the load.
    pub p50_us: Vec<Option<f64>>,
    /// As that of the load.
    pub p90_us: Vec<Option<f64>>,
    /// As that of the load.
    pub p99_us: Vec<Option<f64>>,
}

/// What a workload counts within the transactions of a type, in a column as long as those of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct CountLoad {
    /// The name of the transaction type.
    pub of: String,
    /// The key of the count.
    pub key: String,
    /// How many there were per second; `null` as `tps`, and in stages of other workloads.
    pub per_s: Vec<Option<f64>>,
}

impl CountLoad {
    /// One of which nothing is known in so many rows.
    pub(crate) fn unknown(of: &str, key: &str, rows: usize) -> Self {
        Self { of: of.to_owned(), key: key.to_owned(), per_s: vec![None; rows] }
    }

    /// Whether it is of the same count.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.of, &self.key) == (&other.of, &other.key)
    }

    /// What the column is called where it stands by itself, with its unit.
    pub fn name(&self) -> String {
        format!("{}.{} (1/s)", self.of, self.key)
    }
}

/// Shared connections in columns as long as those of the load; `null` in stages whose clients shared none.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PoolLoad {
    /// Connections that a client used, on average over the interval.
    pub in_use: Vec<Option<f64>>,
    /// Connections that no client used, on average over the interval.
    pub idle: Vec<Option<f64>>,
    /// Clients that waited for a connection, on average over the interval.
    pub waiting: Vec<Option<f64>>,
    /// 99th percentile of the time that clients waited for a connection, microseconds.
    pub wait_p99_us: Vec<Option<f64>>,
}

/// A column of what may be unknown.
type Column = Vec<Option<f64>>;

impl PoolLoad {
    /// Of so many rows of which nothing is known.
    pub(crate) fn unknown(rows: usize) -> Self {
        let mut pool = Self::default();
        pool.columns_mut().into_iter().for_each(|column| column.resize(rows, None));
        pool
    }

    /// In the order of [`POOL_COLUMNS`].
    pub fn columns(&self) -> [&Column; POOL_COLUMNS.len()] {
        [&self.in_use, &self.idle, &self.waiting, &self.wait_p99_us]
    }

    fn columns_mut(&mut self) -> [&mut Column; POOL_COLUMNS.len()] {
        [&mut self.in_use, &mut self.idle, &mut self.waiting, &mut self.wait_p99_us]
    }
}

impl TypeLoad {
    /// Of so many rows of which nothing is known.
    pub(crate) fn unknown(name: &str, rows: usize) -> Self {
        let mut load = Self { name: name.to_owned(), ..Self::default() };
        load.columns_mut().into_iter().for_each(|column| column.resize(rows, None));
        load
    }

    fn columns(&self) -> [&Column; 5] {
        [&self.tps, &self.rolled_back_per_s, &self.p50_us, &self.p90_us, &self.p99_us]
    }

    pub(crate) fn columns_mut(&mut self) -> [&mut Column; 5] {
        [&mut self.tps, &mut self.rolled_back_per_s, &mut self.p50_us, &mut self.p90_us, &mut self.p99_us]
    }
}

/// One series of telemetry. Levels are as read, at the time of the reading. Counters become rates over the time between two
/// readings, at its middle.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Metric<'a> {
    /// `host`, `database` or `driver`.
    pub source: Cow<'a, str>,
    /// `cpu_user_share`, `wal_bytes_per_s`, …; may end in a label: `table_bytes[event]`.
    pub key: Cow<'a, str>,
    /// `share` (0 to 1), `cores`, `bytes/s`, `operations/s`, `1/s`, `bytes`, `connections`, ….
    pub unit: Cow<'a, str>,
    /// Seconds since the run started.
    pub t_s: Cow<'a, [f64]>,
    /// Values in `unit`. If a counter went backwards (the server restarted), the rate of that step is `null`; a missing
    /// reading is not filled in.
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
        let mut mapped = LoadColumns {
            t_s: always(&self.t_s),
            stage: counts(&self.stage),
            clients: counts(&self.clients),
            pool: self.pool.as_ref().map(|_| PoolLoad::default()),
            counts: self.counts.iter().map(|of| CountLoad::unknown(&of.of, &of.key, 0)).collect(),
            by_type: self.by_type.iter().map(|it| TypeLoad::unknown(&it.name, 0)).collect(),
            ..LoadColumns::default()
        };
        mapped.columns_mut().zip(self.columns()).for_each(|(to, from)| *to = known(from));
        mapped
    }

    /// In the order of [`COLUMNS`].
    pub fn measured(&self) -> impl Iterator<Item = &Column> {
        let Self { tps, failed_per_s, p50_us, p90_us, p95_us, p99_us, p999_us, max_us, .. } = self;
        let own: [_; COLUMNS.len()] = [tps, failed_per_s, p50_us, p90_us, p95_us, p99_us, p999_us, max_us];
        own.into_iter()
    }

    /// The same, and behind them those of the pool, if there is one, of what workloads count, and of transactions.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        let pool = self.pool.iter().flat_map(PoolLoad::columns);
        let counts = self.counts.iter().map(|of| &of.per_s);
        self.measured().chain(pool).chain(counts).chain(self.by_type.iter().flat_map(TypeLoad::columns))
    }

    /// The same, to be changed.
    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        let Self {
            tps,
            failed_per_s,
            p50_us,
            p90_us,
            p95_us,
            p99_us,
            p999_us,
            max_us,
            pool,
            counts,
            by_type,
            ..
        } = self;
        let own: [_; COLUMNS.len()] = [tps, failed_per_s, p50_us, p90_us, p95_us, p99_us, p999_us, max_us];
        let pool = pool.iter_mut().flat_map(PoolLoad::columns_mut);
        own.into_iter()
            .chain(pool)
            .chain(counts.iter_mut().map(|of| &mut of.per_s))
            .chain(by_type.iter_mut().flat_map(TypeLoad::columns_mut))
    }

    /// The column of a count, which is empty in so many rows if it is there for the first time.
    pub(crate) fn count_mut(&mut self, of: &str, key: &str, before: usize) -> &mut CountLoad {
        let known = self.counts.iter().position(|known| known.of == of && known.key == key);
        let place = known.unwrap_or_else(|| {
            self.counts.push(CountLoad::unknown(of, key, before));
            self.counts.len() - 1
        });
        &mut self.counts[place]
    }

    /// The place of a transaction; one that is not there is added, with nothing known of so many rows before.
    pub(crate) fn type_mut(&mut self, name: &str, before: usize) -> &mut TypeLoad {
        let known = self.by_type.iter().position(|it| it.name == name);
        let place = known.unwrap_or_else(|| {
            self.by_type.push(TypeLoad::unknown(name, before));
            self.by_type.len() - 1
        });
        &mut self.by_type[place]
    }
}
