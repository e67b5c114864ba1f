//! Servers that fail under the load: what was measured stays, and what happened is told.

use std::time::{Duration, Instant};

use dyno_test_servers::{MysqlProduct, Postgres, Setup, give_to_server};
use rustix::process::Signal;

use crate::home::{Home, Running, wait_until};
use crate::mysql;
use crate::server::{url, value};

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
    wait_until_given_up(&home);
    // It is waited for, to be verified.
    running.signal(Signal::INT);
    let ended = running.end().expect(2);
    ended.says(&["error:", &server.address.to_string()]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    assert!(report.findings().contains(&"data-check-not-made"), "{:?}", report.findings());
    let reason = report.reason();
    assert!(reason.contains("went away during write hold, 3 clients: "), "{reason}");
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
    let mut running =
        home.start(&[&["run", "--target", &target], &LOAD[..], &["--duration", "10m"]].concat());
    wait_for_load(&mut running);
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
    let Some(mut server) = mysql::start(MysqlProduct::MariaDb, &[]) else { return };
    let target = mysql::database(&server, "late");
    let home = Home::new();
    let load = ["--tables", "1", "--table-size", "100", "--clients", "2", "--warm-up", "0"];
    let insert = ["run", "insert", "--target", &target, "--duration", "10m"];
    let mut running = home.start(&[&insert[..], &load].concat());
    wait_for_load(&mut running);
    server.kill();
    wait_until_given_up(&home);
    server.restart();
    running.end().expect(2).says(&["went away"]);
    home.report().assert_checks_passed();
}

/// Waits until no client tries to connect any more, and for as long as dyno takes to end that does not wait for the server.
fn wait_until_given_up(home: &Home) {
    let events = || home.dyno(&["report", "--events"]).out;
    wait_until("the clients have given up", || events().contains("stage-finished"));
    std::thread::sleep(Duration::from_secs(1));
}

/// Behind its first thirty transactions a load waits for whoever holds the lock.
const GATE: &str = "sql:create sequence passed; \
                    create function pass() returns trigger language plpgsql as 'begin \
                    if nextval(''passed'') > 30 then perform pg_advisory_xact_lock_shared(7); end if; \
                    return new; end'; \
                    create trigger gate before insert on pgbench_history for each row execute function pass()";

#[test]
fn a_server_that_comes_back_is_used_again_and_nothing_acknowledged_is_lost() {
    let Some(mut server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    // It goes on until they are done, however long the server is away, and not so far before it is killed: a lock holds it
    // up behind its first transactions, and goes with the server.
    let counted = ["--transactions", "100", "--before", "hold", GATE];
    let gate = "select pg_advisory_lock(7), pg_sleep(3600)";
    let mut keeper = server.command("psql", "postgres").args(["-X", "-q", "-c", gate]).spawn().unwrap();
    let held = "select count(*) from pg_locks where locktype = 'advisory' and granted";
    wait_until("the gate is shut", || value(&server, "postgres", held) == "1");
    let mut running = home.start(&[&["run", "--json", "--target", &target], &LOAD[..], &counted].concat());
    wait_for_load(&mut running);
    // It holds from the next start on.
    server.psql("alter system set fsync = off");
    let begun = Instant::now();
    server.crash();
    keeper.wait().unwrap();
    server.restart();
    let away = begun.elapsed();
    let Some(report) = running.end_behind(away, &server.address.to_string()) else { return };
    assert_eq!(report.outcome(), "complete");
    let totals = &report.stage()["totals"];
    assert!(totals["reconnects"].as_u64() >= Some(3), "every client came back: {totals:#}");
    let findings = report.findings();
    assert!(findings.contains(&"errors") && findings.contains(&"restarted"), "{findings:?}");
    assert!(!findings.contains(&"durable"), "{findings:?}");
    let changed = &report.document()["server_changes"][0];
    assert_eq!((&changed["restarted"], &changed["changes"][0]["what"]), (&true.into(), &"fsync".into()));
    // Commits whose acknowledgement was under way when the server died may or may not be there.
    report.assert_checks_passed();
}
