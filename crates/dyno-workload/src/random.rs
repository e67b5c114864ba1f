//! Random numbers of the clients: one small generator each, so that no draw of one client changes another's.
//!
//! The same seed and client give the same sequence on every machine and in every version, because a stored run
//! names its seed. Nothing here is fit for cryptography.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

/// The random stream of one client.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of `client` in a run with `seed`.
    pub fn of_client(seed: u64, client: u32) -> Self {
        // Mixed before seeding: seeds that differ by a small sum would give streams that share parts of their state.
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(u64::from(client) + 1))))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to just below 1, on a grid of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// An integer from `low` to `high`, both included, each as likely as any other; `low` where `high` is below it.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let width = high.wrapping_sub(low) as u64;
        match width.checked_add(1) {
            Some(count) => low.wrapping_add(self.below(count) as i64),
            None => self.0.next_u64() as i64,
        }
    }

    /// An integer from 0 to `count` - 1 (Lemire, "Fast Random Integer Generation in an Interval", 2019): the high
    /// word of a product, where the few low words that would favour some results are drawn again.
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        let mut product = u128::from(self.0.next_u64()) * u128::from(count);
        if (product as u64) < count {
            let uneven = count.wrapping_neg() % count;
            while (product as u64) < uneven {
                product = u128::from(self.0.next_u64()) * u128::from(count);
            }
        }
        (product >> 64) as u64
    }
}

/// Spreads every bit of `value` over the whole word (the finalizer of MurmurHash3); a bijection.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, client: u32) -> Vec<i64> {
        let mut random = Random::of_client(seed, client);
        (0..64).map(|_| random.between(1, 1_000_000)).collect()
    }

    #[test]
    fn a_stream_depends_on_seed_and_client_only() {
        assert_eq!(draws(7, 3), draws(7, 3));
        assert_ne!(draws(7, 3), draws(7, 4));
        assert_ne!(draws(7, 3), draws(8, 3));
    }

    /// A stored run names its seed: this sequence must never change.
    #[test]
    fn the_sequence_is_fixed_for_good() {
        assert_eq!(&draws(42, 0)[..4], &[863_697, 417_775, 995_157, 780_028]);
    }

    #[test]
    fn neighbours_share_no_draws() {
        let mut seen = std::collections::HashSet::new();
        for client in 0..256 {
            let mut random = Random::of_client(1, client);
            for _ in 0..16 {
                assert!(seen.insert(random.0.next_u64()), "client {client} repeats a draw");
            }
        }
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut random = Random::of_client(1, 1);
        let draws: Vec<i64> = (0..1000).map(|_| random.between(-3, 3)).collect();
        assert_eq!(draws.iter().min(), Some(&-3));
        assert_eq!(draws.iter().max(), Some(&3));
        assert_eq!(random.between(5, 5), 5);
        random.between(i64::MIN, i64::MAX);
    }

    /// Chi-squared over a width that a plain modulo or a plain multiplication would favour the lower third of.
    #[test]
    fn no_result_is_favoured() {
        let mut random = Random::of_client(99, 0);
        let count = (1_u64 << 63) + (1 << 62);
        let mut thirds = [0_u32; 3];
        for _ in 0..30_000 {
            thirds[(random.below(count) / (1 << 62)) as usize] += 1;
        }
        let chi: f64 = thirds.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 13.8, "{thirds:?}: p < 0.001");
    }
}
