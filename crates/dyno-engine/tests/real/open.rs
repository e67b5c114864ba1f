//! Open loops: the schedule is kept whatever the server does, and a stall shows in full.

use dyno_results::spec::{Arrivals, StageOrder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Observation;
use dyno_results::event::{Distribution, StageKind, TypeInterval};
use dyno_results::latency::Latency;
use rustix::process::{Pid, Signal, kill_process};

use crate::bank::{
    Database, LONG_MS, Seen, config, database, engine, for_ms, own_server, run, run_until, wait_until,
};

fn open(
    clients: u32,
    rate_per_s: f64,
    rate_end_per_s: f64,
    distribution: Distribution,
    ms: u64,
) -> StageOrder {
    let arrivals = Arrivals::Open { rate_per_s, rate_end_per_s, distribution };
    StageOrder { stage: 1, ..StageOrder::new(StageKind::Hold, clients, arrivals, for_ms(ms)) }
}

fn responses(seen: &Seen) -> Latency {
    let mut all = Latency::new();
    for part in seen.intervals.iter().flat_map(|interval| &interval.types) {
        all.merge(&part.response);
    }
    all
}

#[test]
fn a_constant_rate_is_met_to_the_transaction() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(2));
    let seen = run(&mut engine, &open(8, 400.0, 400.0, Distribution::Constant, 1000));
    // Due at 0 and then every 2.5 ms: 400 within 1 s, whether in the load, in the drain or never begun.
    assert_eq!(seen.done() + seen.outcome.not_begun, 400);
    assert_eq!(responses(&seen).count(), seen.done());
    assert_eq!(seen.sum(|part| part.lag.count()), seen.done());
}

#[test]
fn a_ramp_of_the_rate_has_its_mean() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(1));
    let seen = run(&mut engine, &open(8, 0.0, 800.0, Distribution::Constant, 1000));
    let due = seen.done() + seen.outcome.not_begun;
    assert!((380..=420).contains(&due), "{due}");
}

/// A server that stalls for a second under 1,000 a second: all that were due in that second show how long they waited.
#[test]
fn a_stall_of_a_second_shows_in_a_thousand_response_times() {
    let Some(database) = own_server("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(2));
    engine.connect(16, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let (begun, mut stalled) = (Instant::now(), None);
    let (mut ended, stop) = (0.0, AtomicBool::new(false));
    let plan = open(16, 1000.0, 1000.0, Distribution::Poisson, LONG_MS);
    let seen = run_until(&mut engine, &plan, &stop, &mut |observation| {
        let Observation::Interval(interval) = observation else { return };
        let (_, until) = *stalled.get_or_insert_with(|| {
            let stall = Stall::begin(&database);
            std::thread::sleep(Duration::from_secs(1));
            stall.end()
        });
        ended += interval.types.iter().map(|part| part.done).sum::<u64>() as f64;
        // They begin in the order in which they are due: by then all have that were due before the stall's end.
        let due = 1000.0 * (until - begun).as_secs_f64();
        stop.store(ended > due + 5.0 * due.sqrt(), Ordering::Relaxed);
    });
    let lasted = begun.elapsed();
    assert_eq!(seen.sum(|part| part.failed), 0, "{:?}", seen.errors);
    let due = 1000.0 * seen.outcome.seconds;
    let all_due = (seen.done() + seen.outcome.not_begun) as f64;
    assert!((all_due - due).abs() <= 5.0 * due.sqrt(), "{all_due} were due, not {due}");
    let all = responses(&seen);
    // Each is the wait until its client sent it, and the time that it took from there.
    let sum = mean_ns(&seen, |part| &part.lag) + mean_ns(&seen, |part| &part.service);
    assert!((all.mean_ns().unwrap() / sum - 1.0).abs() < 0.02, "{:?} and {sum}", all.mean_ns());
    let (from, until) = stalled.unwrap();
    for ms in [100, 500] {
        let due = 1000.0 * (until - from - Duration::from_millis(ms)).as_secs_f64();
        let least = due - 5.0 * due.sqrt() - 5.0;
        assert!(slower(&all, ms) as f64 >= least, "{} over {ms} ms, not {least}", slower(&all, ms));
    }
    // Service time alone hides it: a client that is caught in the act waits, and the others are not heard.
    let mut service = Latency::new();
    let types = || seen.intervals.iter().flat_map(|interval| &interval.types);
    types().for_each(|part| service.merge(&part.service));
    let one_after_the_other = lasted.as_millis() as u64 / 500;
    assert!(slower(&service, 500) <= 16 * one_after_the_other, "{} of service", slower(&service, 500));
}

/// A stall that lasts until the load's end is not forgotten: what was due is begun late, and its wait is recorded.
#[test]
fn a_stall_at_the_end_of_a_stage_shows_too() {
    let Some(database) = own_server("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(1));
    engine.connect(8, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let mut stall = Some(Stall::begin(&database));
    let plan = open(8, 500.0, 500.0, Distribution::Constant, 1600);
    let mut intervals = 0;
    let seen = run_until(&mut engine, &plan, &AtomicBool::new(false), &mut |observation| {
        intervals += u32::from(matches!(observation, Observation::Interval(_)));
        // The load is over with its second interval.
        if intervals == 2 {
            stall.take().map(Stall::end);
        }
    });
    // All 800 that were due have begun and ended in the drain.
    let in_drain = seen.intervals.last().filter(|interval| interval.drain).unwrap();
    let done_in_drain: u64 = in_drain.types.iter().map(|part| part.done).sum();
    assert_eq!((seen.done(), done_in_drain, seen.outcome.not_begun), (800, 800, 0));
    // Those of the first 1.1 of 1.6 seconds for more than half a second.
    let slow = slower(&responses(&seen), 500);
    assert!(slow >= 545, "{slow} waited more than half a second");
}

/// All of the server's processes but the first stand still until its end.
struct Stall {
    processes: Vec<Pid>,
    from: Instant,
}

impl Stall {
    fn begin(database: &Database) -> Self {
        let children = format!("/proc/{0}/task/{0}/children", database.server_pid());
        let children = std::fs::read_to_string(children).unwrap();
        let processes: Vec<Pid> =
            children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().unwrap())).collect();
        // One that has just ended is none that anybody waits for.
        for pid in &processes {
            let _ = kill_process(*pid, Signal::STOP);
        }
        wait_until("all processes stand still", || !processes.iter().any(|pid| runs(*pid)));
        Self { processes, from: Instant::now() }
    }

    /// Since when it stood still for sure, and until when.
    fn end(self) -> (Instant, Instant) {
        let until = Instant::now();
        for pid in &self.processes {
            let _ = kill_process(*pid, Signal::CONT);
        }
        (self.from, until)
    }
}

/// Whether a process is there and not stopped.
fn runs(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['T', 'Z']))
}

fn slower(latency: &Latency, ms: u64) -> u64 {
    latency.count() - latency.count_at_most(Duration::from_millis(ms).as_nanos() as u64)
}

/// Of all types and intervals.
fn mean_ns(seen: &Seen, latency: impl Fn(&TypeInterval) -> &Latency) -> f64 {
    let mut all = Latency::new();
    let types = seen.intervals.iter().flat_map(|interval| &interval.types);
    types.map(latency).for_each(|part| all.merge(part));
    all.mean_ns().unwrap()
}

#[test]
fn what_cannot_be_begun_in_the_drain_is_counted() {
    let Some(database) = database("SELECT 1") else { return };
    let config = EngineConfig { drain_timeout: Duration::from_millis(400), ..config(1) };
    let mut engine = engine(&database, &["SELECT pg_sleep(0.05 + 0 * ($1::int + $2::int))"], config);
    let seen = run(&mut engine, &open(2, 1000.0, 1000.0, Distribution::Constant, 1000));
    // What is still under way when the drain is over may have been done.
    let ended = seen.sum(|part| part.done + part.failed + part.unknown);
    assert_eq!(ended + seen.outcome.not_begun, 1000);
    assert!(seen.outcome.not_begun > 800, "two clients can do about forty a second");
}
