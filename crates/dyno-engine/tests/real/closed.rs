//! Closed loops in every protocol mode.

use dyno_results::spec::{Arrivals, End, Protocol, StageOrder};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::error::EngineError;

use crate::bank::{closed, config, database, engine, for_ms, own_server, run};

const TABLE: &str = "CREATE TABLE log (client int, number int)";
const INSERT: [&str; 1] = ["INSERT INTO log VALUES ($1, $2)"];

#[test]
fn every_acknowledged_transaction_is_there_in_every_mode() {
    let Some(database) = database(TABLE) else { return };
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        database.psql("TRUNCATE log");
        let config = EngineConfig { protocol, ..config(2) };
        let mut engine = engine(&database, &INSERT, config);
        let seen = run(&mut engine, &closed(7, End::TransactionsPerClient(30)));
        assert!(seen.outcome.complete, "{protocol:?}");
        assert_eq!((seen.done(), seen.sum(|part| part.statements)), (210, 210), "{protocol:?}");
        assert_eq!(seen.sum(|part| part.service.count()), 210);
        let found = database
            .psql("SELECT count(*), count(DISTINCT (client, number)), min(number), max(client) FROM log");
        assert_eq!(found.trim(), "210|210|1|6", "{protocol:?}");
        drop(engine);
    }
}

#[test]
fn a_timed_stage_counts_what_the_server_has() {
    let Some(database) = database(TABLE) else { return };
    let mut engine = engine(&database, &["BEGIN", INSERT[0], "COMMIT"], config(2));
    let mut done = 0;
    for clients in [1, 5, 3] {
        let seen = run(&mut engine, &closed(clients, for_ms(1050)));
        assert!(seen.outcome.complete && seen.outcome.seconds >= 1.05);
        assert_eq!(seen.intervals.iter().filter(|interval| !interval.drain).count(), 2);
        assert!(seen.intervals.iter().all(|interval| interval.drain || interval.clients == clients));
        assert_eq!(seen.sum(|part| part.statements), 3 * seen.done());
        done += seen.done();
    }
    assert_eq!(database.psql("SELECT count(*) FROM log").trim(), done.to_string());
}

#[test]
fn think_time_bounds_the_rate() {
    let Some(database) = database(TABLE) else { return };
    let mut engine = engine(&database, &INSERT, config(1));
    let arrivals = Arrivals::Closed { think_time: Duration::from_millis(100) };
    // Four clients, each at most once at the start and once for each of the ten pauses.
    let seen = run(&mut engine, &StageOrder { arrivals, ..closed(4, for_ms(1000)) });
    assert!(seen.done() <= 44, "{}", seen.done());
    // Between five transactions there are four pauses, which may be longer and never shorter.
    let seen = run(&mut engine, &StageOrder { arrivals, ..closed(4, End::TransactionsPerClient(5)) });
    assert_eq!((seen.done(), seen.outcome.complete), (20, true));
    assert!(seen.outcome.seconds >= 0.4, "{}", seen.outcome.seconds);
}

#[test]
fn more_clients_than_the_server_allows_are_an_error_that_says_so() {
    let Some(database) = own_server(TABLE) else { return };
    let mut engine: Engine = engine(&database, &INSERT, config(2));
    let error = engine.connect(80, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let EngineError::Connect { wanted: 80, connected, source, .. } = &error else { panic!("{error}") };
    assert!(*connected < 80);
    assert_eq!(source.server_error().unwrap().code().to_string(), "53300");
}

#[test]
fn a_statement_that_cannot_be_prepared_is_found_before_the_clock_runs() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT * FROM nowhere"], config(1));
    let error = engine.connect(2, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}
