//! How the engine drives its connections.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use dyno_results::spec::{PollerChoice, Protocol, Segment};
use dyno_wire::endpoint::{Endpoint, SessionName};

/// Stops what a session is doing.
pub trait Canceller: Debug + Send + Sync {
    /// Asks the server to stop the session's statement. It may take a while, and what comes of it shows in the answer.
    ///
    /// # Errors
    /// The server could not be asked.
    fn cancel(&self, session: &SessionName) -> Result<(), Box<dyn Error + Send + Sync>>;
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
    /// Which part of each order is this engine's.
    pub segment: Segment,
    /// So many clients are dealt to the threads in blocks, the first ones to the first thread, as pgbench deals them;
    /// `None`: in turn, however many there will be.
    pub clients_in_blocks: Option<u32>,
    /// Connections that all clients share, each for the time of a transaction; `None`: each client has its own. A pool is
    /// for closed loops, and for workloads that prepare no statements on the way. Connections that break are opened
    /// again, whatever `on_loss` says.
    pub connections: Option<u32>,
    pub protocol: Protocol,
    /// Tries for a transaction that meets a serialization failure (40001) or deadlock (40P01); at least 1.
    pub tries_max: u32,
    /// What becomes of a client whose connection breaks.
    pub on_loss: OnLoss,
    /// How long a thread that has lost all its connections goes on trying before its stage ends.
    pub reconnect_timeout: Duration,
    /// Open a connection for each transaction and close it behind it.
    pub connect_per_transaction: bool,
    /// Clients have no connection before they ask for one by `Step::Connect`.
    pub connect_when_asked: bool,
    /// Close the connection of a client that has done all its transactions, while others go on; and end an open load once nothing more
    /// is due within its time.
    pub hang_up_when_done: bool,
    /// Longest wait at a stage's end for transactions that are under way.
    pub drain_timeout: Duration,
    /// The same where a stage is stopped before its plan is fulfilled, if that is less.
    pub stopped_drain_timeout: Duration,
    /// A statement that takes longer is cancelled on the server; it needs a [`canceller`](Self::canceller).
    pub statement_limit: Option<Duration>,
    /// Who cancels statements that outlast the limit, or their stage; where there is nobody, those of a stage lose their
    /// connection.
    pub canceller: Option<Arc<dyn Canceller>>,
    /// Whether transactions of an open load that were due before its end are still begun behind it.
    pub finish_late: bool,
    /// Transactions of an open load that would begin later than this are skipped and counted.
    pub skip_later_than: Option<Duration>,
    /// Failures in a row after which a client gives up.
    pub failures_in_a_row_max: u32,
    /// Clients are dealt in turn to the endpoint that the engine is started with and to these, which speak the same
    /// protocol.
    pub further_endpoints: Vec<Endpoint>,
    /// How the load threads wait for their sockets; `None`: as the environment variable `DYNO_POLLER` says, else as
    /// dyno thinks best.
    pub poller: Option<PollerChoice>,
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
            segment: Segment::default(),
            clients_in_blocks: None,
            connections: None,
            protocol: Protocol::default(),
            tries_max: 10,
            on_loss: OnLoss::Reconnect,
            reconnect_timeout: Duration::from_secs(10),
            connect_per_transaction: false,
            connect_when_asked: false,
            hang_up_when_done: false,
            drain_timeout: Duration::from_secs(10),
            stopped_drain_timeout: Duration::from_secs(1),
            statement_limit: None,
            canceller: None,
            finish_late: true,
            skip_later_than: None,
            failures_in_a_row_max: 100,
            further_endpoints: Vec::new(),
            poller: None,
            realtime: false,
            seed: 0,
        }
    }
}

/// A thread's share of its generator's segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    segment: Segment,
    /// The thread's number, and how many threads the generator has.
    pub(crate) thread: u32,
    threads: u32,
    /// See [`EngineConfig::clients_in_blocks`].
    blocks: Option<u32>,
}

impl Share {
    pub(crate) fn new(thread: u32, config: &EngineConfig) -> Self {
        Self { segment: config.segment, thread, threads: config.threads, blocks: config.clients_in_blocks }
    }

    /// What all threads of the generator have together.
    pub(crate) fn of_all_threads(config: &EngineConfig) -> Self {
        Self { threads: 1, ..Self::new(0, config) }
    }

    /// A number that no other thread of any generator has, below that of [all threads](Self::of_threads) where all generators have
    /// as many.
    pub(crate) fn number(&self) -> u32 {
        self.segment.generator().saturating_add(self.segment.generators().saturating_mul(self.thread))
    }

    /// All threads of all generators, if these have as many as this one.
    pub(crate) fn of_threads(&self) -> u32 {
        self.segment.generators().saturating_mul(self.threads)
    }

    /// How many of all `clients` clients are this thread's.
    pub(crate) fn of(&self, clients: u32) -> u32 {
        let clients = of_segment(self.segment, clients);
        let in_turn = |clients: u32| clients.saturating_sub(self.thread).div_ceil(self.threads);
        match self.blocks {
            None => in_turn(clients),
            // Blocks differ by one client at most, and the first are the larger ones.
            Some(all) => clients.saturating_sub(self.block_start(all)).min(in_turn(all)),
        }
    }

    /// The number among all clients of this thread's client number `index`.
    pub(crate) fn client_id(&self, index: u32) -> u32 {
        let of_generator = match self.blocks {
            None => self.thread + self.threads * index,
            Some(all) => self.block_start(all) + index,
        };
        self.segment.generator() + self.segment.generators() * of_generator
    }

    fn block_start(&self, clients: u32) -> u32 {
        let (each, larger) = (clients / self.threads, clients % self.threads);
        each * self.thread + larger.min(self.thread)
    }
}

/// How many of all `clients` clients, or of as many connections, are in a segment.
pub(crate) fn of_segment(segment: Segment, clients: u32) -> u32 {
    // No more than there are.
    segment.of(u64::from(clients)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of the clients of each thread of each generator, which have so many threads.
    fn ids(threads: &[u32], clients: u32) -> Vec<u32> {
        let mut ids = Vec::new();
        for (generator, threads) in (0..).zip(threads) {
            let segment = Segment::new(generator, 3).unwrap();
            let config = EngineConfig { segment, ..EngineConfig::new(*threads) };
            for thread in 0..(*threads).min(clients) {
                let share = Share::new(thread, &config);
                ids.extend((0..share.of(clients)).map(|index| share.client_id(index)));
            }
        }
        ids.sort_unstable();
        ids
    }

    #[test]
    fn each_client_is_one_thread_s_of_one_generator() {
        for clients in [0, 1, 2, 7, 30] {
            // The last: a thread for each client.
            for threads in [[1, 1, 1], [2, 2, 2], [1, 4, 2], [u32::MAX; 3]] {
                assert_eq!(ids(&threads, clients), (0..clients).collect::<Vec<_>>(), "{threads:?}");
            }
        }
    }
}
