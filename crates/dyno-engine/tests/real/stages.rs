//! Ramps, stops, and many stages on the same connections.

use dyno_results::spec::{Arrivals, StageOrder};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dyno_engine::engine::Observation;

use crate::bank::{Database, LONG_MS, closed, config, database, engine, for_ms, run, run_until};

/// The clients of the first intervals of a ramp in which more than one comes or goes in each second, until there were
/// three numbers of them.
fn clients_of_ramp(database: &Database, clients: u32, clients_end: u32) -> Vec<u32> {
    let mut engine = engine(database, &["SELECT $1::int + $2::int"], config(2));
    let arrivals = Arrivals::Closed { think_time: Duration::from_millis(200) };
    let plan = StageOrder { clients_end, arrivals, ..closed(clients, for_ms(50_000)) };
    let differ = |numbers: &[u32]| numbers.iter().collect::<BTreeSet<_>>().len() >= 3;
    let mut numbers = Vec::new();
    let stop = AtomicBool::new(false);
    run_until(&mut engine, &plan, &stop, &mut |observation| {
        if let Observation::Interval(interval) = observation
            && !differ(&numbers)
        {
            numbers.push(interval.clients);
            stop.store(differ(&numbers), Ordering::Relaxed);
        }
    });
    assert!(differ(&numbers), "the ramp is over: {numbers:?}");
    numbers
}

#[test]
fn a_ramp_of_clients_goes_up() {
    let Some(database) = database("") else { return };
    let clients = clients_of_ramp(&database, 1, 61);
    assert!(clients.is_sorted() && clients[0] >= 1 && clients.last() <= Some(&61), "{clients:?}");
}

#[test]
fn a_ramp_of_clients_goes_down() {
    let Some(database) = database("") else { return };
    let clients = clients_of_ramp(&database, 61, 1);
    assert!(clients.is_sorted_by(|a, b| a >= b), "{clients:?}");
    assert!(clients[0] <= 61 && clients.last() >= Some(&1), "{clients:?}");
}

#[test]
fn stopping_ends_a_stage_early_and_keeps_what_it_measured() {
    let Some(database) = database("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&database, &["INSERT INTO log VALUES ($1, $2)"], config(2));
    let stop = AtomicBool::new(false);
    let seen = run_until(&mut engine, &closed(4, for_ms(LONG_MS)), &stop, &mut |observation| {
        if matches!(observation, Observation::Interval(_)) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(!seen.outcome.complete && seen.outcome.seconds < LONG_MS as f64 / 1e3);
    assert!(
        seen.intervals.iter().filter(|interval| !interval.drain).count() >= 2,
        "the cut interval is there too"
    );
    assert_eq!(database.psql("SELECT count(*) FROM log").trim(), seen.done().to_string());
    // The same connections serve the next stage.
    assert!(run(&mut engine, &closed(4, for_ms(200))).outcome.complete);
}

#[test]
fn intervals_are_seconds_without_gaps() {
    let Some(database) = database("SELECT 1") else { return };
    let mut engine = engine(&database, &["SELECT $1::int + $2::int"], config(2));
    let seen = run(&mut engine, &closed(2, for_ms(2500)));
    let load: Vec<_> = seen.intervals.iter().filter(|interval| !interval.drain).collect();
    let durations: Vec<f64> = load.iter().map(|interval| interval.duration_ms).collect();
    assert_eq!(durations, [1000.0, 1000.0, 500.0]);
    assert!(load.iter().zip(0..).all(|(interval, index)| {
        interval.index == index
            && interval.start_ms == f64::from(index) * 1000.0
            && interval.driver_cpu_ms.len() == 2
    }));
}
