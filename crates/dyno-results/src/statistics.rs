//! Statistics of what was measured: throughput with an honest interval, and the peak of a ladder.
//!
//! Pure functions of numbers. How they are used, and why these, is told in `docs/methodology.md`.

pub mod autocorrelation;
pub mod peak;
pub mod throughput;

pub use self::throughput::{Slice, estimate};

#[cfg(test)]
pub(crate) mod noise;
