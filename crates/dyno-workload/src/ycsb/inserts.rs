//! The inserts of all loads on one table: their numbers, handed out in order, and known to readers once all before them
//! have ended; with the counts that verification needs. No lock, no allocation.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use serde::{Deserialize, Serialize};

/// Inserts from the oldest that is under way to the newest, at most, as with YCSB.
const WINDOW: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Inserts {
    /// The number of the next insert.
    pub next: AtomicU64,
    /// Records whose numbers are below it may be asked for.
    pub there: AtomicU64,
    /// By the place of a number in the window: that its insert ended before one of a lower number.
    early: Vec<AtomicBool>,
    advancing: AtomicBool,
    acknowledged: AtomicU64,
    unsure: AtomicU64,
    /// Reads and scans that found nothing.
    pub missed: AtomicU64,
}

/// What verification needs of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InsertCounts {
    /// The number of the next insert.
    pub next: u64,
    pub acknowledged: u64,
    /// Inserts that were not: each may have been done.
    pub unsure: u64,
    /// Reads and scans that found nothing.
    pub missed: u64,
}

impl Inserts {
    /// Behind so many records.
    pub(super) fn behind(there: u64) -> Self {
        let early = (0..WINDOW).map(|_| AtomicBool::new(false)).collect();
        Self { next: there.into(), there: there.into(), early, ..Self::default() }
    }

    /// Begins anew. Nothing is under way.
    pub(super) fn go_on_behind(&self, there: u64) {
        self.early.iter().for_each(|early| early.store(false, Relaxed));
        [&self.next, &self.there].iter().for_each(|end| end.store(there, Relaxed));
        [&self.acknowledged, &self.unsure, &self.missed].iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Also one that failed is there, as with YCSB: else no record behind it would ever be asked for.
    pub(super) fn ended(&self, record: u64, well: bool) {
        let count = if well { &self.acknowledged } else { &self.unsure };
        count.fetch_add(1, Relaxed);
        self.early(record).store(true, Release);
        // One client at a time moves the limit; one that comes meanwhile leaves its mark to the next.
        if self.advancing.swap(true, Acquire) {
            return;
        }
        let mut there = self.there.load(Relaxed);
        while self.early(there).swap(false, AcqRel) {
            there += 1;
        }
        self.there.store(there, Relaxed);
        self.advancing.store(false, Release);
    }

    pub(super) fn counts(&self) -> InsertCounts {
        let [next, acknowledged, unsure, missed] =
            [&self.next, &self.acknowledged, &self.unsure, &self.missed].map(|count| count.load(Relaxed));
        InsertCounts { next, acknowledged, unsure, missed }
    }

    fn early(&self, record: u64) -> &AtomicBool {
        &self.early[record as usize % WINDOW]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_there_once_all_before_it_are() {
        let inserts = Inserts::behind(100);
        assert_eq!([(); 3].map(|()| inserts.next.fetch_add(1, Relaxed)), [100, 101, 102]);
        inserts.ended(101, true);
        assert_eq!(inserts.there.load(Relaxed), 100);
        inserts.ended(100, false);
        assert_eq!(inserts.there.load(Relaxed), 102);
        inserts.ended(102, true);
        assert_eq!(inserts.there.load(Relaxed), 103);
        assert_eq!(inserts.counts(), InsertCounts { next: 103, acknowledged: 2, unsure: 1, missed: 0 });
        inserts.go_on_behind(7);
        assert_eq!([inserts.next.fetch_add(1, Relaxed), inserts.there.load(Relaxed)], [7, 7]);
    }

    #[test]
    fn all_that_many_clients_insert_are_there_in_the_end() {
        let inserts = Inserts::behind(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..50_000).for_each(|_| inserts.ended(inserts.next.fetch_add(1, Relaxed), true));
                });
            }
        });
        // One that found another at work has left its mark.
        inserts.ended(inserts.next.fetch_add(1, Relaxed), true);
        assert_eq!(inserts.there.load(Relaxed), 200_001);
    }
}
