//! Ramps, stops, and many stages on the same connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dyno_engine::engine::Observation;
use dyno_engine::plan::Arrivals;

use crate::bank::{LONG_MS, closed, config, engine, for_ms, run, run_until, server, until_seen};

#[test]
fn a_ramp_of_clients_goes_up_and_down() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT $1::int + $2::int"], config(2));
    for (start, end) in [(1, 9), (9, 1)] {
        let mut plan = closed(start, for_ms(3000));
        plan.clients_end = end;
        plan.arrivals = Arrivals::Closed { think_time: Duration::from_millis(5) };
        // A thread that stands still for a second sees two intervals end at once.
        until_seen("a step in each second", || {
            let seen = run(&mut engine, &plan);
            let clients: Vec<u32> = seen.intervals.iter().filter(|i| !i.drain).map(|i| i.clients).collect();
            let up: Vec<u32> = if end > start { clients } else { clients.into_iter().rev().collect() };
            assert_eq!(up.len(), 3);
            assert!(up.is_sorted() && up[0] >= 1 && up[2] <= 9, "{up:?}");
            up[0] < up[1] && up[1] < up[2]
        });
    }
}

#[test]
fn stopping_ends_a_stage_early_and_keeps_what_it_measured() {
    let Some(server) = server("CREATE TABLE log (client int, number int)") else { return };
    let mut engine = engine(&server, &["INSERT INTO log VALUES ($1, $2)"], config(2));
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
    assert_eq!(server.psql("SELECT count(*) FROM log").trim(), seen.done().to_string());
    // The same connections serve the next stage.
    assert!(run(&mut engine, &closed(4, for_ms(200))).outcome.complete);
}

#[test]
fn intervals_are_seconds_without_gaps() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT $1::int + $2::int"], config(2));
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
