//! Where a ramp was saturated, what was at its limit, and clients that wait for connections.

use super::*;
use crate::event::{Arrival, Pool};
use crate::fixture::{saturated_ladder, target};

/// A ladder that was saturated at 8 clients on a server of 8 processors, of which so much was used when it could do no more.
fn ladder(busy: f64) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    saturated_ladder(&mut fixture, |fixture, load| {
        fixture.read("host", "cpus", 8.0);
        fixture.grow("host", "cpu_user_seconds_total", 8.0 * busy * load);
        fixture.grow("host", "cpu_idle_seconds_total", 8.0 * (1.0 - busy * load));
    });
    fixture.finish();
    fold(&fixture.events)
}

#[test]
fn what_gave_way_and_what_held_it_up_are_named() {
    let report = ladder(0.98);
    let words = [
        "pg is saturated: from 8 clients on more load brought no more throughput: 998/s there",
        "while p99 rose from",
        "; at its limit was cpu (the host's 8 processors were 98% busy (49% at 4 clients))",
    ];
    must_find(&report, "saturated", Severity::Note, &words);
    let finding = found(&report, "saturated").unwrap();
    assert_eq!(finding.subject.about.as_deref(), Some("write"));
    assert!(finding.advice.starts_with(
        "size the system by the last good step (4 clients); for more throughput: more or faster"
    ));
    must_be_silent(&report, "peak-not-reached");
}

#[test]
fn processors_that_other_programs_took_are_not_the_servers_end() {
    let of = |server: f64| {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.push(Event::Target(target("pg")));
        saturated_ladder(&mut fixture, |fixture, load| {
            fixture.read("host", "cpus", 8.0);
            fixture.grow("host", "cpu_user_seconds_total", 8.0 * 0.98 * load);
            fixture.grow("host", "cpu_idle_seconds_total", 8.0 * (1.0 - 0.98 * load));
            fixture.grow("host", "server_cpu_seconds_total", server * load);
        });
        found(&fold(&fixture.events), "saturated").unwrap()
    };
    let others = of(0.12);
    assert!(others.evidence.contains("; others took what was missing, so the cause is not known: cpu ("));
    assert!(others.advice.contains("stop what else runs on the host"), "{}", others.advice);
    let own = of(7.5);
    assert!(own.evidence.contains("at its limit was cpu (") && !own.evidence.contains("others took"));
    assert!(own.advice.contains("more or faster processors"), "{}", own.advice);
}

#[test]
fn what_cannot_be_told_is_told_to_be_so() {
    must_find(&ladder(0.3), "saturated", Severity::Note, &["nothing that was read was at its limit"]);
    let mut fixture = Fixture::started("2026-11-20-1");
    saturated_ladder(&mut fixture, |_, _| {});
    let report = fold(&fixture.events);
    must_find(&report, "saturated", Severity::Note, &["the cause is unknown: its host was not read"]);
    assert!(found(&report, "saturated").unwrap().advice.contains("--host-metrics"));
}

#[test]
fn a_ladder_that_did_not_give_way_is_not_found() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for clients in [1, 2, 4, 8, 16] {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(u64::from(clients) * 100, 5)));
    }
    must_be_silent(&fold(&fixture.events), "saturated");
    must_be_silent(&clean_report(), "saturated");
}

fn over_a_pool(wait_us: u64, in_use_mean: f64) -> FixtureStage<'static> {
    let pool = Pool { connections: 4, in_use_mean, in_use_max: 4, waiting_mean: 20.0, waiting_max: 40 };
    FixtureStage { pool: Some((pool, wait_us)), ..FixtureStage::write(StageKind::Hold, 100, &[1000; 10]) }
}

/// [`with_hold`], of clients that think before each transaction.
fn with_thoughtful_hold(load: &FixtureStage<'_>) -> Report {
    let mut report = with_hold(load);
    report.stages.last_mut().unwrap().stage.arrival = Arrival::Closed { think_time_ms: 50.0 };
    report
}

#[test]
fn clients_that_wait_longer_for_a_connection_than_for_the_server_are_found() {
    let words = [
        "half of the transactions waited 5.0 ms or longer for a connection, and the server took 1.0 ms",
        "the pool's 4 connections were in use for 98% of the time",
    ];
    must_find(&with_thoughtful_hold(&over_a_pool(5000, 3.9)), "pool-bound", Severity::Doubt, &words);
    must_be_silent(&with_thoughtful_hold(&over_a_pool(5000, 3.0)), "pool-bound");
    must_be_silent(&with_thoughtful_hold(&over_a_pool(500, 3.9)), "pool-bound");
    // Without think time they always wait, and another finding says so.
    must_be_silent(&with_hold(&over_a_pool(5000, 3.9)), "pool-bound");
}

#[test]
fn a_latency_over_a_pool_is_known_to_include_the_wait() {
    let mut report = with_hold(&over_a_pool(5000, 3.9));
    report.series[0].holds.remove(0);
    let words = [
        "includes the wait for a connection and for other clients: p50 6.0 ms (5.0 ms of them for a \
        connection)",
        ", against 400 µs with 1 client",
    ];
    must_find(&report, "closed-loop-latency", Severity::Note, &words);
}

#[test]
fn waiting_for_a_connection_is_no_lateness_of_the_driver() {
    // All four connections are always at work, of a hundred clients 4 %.
    let mut load = over_a_pool(5000, 4.0);
    load.service_us = 3900;
    must_be_silent(&with_thoughtful_hold(&load), "driver-bound");
    // Free connections, and late all the same.
    let mut load = over_a_pool(5000, 1.0);
    load.service_us = 1000;
    let words = ["while only 25% of the connections were busy"];
    must_find(&with_thoughtful_hold(&load), "driver-bound", Severity::Doubt, &words);
}

#[test]
fn steps_that_are_not_known_within_two_are_named_where_no_peak_is() {
    let swings: Vec<u64> = [100, 9000].repeat(5);
    let play = |rungs: &[(u32, &[u64])]| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for (clients, tps) in rungs {
            fixture.play(&FixtureStage::write(StageKind::Ladder, *clients, tps));
        }
        fixture.finish();
        fold(&fixture.events)
    };
    let report = play(&[(1, &[410; 10]), (2, &swings), (4, &swings)]);
    let words = [
        "the peak may be at 2 clients, 4 clients, where throughput is not known to within a factor of two; of the other steps \
        410 TPS at 1 client was highest",
    ];
    must_find(&report, "peak-not-reached", Severity::Doubt, &words);
    assert!(found(&report, "peak-not-reached").unwrap().advice.contains("--step"));
    // One that cannot be the peak says nothing of where it is.
    let rising = play(&[(1, &swings), (2, &[9000; 10]), (4, &[18_000; 10])]);
    must_find(&rising, "peak-not-reached", Severity::Doubt, &["had not clearly stopped rising"]);
    // A step in which nothing ended is known.
    let stalled = play(&[(1, &[400; 10]), (2, &[800; 10]), (4, &[0; 10])]);
    must_be_silent(&stalled, "peak-not-reached");
}

#[test]
fn a_ladder_of_rates_ends_in_rates() {
    let play = |rates: &[f64], most: f64| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for rate in rates {
            let tps = [rate.min(most) as u64; 10];
            fixture.play(&FixtureStage {
                open: Some((*rate, 0)),
                ..FixtureStage::write(StageKind::Ladder, 8, &tps)
            });
        }
        fixture.finish();
        fold(&fixture.events)
    };
    let rates: Vec<f64> = (1..=8).map(|step| f64::from(step) * 500.0).collect();
    let met = play(&rates, 1e9);
    must_be_silent(&met, "peak-not-reached");
    // One rate that is not met is too few to say that it was saturated, and no rate that was met.
    let once = play(&rates, 3600.0);
    let words = ["when the ladder ended at 4,000/s; highest was 3,600 TPS at 4,000/s"];
    must_find(&once, "peak-not-reached", Severity::Doubt, &words);
    assert!(found(&once, "peak-not-reached").unwrap().advice.contains("a higher rate"));

    let given_way = play(&rates, 2000.0);
    must_find(
        &given_way,
        "saturated",
        Severity::Note,
        &["of 2,500/s asked for 2,000/s ended (20% are missing)"],
    );
    must_be_silent(&given_way, "peak-not-reached");
    // That rates beyond it are not met is what it was run for.
    must_be_silent(&given_way, "rate-not-met");
}

#[test]
fn steps_of_one_client_do_not_pass_a_peak_within_their_noise() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for clients in 40..=48 {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(u64::from(clients) * 100, 5)));
    }
    fixture.finish();
    must_find(&fold(&fixture.events), "peak-not-reached", Severity::Doubt, &["ended at 48 clients"]);
}
