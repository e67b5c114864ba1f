//! How often the interval of a percentile holds the true one, on seconds that resemble their neighbours.

use super::*;
use crate::event::TypeInterval;
use crate::statistics::noise::Noise;

const TRIALS: u32 = 200;
const PER_SECOND: usize = 100;
/// Of the logarithm of a time: within a second, and of the seconds' level.
const WITHIN: f64 = 0.4;
const BETWEEN: f64 = 0.15;
/// Normal deviates at 50, 95, 99 and 99.9 %.
const DEVIATES: [f64; 4] = [0.0, 1.644_854, 2.326_348, 3.090_232];

/// Seconds of log-normal times whose level goes up and down with the lag-1 autocorrelation `phi`.
fn seconds(noise: &mut Noise, n: usize, phi: f64) -> LatencyBlocks {
    let levels = noise.autoregressive(n, 0.0, BETWEEN, phi);
    let second = |level: &f64| {
        let times: Vec<(u64, u64)> = (0..PER_SECOND)
            // As a histogram of three digits has them.
            .map(|_| ((1e3 * (level + WITHIN * noise.normal())).round() / 1e3).exp() * 1e6)
            .map(|time| (time as u64, 1))
            .collect();
        recorded(&times)
    };
    LatencyBlocks {
        blocks: levels.iter().map(second).collect(),
        per_block: 1,
        in_last: 1,
        longest_ns: 1_000_000_000,
    }
}

/// Added up from parts of few times, which never take the memory of all places.
fn recorded(times: &[(u64, u64)]) -> Option<Latency> {
    let part = |times: &[(u64, u64)]| {
        let mut part = Latency::new();
        times.iter().for_each(|(time, count)| part.record_n(*time, *count));
        part
    };
    let mut all = Latency::new();
    times.chunks(32).for_each(|times| all.merge(&part(times)));
    Some(all)
}

/// Share of the simulated stages whose interval holds the true percentile, for p50, p95, p99 and p99.9, and the share of
/// those that have one.
fn coverage(n: usize, phi: f64) -> [(f64, f64); 4] {
    let mut noise = Noise::seeded(n as u64 + (phi * 100.0) as u64);
    let (mut held, mut told) = ([0_u32; 4], [0_u32; 4]);
    for _ in 0..TRIALS {
        let stage = seconds(&mut noise, n, phi);
        let all = latency::sum(stage.blocks.iter().flatten()).unwrap().into_owned();
        let found: Vec<Option<f64>> =
            [0.5, 0.95, 0.99, 0.999].iter().map(|share| time_at(&all, *share)).collect();
        let LatencySpreads { p50, p95, p99, p999 } = stage.spreads();
        for (index, spread) in [p50, p95, p99, p999].into_iter().enumerate() {
            let Some(spread) = spread else { continue };
            told[index] += 1;
            let truth = 1e6 * (DEVIATES[index] * WITHIN.hypot(BETWEEN)).exp();
            let (found, t) = (found[index].unwrap(), student(spread.degrees).unwrap());
            let held_here =
                found * (-t * spread.down).exp() <= truth && truth <= found * (t * spread.up).exp();
            held[index] += u32::from(held_here);
        }
    }
    [0, 1, 2, 3].map(|index| {
        (f64::from(held[index]) / f64::from(told[index].max(1)), f64::from(told[index]) / f64::from(TRIALS))
    })
}

#[test]
fn intervals_of_percentiles_hold_the_true_ones() {
    // Seconds, autocorrelation, and the least share that must be held by p50, p95 and p99.
    for (n, phi, least) in
        [(10, 0.0, 0.93), (30, 0.0, 0.93), (30, 0.5, 0.90), (60, 0.5, 0.91), (120, 0.7, 0.89)]
    {
        for (index, (held, told)) in coverage(n, phi).into_iter().enumerate().take(3) {
            assert!((least..=0.995).contains(&held), "{n} s, correlation {phi}, percentile {index}: {held}");
            // With too few transactions beyond it nothing says where a percentile may end.
            assert!(told > 0.8 || n == 10, "{n} s, correlation {phi}, percentile {index}: told {told}");
        }
    }
}

#[test]
fn a_percentile_that_rests_on_too_few_has_no_interval() {
    // 1,000 transactions: one of them lie above p99.9.
    let [_, _, _, (_, few)] = coverage(10, 0.0);
    assert!(few < 0.5, "{few}");
    // 12,000: as often as it is told it holds.
    let [_, _, _, (held, many)] = coverage(120, 0.0);
    assert!(many > 0.95 && held > 0.90, "told {many}, held {held}");
}

#[test]
fn a_stall_that_holds_all_the_long_times_is_not_known_upwards() {
    let quiet = recorded(&[(1_000_000, 1000)]);
    let stalled = recorded(&[(1_000_000, 500), (900_000_000, 500)]);
    let mut blocks = vec![quiet; 20];
    blocks[10] = stalled;
    let stage = LatencyBlocks { blocks, per_block: 1, in_last: 1, longest_ns: 1_000_000_000 };
    let spreads = stage.spreads();
    assert_eq!(spreads.p50, Some(Spread { down: 0.0, up: 0.0, degrees: 19.0 }));
    assert_eq!(spreads.p99, None, "one second decided it");
}

#[test]
fn a_long_stage_keeps_a_bounded_number_of_blocks() {
    let interval = |index: u32, drain: bool| {
        let mut service = Latency::new();
        service.record_n(1_000_000 + u64::from(index % 7) * 100_000, 10);
        Interval {
            stage: 0,
            index,
            start_ns: u64::from(index) * 1_000_000_000,
            duration_ns: if drain { 20_000_000 } else { 1_000_000_000 },
            clients: 1,
            types: vec![TypeInterval { done: 10, service, ..TypeInterval::default() }],
            driver_cpu_ns: Vec::new(),
            reconnects: 0,
            lost_ns: 0,
            backlog: 0,
            generator: 0,
            skipped: 0,
            pool: None,
            errors: std::collections::BTreeMap::new(),
            drain,
        }
    };
    let mut stage = LatencyBlocks::default();
    for index in 0..1000 {
        stage.add(&interval(index, false));
    }
    stage.add(&interval(1000, true));
    assert!((BLOCKS_MAX / 2..=BLOCKS_MAX).contains(&stage.blocks.len()), "{}", stage.blocks.len());
    assert_eq!(stage.per_block, 4);
    let all: u64 = stage.blocks.iter().flatten().map(Latency::count).sum();
    assert_eq!(all, 10_010, "nothing is lost, the drain included");
    let first = stage.blocks[0].as_ref().unwrap().count();
    assert_eq!(first, 40);
    assert!(stage.spreads().p50.is_some());
}

#[test]
fn nothing_is_known_of_a_stage_in_which_nothing_ended() {
    assert_eq!(LatencyBlocks::default().spreads(), LatencySpreads::default());
}
