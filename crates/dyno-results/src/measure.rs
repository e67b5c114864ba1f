//! What is measured of transactions, in one table. Who adds up, clears, stores, packs or exposes measures goes over it: a further
//! one is a row here, and the line of the recorder that fills it.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;

/// A row of the table. Counts and histograms add up exactly: over threads, generators, seconds, types and stages.
#[derive(Debug)]
pub struct Measure {
    /// Its name in events.
    pub key: &'static str,
    /// Its name in metrics, without what its kind adds.
    pub family: &'static str,
    /// What it is, for a reader.
    pub meaning: &'static str,
}

macro_rules! measures {
    (
        counts { $($count:ident $count_family:literal $count_meaning:literal)+ }
        times { $($time:ident $time_family:literal $time_meaning:literal)+ }
    ) => {
        /// What is counted.
        pub const COUNTS: &[Measure] =
            &[$(Measure { key: stringify!($count), family: $count_family, meaning: $count_meaning },)+];
        /// What is timed: histograms of nanoseconds.
        pub const TIMES: &[Measure] =
            &[$(Measure { key: stringify!($time), family: $time_family, meaning: $time_meaning },)+];

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
        done "dyno_transactions" "Transactions that ended well"
        rolled_back "dyno_transactions_rolled_back" "Transactions that ended well and undid what they did, as their script says; a part of those that ended well"
        failed "dyno_transactions_failed" "Transactions that failed for good"
        unknown "dyno_transactions_unknown" "Transactions whose commit was under way when the connection was lost"
        cancelled "dyno_transactions_cancelled" "Transactions that were cancelled on the server because a statement outlasted its limit or its stage; they are in no other measure"
        retries "dyno_retries" "Further tries after a serialization failure or deadlock"
        statements "dyno_statements" "Statements answered"
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
