//! Statistics of what was measured: throughput with an honest interval, the peak of a ladder, and where a ramp was saturated.
//!
//! Pure functions of numbers. How they are used, and why these, is told in `docs/methodology.md`.

pub mod autocorrelation;
pub(crate) mod geometric_mean;
pub mod peak;
pub mod repeats;
pub mod saturation;
pub mod throughput;

pub use self::throughput::{Slice, estimate};

#[cfg(test)]
#[path = "statistics/tests/noise.rs"]
pub(crate) mod noise;
