//! How often the interval of a ratio holds the true one, and whether a difference is shown where there is one and only
//! there.

use super::*;
use crate::statistics::noise::Noise;
use crate::statistics::throughput::{self, Slice};

const TRIALS: u32 = 600;

/// A stage of so many seconds around a level, as the report would tell it.
fn stage(noise: &mut Noise, level: f64, deviation: f64, n: usize, phi: f64) -> Known {
    let rates = noise.autoregressive(n, level, deviation * level, phi);
    let slices: Vec<Slice> =
        rates.iter().map(|rate| Slice { count: rate.max(0.0).round() as u64, seconds: 1.0 }).collect();
    let estimate = throughput::estimate(&slices).unwrap();
    Known::of(&[(estimate.mean, Spread::of_estimate(&estimate))]).unwrap()
}

/// Runs that differ from one another by so much.
fn repeats(noise: &mut Noise, level: f64, deviation: f64, runs: usize) -> Known {
    let values: Vec<(f64, Option<Spread>)> =
        (0..runs).map(|_| (level * (1.0 + deviation * noise.normal()), None)).collect();
    Known::of(&values).unwrap()
}

/// Share of ratios whose interval holds the true one, and share of those that show a difference.
fn simulate(truth: f64, mut pair: impl FnMut() -> (Known, Known)) -> (f64, f64) {
    let (mut held, mut shown) = (0, 0);
    for _ in 0..TRIALS {
        let (base, other) = pair();
        let ratio = ratio(&base, &other, Better::Higher).unwrap();
        let [lowest, highest] = ratio.interval.unwrap();
        held += u32::from(lowest <= truth && truth <= highest);
        shown += u32::from(ratio.verdict != Verdict::NoDifferenceShown);
    }
    (f64::from(held) / f64::from(TRIALS), f64::from(shown) / f64::from(TRIALS))
}

#[test]
fn intervals_from_the_seconds_within_two_runs_hold_the_true_ratio() {
    for (n, phi, least) in
        [(10, 0.0, 0.94), (30, 0.0, 0.94), (30, 0.5, 0.92), (60, 0.6, 0.92), (180, 0.8, 0.92)]
    {
        let mut noise = Noise::seeded(n as u64);
        let (held, _) = simulate(1.25, || {
            (stage(&mut noise, 8_000.0, 0.06, n, phi), stage(&mut noise, 10_000.0, 0.06, n, phi))
        });
        assert!((least..=0.985).contains(&held), "{n} s, correlation {phi}: {held}");
    }
}

#[test]
fn intervals_from_repeats_hold_the_true_ratio() {
    for runs in [2, 3, 4, 5, 10] {
        let mut noise = Noise::seeded(runs as u64);
        let (held, _) = simulate(0.5, || {
            (repeats(&mut noise, 1000.0, 0.04, runs), repeats(&mut noise, 500.0, 0.04, runs))
        });
        assert!((0.925..=0.99).contains(&held), "{runs} runs each: {held}");
    }
}

#[test]
fn no_difference_is_shown_between_a_thing_and_itself() {
    let mut noise = Noise::seeded(3);
    let (_, shown) =
        simulate(1.0, || (stage(&mut noise, 1e4, 0.05, 60, 0.5), stage(&mut noise, 1e4, 0.05, 60, 0.5)));
    assert!(shown < 0.08, "{shown}");
    let (_, shown) = simulate(1.0, || (repeats(&mut noise, 1e4, 0.05, 5), repeats(&mut noise, 1e4, 0.05, 5)));
    assert!(shown < 0.07, "{shown}");
}

#[test]
fn ten_percent_are_shown_with_enough_seconds_and_with_enough_runs() {
    let mut noise = Noise::seeded(4);
    let (_, shown) =
        simulate(1.1, || (stage(&mut noise, 1e4, 0.05, 60, 0.5), stage(&mut noise, 1.1e4, 0.05, 60, 0.5)));
    assert!(shown > 0.98, "{shown}");
    let (_, shown) =
        simulate(1.1, || (repeats(&mut noise, 1e4, 0.02, 5), repeats(&mut noise, 1.1e4, 0.02, 5)));
    assert!(shown > 0.9, "{shown}");
    // With three seconds each, or two runs, they are not; nor should they be.
    let (_, shown) =
        simulate(1.1, || (stage(&mut noise, 1e4, 0.1, 3, 0.5), stage(&mut noise, 1.1e4, 0.1, 3, 0.5)));
    assert!(shown < 0.3, "{shown}");
}

#[test]
fn one_run_is_never_known_to_a_thousandth() {
    let exact = |value| Known::of(&[(value, Some(Spread { down: 0.0, up: 0.0, degrees: 59.0 }))]).unwrap();
    let near = ratio(&exact(1000.0), &exact(1010.0), Better::Higher).unwrap();
    assert_eq!(near.verdict, Verdict::NoDifferenceShown);
    let far = ratio(&exact(1000.0), &exact(1020.0), Better::Higher).unwrap();
    assert_eq!(far.verdict, Verdict::Better);
}

#[test]
fn a_side_of_several_runs_is_their_median() {
    let values = |values: &[f64]| -> Vec<(f64, Option<Spread>)> {
        values.iter().map(|value| (*value, None)).collect()
    };
    let three = Known::of(&values(&[120.0, 100.0, 101.0])).unwrap();
    assert_eq!((three.value, three.repeats), (101.0, 3));
    assert_eq!(Known::of(&values(&[100.0, 104.0])).unwrap().value, 102.0);
    assert_eq!(Known::of(&[]), None);
    // Three runs that agree to the last digit.
    let alike = Known::of(&values(&[7.0; 3])).unwrap();
    assert_eq!(ratio(&alike, &alike, Better::Lower).unwrap().interval, Some([1.0, 1.0]));
}

#[test]
fn the_direction_is_known() {
    let known = |value| Known::of(&[(value, Some(Spread { down: 0.0, up: 0.0, degrees: 59.0 }))]).unwrap();
    let verdict = |other, better| ratio(&known(100.0), &known(other), better).unwrap().verdict;
    assert_eq!(verdict(200.0, Better::Higher), Verdict::Better);
    assert_eq!(verdict(200.0, Better::Lower), Verdict::Worse);
    assert_eq!(verdict(50.0, Better::Lower), Verdict::Better);
    assert_eq!(verdict(50.0, Better::Higher), Verdict::Worse);
    assert_eq!(verdict(50.0, Better::Neither), Verdict::Lower);
    assert_eq!(verdict(200.0, Better::Neither), Verdict::Higher);
}

#[test]
fn nothing_has_no_ratio_and_what_is_not_known_no_interval() {
    let known = |value| Known::of(&[(value, None)]).unwrap();
    assert_eq!(ratio(&known(0.0), &known(3.0), Better::Lower), None);
    assert_eq!(ratio(&known(3.0), &known(0.0), Better::Lower), None);
    let without = ratio(&known(2.0), &known(3.0), Better::Lower).unwrap();
    assert_eq!((without.value, without.interval, without.verdict), (1.5, None, Verdict::NoInterval));
}
