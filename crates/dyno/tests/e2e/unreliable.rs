//! Servers that fail under the load: what was measured stays, and what happened is told.

use std::time::{Duration, Instant};

use dyno_test_servers::{Postgres, Setup, give_to_server};
use rustix::process::Signal;

use crate::home::{Home, Running, wait_until};
use crate::server::{database, shared, url, value};

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
        let events = || home.dyno(&["report", "--events"]).out;
        wait_until("the clients have given up", || events().contains("stage-finished"));
        // Time to give up, for one that does not wait.
        std::thread::sleep(Duration::from_secs(1));
        std::fs::remove_file(&hold).unwrap();
    });
    running.end().expect(2);
    let report = home.report();
    report.assert_checks_passed();
}

/// Behind its first thirty transactions a load waits for whoever holds the lock.
const GATE: &str = "sql:create sequence passed; \
                    create function pass() returns trigger language plpgsql as 'begin \
                    if nextval(''passed'') > 30 then perform pg_advisory_xact_lock_shared(7); end if; \
                    return new; end'; \
                    create trigger gate before insert on pgbench_history for each row execute function pass()";

#[test]
fn a_run_of_which_every_transaction_fails_is_no_success() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "all_fail");
    let refuse = "sql:create or replace function refuse() returns trigger language plpgsql as \
                  'begin raise exception ''refused''; end'; \
                  create or replace trigger refuse before insert on pgbench_history for each row execute function refuse()";
    let load = ["--transactions", "20", "--before", "hold", refuse];
    let run = [&["run", "--target", &target], &LOAD[..], &load].concat();
    home.dyno(&run).expect(1).says(&["nothing was measured", "`dyno report "]);
    let report = home.report();
    assert_eq!(report.outcome(), "complete");
    assert!(report.findings().contains(&"errors"), "{:?}", report.findings());
    home.dyno(&[&run[..], &["--strict"]].concat()).expect(3);
}

/// Begins to keep whoever asks for this lock waiting; ends with the server, or with [`open_gate`].
fn shut_gate(server: &Postgres) -> std::process::Child {
    let gate = "select pg_advisory_lock(7), pg_sleep(3600)";
    let keeper = server.command("psql", "postgres").args(["-X", "-q", "-c", gate]).spawn().unwrap();
    let held = "select count(*) from pg_locks where locktype = 'advisory' and granted";
    wait_until("the gate is shut", || value(server, "postgres", held) == "1");
    keeper
}

fn open_gate(server: &Postgres, mut keeper: std::process::Child) {
    let holder = "select pg_terminate_backend(pid) from pg_locks \
                  where locktype = 'advisory' and granted and mode = 'ExclusiveLock'";
    value(server, "postgres", holder);
    keeper.wait().unwrap();
}

/// However a load is called and ends, its server is asked again behind it.
#[test]
fn settings_that_change_under_a_load_are_told_by_every_command() {
    let Some(server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    let port = server.address.port().to_string();
    let pass = "select pg_advisory_xact_lock_shared(7) where nextval('passed') > 30";
    let script = format!(
        "function thread_init() db = sysbench.sql.driver():connect() end function event() db:query([[{pass}]]) end"
    );
    let target = url(&server, "postgres");
    let home = Home::new();
    let (sql, lua) = (home.file("pass.sql", &format!("{pass};\n")), home.file("pass.lua", &script));
    let pgbench = [
        "pgbench",
        "-n",
        "-t",
        "50",
        "-f",
        &sql,
        "-h",
        "127.0.0.1",
        "-p",
        &port,
        "-U",
        "postgres",
        "postgres",
    ];
    let at = [
        format!("--pgsql-port={port}"),
        "--pgsql-user=postgres".to_owned(),
        "--pgsql-db=postgres".to_owned(),
    ];
    let sysbench = [
        "sysbench",
        &lua,
        "run",
        "--db-driver=pgsql",
        "--pgsql-host=127.0.0.1",
        &at[0],
        &at[1],
        &at[2],
        "--time=0",
        "--events=50",
    ];
    // A hook that fails behind the load ends the run early.
    let hooks = ["--before", "hold", GATE, "--after", "hold", "exit 1", "--transactions", "100"];
    let run = [&["run", "--target", &target], &LOAD[..], &hooks].concat();
    let long =
        [&["run", "--target", &target], &LOAD[..], &["--before", "hold", GATE, "--duration", "10m"]].concat();
    for (arguments, code) in [(&pgbench[..], 0), (&sysbench, 0), (&run, 2), (&long, 2)] {
        server.psql("drop sequence if exists passed cascade");
        server.psql("drop function if exists pass cascade");
        if code == 0 {
            server.psql("create sequence passed");
        }
        let keeper = shut_gate(&server);
        let running = home.start(arguments);
        let waiting = "select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted";
        wait_until("the load waits", || value(&server, "postgres", waiting) == "t");
        server.psql("alter system set fsync = off");
        server.psql("select pg_reload_conf()");
        wait_until("it holds", || value(&server, "postgres", "show fsync") == "off");
        open_gate(&server, keeper);
        if arguments.contains(&"10m") {
            running.signal(Signal::INT);
        }
        running.end().expect(code);
        let report = home.report();
        let findings = report.findings();
        if arguments.contains(&"10m") && report.notices().contains("as it was before the load is unknown") {
            println!("skipped: no time was left to ask the server behind a load that was interrupted");
            continue;
        }
        assert!(
            findings.contains(&"restarted") && !findings.contains(&"durable"),
            "{arguments:?}: {findings:?}"
        );
        let changed = &report.document()["server_changes"][0];
        assert_eq!((&changed["restarted"], &changed["changes"][0]["what"]), (&false.into(), &"fsync".into()));
        server.psql("alter system reset fsync");
        server.psql("select pg_reload_conf()");
        wait_until("it holds", || value(&server, "postgres", "show fsync") == "on");
    }
}

#[test]
fn a_server_that_comes_back_is_used_again_and_nothing_acknowledged_is_lost() {
    let Some(mut server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    // It goes on until they are done, however long the server is away, and not so far before it is killed: a lock holds it
    // up behind its first transactions, and goes with the server.
    let counted = ["--transactions", "100", "--before", "hold", GATE];
    let mut keeper = shut_gate(&server);
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
