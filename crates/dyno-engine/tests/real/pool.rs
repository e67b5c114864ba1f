//! Many clients over few connections.

use std::time::Duration;

use dyno_engine::engine::Observation;
use dyno_engine::error::EngineError;
use dyno_engine::plan::{Arrivals, EngineConfig, Limit, StagePlan};
use dyno_results::event::{Distribution, Pool};
use std::sync::atomic::AtomicBool;

use crate::bank::{closed, engine, for_ms, run, run_until, server};

const TABLE: &str = "CREATE TABLE log (client int, number int, pid int DEFAULT pg_backend_pid())";
const INSERT: [&str; 1] = ["INSERT INTO log VALUES ($1, $2)"];

fn over(connections: u32, threads: u32) -> EngineConfig {
    EngineConfig { connections: Some(connections), ..EngineConfig::new(threads) }
}

fn pools(seen: &crate::bank::Seen) -> Vec<Pool> {
    seen.intervals.iter().filter(|interval| !interval.drain).map(|interval| interval.pool.unwrap()).collect()
}

#[test]
fn every_client_does_its_part_over_the_connections_that_there_are() {
    let Some(server) = server(TABLE) else { return };
    for (connections, threads) in [(4, 2), (1, 1), (3, 2), (64, 2), (1, 4)] {
        server.psql("TRUNCATE log");
        let mut engine = engine(&server, &INSERT, over(connections, threads));
        let seen = run(&mut engine, &closed(50, Limit::TransactionsPerClient(20)));
        assert!(seen.outcome.complete, "{connections}");
        assert_eq!(seen.done(), 1000);
        assert_eq!(engine.connected(), connections.min(50));
        assert_eq!(engine.threads(), threads.min(connections));
        let found = server.psql(
            "SELECT count(*), count(DISTINCT (client, number)), max(client), count(DISTINCT pid) FROM log",
        );
        assert_eq!(found.trim(), format!("1000|1000|49|{}", connections.min(50)));
        // Each of them has all its times.
        for count in [
            seen.sum(|part| part.response.as_ref().unwrap().count()),
            seen.sum(|part| part.lag.as_ref().unwrap().count()),
            seen.sum(|part| part.wait.as_ref().unwrap().count()),
        ] {
            assert_eq!(count, 1000);
        }
    }
}

#[test]
fn who_waits_for_a_connection_is_seen_waiting() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT pg_sleep(0.02)"], over(4, 2));
    let seen = run(&mut engine, &closed(40, for_ms(2000)));
    for pool in pools(&seen) {
        assert_eq!((pool.connections, pool.in_use_max, pool.waiting_max), (4, 4, 36), "{pool:?}");
        assert!(pool.in_use_mean > 3.5 && pool.in_use_mean < 4.01, "{pool:?}");
        assert!(pool.waiting_mean > 30.0 && pool.waiting_mean < 36.01, "{pool:?}");
    }
    let part = |interval: usize| &seen.intervals[interval].types[0];
    // Ten clients share a connection: nine transactions of 20 ms are waited for, and by nobody for more, since who
    // has waited longest comes first.
    let ms = |latency: &Option<dyno_results::latency::Latency>, percentile| {
        latency.as_ref().unwrap().percentile_ns(percentile).unwrap() as f64 / 1e6
    };
    let (wait, response) = (ms(&part(1).wait, 50.0), ms(&part(1).response, 50.0));
    assert!(wait >= 170.0, "{wait}");
    assert!(response >= wait + 19.0, "{response} {wait}");
    assert!(ms(&part(1).lag, 50.0) >= wait);
    assert!((part(1).service.percentile_ns(50.0).unwrap() as f64) < response * 1e6 / 2.0);
}

#[test]
fn clients_that_think_need_few_connections() {
    let Some(server) = server(TABLE) else { return };
    let mut engine = engine(&server, &INSERT, over(8, 2));
    let plan = StagePlan {
        arrivals: Arrivals::Closed { think_time: Duration::from_millis(500) },
        ..closed(400, for_ms(3000))
    };
    let seen = run(&mut engine, &plan);
    // Each client once or so in every half second, spread over it from the beginning on.
    assert!((1200..=2400).contains(&seen.done()), "{}", seen.done());
    let first = seen.intervals[0].types[0].done;
    assert!((400..=800).contains(&first), "{first}");
    let found =
        server.psql("SELECT count(*), count(DISTINCT (client, number)), count(DISTINCT client) FROM log");
    assert_eq!(found.trim(), format!("{0}|{0}|400", seen.done()));
    assert!(pools(&seen).iter().all(|pool| pool.connections == 8 && pool.in_use_mean < 8.0));
}

#[test]
fn a_ramp_opens_connections_only_as_clients_need_them() {
    let Some(server) = server(TABLE) else { return };
    let mut engine = engine(&server, &INSERT, over(4, 2));
    for (clients, connections) in [(1, 1), (2, 2), (3, 3), (9, 4), (2, 4)] {
        let seen = run(&mut engine, &closed(clients, for_ms(300)));
        assert!(seen.outcome.complete);
        assert!(pools(&seen).iter().all(|pool| pool.connections == connections), "{clients}: {seen:?}");
        assert!(seen.intervals.iter().all(|interval| interval.drain || interval.clients == clients));
    }
    // And a ramp within one stage, up and down.
    for (from, to) in [(1, 30), (30, 1)] {
        let seen = run(&mut engine, &StagePlan { clients_end: to, ..closed(from, for_ms(1500)) });
        assert!(seen.outcome.complete && seen.done() > 0);
    }
}

#[test]
fn a_broken_connection_is_replaced_and_no_client_is_lost_with_it() {
    let Some(server) = server(TABLE) else { return };
    let mut engine = engine(&server, &INSERT, over(4, 2));
    let mut killed = false;
    let plan = StagePlan {
        arrivals: Arrivals::Closed { think_time: Duration::from_millis(10) },
        ..closed(60, for_ms(4000))
    };
    let seen = run_until(&mut engine, &plan, &AtomicBool::new(false), &mut |observation| {
        if let (Observation::Interval(_), false) = (observation, std::mem::replace(&mut killed, true)) {
            server.psql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
            );
        }
    });
    assert!(seen.outcome.complete);
    assert_eq!(seen.outcome.clients_aborted, 0);
    let reconnects: u64 = seen.intervals.iter().map(|interval| interval.reconnects).sum();
    assert_eq!(reconnects, 4);
    assert_eq!(pools(&seen).last().unwrap().connections, 4);
    let (failed, unknown) = (seen.sum(|part| part.failed), seen.sum(|part| part.unknown));
    assert!(failed + unknown <= 4, "only what was under way: {failed} {unknown}");
    let rows: u64 = server.psql("SELECT count(*) FROM log").trim().parse().unwrap();
    assert!((seen.done()..=seen.done() + unknown).contains(&rows), "{rows} {}", seen.done());
    // All of them still work in the last second.
    let last: u64 = server
        .psql("SELECT count(DISTINCT client) FROM (SELECT client FROM log ORDER BY ctid DESC LIMIT 2000) t")
        .trim()
        .parse()
        .unwrap();
    assert_eq!(last, 60);
}

#[test]
fn failures_end_clients_and_not_connections() {
    let Some(server) = server("SELECT 1") else { return };
    let config = EngineConfig { failures_in_a_row_max: 3, ..over(2, 1) };
    let mut engine = engine(&server, &["SELECT 1 / (0 * $1::bigint)"], config);
    let seen = run(&mut engine, &closed(10, for_ms(5000)));
    assert_eq!((seen.outcome.clients_aborted, seen.sum(|part| part.failed)), (10, 30));
    assert_eq!(engine.connected(), 2);
    // The next stage starts all of them afresh.
    let seen = run(&mut engine, &closed(10, for_ms(5000)));
    assert_eq!(seen.sum(|part| part.failed), 30);
}

#[test]
fn an_open_load_has_no_pool() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT 1"], over(2, 1));
    let arrivals =
        Arrivals::Open { rate_per_s: 10.0, rate_end_per_s: 10.0, distribution: Distribution::Constant };
    let plan = StagePlan { arrivals, ..closed(4, for_ms(100)) };
    let error = engine.run_stage(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, EngineError::OpenOverPool), "{error}");
}
