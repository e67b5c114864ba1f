//! Random numbers as pgbench draws them: the same seed gives the same values, bit by bit.
//!
//! The generator is xoroshiro128** (Blackman and Vigna), seeded through splitmix64.

use std::f64::consts::PI;

pub use super::hash::{hash_fnv1a, hash_murmur2, permute};

/// The state of a generator. A copy goes on as the original would have, which is how a retry gets the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prng {
    s0: u64,
    s1: u64,
}

impl Prng {
    pub fn seed(seed: u64) -> Self {
        let mut state = seed;
        // Never both zero, which the generator would not leave: splitmix64 maps no two of its states to one number.
        Self { s0: splitmix64(&mut state), s1: splitmix64(&mut state) }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s0 = self.s0;
        let mixed = self.s1 ^ s0;
        self.s0 = s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform in `low..=high`; `low` if the range is empty. Draws until a value falls into the range.
    #[inline]
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        if high <= low {
            return low;
        }
        let span = high - low;
        let shift = span.leading_zeros();
        loop {
            let offset = self.next_u64() >> shift;
            if offset <= span {
                return low + offset;
            }
        }
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn double(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 52) as f64;
        (self.next_u64() >> 12) as f64 * STEP
    }

    /// Uniform in (0, 1].
    fn double_above_zero(&mut self) -> f64 {
        1.0 - self.double()
    }

    /// Uniform in `low..=high`, of which the span must fit into 64 bits.
    #[inline]
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.range(0, high.wrapping_sub(low) as u64) as i64)
    }

    /// Normal, cut at `parameter` standard deviations on both sides and laid over `low..=high`.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let deviation = loop {
            let (radius, angle) = (self.double_above_zero(), self.double_above_zero());
            let deviation = (-2.0 * radius.ln()).sqrt() * (2.0 * PI * angle).sin();
            // So that a parameter that is no number ends the search.
            let outside = deviation < -parameter || deviation >= parameter;
            if !outside {
                break deviation;
            }
        };
        place(low, high, (deviation + parameter) / (parameter * 2.0))
    }

    /// Exponential, cut where its density has fallen by `exp(-parameter)` and laid over `low..=high`.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = self.double_above_zero();
        place(low, high, -(cut + (1.0 - cut) * uniform).ln() / parameter)
    }

    /// Zipfian over `low..=high` with this exponent, above 1, by rejection (Devroye 1986, X.6.1). Never ends for what is
    /// no number.
    pub fn zipfian(&mut self, low: i64, high: i64, exponent: f64) -> i64 {
        let count = high.wrapping_sub(low).wrapping_add(1);
        low.wrapping_sub(1).wrapping_add(self.zipfian_rank(count, exponent))
    }

    fn zipfian_rank(&mut self, count: i64, exponent: f64) -> i64 {
        if count <= 1 {
            return 1;
        }
        let b = 2.0_f64.powf(exponent - 1.0);
        loop {
            let (u, v) = (self.double(), self.double());
            let x = u.powf(-1.0 / (exponent - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(exponent - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= count as f64 {
                return truncate(x);
            }
        }
    }

    /// A time to the next arrival of a Poisson process with this mean, rounded.
    pub fn poisson(&mut self, center: f64) -> i64 {
        truncate(-self.double_above_zero().ln() * center + 0.5)
    }
}

/// Where a fraction of [0, 1) lies in `low..=high`.
fn place(low: i64, high: i64, fraction: f64) -> i64 {
    let count = high.wrapping_sub(low).wrapping_add(1);
    low.wrapping_add(truncate(count as f64 * fraction))
}

/// As the processors do it on which pgbench is used most: what does not fit into 64 bits is the least integer.
fn truncate(value: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&value) { value as i64 } else { i64::MIN }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
