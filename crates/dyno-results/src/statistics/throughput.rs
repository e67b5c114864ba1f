//! Throughput of a stage with its 95 % interval, and its longest gap, from the intervals of its load.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::autocorrelation::effective_samples;
use crate::document::Estimate;

/// Fewer full intervals than this say nothing about how much throughput varies.
const SAMPLES_MIN: usize = 3;
/// An interval shorter than this share of the longest is left out of the variance: its rate is noisier than the
/// others'. It still counts in the mean.
pub(crate) const FULL_SHARE: f64 = 0.5;
/// Of a longer series neighbours are put together, and their means looked at: what resembles each other for longer than they
/// last shows all the same, and a day that drifts would otherwise take seconds to look through.
const SERIES_MAX: usize = 4096;
/// A gap is one in a throughput of so much or more in so many intervals before it: fewer may leave a second out by chance.
const BEFORE_GAP: usize = 10;
const BEFORE_GAP_PER_S: f64 = 10.0;
/// Behind a gap throughput is back with so many intervals that have this share of what was before.
const RECOVERED: usize = 3;
const RECOVERED_SHARE: f64 = 0.9;
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
    // A transaction that is under way at an end of the time is counted or is not: equal counts of few say no more than that.
    let resolution = 1.0 / seconds;
    Some(Estimate {
        mean: count as f64 / seconds,
        half_width: interval.map(|(half_width, _)| half_width.max(resolution)),
        samples: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        effective_samples: interval.map(|(_, effective)| effective),
    })
}

/// The longest time in which no transaction ended well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// 0 if there was none.
    pub seconds: f64,
    /// From its end until throughput was back; `None` if it was not.
    pub recovery_s: Option<f64>,
}

/// The longest gap, the first of several. `None` where throughput was never such that a gap could be told.
pub fn longest_gap(slices: &[Slice]) -> Option<Gap> {
    // The last interval ends with the load, and a short one may be empty by chance.
    let longest_s = slices.iter().map(|slice| slice.seconds).fold(0.0, f64::max);
    let slices = match slices {
        [full @ .., last] if last.seconds < FULL_SHARE * longest_s => full,
        all => all,
    };
    let seconds = |slices: &[Slice]| slices.iter().map(|slice| slice.seconds).sum::<f64>();
    let per_s =
        |slices: &[Slice]| slices.iter().map(|slice| slice.count).sum::<u64>() as f64 / seconds(slices);
    let mut longest = None;
    for at in BEFORE_GAP..slices.len() {
        let (before, rest) = (per_s(&slices[at - BEFORE_GAP..at]), &slices[at..]);
        // A gap that began earlier has too little before it.
        if before < BEFORE_GAP_PER_S || slices[at - 1].count == 0 {
            continue;
        }
        let longest = longest.get_or_insert(Gap { seconds: 0.0, recovery_s: None });
        let (gap, behind) = rest.split_at(rest.iter().take_while(|slice| slice.count == 0).count());
        if seconds(gap) > longest.seconds {
            let is_back = |slices: &[Slice]| {
                slices.iter().all(|slice| slice.count as f64 >= RECOVERED_SHARE * before * slice.seconds)
            };
            let back = behind.windows(RECOVERED).position(is_back);
            let recovery_s = back.map(|place| seconds(&behind[..place]));
            *longest = Gap { seconds: seconds(gap), recovery_s };
        }
    }
    longest
}

/// Half-width of the 95 % interval of a series' mean, and the effective number of samples that it rests on.
pub fn half_width(series: &[f64]) -> Option<(f64, f64)> {
    if series.len() < SAMPLES_MIN {
        return None;
    }
    if series.len() > SERIES_MAX {
        let each = series.len().div_ceil(SERIES_MAX);
        let means: Vec<f64> =
            series.chunks_exact(each).map(|chunk| chunk.iter().sum::<f64>() / each as f64).collect();
        return half_width(&means);
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let sum_of_squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let effective = effective_samples(series);
    // The mean of correlated values follows them, and takes more of the variance with it than one n-th.
    let variance = sum_of_squares / (n - n / effective);
    let t = student(degrees_of_freedom(n, effective))?;
    Some((t * (variance / effective).sqrt(), effective))
}

/// Student's t for a two-sided interval of 95 %.
pub(crate) fn student(degrees: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(QUANTILE))
}

/// Correlation costs the variance's estimate less than it costs the mean. With n_eff - 1 alone, short series that
/// only look correlated get intervals many times too wide; with this, simulated coverage is within three percent of
/// that (see the tests), and the intervals of five independent values are less than half as wide.
pub(crate) fn degrees_of_freedom(n: f64, effective: f64) -> f64 {
    (effective - 1.0).max((n - 1.0) / 3.0).max(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::noise::Noise;

    const LEVEL: f64 = 1000.0;
    const DEVIATION: f64 = 50.0;
    const TRIALS: u32 = 2000;

    /// Share of the simulated series whose interval holds the true mean, and the mean half-width as a multiple of
    /// what it would be if variance and correlation were known.
    fn simulate(n: usize, phi: f64) -> (f64, f64) {
        let mut noise = Noise::seeded(n as u64 * 1000 + (phi * 100.0) as u64);
        let (mut held, mut sum) = (0, 0.0);
        for _ in 0..TRIALS {
            let series = noise.autoregressive(n, LEVEL, DEVIATION, phi);
            let mean = series.iter().sum::<f64>() / n as f64;
            let (half_width, _) = half_width(&series).unwrap();
            held += u32::from((mean - LEVEL).abs() <= half_width);
            sum += half_width;
        }
        let known = 1.96 * DEVIATION / (n as f64).sqrt() * ((1.0 + phi) / (1.0 - phi)).sqrt();
        (f64::from(held) / f64::from(TRIALS), sum / f64::from(TRIALS) / known)
    }

    #[test]
    fn intervals_of_independent_values_hold_the_mean() {
        for n in [5, 10, 30, 60, 180] {
            let (coverage, _) = simulate(n, 0.0);
            assert!((0.94..=0.98).contains(&coverage), "n {n}: {coverage}");
        }
    }

    #[test]
    fn intervals_of_correlated_values_hold_the_mean() {
        // Correlation, length, and the least share that must be held. The longer the correlation lasts, the longer
        // the series must be to show it: a rung of five seconds cannot.
        let least = [
            (0.3, 5, 0.90),
            (0.3, 10, 0.90),
            (0.3, 30, 0.93),
            (0.3, 180, 0.94),
            (0.6, 10, 0.86),
            (0.6, 30, 0.91),
            (0.6, 180, 0.94),
            (0.8, 30, 0.89),
            (0.8, 60, 0.91),
            (0.8, 180, 0.92),
            (0.9, 180, 0.91),
        ];
        for (phi, n, least) in least {
            let (coverage, _) = simulate(n, phi);
            assert!((least..=0.98).contains(&coverage), "correlation {phi}, n {n}: {coverage}");
        }
    }

    #[test]
    fn intervals_are_not_wider_than_they_need_be() {
        for (phi, n, most) in
            [(0.0, 5, 2.1), (0.0, 30, 1.25), (0.0, 180, 1.1), (0.6, 60, 1.25), (0.8, 180, 1.15)]
        {
            let (_, width) = simulate(n, phi);
            assert!((0.95..=most).contains(&width), "correlation {phi}, n {n}: {width} of the known");
        }
    }

    #[test]
    fn a_series_of_hours_has_the_interval_of_its_parts() {
        for phi in [0.0, 0.9, 0.99] {
            let mut noise = Noise::seeded(3);
            let held = (0..60).filter(|_| {
                let series = noise.autoregressive(20_000, LEVEL, DEVIATION, phi);
                let mean = series.iter().sum::<f64>() / series.len() as f64;
                (mean - LEVEL).abs() <= half_width(&series).unwrap().0
            });
            assert!(held.count() >= 52, "correlation {phi}");
        }
        // A drift over the whole day: every lag up to a half of it counts.
        let day: Vec<f64> = (0..86_400).map(|second| LEVEL + f64::from(second) / 864.0).collect();
        assert!(half_width(&day).unwrap().1 < 4.0);
    }

    #[test]
    fn a_correlation_that_alternates_is_not_believed() {
        let (coverage, _) = simulate(30, -0.5);
        assert!(coverage > 0.98, "{coverage}");
    }

    #[test]
    fn a_constant_series_has_an_interval_of_nothing() {
        assert_eq!(half_width(&[1000.0; 30]), Some((0.0, 30.0)));
    }

    #[test]
    fn too_few_values_have_no_interval() {
        let slice = Slice { count: 100, seconds: 1.0 };
        let estimate = estimate(&[slice; 2]).unwrap();
        assert_eq!((estimate.mean, estimate.half_width, estimate.samples), (100.0, None, 2));
        assert_eq!(super::estimate(&[]), None);
        assert_eq!(super::estimate(&[Slice { count: 0, seconds: 0.0 }]), None);
    }

    #[test]
    fn a_short_last_slice_counts_in_the_mean_and_not_in_the_variance() {
        let mut slices = vec![Slice { count: 1000, seconds: 1.0 }; 9];
        // Three transactions in a hundredth of a second: a rate of 300, which is noise.
        slices.push(Slice { count: 3, seconds: 0.01 });
        let estimate = estimate(&slices).unwrap();
        assert!((estimate.mean - 9003.0 / 9.01).abs() < 1e-9);
        assert_eq!((estimate.half_width, estimate.samples), (Some(1.0 / 9.01), 9));
    }

    #[test]
    fn equal_counts_are_known_to_one_transaction_at_best() {
        // Statements of 0.45 s: 2.2 a second.
        let estimate = estimate(&[Slice { count: 2, seconds: 1.0 }; 4]).unwrap();
        assert_eq!((estimate.mean, estimate.half_width), (2.0, Some(0.25)));
    }

    fn gap(counts: &[u64]) -> Option<(f64, Option<f64>)> {
        let slices: Vec<Slice> = counts.iter().map(|count| Slice { count: *count, seconds: 1.0 }).collect();
        longest_gap(&slices).map(|gap| (gap.seconds, gap.recovery_s))
    }

    #[test]
    fn the_longest_gap_is_told_with_its_recovery() {
        let before = [100; 10];
        assert_eq!(gap(&[before.as_slice(), &[1, 100]].concat()), Some((0.0, None)), "no gap");
        // Ten seconds at 100/s, then a gap of 1 s, and one of 4 s, behind which 89/s are too few and two seconds too short.
        let load = [before.as_slice(), &[0], &before, &[0; 4], &[40, 90, 95, 89, 90, 90, 90, 10]].concat();
        assert_eq!(gap(&load), Some((4.0, Some(4.0))));
        let load = [before.as_slice(), &[0; 2], &[120; 3], &before, &[0; 2], &[20; 3]].concat();
        assert_eq!(gap(&load), Some((2.0, Some(0.0))), "the first of two");
    }

    #[test]
    fn what_does_not_come_back_is_not_recovered() {
        let before = [100; 10];
        assert_eq!(gap(&[before.as_slice(), &[0; 5]].concat()), Some((5.0, None)), "to the end");
        assert_eq!(gap(&[before.as_slice(), &[0; 5], &[100; 2]].concat()), Some((5.0, None)), "too short");
        assert_eq!(
            gap(&[before.as_slice(), &[0; 5], &[50; 20]].concat()),
            Some((5.0, None)),
            "at half of it"
        );
    }

    #[test]
    fn with_too_little_before_there_is_no_gap_to_tell() {
        assert_eq!(gap(&[&[100; 9], [0; 5].as_slice()].concat()), None, "nine seconds");
        assert_eq!(gap(&[&[9; 10], [0; 5].as_slice(), &[9; 20]].concat()), None, "nine a second");
        assert_eq!(gap(&[]), None);
        // Of the ten seconds of the load, five were gone in a gap that nobody can judge.
        assert_eq!(gap(&[&[0; 5], [100; 12].as_slice(), &[0; 2]].concat()), Some((2.0, None)));
    }

    #[test]
    fn a_short_last_interval_is_no_gap() {
        let mut slices = vec![Slice { count: 20, seconds: 1.0 }; 10];
        slices.extend([Slice { count: 20, seconds: 1.0 }, Slice { count: 0, seconds: 0.02 }]);
        assert_eq!(longest_gap(&slices), Some(Gap { seconds: 0.0, recovery_s: None }));
    }

    #[test]
    fn the_half_width_of_three_known_values_is_the_textbooks() {
        // 9, 10, 11: deviation 1, no positive correlation; t(2) is 4.3027.
        let (half_width, effective) = half_width(&[9.0, 11.0, 10.0]).unwrap();
        assert!((half_width - 4.302_65 / 3.0_f64.sqrt()).abs() < 1e-4, "{half_width}");
        assert_eq!(effective, 3.0);
    }
}
