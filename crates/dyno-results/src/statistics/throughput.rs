//! Throughput of a stage with its 95 % interval, from the intervals of its load.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::autocorrelation::effective_samples;
use crate::document::Estimate;

/// Fewer full intervals than this say nothing about how much throughput varies.
const SAMPLES_MIN: usize = 3;
/// An interval shorter than this share of the longest is left out of the variance: its rate is noisier than the
/// others'. It still counts in the mean.
const FULL_SHARE: f64 = 0.5;
/// Two-sided 95 %.
const QUANTILE: f64 = 0.975;

/// One interval of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Transactions that ended well in it.
    pub count: u64,
    pub seconds: f64,
}

/// Transactions per second over all slices, with the 95 % interval of the mean. `None` where no time passed. The
/// caller leaves out warm-up and drain.
#[must_use]
pub fn estimate(slices: &[Slice]) -> Option<Estimate> {
    let seconds: f64 = slices.iter().map(|slice| slice.seconds).sum();
    if seconds <= 0.0 {
        return None;
    }
    let count: u64 = slices.iter().map(|slice| slice.count).sum();
    let longest_s = slices.iter().map(|slice| slice.seconds).fold(0.0, f64::max);
    let rates: Vec<f64> = slices
        .iter()
        .filter(|slice| slice.seconds >= FULL_SHARE * longest_s)
        .map(|slice| slice.count as f64 / slice.seconds)
        .collect();
    let interval = half_width(&rates);
    Some(Estimate {
        mean: count as f64 / seconds,
        half_width: interval.map(|(half_width, _)| half_width),
        samples: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        effective_samples: interval.map(|(_, effective)| effective),
    })
}

/// Half-width of the 95 % interval of a series' mean, and the effective number of samples that it rests on.
#[must_use]
pub fn half_width(series: &[f64]) -> Option<(f64, f64)> {
    if series.len() < SAMPLES_MIN {
        return None;
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let sum_of_squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let effective = effective_samples(series);
    // The variance loses what the mean of correlated values takes with it: hence n - n / n_eff, not n - 1.
    let variance = sum_of_squares / (n - n / effective).max(1.0);
    // With one effective sample there is no degree of freedom left; with less than one more, hardly any.
    let t = StudentsT::new(0.0, 1.0, (effective - 1.0).max(1.0)).ok()?.inverse_cdf(QUANTILE);
    Some((t * (variance / effective).sqrt(), effective))
}
