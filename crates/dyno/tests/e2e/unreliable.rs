//! Servers that fail under the load: what was measured stays, and what happened is told.

use std::time::Instant;

use dyno_test_servers::{Postgres, Setup};

use crate::home::{Home, RECONNECTING, Running};
use crate::server::url;

fn wait_for_load(running: &mut Running<'_>) {
    running.wait_for("work", |report| {
        report.stages().last().is_some_and(|stage| stage["totals"]["done"].as_u64() > Some(0))
    });
}

const LOAD: [&str; 8] = ["--workload", "tpcb/tpcb-like", "--clients", "3", "--scale", "1", "--warm-up", "0"];

#[test]
fn a_server_that_is_gone_for_good_ends_the_run_and_not_its_report() {
    let Some(mut server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    let mut running =
        home.start(&[&["run", "--target", &target], &LOAD[..], &["--duration", "10m"]].concat());
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
    // It goes on until they are done, however long the server is away.
    let counted = ["--think-time", "20ms", "--transactions", "300"];
    let mut running = home.start(&[&["run", "--json", "--target", &target], &LOAD[..], &counted].concat());
    wait_for_load(&mut running);
    let begun = Instant::now();
    server.crash();
    server.restart();
    if begun.elapsed() > RECONNECTING {
        println!("skipped: this server took longer to come back than a run waits for it");
        return;
    }
    let report = running.end().expect(0).report();
    assert_eq!(report.outcome(), "complete");
    let totals = &report.stage()["totals"];
    assert!(totals["reconnects"].as_u64() >= Some(3), "every client came back: {totals:#}");
    assert!(report.findings().contains(&"errors"), "{:?}", report.findings());
    // Commits whose acknowledgement was under way when the server died may or may not be there.
    report.assert_checks_passed();
}
