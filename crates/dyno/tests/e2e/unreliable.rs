//! Servers that fail under the load: what was measured stays, and what happened is told.

use dyno_test_servers::{Postgres, Setup};

use crate::home::{Home, Running};
use crate::server::url;

fn wait_for_load(running: &mut Running<'_>) {
    running.wait_for("two intervals of the load", |report| {
        let last = report.stages().last().is_some_and(|stage| stage["kind"] == "hold");
        last && report.stage()["throughput"]["samples"].as_u64() >= Some(2)
    });
}

const LOAD: [&str; 9] =
    ["--workload", "tpcb/tpcb-like", "--clients", "3", "--scale", "1", "--warm-up", "0", "--duration"];

#[test]
fn a_server_that_is_gone_for_good_ends_the_run_and_not_its_report() {
    let Some(mut server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    let mut running = home.start(&[&["run", "--target", &target], &LOAD[..], &["10m"]].concat());
    wait_for_load(&mut running);
    server.crash();
    let ended = running.end().expect(2);
    ended.says(&["error:", &server.address.to_string()]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    let reason = report.reason();
    assert!(reason.contains("went away during write hold, 3 clients: "), "{reason}");
    assert!(report.stage()["throughput"]["mean"].as_f64().unwrap() > 0.0);
    assert!(report.findings().contains(&"incomplete"), "{:?}", report.findings());
}

#[test]
fn a_server_that_comes_back_is_used_again_and_nothing_acknowledged_is_lost() {
    let Some(mut server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    let mut running = home.start(&[&["run", "--json", "--target", &target], &LOAD[..], &["8s"]].concat());
    wait_for_load(&mut running);
    server.crash();
    server.restart();
    let report = running.end().expect(0).report();
    assert_eq!(report.outcome(), "complete");
    let totals = &report.stage()["totals"];
    assert!(totals["reconnects"].as_u64() >= Some(3), "every client came back: {totals:#}");
    assert!(report.findings().contains(&"errors"), "{:?}", report.findings());
    // Commits whose acknowledgement was under way when the server died may or may not be there.
    report.assert_checks_passed();
}
