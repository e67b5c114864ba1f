//! The numbers of `next(NAME)`: clients share them, and none has one twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_results::spec::Segment;

use super::Names;

/// The last number of each name. Loads that share them go on where another is.
#[derive(Debug, Clone, Default)]
pub struct Numbers(Arc<Mutex<BTreeMap<String, Arc<AtomicI64>>>>);

impl Numbers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<AtomicI64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest number of this name that is there.
    pub fn set(&self, name: &str, largest: i64) {
        self.lock().entry(name.to_owned()).or_default().store(largest, Ordering::Relaxed);
    }

    /// That of a name that was never set is 0.
    pub fn last(&self, name: &str) -> i64 {
        self.of(name).load(Ordering::Relaxed)
    }

    fn of(&self, name: &str) -> Arc<AtomicI64> {
        Arc::clone(self.lock().entry(name.to_owned()).or_default())
    }
}

/// A counter for each name that scripts count by.
#[derive(Debug, Default)]
pub struct Counters {
    last: Box<[Arc<AtomicI64>]>,
    segment: Segment,
}

impl Counters {
    /// Those of one load generator: it has every so manieth number.
    pub fn new(names: &Names, numbers: &Numbers, segment: Segment) -> Self {
        Self { last: names.counters().iter().map(|name| numbers.of(name)).collect(), segment }
    }

    pub(super) fn take(&self, counter: usize) -> Option<i64> {
        let last = self.last.get(counter)?.fetch_add(self.segment.generators().into(), Ordering::Relaxed);
        Some(last.saturating_add(1 + i64::from(self.segment.generator())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_and_loads_share_no_number() {
        let mut names = Names::new();
        let order = names.counter(b"order");
        let mut drawn = Vec::new();
        for generator in 0..3 {
            let numbers = Numbers::default();
            numbers.set("order", 100);
            for _ in 0..2 {
                let counters = Counters::new(&names, &numbers, Segment::new(generator, 3).unwrap());
                drawn.extend((0..2).map(|_| counters.take(order).unwrap()));
            }
            assert_eq!(numbers.last("order"), 112);
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (101..113).collect::<Vec<_>>());
        assert_eq!(Counters::default().take(order), None);
    }
}
