//! What is measured, in one table. Who adds up, clears, stores, packs, exposes or documents measures goes over it: a further count or
//! time is a row here, and the line of the recorder that fills it.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;

/// A row of the table.
#[derive(Debug)]
pub struct Measure {
    /// Its name in events, or at the head of a column.
    pub key: &'static str,
    pub kind: Kind,
    pub unit: &'static str,
    /// Its name in metrics, without what its kind adds; of what has none the key.
    pub family: &'static str,
    /// What it is, for a reader.
    pub meaning: &'static str,
}

impl Measure {
    const fn new(kind: Kind, [key, unit, family]: [&'static str; 3], meaning: &'static str) -> Self {
        Self { key, kind, unit, family, meaning }
    }

    const fn column(key: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(Kind::Derived, [key, unit, key], meaning)
    }

    /// The head of its column: `p99 (us)`.
    pub fn head(&self) -> String {
        if self.unit.is_empty() { self.key.to_owned() } else { format!("{} ({})", self.key, self.unit) }
    }

    /// Its name as a metric: `dyno_statements_total`.
    pub fn metric(&self) -> String {
        let suffix = if self.kind == Kind::Count { "_total" } else { "" };
        format!("{}{suffix}", self.family)
    }
}

/// How a measure is merged, for documents and metrics: `TypeInterval::add` and the fold do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Added up exactly: over threads, generators, seconds, types and stages.
    Count,
    /// The same of how often each time was measured.
    Histogram,
    /// Added up over threads and generators; of several seconds the last counts.
    Gauge,
    /// Computed of the others once they are merged, and itself never merged.
    Derived,
}

impl Kind {
    /// What events, and metrics, call it.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Self::Count => ["count", "counter"],
            Self::Histogram => ["histogram"; 2],
            Self::Gauge => ["gauge"; 2],
            Self::Derived => ["derived", "gauge"],
        }
    }
}

/// Levels of the load.
pub const GAUGES: [Measure; 5] = {
    const fn gauge(
        key: &'static str,
        unit: &'static str,
        family: &'static str,
        meaning: &'static str,
    ) -> Measure {
        Measure::new(Kind::Gauge, [key, unit, family], meaning)
    }
    [
        gauge("clients", "clients", "dyno_clients", "Clients that are active"),
        gauge(
            "backlog",
            "arrivals",
            "dyno_backlog",
            "Arrivals of an open load that were due and had not begun at the end of the last second",
        ),
        gauge(
            "in_use",
            "connections",
            "dyno_connections_in_use",
            "Shared connections that a client had, mean of the last second",
        ),
        gauge(
            "idle",
            "connections",
            "dyno_connections_idle",
            "Shared connections that no client had, mean of the last second",
        ),
        gauge(
            "waiting",
            "clients",
            "dyno_clients_waiting",
            "Clients that waited for a connection, mean of the last second",
        ),
    ]
};

/// What a timeline has of each second.
pub const COLUMNS: [Measure; 8] = [
    Measure::column("throughput", "1/s", "Transactions that ended well"),
    Measure::column("failed", "1/s", "Transactions that failed for good"),
    Measure::column(
        "p50",
        "us",
        "Median of the response time in an open loop or over shared connections, otherwise of the service time",
    ),
    Measure::column("p90", "us", "90th percentile of the same"),
    Measure::column("p95", "us", "95th percentile of the same"),
    Measure::column("p99", "us", "99th percentile of the same"),
    Measure::column("p99.9", "us", "99.9th percentile of the same"),
    Measure::column("max", "us", "Maximum of the same"),
];

/// The same of connections that clients share.
pub const POOL_COLUMNS: [Measure; 4] = [
    Measure::column("connections in use", "", "Shared connections that a client had, on average"),
    Measure::column("connections idle", "", "Shared connections that no client had, on average"),
    Measure::column("clients waiting", "", "Clients that waited for a connection, on average"),
    Measure::column("wait p99", "us", "99th percentile of the time that clients waited for a connection"),
];

macro_rules! measures {
    (
        counts { $($count:ident $count_unit:literal $count_family:literal $count_meaning:literal)+ }
        times { $($time:ident $time_family:literal $time_meaning:literal)+ }
    ) => {
        /// What is counted.
        pub const COUNTS: &[Measure] =
            &[$(Measure::new(Kind::Count, [stringify!($count), $count_unit, $count_family], $count_meaning),)+];
        /// What is timed: histograms of nanoseconds, in metrics of seconds.
        pub const TIMES: &[Measure] =
            &[$(Measure::new(Kind::Histogram, [stringify!($time), "ns", $time_family], $time_meaning),)+];

        /// One transaction type's part of an interval, with a slot for each measure, or several of them added up. A transaction
        /// counts where it ended.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct TypeInterval {
            /// Index into [`crate::event::Stage::types`].
            pub type_index: u16,
            $(#[doc = $count_meaning] #[serde(default)] pub $count: u64,)+
            $(
                #[doc = $time_meaning]
                #[serde(default, skip_serializing_if = "Latency::is_empty")]
                pub $time: Latency,
            )+
            /// The statements by what they did; `None` where the workload does not tell.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub queries: Option<Queries>,
            /// What the workload itself counts, a slot for each of the type's [`crate::event::Stage::counts`].
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub own: Vec<u64>,
        }

        impl TypeInterval {
            /// In the order of [`COUNTS`].
            pub fn counts(&self) -> impl Iterator<Item = u64> + use<> {
                [$(self.$count),+].into_iter()
            }

            /// In the order of [`COUNTS`].
            pub fn counts_mut(&mut self) -> impl Iterator<Item = &mut u64> {
                [$(&mut self.$count),+].into_iter()
            }

            /// In the order of [`TIMES`].
            pub fn times(&self) -> impl Iterator<Item = &Latency> {
                [$(&self.$time),+].into_iter()
            }

            /// In the order of [`TIMES`].
            pub fn times_mut(&mut self) -> impl Iterator<Item = &mut Latency> {
                [$(&mut self.$time),+].into_iter()
            }
        }
    };
}

measures! {
    counts {
        done "transactions" "dyno_transactions" "Transactions that ended well"
        rolled_back "transactions" "dyno_transactions_rolled_back" "Transactions that ended well and undid what they did, as their script says; a part of those that ended well"
        failed "transactions" "dyno_transactions_failed" "Transactions that failed for good"
        unknown "transactions" "dyno_transactions_unknown" "Transactions whose commit was under way when the connection was lost"
        cancelled "transactions" "dyno_transactions_cancelled" "Transactions that were cancelled on the server because a statement outlasted its limit or its stage; they are in no other measure"
        retries "retries" "dyno_retries" "Further tries after a serialization failure or deadlock"
        statements "statements" "dyno_statements" "Statements answered"
    }
    times {
        service "dyno_service_seconds" "Sent to answered, of transactions that ended well"
        response "dyno_response_seconds" "Scheduled to answered, in an open loop or over shared connections"
        lag "dyno_lag_seconds" "Scheduled to sent, in an open loop or over shared connections"
        wait "dyno_connection_wait_seconds" "Asked for a connection to lent one, where clients share them; a part of the lag"
        first_row "dyno_first_row_seconds" "Sent to the first row, of queries of a set that ended well and returned any"
        failed_service "dyno_failed_service_seconds" "Sent to failed, of transactions that failed for good"
    }
}

impl TypeInterval {
    /// Adds what another measured.
    pub fn add(&mut self, other: &Self) {
        self.counts_mut().zip(other.counts()).for_each(|(sum, count)| *sum += count);
        self.times_mut().zip(other.times()).for_each(|(sum, times)| sum.merge(times));
        if let Some(queries) = &other.queries {
            self.queries.get_or_insert_default().add(queries);
        }
        add_own(&mut self.own, &other.own);
    }

    /// Forgets everything, and keeps the memory of histograms that need it again.
    pub fn clear(&mut self) {
        self.counts_mut().for_each(|count| *count = 0);
        self.times_mut().for_each(Latency::clear);
        self.queries = None;
        self.own.fill(0);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts().all(|count| count == 0)
    }

    /// What a user would see of what ended well: the response time where there is one, else the service time.
    pub fn latency(&self) -> &Latency {
        if self.response.is_empty() { &self.service } else { &self.response }
    }
}

/// Adds up what a workload counts, by slots.
pub(crate) fn add_own(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// Statements by what they did, as sysbench counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Queries {
    pub reads: u64,
    /// Writes that touched at least one row.
    pub writes: u64,
    /// All that is neither: `BEGIN`, `COMMIT`, and writes that touched nothing.
    pub other: u64,
    /// Writes that touched no row; a part of `other`.
    pub writes_in_vain: u64,
}

impl Queries {
    pub fn total(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.other += other.other;
        self.writes_in_vain += other.writes_in_vain;
    }
}
