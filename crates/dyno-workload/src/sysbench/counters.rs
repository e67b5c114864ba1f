//! What the clients count, as sysbench counts it: queries by kind, events, restarts, and a histogram of latencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dyno_engine::request::QueryKind;
use dyno_engine::workload::ClientIdentity;

mod latencies;
mod snapshot;

pub use latencies::{BUCKETS, Latencies};
pub use snapshot::Snapshot;

use latencies::LatencyCells;

use crate::single_writer::Count;

/// What one load thread counts. It shares no cache line with what others write.
#[derive(Debug, Default)]
#[repr(align(128))]
struct ThreadCells {
    begun: Count,
    events: Count,
    failed: Count,
    latencies: LatencyCells,
}

/// What is counted of one client.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ClientCells {
    reads: Count,
    writes: Count,
    other: Count,
    ignored_errors: Count,
    reconnects: Count,
    events: Count,
    /// That a script has counted by itself: they have no latency.
    own_events: Count,
    busy_ns: Count,
}

/// What sysbench has a counter of for each client, by the number that it has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A query that is neither of the next two: one that was to change rows and found none, too.
    Other,
    /// A query that returned rows.
    Read,
    /// A query that changed at least a row.
    Write,
    Event,
    /// An error that only restarts the event.
    IgnoredError,
    /// The client's connection was lost and is there again.
    Reconnect,
}

impl Counted {
    const ALL: [Self; 6] =
        [Self::Other, Self::Read, Self::Write, Self::Event, Self::IgnoredError, Self::Reconnect];

    /// `None` of numbers that sysbench has no counter for.
    pub fn numbered(number: i64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number)).copied()
    }
}

impl ClientCells {
    /// What a script adds to, too.
    fn cell(&self, of: Counted) -> &Count {
        match of {
            Counted::Other => &self.other,
            Counted::Read => &self.reads,
            Counted::Write => &self.writes,
            Counted::Event => &self.own_events,
            Counted::IgnoredError => &self.ignored_errors,
            Counted::Reconnect => &self.reconnects,
        }
    }
}

/// The counts of a run's clients.
#[derive(Debug)]
pub struct Counters {
    threads: Box<[ThreadCells]>,
    /// What clients of other threads count, which nobody reads.
    others: ThreadCells,
    clients: Box<[ClientCells]>,
    /// Extremes are of the events since this last changed. Seldom written, so that all can read it cheaply.
    epoch: AtomicU32,
}

impl Counters {
    /// For load threads 0 to `threads` - 1 and clients 0 to `clients` - 1. Others may count too, and are left out.
    pub fn new(threads: u32, clients: u32) -> Arc<Self> {
        Arc::new(Self {
            threads: (0..threads).map(|_| ThreadCells::default()).collect(),
            others: ThreadCells::default(),
            clients: (0..clients).map(|_| ClientCells::default()).collect(),
            epoch: AtomicU32::new(0),
        })
    }

    /// The cells of one client. Only the load thread of `identity` may use them.
    pub fn client(self: &Arc<Self>, identity: ClientIdentity) -> ClientCounters {
        ClientCounters {
            thread: identity.thread as usize,
            client: identity.id as usize,
            counters: Arc::clone(self),
        }
    }

    /// From now on the shortest and the longest latency are those of events that end later: at the end of the warm-up
    /// time, say. A load thread notices at its next event.
    pub fn restart_extremes(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts as they are.
    pub fn read(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let epoch = self.epoch.load(Ordering::Relaxed);
        for cells in &self.threads {
            let ended = cells.events.get();
            let failed = cells.failed.get();
            snapshot.events += ended;
            snapshot.failed_events += failed;
            // Read behind the ends, so that there never seem to be more of them.
            snapshot.running += cells.begun.get().saturating_sub(ended + failed);
            cells.latencies.add_to(&mut snapshot.latencies, epoch);
        }
        for cells in &self.clients {
            snapshot.reads += cells.reads.get();
            snapshot.writes += cells.writes.get();
            snapshot.other += cells.other.get();
            snapshot.ignored_errors += cells.ignored_errors.get();
            snapshot.reconnects += cells.reconnects.get();
            snapshot.events += cells.own_events.get();
            snapshot.per_client.push((cells.events.get(), cells.busy_ns.get()));
        }
        snapshot
    }
}

/// One client's hand into the [`Counters`].
#[derive(Debug, Clone)]
pub struct ClientCounters {
    counters: Arc<Counters>,
    thread: usize,
    client: usize,
}

impl ClientCounters {
    #[inline]
    fn cells(&self) -> &ThreadCells {
        self.counters.threads.get(self.thread).unwrap_or(&self.counters.others)
    }

    /// An event begins.
    #[inline]
    pub fn event_begun(&self) {
        self.cells().begun.add(1);
    }

    /// An event has ended well, `latency_ns` after it was due; in a closed loop that is when it began.
    #[inline]
    pub fn event_ended(&self, latency_ns: u64) {
        let cells = self.cells();
        cells.events.add(1);
        cells.latencies.add(latency_ns, self.counters.epoch.load(Ordering::Relaxed));
        if let Some(client) = self.counters.clients.get(self.client) {
            client.events.add(1);
            client.busy_ns.add(latency_ns);
        }
    }

    /// An event that was begun has ended by an error, and is not begun again.
    #[inline]
    pub fn event_failed(&self) {
        self.cells().failed.add(1);
    }

    #[inline]
    pub fn query(&self, did: QueryKind) {
        self.add(
            match did {
                QueryKind::Read => Counted::Read,
                QueryKind::Write => Counted::Write,
                QueryKind::Other => Counted::Other,
            },
            1,
        );
    }

    #[inline]
    pub fn add(&self, counted: Counted, by: u64) {
        if let Some(client) = self.counters.clients.get(self.client) {
            client.cell(counted).add(by);
        }
    }

    /// What any client has counted; 0 where there is none of that number.
    pub fn counted_of(&self, client: usize, counted: Counted) -> u64 {
        let Some(cells) = self.counters.clients.get(client) else { return 0 };
        let ended = if counted == Counted::Event { cells.events.get() } else { 0 };
        cells.cell(counted).get() + ended
    }

    /// An error that only restarts the event.
    #[inline]
    pub fn ignored_error(&self) {
        self.add(Counted::IgnoredError, 1);
    }

    /// The client's connection was lost and is there again.
    #[inline]
    pub fn reconnect(&self) {
        self.add(Counted::Reconnect, 1);
    }
}
