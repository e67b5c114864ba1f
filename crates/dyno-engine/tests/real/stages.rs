//! Ramps, stops, and many stages on the same connections.

use dyno_results::spec::{Arrivals, StageOrder};
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use dyno_engine::config::{Canceller, EngineConfig};
use dyno_engine::engine::Observation;
use dyno_wire::endpoint::SessionName;

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
    let durations: Vec<u64> = load.iter().map(|interval| interval.duration_ns).collect();
    assert_eq!(durations, [1_000_000_000, 1_000_000_000, 500_000_000]);
    assert!(load.iter().zip(0..).all(|(interval, index)| {
        interval.index == index
            && interval.start_ns == u64::from(index) * 1_000_000_000
            && interval.driver_cpu_ns.len() == 2
    }));
}

/// It waits in the read, and must not wait there for the answer.
#[test]
fn a_thread_with_one_connection_hears_of_the_end_while_it_waits_for_an_answer() {
    let Some(database) = database("") else { return };
    let now = Duration::ZERO;
    let config = EngineConfig { drain_timeout: now, stopped_drain_timeout: now, ..config(1) };
    let mut engine = engine(&database, &["SELECT pg_sleep(60)"], config);
    let seen = run(&mut engine, &closed(1, for_ms(200)));
    assert_eq!((seen.done(), seen.sum(|part| part.unknown)), (0, 1), "{:?}", seen.errors);
    let stop = AtomicBool::new(false);
    let seen = run_until(&mut engine, &closed(1, for_ms(LONG_MS)), &stop, &mut |observation| {
        stop.fetch_or(matches!(observation, Observation::Interval(_)), Ordering::Relaxed);
    });
    assert_eq!((seen.done(), seen.outcome.complete), (0, false), "{:?}", seen.errors);
}

/// So many sessions are cancelled at a time.
const AT_ONCE: usize = 8;

/// Cancels once it was asked to for all of them, over one psql; fails where the engine asks for one after the other.
#[derive(Debug)]
struct AllAtOnce {
    database: Arc<Database>,
    asked: Mutex<Vec<i32>>,
    changed: Condvar,
}

impl Canceller for AllAtOnce {
    fn cancel(&self, session: &SessionName) -> Result<(), Box<dyn Error + Send + Sync>> {
        let SessionName::Postgres { process_id, .. } = session else { unreachable!() };
        let mut asked = self.asked.lock().unwrap();
        asked.push(*process_id);
        if asked.len() == AT_ONCE {
            self.database.psql(&format!("SELECT pg_cancel_backend(it) FROM unnest(ARRAY{asked:?}) AS it"));
            self.changed.notify_all();
            return Ok(());
        }
        let limit = Duration::from_secs(30);
        let few = |asked: &mut Vec<i32>| asked.len() < AT_ONCE;
        let (_asked, ended) = self.changed.wait_timeout_while(asked, limit, few).unwrap();
        if ended.timed_out() { Err("the others were not asked for meanwhile".into()) } else { Ok(()) }
    }
}

/// Cannot cancel.
#[derive(Debug)]
struct Nobody;

impl Canceller for Nobody {
    fn cancel(&self, _: &SessionName) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err("nobody is there".into())
    }
}

fn cancelling(canceller: impl Canceller + 'static) -> EngineConfig {
    EngineConfig { canceller: Some(Arc::new(canceller)), drain_timeout: Duration::ZERO, ..config(2) }
}

#[test]
fn statements_that_outlast_their_stage_are_cancelled_at_once() {
    let Some(database) = database("").map(Arc::new) else { return };
    let own = Arc::clone(&database);
    let canceller = AllAtOnce { database: own, asked: Mutex::default(), changed: Condvar::new() };
    let mut engine = engine(&database, &["SELECT pg_sleep(300)"], cancelling(canceller));
    let seen = run(&mut engine, &closed(AT_ONCE as u32, for_ms(200)));
    let ended = (seen.sum(|part| part.cancelled), seen.sum(|part| part.failed + part.unknown));
    assert_eq!((ended, seen.reconnects()), ((AT_ONCE as u64, 0), 0), "{:?}", seen.errors);
    assert!(seen.errors.is_empty(), "{:?}", seen.errors);
}

#[test]
fn what_cannot_be_cancelled_is_told_once() {
    let Some(database) = database("") else { return };
    let mut engine = engine(&database, &["SELECT pg_sleep(300)"], cancelling(Nobody));
    let seen = run(&mut engine, &closed(4, for_ms(200)));
    assert_eq!((seen.sum(|part| part.cancelled), seen.sum(|part| part.unknown)), (0, 4));
    let told = seen.errors.iter().filter(|error| error.contains("nobody is there")).count();
    assert_eq!(told, 1, "{:?}", seen.errors);
}
