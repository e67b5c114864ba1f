//! How often the interval of a cost's ratio holds the true one.

use super::*;
use crate::comparison::document::{Better, Verdict};
use crate::comparison::estimate::{Known, ratio as ratio_of};
use crate::statistics::noise::Noise;

const TRIALS: u32 = 600;

/// What seconds of a load cost that varies by itself: each transaction so much, but for noise that has nothing to do with
/// the load and resembles its neighbours.
fn seconds(noise: &mut Noise, cost: f64, n: usize, phi: f64) -> Known {
    let tps = noise.autoregressive(n, 1000.0, 200.0, 0.5);
    let beside = noise.autoregressive(n, 0.0, 60.0 * cost, phi);
    let pairs: Vec<(f64, f64)> =
        tps.iter().zip(&beside).map(|(tps, beside)| ((tps * cost + beside).max(0.0), *tps)).collect();
    let (used, done) = pairs.iter().fold((0.0, 0.0), |(used, done), pair| (used + pair.0, done + pair.1));
    Known::of(&[(used / done, ratio(&pairs))]).unwrap()
}

#[test]
fn intervals_of_costs_hold_the_true_ratio_however_the_load_varies() {
    for (n, phi, least) in [
        (10, 0.0, 0.92),
        (30, 0.0, 0.93),
        (30, 0.5, 0.90),
        (60, 0.6, 0.91),
        (180, 0.8, 0.91),
        (3600, 0.9, 0.92),
    ] {
        let mut noise = Noise::seeded(n as u64);
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..TRIALS {
            let (base, other) = (seconds(&mut noise, 40.0, n, phi), seconds(&mut noise, 50.0, n, phi));
            let ratio = ratio_of(&base, &other, Better::Lower).unwrap();
            let [lowest, highest] = ratio.interval.unwrap();
            held += u32::from(lowest <= 1.25 && 1.25 <= highest);
            width += highest / lowest - 1.0;
        }
        let held = f64::from(held) / f64::from(TRIALS);
        assert!((least..=0.995).contains(&held), "{n} s, correlation {phi}: {held}");
        // The load's own scatter of a fifth is no part of it.
        let width = width / f64::from(TRIALS);
        assert!(width < 0.4, "{n} s, correlation {phi}: {width}");
    }
}

#[test]
fn a_cost_is_not_found_to_differ_from_itself() {
    let mut noise = Noise::seeded(5);
    let shown = (0..TRIALS).filter(|_| {
        let (base, other) = (seconds(&mut noise, 40.0, 60, 0.5), seconds(&mut noise, 40.0, 60, 0.5));
        ratio_of(&base, &other, Better::Lower).unwrap().verdict != Verdict::NoDifferenceShown
    });
    let shown = shown.count() as f64 / f64::from(TRIALS);
    assert!(shown <= 0.09, "{shown}");
}

#[test]
fn a_burst_decides_nothing() {
    // A checkpoint writes in three of sixty seconds what the others write together.
    let pairs: Vec<(f64, f64)> =
        (0..60).map(|second| (if (30..33).contains(&second) { 20_000.0 } else { 1000.0 }, 1000.0)).collect();
    let spread = ratio(&pairs).unwrap();
    assert!(spread.up > 0.3, "{spread:?}");
    assert_eq!(ratio(&[(0.0, 1000.0); 60]), None, "nothing was used");
    assert_eq!(ratio(&[(5.0, 1000.0); 2]), None, "two seconds have no scatter to speak of");
}
