//! How many independent observations a series is worth.
//!
//! Seconds of a benchmark resemble their neighbours (a checkpoint, a cache that warms), so that n of them say less
//! than n independent ones. Taking them as independent gives intervals that are too narrow.

/// Above this a series is a drift rather than a stationary level.
const CORRELATION_MAX: f64 = 0.98;
/// With fewer there would be no variance to speak of.
const EFFECTIVE_MIN: f64 = 2.0;

/// Effective number of independent observations in `series`, from 2 to its length.
///
/// The length is divided by the larger of two estimates of 1 + 2 Σ ρ(k): one by summing the sample autocorrelations
/// until their pairs are no longer positive (Geyer's initial positive sequence), which makes no assumption but needs
/// many values; the other from the lag-1 autocorrelation, corrected for its bias, which serves short series. A
/// negative correlation, which would make an interval narrower, is not believed.
pub fn effective_samples(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let correlations = Autocorrelation::new(series);
    let inflation = initial_positive_sequence(&correlations).max(first_order(&correlations, n)).max(1.0);
    (n / inflation).max(EFFECTIVE_MIN)
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
    // Independent values show a slightly negative one: to correct that too would widen every short interval.
    if measured <= 0.0 {
        return 1.0;
    }
    let corrected = (measured + (1.0 + 3.0 * measured) / n).min(CORRELATION_MAX);
    (1.0 + corrected) / (1.0 - corrected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::noise::Noise;

    fn mean_effective(n: usize, phi: f64) -> f64 {
        let mut noise = Noise::seeded(11);
        let sum: f64 = (0..200).map(|_| effective_samples(&noise.autoregressive(n, 0.0, 1.0, phi))).sum();
        sum / 200.0
    }

    #[test]
    fn a_first_order_autoregression_is_worth_what_theory_says() {
        // n (1 - phi) / (1 + phi), on average over series and a little less.
        for (phi, expected) in [(0.3, 1077.0), (0.6, 500.0), (0.8, 222.0)] {
            let effective = mean_effective(2000, phi);
            assert!((0.85 * expected..=1.05 * expected).contains(&effective), "{phi}: {effective}");
        }
    }

    #[test]
    fn independent_values_are_worth_nearly_their_number() {
        let effective = mean_effective(500, 0.0);
        assert!((440.0..=500.0).contains(&effective), "{effective}");
    }

    #[test]
    fn a_drift_is_worth_next_to_nothing() {
        let drift: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(effective_samples(&drift) < 4.0, "{}", effective_samples(&drift));
    }

    #[test]
    fn a_constant_series_is_worth_its_length() {
        assert_eq!(effective_samples(&[7.0; 12]), 12.0);
    }
}
