//! Numbers that no two clients of a run draw twice: the ids of `oltp_insert` where the client numbers rows, and
//! `sb_rand_uniq` of scripts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many numbers of all a client takes at once, so that clients seldom touch the shared counter.
const BLOCK: u64 = 64;
/// A script that never asks for the same range twice must not fill the memory with them.
const RANGES_MAX: usize = 4096;

/// Where the clients of a run take their numbers from: each number of 0 to the last one comes once, then all come anew.
#[derive(Debug)]
pub struct Unique {
    key: u32,
    last: u32,
    /// Of as many numbers as bits can tell apart, those beyond the last are passed over.
    bits: u32,
    block: u64,
    next: AtomicU64,
}

impl Unique {
    /// Of all numbers of 32 bits; `seed` decides their order.
    pub fn new(seed: u64) -> Arc<Self> {
        Self::up_to(u32::MAX, BLOCK, seed)
    }

    /// `block` is how many a client takes at once; it may leave some of them undrawn.
    fn up_to(last: u32, block: u64, seed: u64) -> Arc<Self> {
        let bits = (u32::BITS - last.leading_zeros()).max(1);
        Arc::new(Self { key: (seed ^ (seed >> 32)) as u32, last, bits, block, next: AtomicU64::new(0) })
    }

    /// A client's own hand into it.
    pub fn numbers(self: &Arc<Self>) -> UniqueNumbers {
        UniqueNumbers { unique: Arc::clone(self), next: 0, end: 0 }
    }
}

/// The numbers of one client.
#[derive(Debug)]
pub struct UniqueNumbers {
    unique: Arc<Unique>,
    next: u64,
    end: u64,
}

impl UniqueNumbers {
    /// The next number. After all clients have drawn all of them they begin anew.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        let Unique { key, last, bits, block, .. } = *self.unique;
        loop {
            if self.next == self.end {
                self.next = self.unique.next.fetch_add(block, Ordering::Relaxed);
                self.end = self.next + block;
            }
            let number = permute(self.next as u32 ^ key, bits);
            self.next += 1;
            // At least every other one is.
            if number <= last {
                return number;
            }
        }
    }
}

/// A bijection of the numbers of so many bits that looks random: neighbours go far apart. Multiplying by an odd number and
/// xoring a number with its own higher bits can both be undone. The multipliers are those of Wellons' lowbias32.
fn permute(x: u32, bits: u32) -> u32 {
    let mask = u32::MAX >> (u32::BITS - bits);
    let half = bits.div_ceil(2);
    let mut x = x & mask;
    for multiplier in [0x7feb_352d, 0x846c_a68b] {
        x ^= x >> half;
        x = x.wrapping_mul(multiplier) & mask;
    }
    x ^ (x >> half)
}

/// The numbers of `sb_rand_uniq(low, high)`, for all clients of a run and each pair of bounds.
#[derive(Debug)]
pub(super) struct UniqueRanges {
    seed: u64,
    all: Arc<Unique>,
    /// By low bound and how many values there are above it.
    ranges: Mutex<BTreeMap<(i64, u32), Arc<Unique>>>,
}

impl UniqueRanges {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self { seed, all: Unique::new(seed), ranges: Mutex::default() })
    }

    /// Of all numbers of 32 bits.
    pub(super) fn all(&self) -> UniqueNumbers {
        self.all.numbers()
    }

    /// The next one of 0 to `last`, for the range that begins at `low`.
    pub(super) fn draw(&self, low: i64, last: u32) -> u32 {
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        if ranges.len() >= RANGES_MAX {
            ranges.clear();
        }
        ranges.entry((low, last)).or_insert_with(|| Unique::up_to(last, 1, self.seed)).numbers().draw()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_clients_draw_the_same_number() {
        let unique = Unique::new(5);
        let mut clients = [unique.numbers(), unique.numbers(), unique.numbers()];
        let mut seen = HashSet::new();
        for round in 0..100_000 {
            assert!(seen.insert(clients[round % 3].draw()), "number {round} was drawn before");
        }
        // They are spread over all 32 bits.
        let upper = seen.iter().filter(|number| **number > u32::MAX / 2).count();
        assert!((49_000..51_000).contains(&upper), "{upper}");
    }

    #[test]
    fn every_number_of_a_range_comes_once_before_one_comes_again() {
        for (last, seed) in [(0, 1), (1, 2), (4, 3), (99, 4), (127, 5), (128, 6), (99_999, 7)] {
            let ranges = UniqueRanges::new(seed);
            for _ in 0..2 {
                let seen: HashSet<_> = (0..=last).map(|_| ranges.draw(1, last)).collect();
                assert_eq!(seen.len(), last as usize + 1, "{last}");
                assert!(seen.iter().all(|number| *number <= last), "{last}");
            }
        }
    }

    #[test]
    fn the_seed_decides() {
        let first = |seed| Unique::new(seed).numbers().draw();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
