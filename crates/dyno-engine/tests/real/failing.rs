//! What goes wrong in mid-run is counted, told once, and outlived where it can be.

use dyno_results::spec::{Arrivals, End};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_results::event::Interval;

use crate::bank::{
    Database, Held, LONG_MS, Seen, closed, config, database, engine, errors_of, for_ms, has_done_something,
    own_server, reconnects, run, run_until, run_until_enough, wait_until,
};

/// Ends all sessions in the database but the one that asks.
const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Six clients on one row.
const CONFLICTING: [&str; 3] = ["BEGIN ISOLATION LEVEL SERIALIZABLE", "UPDATE one SET n = n + 1", "COMMIT"];
const ONE: &str = "CREATE TABLE one (n bigint); INSERT INTO one VALUES (0)";

/// Runs a stage in which clients wait for the row while somebody else changes it.
fn run_into_conflict(database: &Database, engine: &mut Engine) -> Seen {
    let held = Held::begin(database.client(), "UPDATE one SET n = n");
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("a client waits for the row", || database.psql(waiting).trim() != "0");
            held.end();
        });
        run(engine, &closed(6, End::TransactionsPerClient(40)))
    })
}

#[test]
fn serialization_failures_are_tried_again() {
    let Some(database) = database(ONE) else { return };
    let config = EngineConfig { tries_max: u32::MAX, ..config(2) };
    let mut engine = engine(&database, &CONFLICTING, config);
    let seen = run_into_conflict(&database, &mut engine);
    assert_eq!((seen.done(), seen.sum(|part| part.failed)), (240, 0));
    assert_eq!(database.psql("SELECT n FROM one").trim(), "240");
    let conflicts = seen.errors_of("40001");
    assert!(conflicts > 0, "{seen:?}");
    assert_eq!(seen.sum(|part| part.retries), conflicts);
}

#[test]
fn without_further_tries_they_have_failed() {
    let Some(database) = database(ONE) else { return };
    let config = EngineConfig { tries_max: 1, failures_in_a_row_max: u32::MAX, ..config(2) };
    let mut engine = engine(&database, &CONFLICTING, config);
    let seen = run_into_conflict(&database, &mut engine);
    let failed = seen.sum(|part| part.failed);
    assert!(failed > 0, "{seen:?}");
    assert_eq!(seen.done() + failed, 240);
    assert_eq!(database.psql("SELECT n FROM one").trim(), seen.done().to_string());
    assert_eq!(seen.sum(|part| part.retries), 0);
    let measured: u64 = seen.sum(|part| part.failed_service.count());
    assert_eq!((measured, seen.errors_of("40001")), (failed, failed));
}

#[test]
fn clients_that_only_fail_give_up_and_say_why() {
    let Some(database) = database("CREATE TABLE few (n int CHECK (n < 0))") else { return };
    let config = EngineConfig { failures_in_a_row_max: 5, ..config(2) };
    let mut engine = engine(&database, &["BEGIN", "INSERT INTO few VALUES ($1)", "COMMIT"], config);
    let seen = run(&mut engine, &closed(4, for_ms(LONG_MS)));
    assert!(!seen.outcome.complete);
    assert_eq!((seen.outcome.clients_aborted, seen.done(), seen.sum(|part| part.failed)), (4, 0, 20));
    assert!(seen.errors.iter().any(|error| error.contains("few_n_check") && error.contains("23514")));
    assert!(seen.errors.len() <= 2, "told once by each thread: {:?}", seen.errors);
}

#[test]
fn broken_connections_come_back_and_nothing_acknowledged_is_lost() {
    let Some(database) = database("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&database, &["INSERT INTO log VALUES ($1, $2)"], config(2));
    let mut killed = false;
    let mut kill = |observation: &Observation| {
        if !killed && has_done_something(observation) {
            killed = true;
            database.psql(TERMINATE);
        }
    };
    let plan = closed(4, for_ms(LONG_MS));
    let seen = run_until_enough(&mut engine, &plan, &mut kill, |intervals| reconnects(intervals) >= 4);
    assert_eq!(seen.reconnects(), 4, "{:?}", seen.errors);
    assert!(seen.intervals.iter().map(|interval| interval.lost_ns).sum::<u64>() > 0);
    let found: u64 = database.psql("SELECT count(*) FROM log").trim().parse().unwrap();
    let unknown = seen.sum(|part| part.unknown);
    assert!((seen.done()..=seen.done() + unknown).contains(&found), "{found} of {} + {unknown}", seen.done());
    assert!(seen.errors_of("57P01") > 0 && seen.errors.iter().any(|error| error.contains("57P01")));
}

#[test]
fn a_server_that_is_gone_ends_the_stage() {
    let Some(mut database) = own_server("CREATE TABLE log (client int, number int)") else { return };
    let config = EngineConfig { reconnect_timeout: Duration::from_secs(1), ..config(2) };
    let mut engine = engine(&database, &["INSERT INTO log VALUES ($1, $2)"], config);
    let mut crashed = false;
    let stop = AtomicBool::new(false);
    let seen = run_until(&mut engine, &closed(4, for_ms(LONG_MS)), &stop, &mut |observation| {
        if !crashed && has_done_something(observation) {
            crashed = true;
            database.crash_server();
        }
    });
    assert!(crashed && !seen.outcome.complete);
    assert!(!seen.errors.is_empty());
}

#[test]
fn a_client_that_waits_is_told_why_the_server_ended_its_connection() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(1));
    let mut plan = closed(4, for_ms(LONG_MS));
    // The connections are idle when they are ended: nobody thinks so fast.
    plan.arrivals = Arrivals::Closed { think_time: Duration::from_millis(LONG_MS) };
    let mut ended = false;
    let mut end = |_: &Observation| {
        if !std::mem::replace(&mut ended, true) {
            database.psql(TERMINATE);
        }
    };
    let told = |intervals: &[Interval]| errors_of(intervals, "57P01") + errors_of(intervals, "connection");
    let seen = run_until_enough(&mut engine, &plan, &mut end, |intervals| told(intervals) >= 4);
    assert_eq!((seen.errors_of("57P01"), seen.errors_of("connection")), (4, 0), "{:?}", seen.errors);
    assert_eq!(seen.done(), 0);
}

#[test]
fn a_stage_starts_with_all_clients_although_the_last_one_lost_some() {
    let Some(database) = database("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&database, &["INSERT INTO log VALUES ($1, $2)"], config(2));
    assert!(run(&mut engine, &closed(4, for_ms(200))).outcome.complete);
    let ports = "SELECT client_port FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let connections: BTreeSet<u16> = database.psql(ports).lines().map(|port| port.parse().unwrap()).collect();
    assert_eq!(connections.len(), 4);
    assert!(connections.is_subset(&established_to(database.port())));
    database.psql(TERMINATE);
    wait_until("the server ends its sessions", || established_to(database.port()).is_disjoint(&connections));
    let seen = run(&mut engine, &closed(4, End::TransactionsPerClient(10)));
    assert_eq!((seen.done(), seen.sum(|part| part.failed)), (40, 0), "{:?}", seen.errors);
}

/// Own ports of connections to a port of this machine of which neither side has seen the end.
fn established_to(port: u16) -> BTreeSet<u16> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ports = table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let mut port_of = || u16::from_str_radix(fields.next()?.split(':').nth(1)?, 16).ok();
        let (local, remote) = (port_of()?, port_of()?);
        (remote == port && fields.next()? == "01").then_some(local)
    });
    ports.collect()
}
