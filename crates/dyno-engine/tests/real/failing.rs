//! What goes wrong in mid-run is counted, told once, and outlived where it can be.

use std::time::Duration;

use dyno_engine::engine::Observation;
use dyno_engine::plan::{Arrivals, EngineConfig, Limit};
use dyno_results::latency::Latency;

use crate::bank::{closed, engine, for_ms, run, run_until, server};

/// Ends all sessions but the one that asks.
const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

#[test]
fn serialization_failures_are_tried_again() {
    let sql = "CREATE TABLE one (n bigint); INSERT INTO one VALUES (0)";
    let Some(server) = server(sql) else { return };
    let lines = ["BEGIN ISOLATION LEVEL SERIALIZABLE", "UPDATE one SET n = n + 1", "COMMIT"];
    let config = EngineConfig { tries_max: 1000, ..EngineConfig::new(2) };
    let mut engine = engine(&server, &lines, config);
    let seen = run(&mut engine, &closed(6, Limit::TransactionsPerClient(40)));
    assert_eq!((seen.done(), seen.sum(|part| part.failed)), (240, 0));
    assert_eq!(server.psql("SELECT n FROM one").trim(), "240");
    let conflicts: u64 = seen.intervals.iter().filter_map(|interval| interval.errors.get("40001")).sum();
    assert!(conflicts > 0, "six clients on one row conflict");
    assert_eq!(seen.sum(|part| part.retries), conflicts);
}

#[test]
fn without_further_tries_they_have_failed() {
    let sql = "CREATE TABLE one (n bigint); INSERT INTO one VALUES (0)";
    let Some(server) = server(sql) else { return };
    let lines = ["BEGIN ISOLATION LEVEL SERIALIZABLE", "UPDATE one SET n = n + 1", "COMMIT"];
    let config = EngineConfig { tries_max: 1, failures_in_a_row_max: u32::MAX, ..EngineConfig::new(2) };
    let mut engine = engine(&server, &lines, config);
    let seen = run(&mut engine, &closed(6, Limit::TransactionsPerClient(40)));
    assert_eq!(seen.done() + seen.sum(|part| part.failed), 240);
    assert_eq!(server.psql("SELECT n FROM one").trim(), seen.done().to_string());
    assert_eq!(seen.sum(|part| part.retries), 0);
    assert!(seen.sum(|part| part.failed) > 0);
    let failed: u64 = seen.sum(|part| part.failed_service.as_ref().map_or(0, Latency::count));
    assert_eq!(failed, seen.sum(|part| part.failed));
}

#[test]
fn clients_that_only_fail_give_up_and_say_why() {
    let Some(server) = server("CREATE TABLE few (n int CHECK (n < 0))") else { return };
    let config = EngineConfig { failures_in_a_row_max: 5, ..EngineConfig::new(2) };
    let mut engine = engine(&server, &["BEGIN", "INSERT INTO few VALUES ($1)", "COMMIT"], config);
    let seen = run(&mut engine, &closed(4, for_ms(60_000)));
    assert!(!seen.outcome.complete);
    assert_eq!((seen.outcome.clients_aborted, seen.done(), seen.sum(|part| part.failed)), (4, 0, 20));
    assert!(seen.errors.iter().any(|error| error.contains("few_n_check") && error.contains("23514")));
    assert!(seen.errors.len() <= 2, "told once by each thread: {:?}", seen.errors);
}

#[test]
fn broken_connections_come_back_and_nothing_acknowledged_is_lost() {
    let Some(server) = server("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&server, &["INSERT INTO log VALUES ($1, $2)"], EngineConfig::new(2));
    let mut killed = false;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = run_until(&mut engine, &closed(4, for_ms(4000)), &stop, &mut |_| {
        if !std::mem::replace(&mut killed, true) {
            server.psql(TERMINATE);
        }
    });
    let reconnects: u64 = seen.intervals.iter().map(|interval| interval.reconnects).sum();
    assert_eq!(reconnects, 4, "{:?}", seen.errors);
    assert!(seen.intervals.iter().map(|interval| interval.lost_ms).sum::<f64>() > 0.0);
    let found: u64 = server.psql("SELECT count(*) FROM log").trim().parse().unwrap();
    let unknown = seen.sum(|part| part.unknown);
    assert!((seen.done()..=seen.done() + unknown).contains(&found), "{found} of {} + {unknown}", seen.done());
    let ended: u64 = seen.intervals.iter().filter_map(|interval| interval.errors.get("57P01")).sum();
    assert!(ended > 0 && seen.errors.iter().any(|error| error.contains("57P01")));
}

#[test]
fn a_server_that_is_gone_ends_the_stage() {
    let Some(mut server) = server("CREATE TABLE log (client int, number int)") else { return };
    let config = EngineConfig { reconnect_timeout: Duration::from_secs(1), ..EngineConfig::new(2) };
    let mut engine = engine(&server, &["INSERT INTO log VALUES ($1, $2)"], config);
    let mut crashed = false;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = run_until(&mut engine, &closed(4, for_ms(600_000)), &stop, &mut |observation| {
        if matches!(observation, Observation::Interval(_)) && !std::mem::replace(&mut crashed, true) {
            server.crash();
        }
    });
    assert!(!seen.outcome.complete);
    assert!(seen.done() > 0 && !seen.errors.is_empty());
}

#[test]
fn a_client_that_waits_is_told_why_the_server_ended_its_connection() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT $1::int + $2::int"], EngineConfig::new(1));
    let mut plan = closed(4, for_ms(3000));
    // Long pauses: the connections are idle when they are ended.
    plan.arrivals = Arrivals::Closed { think_time: Duration::from_millis(700) };
    let mut ended = false;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = run_until(&mut engine, &plan, &stop, &mut |_| {
        if !std::mem::replace(&mut ended, true) {
            server.psql(TERMINATE);
        }
    });
    let count =
        |code: &str| seen.intervals.iter().filter_map(|interval| interval.errors.get(code)).sum::<u64>();
    assert_eq!((count("57P01"), count("connection")), (4, 0), "{:?}", seen.errors);
}

#[test]
fn a_stage_starts_with_all_clients_although_the_last_one_lost_some() {
    let Some(server) = server("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&server, &["INSERT INTO log VALUES ($1, $2)"], EngineConfig::new(2));
    assert!(run(&mut engine, &closed(4, for_ms(200))).outcome.complete);
    let sessions = "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity \
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let before = server.psql(sessions);
    server.psql(TERMINATE);
    let left = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ('{}')", before.trim());
    for _ in 0..500 {
        if server.psql(&left).trim() == "0" {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // They are gone; that their sockets say so as well takes no time to speak of.
    std::thread::sleep(Duration::from_millis(200));
    let seen = run(&mut engine, &closed(4, Limit::TransactionsPerClient(10)));
    assert_eq!((seen.done(), seen.sum(|part| part.failed)), (40, 0), "{:?}", seen.errors);
}
