//! The distributions against closed forms, and against the real sysbench's.

use std::sync::LazyLock;

use dyno_test_servers::{Recorded, Sysbench};
use dyno_workload::random::Random;
use dyno_workload::sysbench::Distribution;
use proptest::prelude::*;

use crate::recorded;

const SPECIAL: Distribution = Distribution::Special { iterations: 12, percent: 1, result_percent: 75 };

fn draws(distribution: Distribution, low: i64, high: i64, count: usize) -> Vec<i64> {
    let (mut sampler, mut random) = (distribution.sampler(), Random::of_client(17, 0));
    (0..count).map(|_| sampler.draw(&mut random, low, high)).collect()
}

fn mean_and_deviation(values: &[i64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / count;
    let variance = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Chi-squared of counts against probabilities, for so many degrees of freedom less one, scaled to a normal deviate
/// (Wilson and Hilferty).
fn surprise(observed: &[u64], probability: &[f64]) -> f64 {
    let total: u64 = observed.iter().sum();
    let mut chi = 0.0;
    for (count, probability) in observed.iter().zip(probability) {
        let expected = total as f64 * probability;
        chi += (*count as f64 - expected).powi(2) / expected;
    }
    let freedom = (observed.len() - 1) as f64;
    ((chi / freedom).cbrt() - (1.0 - 2.0 / (9.0 * freedom))) / (2.0 / (9.0 * freedom)).sqrt()
}

fn histogram(values: &[i64], low: i64, high: i64) -> Vec<u64> {
    let mut counts = vec![0; (high - low + 1) as usize];
    values.iter().for_each(|value| counts[(value - low) as usize] += 1);
    counts
}

#[test]
fn uniform_favours_nothing() {
    let counts = histogram(&draws(Distribution::Uniform, 5, 54, 100_000), 5, 54);
    assert!(surprise(&counts, &[0.02; 50]) < 5.0, "{counts:?}");
}

#[test]
fn pareto_and_zipfian_have_their_closed_forms() {
    let count = 200_000;
    // The inverse of u -> 10 u^p.
    let power = 0.2_f64.ln() / 0.8_f64.ln();
    let below = |value: f64| (value / 10.0).powf(1.0 / power);
    let pareto: Vec<f64> =
        (0..10).map(|value| below(f64::from(value) + 1.0) - below(f64::from(value))).collect();
    let counts = histogram(&draws(Distribution::Pareto { h: 0.2 }, 1, 10, count), 1, 10);
    assert!(surprise(&counts, &pareto) < 5.0, "{counts:?}");
    for exponent in [0.0, 0.8, 1.0, 1.0 + 1e-9, 2.5] {
        for last in [2, 10, 50] {
            let weights: Vec<f64> = (1..=last).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let expected: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            let last = i64::from(last);
            let counts = histogram(&draws(Distribution::Zipfian { exponent }, 1, last, count), 1, last);
            assert!(surprise(&counts, &expected) < 5.0, "{exponent} to {last}: {counts:?}");
        }
    }
}

#[test]
fn zipfian_of_a_large_table_prefers_its_first_rows() {
    let values = draws(Distribution::Zipfian { exponent: 0.8 }, 1, 10_000_000, 200_000);
    // Sum of i^-0.8 for 1 to n, by Euler and Maclaurin.
    let zeta = |n: f64| 5.0 * n.powf(0.2) - 4.437_538_4 + 0.5 * n.powf(-0.8);
    for top in [1, 10, 1_000, 100_000] {
        let expected = zeta(f64::from(top)) / zeta(1e7) * 200_000.0;
        let found = values.iter().filter(|value| **value <= i64::from(top)).count() as f64;
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{top}: {found} instead of {expected}");
    }
}

#[test]
fn the_bell_is_as_wide_as_it_should_be() {
    let (mean, deviation) =
        mean_and_deviation(&draws(Distribution::Gaussian { iterations: 12 }, 1, 10_000, 200_000));
    // Of a sum of twelve: 10,000 / sqrt(12 * 12).
    assert!((mean - 5_000.5).abs() < 12.0 && (deviation - 833.3).abs() < 8.0, "{mean} {deviation}");
}

#[test]
fn three_quarters_are_special() {
    let values = draws(SPECIAL, 1, 1_000_000, 400_000);
    let special = values.iter().filter(|value| (497_500..=505_100).contains(*value)).count();
    // Those of the bell that fall there as well: 0.25 * 7,600 * 4.77e-6.
    let expected = 400_000.0 * (0.75 + 0.009);
    assert!((special as f64 - expected).abs() < 5.0 * 300.0, "{special} instead of {expected}");
}

proptest! {
    #[test]
    fn draws_stay_within_their_bounds(
        low in -1_000_000_i64..1_000_000,
        width in prop_oneof![0_i64..20, 0_i64..4_000_000_000],
        iterations in 1_u32..20,
        percent in 0_u32..=100,
        result_percent in 0_u32..=100,
        h in 0.001_f64..0.999,
        exponent in 0.0_f64..5.0,
        seed: u64,
    ) {
        let all = [
            Distribution::Uniform,
            Distribution::Gaussian { iterations },
            Distribution::Special { iterations, percent, result_percent },
            Distribution::Pareto { h },
            Distribution::Zipfian { exponent },
        ];
        for distribution in all {
            prop_assert_eq!(distribution.unusable(), None);
            let (mut sampler, mut random) = (distribution.sampler(), Random::of_client(seed, 0));
            for _ in 0..50 {
                let value = sampler.draw(&mut random, low, low + width);
                prop_assert!((low..=low + width).contains(&value), "{:?} gave {}", distribution, value);
            }
            prop_assert_eq!(sampler.draw(&mut random, 7, 3), 7);
        }
    }
}

#[test]
fn parameters_that_shape_nothing_are_refused() {
    let refused = [
        (Distribution::Gaussian { iterations: 0 }, "--rand-spec-iter=0"),
        (Distribution::Special { iterations: 12, percent: 101, result_percent: 75 }, "--rand-spec-pct=101"),
        (Distribution::Special { iterations: 12, percent: 1, result_percent: 101 }, "--rand-spec-res=101"),
        (Distribution::Pareto { h: 0.0 }, "--rand-pareto-h=0"),
        (Distribution::Pareto { h: f64::NAN }, "--rand-pareto-h=NaN"),
        (Distribution::Zipfian { exponent: -1.0 }, "--rand-zipfian-exp=-1"),
    ];
    for (distribution, option) in refused {
        let why = distribution.unusable().unwrap();
        assert!(why.starts_with(option) && why.contains(distribution.name()), "{why}");
    }
}

/// How often the real sysbench draws each value from 1 on: lines of twenty.
fn reference(name: &str, arguments: &[&str], high: i64, count: usize) -> Vec<String> {
    let sysbench = Sysbench::find().unwrap_or_else(|| panic!("there is no sysbench to record"));
    let script = "sysbench.cmdline.options = {name = {'', ''}, high = {'', 1}, count = {'', 1}}\n\
                  function event()\n\
                  for _ = 1, sysbench.opt.count do\n\
                  print('= ' .. sysbench.rand[sysbench.opt.name](1, sysbench.opt.high))\n\
                  end\n\
                  return true\n\
                  end\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.lua");
    std::fs::write(&path, script).unwrap();
    let mut command = std::process::Command::new(&sysbench.program);
    command.arg(&path).args(arguments).args([
        &format!("--name={name}"),
        &format!("--high={high}"),
        &format!("--count={count}"),
        "--rand-seed=3",
        "--time=0",
        "run",
    ]);
    let text = dyno_test_servers::succeed(&mut command);
    let values: Vec<i64> =
        text.lines().filter_map(|line| line.strip_prefix("= ")).map(|value| value.parse().unwrap()).collect();
    assert_eq!(values.len(), count);
    let line = |counts: &[u64]| counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    histogram(&values, 1, high).chunks(20).map(line).collect()
}

/// Both draw from the same distribution: chi-squared of two samples, values that are rare taken together.
#[test]
fn the_shapes_are_those_of_the_real_sysbench() {
    static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("draws"));
    let count = 100_000;
    let gaussian = |iterations| Distribution::Gaussian { iterations };
    let other = Distribution::Special { iterations: 5, percent: 10, result_percent: 50 };
    let cases: [(&str, &[&str], Distribution); 7] = [
        ("uniform", &[], Distribution::Uniform),
        ("gaussian", &[], gaussian(12)),
        ("gaussian", &["--rand-spec-iter=3"], gaussian(3)),
        ("special", &[], SPECIAL),
        ("special", &["--rand-spec-iter=5", "--rand-spec-pct=10", "--rand-spec-res=50"], other),
        ("pareto", &[], Distribution::Pareto { h: 0.2 }),
        ("pareto", &["--rand-pareto-h=0.4"], Distribution::Pareto { h: 0.4 }),
    ];
    for (name, arguments, distribution) in cases {
        for high in [10, 1_000] {
            let case = [&[name], arguments, &["to", &high.to_string()]].concat().join(" ");
            let theirs: Vec<String> = RECORDED.get(&case, || reference(name, arguments, high, count));
            let theirs = theirs.iter().flat_map(|line| line.split(' ')).map(|count| count.parse().unwrap());
            let theirs: Vec<u64> = theirs.collect();
            assert_eq!((theirs.len() as i64, theirs.iter().sum::<u64>()), (high, count as u64), "{case}");
            let ours = histogram(&draws(distribution, 1, high, count), 1, high);
            let pairs = ours.iter().zip(&theirs).map(|(one, other)| [*one as f64, *other as f64]);
            let mut cells: Vec<[f64; 2]> = vec![[0.0; 2]];
            for [one, other] in pairs.filter(|[one, other]| one + other > 0.0) {
                match cells.last_mut() {
                    Some(last) if last[0] + last[1] < 40.0 => *last = [last[0] + one, last[1] + other],
                    _ => cells.push([one, other]),
                }
            }
            let chi: f64 = cells.iter().map(|[one, other]| (one - other).powi(2) / (one + other)).sum();
            let freedom = (cells.len() - 1) as f64;
            assert!(
                chi < freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0,
                "{case}: {chi} with {freedom} degrees of freedom"
            );
        }
    }
}
