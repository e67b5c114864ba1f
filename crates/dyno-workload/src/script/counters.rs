//! The numbers of `next(NAME)`: clients share them, and none has one twice.

use std::sync::atomic::{AtomicI64, Ordering};

use super::Names;

/// A counter for each name.
#[derive(Debug, Default)]
pub struct Counters(Box<[AtomicI64]>);

impl Counters {
    /// Each goes on behind the largest number that is there.
    pub(crate) fn new(names: &Names, largest: impl Fn(&str) -> i64) -> Self {
        Self(names.counters().iter().map(|name| largest(name).saturating_add(1).into()).collect())
    }

    pub(super) fn take(&self, counter: usize) -> Option<i64> {
        self.0.get(counter).map(|next| next.fetch_add(1, Ordering::Relaxed))
    }
}
