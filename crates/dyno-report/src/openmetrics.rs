//! The figures of runs under way for Prometheus and what understands it: the text format 0.0.4 and OpenMetrics 1.0.
//!
//! An [`Exposition`] is made of the runs' folds, whose sums never go back within a run: not when a stage ends, nor when the
//! server under test restarts and counts from zero again.

mod families;
mod text;

pub use self::families::Exposition;
pub use self::text::{Format, render};

#[cfg(test)]
mod tests;
