//! A sum that one thread adds to and anybody may read, without a lock and without any ordering: a reader may see one sum
//! before another that was written first, which is as exact as a progress line needs; at the end of a run the threads
//! are done.

use std::sync::atomic::{AtomicU64, Ordering};

/// A sum that only one thread adds to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        // No read-modify-write: there is one writer.
        self.set(self.get() + count);
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
