//! The geometric mean of positive values and how well it is known, by their logarithms.

use super::throughput::student;

#[derive(Debug, Clone, Copy)]
pub(crate) struct GeometricMean {
    pub(crate) mean: f64,
    /// Standard error of its logarithm with its degrees of freedom; `None` of a single value.
    pub(crate) error: Option<(f64, f64)>,
}

impl GeometricMean {
    /// `None` without any value, and where one is not positive.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value.ln() - mean).powi(2)).sum();
        let error = (values.len() > 1).then(|| ((squares / (n - 1.0) / n).sqrt(), n - 1.0));
        Some(Self { mean: mean.exp(), error })
    }

    /// Of 95 %, by Student's distribution of the logarithms.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let (error, degrees) = self.error?;
        let factor = (student(degrees)? * error).exp();
        Some([self.mean / factor, self.mean * factor])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_has_students_interval_of_its_logarithms() {
        let of = |values: &[f64]| GeometricMean::of(values);
        let known = of(&[8.0, 2.0, 4.0]).unwrap();
        // The logarithms scatter by ln 2; Student's t of two degrees of freedom is 4.3027.
        let factor = (4.302_653 * 2_f64.ln() / 3_f64.sqrt()).exp();
        let [low, high] = known.interval().unwrap();
        assert!((known.mean - 4.0).abs() < 1e-12, "{known:?}");
        assert!((low * factor / 4.0 - 1.0).abs() < 1e-6 && (high / factor / 4.0 - 1.0).abs() < 1e-6);
        assert!(of(&[5.0]).is_some_and(|one| one.mean == 5_f64.ln().exp() && one.interval().is_none()));
        assert!(of(&[]).is_none() && of(&[1.0, 0.0]).is_none());
    }
}
