//! How many independent observations a series is worth.
//!
//! Seconds of a benchmark resemble their neighbours (a checkpoint, a cache that warms), so that n of them say less
//! than n independent ones. Taking them as independent gives intervals that are too narrow.

/// Effective number of independent observations in `series`, at most its length.
///
/// The length is divided by the larger of two estimates of 1 + 2 Σ ρ(k): one by summing the sample autocorrelations
/// until their pairs are no longer positive (Geyer's initial positive sequence), which makes no assumption but needs
/// many values; the other from the lag-1 autocorrelation, corrected for its bias, which serves short series. A
/// negative correlation, which would make an interval narrower, is not believed.
#[must_use]
pub fn effective_samples(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let correlations = Autocorrelation::new(series);
    let inflation = initial_positive_sequence(&correlations).max(first_order(&correlations, n)).max(1.0);
    (n / inflation).max(1.0)
}

/// Sample autocorrelations of a series.
struct Autocorrelation {
    deviations: Vec<f64>,
    sum_of_squares: f64,
}

impl Autocorrelation {
    fn new(series: &[f64]) -> Self {
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let deviations: Vec<f64> = series.iter().map(|value| value - mean).collect();
        let sum_of_squares = deviations.iter().map(|deviation| deviation * deviation).sum();
        Self { deviations, sum_of_squares }
    }

    /// ρ(lag); zero for a constant series.
    fn at(&self, lag: usize) -> f64 {
        if self.sum_of_squares <= 0.0 || lag >= self.deviations.len() {
            return 0.0;
        }
        let products = self.deviations.iter().zip(&self.deviations[lag..]).map(|(left, right)| left * right);
        products.sum::<f64>() / self.sum_of_squares
    }
}

/// 1 + 2 Σ ρ(k), summed in pairs until one is not positive.
fn initial_positive_sequence(correlations: &Autocorrelation) -> f64 {
    let mut inflation = -1.0;
    let mut pair_max = f64::INFINITY;
    for lag in (0..correlations.deviations.len()).step_by(2) {
        let pair = correlations.at(lag) + correlations.at(lag + 1);
        if pair <= 0.0 {
            break;
        }
        // Pairs of true autocorrelations fall monotonically; a later, larger one is noise.
        pair_max = pair_max.min(pair);
        inflation += 2.0 * pair_max;
    }
    inflation
}

/// (1 + ρ) / (1 - ρ), the inflation of a first-order autoregression. A sample's ρ(1) is too low by about
/// (1 + 3ρ) / n (Kendall 1954): on ten values a true 0.5 shows as 0.25.
fn first_order(correlations: &Autocorrelation, n: f64) -> f64 {
    let measured = correlations.at(1);
    // Below what pure chance would give, taking correlation for granted would widen every short interval.
    if measured <= 0.0 {
        return 1.0;
    }
    let corrected = (measured + (1.0 + 3.0 * measured) / n).min(CORRELATION_MAX);
    (1.0 + corrected) / (1.0 - corrected)
}

/// Above this a series is a drift rather than a stationary level.
const CORRELATION_MAX: f64 = 0.98;
