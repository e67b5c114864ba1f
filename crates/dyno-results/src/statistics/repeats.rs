//! What repeats of a stage, or of a run, come to: their median, and how well the bootstrap says that it is known.

use super::throughput::student;
use crate::document::Estimate;

/// Up to as many repeats every sample with replacement is looked at; of more repeats a number of them is drawn.
const EXACT_MAX: usize = 4;
const DRAWS: usize = 1000;
/// The same comparison gives the same figures, always.
const SEED: u64 = 0x0064_796e_6f00_0001;

/// The median of repeats with the interval over them, done on logarithms; `None` without any.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let median = median(values.to_vec())?;
    let n = values.len();
    let known = n > 1 && values.iter().all(|value| *value > 0.0);
    let margin = || Some(student(n as f64 - 1.0)? * error_of_median(values));
    Some(Estimate {
        mean: median,
        half_width: if known { margin().map(|margin| median * margin.sinh()) } else { None },
        samples: n as u32,
        effective_samples: Some(n as f64),
    })
}

/// How well the median of repeats is known, as a share of it: the half-width of its interval; of two, whose interval says nothing,
/// half of what lies between them.
pub(crate) fn spread_share(values: &[f64]) -> Option<f64> {
    match values {
        [] | [_] => None,
        [one, other] => Some((one - other).abs() / (one + other)),
        several => estimate(several).and_then(|estimate| Some(estimate.half_width? / estimate.mean)),
    }
    .filter(|share| share.is_finite())
}

/// Of an even number the mean of the middle two; `None` without any.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| median_in(&mut values))
}

fn median_in(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The bootstrap's standard error of the median's logarithm.
pub(crate) fn error_of_median(values: &[f64]) -> f64 {
    let n = values.len();
    let mut sample = vec![0.0; n];
    let mut moments = Moments::default();
    if n <= EXACT_MAX {
        for number in 0..n.pow(n as u32) {
            let mut rest = number;
            for slot in &mut sample {
                *slot = values[rest % n];
                rest /= n;
            }
            moments.add(median_in(&mut sample).ln());
        }
    } else {
        let mut draws = Draws(SEED);
        for _ in 0..DRAWS {
            sample.fill_with(|| values[draws.below(n)]);
            moments.add(median_in(&mut sample).ln());
        }
    }
    // The median of two is their mean, of which the bootstrap sees half the variance; of more it sees rather too much.
    let unseen = if n == 2 { 2.0 } else { 1.0 };
    (unseen * moments.variance()).sqrt()
}

#[derive(Default)]
struct Moments {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Welford's, so that values close together lose no digits.
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let before = value - self.mean;
        self.mean += before / self.n;
        self.squares += before * (value - self.mean);
    }

    fn variance(&self) -> f64 {
        self.squares / self.n
    }
}

/// SplitMix64: the same on every machine and with every version of any library.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        // The high bits of a product: as even as no bootstrap needs it.
        ((u128::from(bits) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_the_interval_of_its_repeats() {
        let three = estimate(&[11_814.0, 17_370.0, 18_316.0]).unwrap();
        assert_eq!((three.mean, three.samples), (17_370.0, 3));
        let share = three.half_width.unwrap() / three.mean;
        assert!((0.7..1.0).contains(&share), "{share}");
        assert_eq!(estimate(&[5.0]).unwrap().half_width, None);
        assert_eq!(estimate(&[0.0, 5.0]).unwrap().half_width, None);
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn the_bootstrap_is_the_same_each_time_and_on_two_values_the_textbooks() {
        let many: Vec<f64> = (0..9).map(|step| 100.0 + f64::from(step)).collect();
        assert_eq!(error_of_median(&many), error_of_median(&many));
        // The median of two is their mean, whose standard error is half of what lies between them.
        let two = error_of_median(&[1.0, std::f64::consts::E]);
        assert!((two - 0.5).abs() < 0.12, "{two:?}");
    }
}
