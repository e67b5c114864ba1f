//! Numbers of 32 bits that no two clients of a run draw twice: the ids of `oltp_insert` where the client numbers rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many numbers a client takes at once, so that clients seldom touch the shared counter.
const BLOCK: u64 = 64;

/// Where the clients of a run take their numbers from.
#[derive(Debug)]
pub struct Unique {
    key: u32,
    next: AtomicU64,
}

impl Unique {
    /// `seed` decides the order of the numbers.
    #[must_use]
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self { key: (seed ^ (seed >> 32)) as u32, next: AtomicU64::new(0) })
    }

    /// A client's own hand into it.
    #[must_use]
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
    /// The next number. After 2^32 of all clients they begin anew.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        if self.next == self.end {
            self.next = self.unique.next.fetch_add(BLOCK, Ordering::Relaxed);
            self.end = self.next + BLOCK;
        }
        let index = self.next as u32;
        self.next += 1;
        permute(index ^ self.unique.key)
    }
}

/// A bijection of 32-bit numbers that looks random: neighbours go far apart. Multiplying by an odd number and xoring a
/// number with its own higher bits can both be undone. The constants are those of Wellons' lowbias32.
fn permute(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
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
    fn the_seed_decides() {
        let first = |seed| Unique::new(seed).numbers().draw();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
