//! Which queries the clients of a load wait for, and since when: told by the clients without a lock, and read by who watches.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use dyno_engine::workload::{QueryUnderWay, TransactionType};

/// The queries that are under way, a place for each client.
#[derive(Debug)]
pub(super) struct RunningQueries {
    /// Times are counted from here.
    origin: Instant,
    /// Those of clients that are gone stay until the next look.
    places: Mutex<Vec<Weak<RunningQueryPlace>>>,
}

/// What one client waits for.
#[derive(Debug)]
pub(super) struct RunningQueryPlace {
    origin: Instant,
    /// The client's load thread.
    thread: u32,
    query: AtomicU16,
    /// Microseconds since the origin, and one; 0 where nothing is under way.
    since: AtomicU64,
}

impl Default for RunningQueries {
    fn default() -> Self {
        Self { origin: Instant::now(), places: Mutex::default() }
    }
}

impl RunningQueries {
    /// The place of one more client.
    pub(super) fn place(&self, thread: u32) -> Arc<RunningQueryPlace> {
        let (query, since) = (AtomicU16::new(0), AtomicU64::new(0));
        let place = Arc::new(RunningQueryPlace { origin: self.origin, thread, query, since });
        self.places.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&place));
        place
    }

    /// The queries that are under way, the longest first.
    pub(super) fn all(&self) -> Vec<QueryUnderWay> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|place| place.strong_count() > 0);
        let mut all: Vec<QueryUnderWay> =
            places.iter().filter_map(Weak::upgrade).filter_map(|place| place.look()).collect();
        all.sort_by_key(|query| std::cmp::Reverse(query.duration));
        all
    }
}

impl RunningQueryPlace {
    pub(super) fn begin(&self, query: u16) {
        self.query.store(query, Ordering::Relaxed);
        let since = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX - 1) + 1;
        // Who sees the time sees the query too.
        self.since.store(since, Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.since.store(0, Ordering::Release);
    }

    fn look(&self) -> Option<QueryUnderWay> {
        let since = self.since.load(Ordering::Acquire).checked_sub(1)?;
        let query = TransactionType(self.query.load(Ordering::Relaxed));
        let duration = self.origin.elapsed().saturating_sub(Duration::from_micros(since));
        Some(QueryUnderWay { query, duration, thread: self.thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_known_until_it_ends_or_its_client_is_gone() {
        let running = RunningQueries::default();
        let (one, other) = (running.place(0), running.place(1));
        let queries = || {
            running
                .all()
                .into_iter()
                .map(|under_way| (under_way.query.0, under_way.thread))
                .collect::<Vec<_>>()
        };
        assert!(queries().is_empty());
        one.begin(4);
        std::thread::sleep(Duration::from_millis(2));
        other.begin(7);
        assert_eq!(queries(), [(4, 0), (7, 1)]);
        one.end();
        assert_eq!(queries(), [(7, 1)]);
        drop(other);
        assert!(queries().is_empty());
    }
}
