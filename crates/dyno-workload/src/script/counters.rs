//! The numbers of `next(NAME)`: clients share them, and none has one twice.

use std::sync::atomic::{AtomicI64, Ordering};

use dyno_results::spec::Segment;

use super::Names;

/// A counter for each name.
#[derive(Debug, Default)]
pub struct Counters {
    next: Box<[AtomicI64]>,
    /// From one number of this generator to its next.
    step: i64,
}

impl Counters {
    /// Each goes on behind the largest number that is there, as that of one generator of several.
    pub fn new(names: &Names, largest: impl Fn(&str) -> i64, segment: Segment) -> Self {
        let first = 1 + i64::from(segment.generator());
        let next = names.counters().iter().map(|name| largest(name).saturating_add(first).into());
        Self { next: next.collect(), step: segment.generators().into() }
    }

    pub(super) fn take(&self, counter: usize) -> Option<i64> {
        self.next.get(counter).map(|next| next.fetch_add(self.step, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_share_no_number() {
        let mut names = Names::new();
        let order = names.counter(b"order");
        let mut drawn = Vec::new();
        for generator in 0..3 {
            let counters = Counters::new(&names, |_| 100, Segment::new(generator, 3).unwrap());
            drawn.extend((0..4).map(|_| counters.take(order).unwrap()));
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (101..113).collect::<Vec<_>>());
        assert_eq!(Counters::default().take(order), None);
    }
}
