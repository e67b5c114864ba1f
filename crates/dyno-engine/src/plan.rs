//! What a stage is to do, as the engine needs it.

use std::time::Duration;

use dyno_results::event::Distribution;
use dyno_wire::endpoint::Endpoint;

/// When transactions begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// A client begins its next transaction when the last one was answered, after the think time.
    Closed { think_time: Duration },
    /// Transactions are due at absolute times; the rate runs in a straight line from `rate_per_s` to
    /// `rate_end_per_s` where the stage has a duration.
    Open { rate_per_s: f64, rate_end_per_s: f64, distribution: Distribution },
}

/// When a stage is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Duration(Duration),
    /// Each client does this many transactions.
    TransactionsPerClient(u64),
}

/// One stage of load.
#[derive(Debug, Clone, PartialEq)]
pub struct StagePlan {
    /// The id that its intervals carry.
    pub stage: u32,
    /// Clients at the start; at most as many as are connected.
    pub clients: u32,
    /// Clients at the end: they come and go one by one, evenly over the duration.
    pub clients_end: u32,
    pub arrivals: Arrivals,
    pub limit: Limit,
}

impl StagePlan {
    /// The most clients active at any time.
    #[must_use]
    pub fn clients_max(&self) -> u32 {
        self.clients.max(self.clients_end)
    }

    pub(crate) fn duration_ns(&self) -> Option<u64> {
        match self.limit {
            Limit::Duration(duration) => Some(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
            Limit::TransactionsPerClient(_) => None,
        }
    }

    /// How many clients are to be active `elapsed_ns` after the start.
    pub(crate) fn clients_at(&self, elapsed_ns: u64) -> u32 {
        let Some(duration_ns) = self.duration_ns().filter(|ns| *ns > 0) else { return self.clients };
        let (from, to) = (f64::from(self.clients), f64::from(self.clients_end));
        let part = (elapsed_ns as f64 / duration_ns as f64).min(1.0);
        // Both ends are u32 and `part` lies within 0..=1.
        (from + (to - from) * part).round() as u32
    }
}

/// What becomes of a client whose connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// It connects again and goes on.
    Reconnect,
    /// It gives up.
    Abort,
}

/// How the engine drives its connections.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub threads: u32,
    /// So many clients are dealt to the threads in blocks, the first ones to the first thread, as pgbench deals them;
    /// `None`: in turn, however many there will be.
    pub clients_in_blocks: Option<u32>,
    /// Connections that all clients share, each for the time of a transaction; `None`: each client has its own. A pool is
    /// for closed loops, and for workloads that prepare no statements on the way. Connections that break are opened
    /// again, whatever `on_loss` says.
    pub connections: Option<u32>,
    pub protocol: crate::request::Protocol,
    /// Tries for a transaction that meets a serialization failure (40001) or deadlock (40P01); at least 1.
    pub tries_max: u32,
    /// What becomes of a client whose connection breaks.
    pub on_loss: OnLoss,
    /// How long a thread that has lost all its connections goes on trying before its stage ends.
    pub reconnect_timeout: Duration,
    /// Open a connection for each transaction and close it behind it.
    pub connect_per_transaction: bool,
    /// Clients have no connection before they ask for one by [`Step::Connect`](crate::workload::Step::Connect).
    pub connect_when_asked: bool,
    /// Close the connection of a client that has done all its transactions, while others go on.
    pub hang_up_when_done: bool,
    /// Longest wait at a stage's end for transactions that are under way.
    pub drain_timeout: Duration,
    /// The same where a stage is stopped before its plan is fulfilled, if that is less.
    pub stopped_drain_timeout: Duration,
    /// Whether transactions of an open load that were due before its end are still begun behind it.
    pub finish_late: bool,
    /// Transactions of an open load that would begin later than this are skipped and counted.
    pub skip_later_than: Option<Duration>,
    /// Failures in a row after which a client gives up.
    pub failures_in_a_row_max: u32,
    /// Clients are dealt in turn to the endpoint that the engine is started with and to these, which speak the same
    /// protocol.
    pub further_endpoints: Vec<Endpoint>,
    /// Ask for real-time priority for the threads of an open load, so that they keep its schedule.
    pub realtime: bool,
    /// Seed of the clients' and the schedule's random streams.
    pub seed: u64,
}

impl EngineConfig {
    /// Sensible values for `threads` threads.
    #[must_use]
    pub fn new(threads: u32) -> Self {
        Self {
            threads: threads.max(1),
            clients_in_blocks: None,
            connections: None,
            protocol: crate::request::Protocol::default(),
            tries_max: 10,
            on_loss: OnLoss::Reconnect,
            reconnect_timeout: Duration::from_secs(10),
            connect_per_transaction: false,
            connect_when_asked: false,
            hang_up_when_done: false,
            drain_timeout: Duration::from_secs(10),
            stopped_drain_timeout: Duration::from_secs(1),
            finish_late: true,
            skip_later_than: None,
            failures_in_a_row_max: 100,
            further_endpoints: Vec::new(),
            realtime: false,
            seed: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_goes_from_its_first_to_its_last_count() {
        let plan = StagePlan {
            stage: 0,
            clients: 1,
            clients_end: 11,
            arrivals: Arrivals::Closed { think_time: Duration::ZERO },
            limit: Limit::Duration(Duration::from_secs(10)),
        };
        assert_eq!(plan.clients_at(0), 1);
        assert_eq!(plan.clients_at(5_000_000_000), 6);
        assert_eq!(plan.clients_at(10_000_000_000), 11);
        assert_eq!(plan.clients_at(u64::MAX), 11);
        assert_eq!(plan.clients_max(), 11);
    }
}
