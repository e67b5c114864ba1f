//! Open loops: the schedule is kept whatever the server does, and a stall shows in full.

use std::time::Duration;

use dyno_engine::plan::{Arrivals, EngineConfig, StagePlan};
use dyno_results::event::Distribution;
use dyno_results::latency::Latency;

use crate::bank::{Seen, engine, for_ms, run, server};

fn open(
    clients: u32,
    rate_per_s: f64,
    rate_end_per_s: f64,
    distribution: Distribution,
    ms: u64,
) -> StagePlan {
    let arrivals = Arrivals::Open { rate_per_s, rate_end_per_s, distribution };
    StagePlan { stage: 1, clients, clients_end: clients, arrivals, limit: for_ms(ms) }
}

fn responses(seen: &Seen) -> Latency {
    let mut all = Latency::new();
    for part in seen.intervals.iter().flat_map(|interval| &interval.types) {
        all.merge(part.response.as_ref().unwrap());
    }
    all
}

#[test]
fn a_constant_rate_is_met_to_the_transaction() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT $1::int + $2::int"], EngineConfig::new(2));
    let seen = run(&mut engine, &open(8, 200.0, 200.0, Distribution::Constant, 2000));
    // Due at 0 and then every 5 ms: 400 within 2 s, whether in the load, in the drain or never begun.
    assert_eq!(seen.done() + seen.outcome.not_begun, 400);
    assert_eq!(responses(&seen).count(), seen.done());
    assert!(seen.intervals.iter().flat_map(|interval| &interval.types).all(|part| part.lag.is_some()));
}

#[test]
fn a_ramp_of_the_rate_has_its_mean() {
    let Some(server) = server("SELECT 1") else { return };
    let mut engine = engine(&server, &["SELECT $1::int + $2::int"], EngineConfig::new(1));
    let seen = run(&mut engine, &open(8, 0.0, 400.0, Distribution::Constant, 2000));
    let due = seen.done() + seen.outcome.not_begun;
    assert!((380..=420).contains(&due), "{due}");
}

/// Every transaction takes the lock that another session holds for a second: a server that stalls. Under 1,000 a
/// second, about a thousand must show it, evenly from a second down to nothing.
#[test]
fn a_stall_of_a_second_shows_in_a_thousand_response_times() {
    let Some(server) = server("CREATE TABLE gate (id int)") else { return };
    let lines = ["BEGIN", "LOCK TABLE gate IN ROW SHARE MODE", "COMMIT"];
    let mut engine = engine(&server, &lines, EngineConfig::new(2));
    let mut psql = server.command("psql", "postgres");
    let stalling = [
        "SELECT pg_sleep(1)",
        "BEGIN",
        "LOCK TABLE gate IN ACCESS EXCLUSIVE MODE",
        "SELECT pg_sleep(1)",
        "COMMIT",
    ];
    psql.args(["-X", "-q"]).args(stalling.iter().flat_map(|sql| ["-c", sql]));
    let mut stall = psql.stdout(std::process::Stdio::null()).spawn().unwrap();
    let seen = run(&mut engine, &open(16, 1000.0, 1000.0, Distribution::Poisson, 5000));
    assert!(stall.wait().unwrap().success());
    let all = responses(&seen);
    let slower = |ms: u64| all.count() - all.count_at_most(Duration::from_millis(ms).as_nanos() as u64);
    // Of the thousand due in the stalled second, some 900 wait 100 ms and more, some 500 half a second and more;
    // never more than those by much, and a slow machine adds some.
    assert!((700..2500).contains(&slower(100)), "{} over 100 ms", slower(100));
    assert!((350..2000).contains(&slower(500)), "{} over 500 ms", slower(500));
    // Service time alone hides it: only the 16 clients were caught in the act.
    let mut service = Latency::new();
    seen.intervals.iter().flat_map(|interval| &interval.types).for_each(|part| service.merge(&part.service));
    let hidden = service.count() - service.count_at_most(500_000_000);
    assert!(hidden <= 16 * 2, "{hidden} service times over 500 ms");
}

/// A stall that lasts until the load's end is not forgotten: what was due is begun late, and its wait is recorded.
#[test]
fn a_stall_at_the_end_of_a_stage_shows_too() {
    let Some(server) = server("CREATE TABLE gate (id int)") else { return };
    let lines = ["BEGIN", "LOCK TABLE gate IN ROW SHARE MODE", "COMMIT"];
    let mut engine = engine(&server, &lines, EngineConfig::new(1));
    let stalling = [
        "SELECT pg_sleep(1)",
        "BEGIN",
        "LOCK TABLE gate IN ACCESS EXCLUSIVE MODE",
        "SELECT pg_sleep(2)",
        "COMMIT",
    ];
    let mut psql = server.command("psql", "postgres");
    psql.args(["-X", "-q"]).args(stalling.iter().flat_map(|sql| ["-c", sql]));
    let mut stall = psql.stdout(std::process::Stdio::null()).spawn().unwrap();
    let seen = run(&mut engine, &open(8, 500.0, 500.0, Distribution::Constant, 2000));
    assert!(stall.wait().unwrap().success());
    // All 1,000 that were due have begun and ended, most of the stalled ones in the drain.
    assert_eq!((seen.done(), seen.outcome.not_begun), (1000, 0));
    let all = responses(&seen);
    let slow = all.count() - all.count_at_most(500_000_000);
    assert!(slow > 100, "{slow} of 1000 waited more than half a second");
}

#[test]
fn what_cannot_be_begun_in_the_drain_is_counted() {
    let Some(server) = server("SELECT 1") else { return };
    let config = EngineConfig { drain_timeout: Duration::from_millis(400), ..EngineConfig::new(1) };
    let mut engine = engine(&server, &["SELECT pg_sleep(0.05 + 0 * ($1::int + $2::int))"], config);
    let seen = run(&mut engine, &open(2, 1000.0, 1000.0, Distribution::Constant, 1000));
    assert_eq!(seen.done() + seen.sum(|part| part.failed) + seen.outcome.not_begun, 1000);
    assert!(seen.outcome.not_begun > 800, "two clients can do about forty a second");
}
