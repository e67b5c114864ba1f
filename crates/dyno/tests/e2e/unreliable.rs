//! Servers that fail under the load: what was measured stays, and what happened is told.

use std::time::Instant;

use dyno_test_servers::{MysqlProduct, Postgres, Setup, give_to_server};
use rustix::process::Signal;

use crate::home::{Home, wait_until};
use crate::server::url;
use crate::victim::{Pause, Victim, assert_not_checked, on_each, wait_for_work, wait_until_given_up};

on_each! {
    a_server_that_is_gone_for_good_ends_the_run_and_not_its_report
    a_server_that_comes_back_is_used_again_and_nothing_acknowledged_is_lost
    a_server_that_dies_in_the_preparation_ends_the_run
    a_server_that_dies_in_the_verification_ends_the_run
}

const LOAD: [&str; 4] = ["--clients", "3", "--warm-up", "0"];

fn a_server_that_is_gone_for_good_ends_the_run_and_not_its_report(product: Option<MysqlProduct>) {
    let Some(mut victim) = Victim::start(product) else { return };
    let home = Home::new();
    let run = ["run", "--duration", "10m", "--target", &victim.target];
    let mut running = home.start(&[&run, &LOAD[..], victim.load()].concat());
    wait_for_work(&mut running);
    victim.kill();
    wait_until_given_up(&home);
    // It is waited for, to be verified.
    running.signal(Signal::INT);
    let ended = running.end().expect(2);
    ended.says(&["error:", &victim.address()]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    assert!(report.findings().contains(&"data-check-not-made"), "{:?}", report.findings());
    let reason = report.reason();
    assert!(reason.contains("went away during ") && reason.contains(" hold, 3 clients: "), "{reason}");
    assert!(report.stage()["throughput"]["mean"].as_f64().unwrap() > 0.0);
    assert!(report.findings().contains(&"incomplete"), "{:?}", report.findings());
}

#[test]
fn a_server_that_is_still_recovering_is_waited_for_and_verified() {
    let Some(mut server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    // Recovery asks for a segment, and goes on once it hears that there is none.
    let hold = home.file("hold", "");
    let wait = format!("while [ -e {hold} ]; do sleep 0.05; done; exit 1");
    server.psql(&format!("alter system set restore_command = '{wait}'"));
    let target = url(&server, "postgres");
    let load = ["--workload", "tpcb/tpcb-like", "--scale", "1", "--duration", "10m"];
    let mut running = home.start(&[&["run", "--target", &target], &LOAD[..], &load].concat());
    wait_for_work(&mut running);
    server.crash();
    std::fs::write(server.directory().join("data/recovery.signal"), "").unwrap();
    give_to_server(&server.directory().join("data/recovery.signal"));
    std::thread::scope(|scope| {
        scope.spawn(|| server.restart());
        wait_until_given_up(&home);
        std::fs::remove_file(&hold).unwrap();
    });
    running.end().expect(2);
    let report = home.report();
    report.assert_checks_passed();
}

/// What a load left behind is looked at also where its clients have given up before the server is back.
#[test]
fn a_mariadb_that_comes_back_late_is_waited_for_and_verified() {
    let Some(mut victim) = Victim::start(Some(MysqlProduct::MariaDb)) else { return };
    let home = Home::new();
    let run = ["run", "--duration", "10m", "--target", &victim.target];
    let mut running = home.start(&[&run, &LOAD[..], victim.load()].concat());
    wait_for_work(&mut running);
    victim.kill();
    wait_until_given_up(&home);
    victim.restart();
    running.end().expect(2).says(&["went away"]);
    home.report().assert_checks_passed();
}

fn a_server_that_comes_back_is_used_again_and_nothing_acknowledged_is_lost(product: Option<MysqlProduct>) {
    let Some(mut victim) = Victim::start(product) else { return };
    let home = Home::new();
    // It goes on until they are done, however long the server is away, and not so far before it is killed: the gate holds it
    // up behind its first transactions, and goes with the server.
    let _keeper = victim.shut_gate();
    let counted = ["--transactions", "100", "--before", "hold", victim.gate()];
    let run = ["run", "--json", "--target", &victim.target];
    let mut running = home.start(&[&run, &LOAD[..], victim.load(), &counted].concat());
    wait_for_work(&mut running);
    // It holds from the next start on.
    let fsync_off = victim.postgres().map(|server| server.psql("alter system set fsync = off")).is_some();
    victim.wait_until_grown();
    let begun = Instant::now();
    victim.kill();
    victim.restart();
    let away = begun.elapsed();
    let Some(report) = running.end_behind(away, &victim.address()) else { return };
    assert_eq!(report.outcome(), "complete");
    let totals = &report.stage()["totals"];
    assert!(totals["reconnects"].as_u64() >= Some(3), "every client came back: {totals:#}");
    let findings = report.findings();
    assert!(findings.contains(&"errors") && findings.contains(&"restarted"), "{findings:?}");
    let changed = &report.document()["server_changes"][0];
    assert_eq!(changed["restarted"], true);
    if fsync_off {
        assert_eq!(changed["changes"][0]["what"], "fsync");
        assert!(!findings.contains(&"durable"), "{findings:?}");
    }
    // Commits whose acknowledgement was under way when the server died may or may not be there.
    report.assert_checks_passed();
}

fn a_server_that_dies_in_the_preparation_ends_the_run(product: Option<MysqlProduct>) {
    let Some(mut victim) = Victim::start(product) else { return };
    let home = Home::new();
    let target = victim.target.clone();
    let run = ["run", "--target", &target];
    let running = home.start(&[&run, victim.load_of_much()].concat());
    wait_until("rows are loaded", || victim.loads_rows());
    victim.kill();
    running.end().expect(1).says(&["error:", "the connection was lost"]);
    assert_eq!(home.report().outcome(), "incomplete");
    victim.restart();
    // What it left is not taken for data, but made anew.
    let brief = ["--transactions", "20"];
    home.dyno(&[&run, &LOAD[..], victim.load(), &brief].concat()).expect(0);
    let report = home.report();
    assert_eq!(report.document()["prepare"][0]["step"], "drop");
    report.assert_checks_passed();
}

fn a_server_that_dies_in_the_verification_ends_the_run(product: Option<MysqlProduct>) {
    let Some(mut victim) = Victim::start(product) else { return };
    let home = Home::new();
    let pause = Pause::new(&home);
    let behind = ["--transactions", "20", "--after", "hold", &pause.hook()];
    let run = ["run", "--target", &victim.target];
    let running = home.start(&[&run, &LOAD[..], victim.load(), &behind].concat());
    let _keeper = pause.meanwhile(|| victim.lock_table());
    wait_until("the verification waits for the table", || victim.is_waited_for());
    victim.kill();
    running.end().expect(2).says(&["error:", "the connection was lost"]);
    let report = home.report();
    assert_eq!(report.stage()["totals"]["done"], 60);
    assert_not_checked(&report);
}
