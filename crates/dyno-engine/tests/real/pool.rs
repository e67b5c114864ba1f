//! Many clients over few connections.

use dyno_results::spec::{Arrivals, End, Segment, StageOrder};
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_engine::workload::Workload;
use dyno_results::event::{Distribution, Interval, Pool, TypeInterval};
use dyno_results::latency::Latency;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::bank::{
    LONG_MS, Script, closed, config, database, engine, for_ms, has_done_something, reconnects, run,
    run_until_enough,
};

const TABLE: &str = "CREATE TABLE log (client int, number int, pid int DEFAULT pg_backend_pid())";
const INSERT: [&str; 1] = ["INSERT INTO log VALUES ($1, $2)"];

fn over(connections: u32, threads: u32) -> EngineConfig {
    EngineConfig { connections: Some(connections), ..config(threads) }
}

fn pools(seen: &crate::bank::Seen) -> Vec<Pool> {
    seen.intervals.iter().filter(|interval| !interval.drain).filter_map(|interval| interval.pool).collect()
}

#[test]
fn every_client_does_its_part_over_the_connections_that_there_are() {
    let Some(database) = database(TABLE) else { return };
    for (connections, threads) in [(4, 2), (1, 1), (3, 2), (64, 2), (1, 4)] {
        database.psql("TRUNCATE log");
        let mut engine = engine(&database, &INSERT, over(connections, threads));
        let seen = run(&mut engine, &closed(50, End::TransactionsPerClient(20)));
        assert!(seen.outcome.complete, "{connections}");
        assert_eq!(seen.done(), 1000);
        assert_eq!(engine.threads(), threads.min(connections));
        let found = database.psql(
            "SELECT count(*), count(DISTINCT (client, number)), max(client), count(DISTINCT pid) FROM log",
        );
        assert_eq!(found.trim(), format!("1000|1000|49|{}", connections.min(50)));
        // Each of them has all its times.
        for count in [
            seen.sum(|part| part.response.count()),
            seen.sum(|part| part.lag.count()),
            seen.sum(|part| part.wait.count()),
        ] {
            assert_eq!(count, 1000);
        }
    }
}

#[test]
fn who_gets_a_connection_at_once_never_waits() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT pg_sleep(0.02)"], over(8, 2));
    for arrivals in [Duration::ZERO, Duration::from_millis(5)] {
        let plan = StageOrder {
            arrivals: Arrivals::Closed { think_time: arrivals },
            ..closed(8, End::TransactionsPerClient(20))
        };
        for pool in pools(&run(&mut engine, &plan)) {
            assert_eq!(pool.waiting_max, 0, "{pool:?}");
        }
    }
}

#[test]
fn who_waits_for_a_connection_is_seen_waiting() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT pg_sleep(0.02)"], over(4, 2));
    // Without the first second: in the beginning nobody has waited yet, and a thread may come late.
    let later = |intervals: &[Interval]| {
        let mut all = TypeInterval::default();
        intervals.iter().skip(1).flat_map(|interval| &interval.types).for_each(|part| all.add(part));
        all
    };
    let plan = closed(40, for_ms(LONG_MS));
    let enough = |intervals: &[Interval]| later(intervals).service.count() >= 100;
    let seen = run_until_enough(&mut engine, &plan, &mut |_| {}, enough);
    let load: Vec<Interval> = seen.intervals.iter().filter(|interval| !interval.drain).cloned().collect();
    let whole = load.iter().skip(1).filter(|interval| interval.duration_ns == 1_000_000_000);
    let pools: Vec<Pool> = whole.map(|interval| interval.pool.unwrap()).collect();
    assert!(!pools.is_empty());
    for pool in pools {
        assert_eq!((pool.connections, pool.in_use_max, pool.waiting_max), (4, 4, 36), "{pool:?}");
        assert!(pool.in_use_mean > 3.5 && pool.in_use_mean < 4.01, "{pool:?}");
        assert!(pool.waiting_mean > 30.0 && pool.waiting_mean < 36.01, "{pool:?}");
    }
    // Ten clients share a connection: nine transactions of 20 ms are waited for, and by nobody for more, since who
    // has waited longest comes first.
    let all = later(&load);
    let ms = |latency: &Latency| latency.percentile_ns(50.0).unwrap() as f64 / 1e6;
    let (wait, response) = (ms(&all.wait), ms(&all.response));
    assert!(wait >= 170.0, "{wait}");
    assert!(response >= wait + 19.0, "{response} {wait}");
    assert!(ms(&all.lag) >= wait);
    assert!(ms(&all.service) < response / 2.0);
}

#[test]
fn clients_that_think_need_few_connections() {
    let Some(database) = database(TABLE) else { return };
    let mut engine = engine(&database, &INSERT, over(8, 2));
    let plan = StageOrder {
        arrivals: Arrivals::Closed { think_time: Duration::from_millis(500) },
        ..closed(400, End::TransactionsPerClient(5))
    };
    let seen = run(&mut engine, &plan);
    assert_eq!((seen.done(), seen.outcome.complete), (2000, true));
    // Each client once or so in every half second, spread over it from the beginning on.
    assert!(seen.outcome.seconds >= 2.0, "{}", seen.outcome.seconds);
    for (seconds, interval) in (1..).zip(&seen.intervals) {
        let done: u64 = interval.types.iter().map(|part| part.done).sum();
        assert!(interval.drain || done <= 400 * 3, "{done} in second {seconds}");
    }
    let first: u64 = seen.intervals[0].types.iter().map(|part| part.done).sum();
    assert!(first <= 800, "{first}");
    let found =
        database.psql("SELECT count(*), count(DISTINCT (client, number)), count(DISTINCT client) FROM log");
    assert_eq!(found.trim(), "2000|2000|400");
    // Who thinks has no connection: they are in use no longer than transactions take.
    let in_use_ms: f64 = seen
        .intervals
        .iter()
        .filter_map(|interval| Some(interval.pool?.in_use_mean * interval.duration_ns as f64 / 1e6))
        .sum();
    let types = seen.intervals.iter().flat_map(|interval| &interval.types);
    let service_ms: f64 =
        types.map(|part| part.service.mean_ns().unwrap() / 1e6 * part.service.count() as f64).sum();
    assert!(in_use_ms <= 2.0 * service_ms + 1000.0, "{in_use_ms} ms for {service_ms} ms");
    let pools = pools(&seen);
    assert_eq!(pools[0].connections, 8);
    // A thread that has done its part is not heard in the seconds that the other still takes.
    assert!(
        pools.iter().all(|pool| pool.connections <= 8 && pool.in_use_max <= pool.connections),
        "{pools:?}"
    );
}

#[test]
fn a_ramp_opens_connections_only_as_clients_need_them() {
    let Some(database) = database(TABLE) else { return };
    let mut engine = engine(&database, &INSERT, over(4, 2));
    let mut done = 0;
    for (clients, connections) in [(1, 1), (2, 2), (3, 3), (9, 4), (2, 4)] {
        let seen = run(&mut engine, &closed(clients, for_ms(100)));
        assert!(seen.outcome.complete);
        assert!(pools(&seen).iter().all(|pool| pool.connections == connections), "{clients}: {seen:?}");
        assert!(seen.intervals.iter().all(|interval| interval.drain || interval.clients == clients));
        done += seen.done();
    }
    // And a ramp within one stage, up and down.
    for (from, to) in [(1, 30), (30, 1)] {
        let seen = run(&mut engine, &StageOrder { clients_end: to, ..closed(from, for_ms(500)) });
        assert!(seen.outcome.complete);
        done += seen.done();
    }
    assert_eq!(database.psql("SELECT count(*) FROM log").trim(), done.to_string());
}

#[test]
fn a_broken_connection_is_replaced_and_no_client_is_lost_with_it() {
    let Some(database) = database(TABLE) else { return };
    let mut engine = engine(&database, &INSERT, over(4, 2));
    let mut killed = false;
    let plan = StageOrder {
        arrivals: Arrivals::Closed { think_time: Duration::from_millis(10) },
        ..closed(60, for_ms(LONG_MS))
    };
    let mut kill = |observation: &Observation| {
        if !killed && has_done_something(observation) {
            killed = true;
            database.psql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
        }
    };
    // On the connections that are new.
    let all_work = || {
        let working =
            "SELECT count(DISTINCT client) FROM log WHERE pid IN (SELECT pid FROM pg_stat_activity)";
        database.psql(working).trim() == "60"
    };
    let seen =
        run_until_enough(&mut engine, &plan, &mut kill, |intervals| reconnects(intervals) >= 4 && all_work());
    assert_eq!((seen.outcome.clients_aborted, seen.reconnects()), (0, 4), "{:?}", seen.errors);
    assert_eq!(pools(&seen).last().unwrap().connections, 4);
    let (failed, unknown) = (seen.sum(|part| part.failed), seen.sum(|part| part.unknown));
    assert!(failed + unknown <= 4, "only what was under way: {failed} {unknown}");
    let rows: u64 = database.psql("SELECT count(*) FROM log").trim().parse().unwrap();
    assert!((seen.done()..=seen.done() + unknown).contains(&rows), "{rows} {}", seen.done());
}

#[test]
fn failures_end_clients_and_not_connections() {
    let Some(database) = database("SELECT 1") else { return };
    let config = EngineConfig { failures_in_a_row_max: 3, ..over(2, 1) };
    let mut engine = engine(&database, &["SELECT 1 / (0 * $1::bigint)"], config);
    let seen = run(&mut engine, &closed(10, for_ms(LONG_MS)));
    assert_eq!((seen.outcome.clients_aborted, seen.sum(|part| part.failed)), (10, 30));
    assert_eq!(pools(&seen).last().unwrap().connections, 2);
    // The next stage starts all of them afresh.
    let seen = run(&mut engine, &closed(10, for_ms(LONG_MS)));
    assert_eq!(seen.sum(|part| part.failed), 30);
}

#[test]
fn an_open_load_has_no_pool() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT 1"], over(2, 1));
    let arrivals =
        Arrivals::Open { rate_per_s: 10.0, rate_end_per_s: 10.0, distribution: Distribution::Constant };
    let plan = StageOrder { arrivals, ..closed(4, for_ms(100)) };
    let error = engine.run_stage(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, EngineError::OpenOverPool), "{error}");
    // Clients of a generator that has no connection would wait for ever.
    let few = EngineConfig { segment: Segment::new(2, 3).unwrap(), connections: Some(2), ..config(1) };
    let workload: Arc<dyn Workload> = Arc::new(Script::new(&["SELECT 1"]));
    let refused = Engine::start(&database.endpoint(), &workload, few).unwrap_err();
    assert!(matches!(refused, EngineError::PoolTooSmall { connections: 2, generators: 3 }), "{refused}");
}
