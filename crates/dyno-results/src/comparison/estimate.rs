//! Ratios with their intervals: what a side is taken to be, and how far two of them can be told apart.
//!
//! Everything is done on logarithms, where a ratio is a difference and an interval of it never reaches below nothing.
//! Where a side was repeated its figure is the median, and the bootstrap of the repeats says how well that is known;
//! where it was not, the seconds within it must do.

use super::document::{Better, Cell, Ratio, Verdict};
use super::spread::Spread;
use crate::statistics::repeats::median;
use crate::statistics::throughput::student;

/// A run that was not repeated is never taken to be known better than this, standard error of its logarithm: about 1 %
/// either way. The seconds within it do not see what differs from one run to the next.
const SINGLE_ERROR_MIN: f64 = 0.005;
/// A figure of one side, with what can be said of how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub(super) value: f64,
    pub(super) spread: Option<Spread>,
    pub(super) repeats: usize,
}

impl Known {
    /// From the figure of each repeat. `None` without any.
    pub(super) fn of(repeats: &[(f64, Option<Spread>)]) -> Option<Self> {
        match repeats {
            [] => None,
            [(value, spread)] => {
                let spread = spread.filter(|_| *value > 0.0).map(|spread| spread.at_least(SINGLE_ERROR_MIN));
                Some(Self { value: *value, spread, repeats: 1 })
            }
            several => {
                let values: Vec<f64> = several.iter().map(|(value, _)| *value).collect();
                let positive = values.iter().all(|value| *value > 0.0);
                Some(Self {
                    value: median(values.clone())?,
                    spread: positive.then(|| Spread::of_repeats(&values)),
                    repeats: values.len(),
                })
            }
        }
    }

    /// The 95 % interval of the figure itself.
    fn interval(&self) -> Option<[f64; 2]> {
        let spread = self.spread?;
        let t = student(spread.degrees)?;
        Some([self.value * (-t * spread.down).exp(), self.value * (t * spread.up).exp()])
    }

    pub(super) fn cell(&self) -> Cell {
        Cell {
            value: Some(self.value),
            interval: self.interval(),
            repeats: u32::try_from(self.repeats).unwrap_or(u32::MAX),
            ratio: None,
        }
    }
}

/// What `other` is to `base`, with the 95 % interval. `None` where one of them is nothing.
pub(super) fn ratio(base: &Known, other: &Known, better: Better) -> Option<Ratio> {
    if base.value <= 0.0 || other.value <= 0.0 {
        return None;
    }
    let value = other.value / base.value;
    let interval = base.spread.zip(other.spread).and_then(|(of_base, of_other)| {
        let down = margin((of_other.down, of_other.degrees), (of_base.up, of_base.degrees))?;
        let up = margin((of_other.up, of_other.degrees), (of_base.down, of_base.degrees))?;
        Some([value * (-down).exp(), value * up.exp()])
    });
    Some(Ratio { value, interval, verdict: verdict(value, interval, better) })
}

fn verdict(value: f64, interval: Option<[f64; 2]>, better: Better) -> Verdict {
    let Some([lowest, highest]) = interval else { return Verdict::NoInterval };
    if lowest <= 1.0 && highest >= 1.0 {
        return Verdict::NoDifferenceShown;
    }
    match (better, value > 1.0) {
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
        (Better::Neither, true) => Verdict::Higher,
        (Better::Neither, false) => Verdict::Lower,
    }
}

/// Half-width of the interval of a difference of two estimates, each given by its standard error and its degrees of
/// freedom (Welch and Satterthwaite).
fn margin((left, left_degrees): (f64, f64), (right, right_degrees): (f64, f64)) -> Option<f64> {
    let (left, right) = (left * left, right * right);
    let sum = left + right;
    if sum <= 0.0 {
        return Some(0.0);
    }
    let degrees = sum * sum / (left * left / left_degrees + right * right / right_degrees);
    Some(student(degrees)? * sum.sqrt())
}

#[cfg(test)]
#[path = "tests/estimate.rs"]
mod tests;
