//! The planner against measurements that were made up: which stage it plans after which.

use std::iter;

use dyno_results::document::Estimate;
use dyno_results::spec::Steps;
use dyno_workload::benchmark::Done;

use super::*;

fn capacity(clients: Option<u32>) -> Capacity {
    let room = Room { clients, why: "there is room for no more" };
    Capacity { cpus: 4, room, contention: None, terminals: None, connections: None }
}

/// What a stage of so much throughput would have brought.
fn sum(id: u32, load: StageOrder, mean: f64, p99_us: f64) -> StageSum {
    let throughput =
        Estimate { mean, half_width: Some(mean * 0.01), samples: 10, effective_samples: Some(10.0) };
    let done = (mean * 10.0) as u64;
    let step = LoadStep {
        stage: id,
        clients: load.clients,
        rate_per_s: rate_of(load.arrivals),
        throughput,
        p99_us: Some(p99_us),
        done,
        failed: 0,
        processors: None,
    };
    let told = Done { acknowledged: done, ..Done::default() };
    StageSum { id, order: load, step: Some(step), told, counted: true }
}

/// Runs a planner to its end on a target whose throughput and p99 are functions of the load.
fn run(planner: &mut StagePlanner<'_>, target: impl Fn(&StageOrder) -> (f64, f64)) -> Vec<StageOrder> {
    let mut sums: Vec<StageSum> = Vec::new();
    for id in 0..1000 {
        let Some(load) = planner.next(&sums) else { break };
        let (mean, p99_us) = target(&load);
        sums.push(sum(id, load, mean, p99_us));
    }
    sums.into_iter().map(|sum| sum.order).collect()
}

/// `warm-up 4`, `ladder 1`, `hold 8`.
fn names(loads: &[StageOrder]) -> Vec<String> {
    let name = |load: &StageOrder| match load.kind {
        StageKind::WarmUp => format!("w{}", load.clients),
        StageKind::Ladder => format!("{}", load.clients),
        StageKind::Hold => format!("h{}", load.clients),
        StageKind::Ramp => format!("r{}-{}", load.clients, load.clients_end),
    };
    loads.iter().map(name).collect()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ladder(rungs: Rungs) -> Course {
    Course::Ladder { rungs, step: seconds(5), hold: seconds(20), think_time: Duration::ZERO }
}

fn ramp(steps: &str, hold: Option<Duration>, to_the_end: bool) -> Course {
    Course::Ramp(Ramp {
        steps: steps.parse::<Steps>().unwrap(),
        step: seconds(10),
        hold,
        to_the_end,
        think_time: Duration::ZERO,
        clients: None,
        distribution: dyno_results::event::Distribution::Poisson,
    })
}

/// Rises up to `peak` clients, and falls behind it, while latency rises.
fn peaks_at(peak: u32) -> impl Fn(&StageOrder) -> (f64, f64) {
    move |load| {
        let clients = f64::from(load.clients);
        let over = (clients - f64::from(peak)).max(0.0);
        (1000.0 * (clients.min(f64::from(peak)) - over * 0.2), 1000.0 * (1.0 + over))
    }
}

#[test]
fn a_listed_ladder_runs_every_rung_and_holds_the_peak() {
    let load = ladder(Rungs::Listed(vec![1, 2, 4, 8, 16]));
    let mut planner = StagePlanner::new(&load, seconds(5), 1, capacity(None));
    assert_eq!(names(&run(&mut planner, peaks_at(4))), ["w16", "1", "2", "4", "8", "16", "h4"]);
    assert_eq!(planner.next(&[]), None, "it is over");
}

#[test]
fn a_hold_is_repeated_and_a_warm_up_left_out() {
    let load = ladder(Rungs::Listed(vec![1, 2]));
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 3, capacity(None));
    assert_eq!(names(&run(&mut planner, peaks_at(2))), ["1", "2", "h2", "h2", "h2"]);
}

#[test]
fn an_automatic_ladder_ends_behind_its_peak() {
    let load = ladder(Rungs::Automatic { factor: 2, max: 1024 });
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(None));
    let planned = run(&mut planner, peaks_at(4));
    assert_eq!(planned.last().map(|load| (load.kind, load.clients)), Some((StageKind::Hold, 4)));
    assert!(planned.len() < 8, "{planned:?}");
    assert_eq!(planner.take_remark(), None);
}

#[test]
fn an_automatic_ladder_ends_where_the_room_does_and_says_so() {
    let load = ladder(Rungs::Automatic { factor: 4, max: 1024 });
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(Some(20)));
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["1", "4", "16", "20", "h20"]);
    assert_eq!(planner.take_remark().unwrap(), "the ladder ends at 20 clients: there is room for no more");
    assert_eq!(planner.take_remark(), None, "said once");
}

#[test]
fn a_pool_that_no_climb_came_up_to_is_told() {
    let pooled = |connections| Capacity { connections: Some(connections), ..capacity(None) };
    let remark = |load: &Course, connections| {
        let mut planner = StagePlanner::new(load, Duration::ZERO, 1, pooled(connections));
        run(&mut planner, peaks_at(4));
        planner.take_remark().unwrap_or_default()
    };
    let automatic = ladder(Rungs::Automatic { factor: 2, max: 1024 });
    assert!(remark(&automatic, 1000).contains("fewer than the 1000 connections"));
    assert_eq!(remark(&automatic, 2), "");
    let ramped = remark(&ramp("1..200", None, false), 100);
    assert!(ramped.contains("is saturated") && ramped.contains("fewer than the 100 connections"), "{ramped}");
    assert_eq!(remark(&ladder(Rungs::Listed(vec![1, 2])), 40), "", "told before the load");
}

#[test]
fn terminals_are_the_one_rung_of_a_ladder_that_nobody_chose() {
    let load = ladder(Rungs::Automatic { factor: 2, max: 1024 });
    let terminals = Capacity { terminals: Some(100), ..capacity(None) };
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, terminals);
    assert_eq!(planner.expected().unwrap().steps, 1);
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["100", "h100"]);
    assert!(planner.take_remark().unwrap().contains("100 terminals"));
    let few = Capacity { terminals: Some(100), ..capacity(Some(20)) };
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, few);
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["20", "h20"]);
    assert!(planner.take_remark().unwrap().contains("there is room for no more"));
    let listed = ladder(Rungs::Listed(vec![32]));
    let mut planner = StagePlanner::new(&listed, Duration::ZERO, 1, terminals);
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["32", "h32"]);
}

#[test]
fn contention_ends_an_automatic_ladder_and_no_named_one() {
    let contention = Some(Contention { clients: 1, why: "they would wait" });
    let contended = Capacity { contention, ..capacity(None) };
    let load = ladder(Rungs::Automatic { factor: 2, max: 1024 });
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, contended);
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["1", "2", "4", "8", "h8"]);
    assert!(planner.take_remark().unwrap().contains("they would wait"));
    let load = ladder(Rungs::Listed(vec![32]));
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, contended);
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["32", "h32"]);
}

#[test]
fn a_ramp_goes_to_its_bound_while_the_target_keeps_up() {
    let load = ramp("1..5", None, false);
    let mut planner = StagePlanner::new(&load, seconds(5), 1, capacity(None));
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["w1", "1", "2", "3", "4", "5"]);
    assert_eq!(planner.take_remark(), None);
    let expected = planner.expected().unwrap();
    assert_eq!((expected.steps, expected.may_end_early), (5, true));
}

#[test]
fn a_ramp_ends_where_the_target_gives_way_unless_the_end_is_wanted() {
    let load = ramp("1..200", Some(seconds(20)), false);
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(None));
    let planned = run(&mut planner, peaks_at(8));
    let (hold, steps) = planned.split_last().unwrap();
    assert!(steps.len() < 50, "{}", steps.len());
    assert_eq!(hold.kind, StageKind::Hold);
    assert!((4..=12).contains(&hold.clients), "held where it was good: {}", hold.clients);
    assert!(planner.take_remark().unwrap().contains("is saturated"));
    let load = ramp("1..40", None, true);
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(None));
    assert_eq!(run(&mut planner, peaks_at(8)).len(), 40);
}

#[test]
fn a_ramp_without_a_bound_ends_where_the_room_does() {
    let load = ramp("1..x4", None, true);
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(Some(100)));
    assert_eq!(names(&run(&mut planner, peaks_at(1000))), ["1", "4", "16", "64"]);
    assert!(planner.take_remark().unwrap().contains("room"));
}

#[test]
fn a_ramp_of_the_rate_is_a_ladder_of_open_stages() {
    let load = ramp("100/s..300/s", None, false);
    let mut planner = StagePlanner::new(&load, seconds(1), 1, capacity(None));
    let planned = run(&mut planner, |load| (rate_of(load.arrivals).unwrap(), 1000.0));
    let rates: Vec<f64> = planned.iter().filter_map(|load| rate_of(load.arrivals)).collect();
    assert_eq!(rates, [100.0, 100.0, 200.0, 300.0]);
    assert!(planned.iter().all(|load| load.clients == 64));
    let kinds: Vec<_> = planned.iter().map(|load| load.kind).collect();
    assert_eq!(kinds, [[StageKind::WarmUp].as_slice(), &[StageKind::Ladder; 3]].concat());
}

#[test]
fn a_single_stage_is_repeated_and_its_warm_up_runs_at_its_start() {
    let arrivals = Arrivals::Open {
        rate_per_s: 10.0,
        rate_end_per_s: 50.0,
        distribution: dyno_results::event::Distribution::Constant,
    };
    let end = End::Duration(seconds(30));
    let load = Course::Fixed { clients: Some(3), clients_end: None, arrivals, end };
    let mut planner = StagePlanner::new(&load, seconds(1), 2, capacity(None));
    let planned = run(&mut planner, |_| (1.0, 1.0));
    assert_eq!(names(&planned), ["w3", "r3-3", "r3-3"]);
    assert_eq!(planned[0].arrivals, start_of(arrivals));
    let closed = Arrivals::Closed { think_time: Duration::ZERO };
    let load = Course::Fixed { clients: None, clients_end: None, arrivals: closed, end };
    let pooled = Capacity { connections: Some(40), ..capacity(None) };
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, pooled);
    assert_eq!(names(&run(&mut planner, |_| (1.0, 1.0))), ["h40"]);
    let terminals = Capacity { terminals: Some(10), ..capacity(None) };
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, terminals);
    assert_eq!(names(&run(&mut planner, |_| (1.0, 1.0))), ["h10"]);
}

#[test]
fn a_rung_that_measured_nothing_is_not_run_again() {
    let load = ladder(Rungs::Listed(vec![1, 2]));
    let mut planner = StagePlanner::new(&load, Duration::ZERO, 1, capacity(None));
    let mut sums = Vec::new();
    let planned: Vec<StageOrder> = iter::from_fn(|| {
        let load = planner.next(&sums)?;
        sums.push(StageSum { step: None, ..sum(0, load, 1.0, 1.0) });
        Some(load)
    })
    .collect();
    assert_eq!(names(&planned), ["1", "2", "h2"]);
}
