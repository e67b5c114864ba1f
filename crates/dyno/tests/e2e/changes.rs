//! What becomes of a run whose server is there and changes, or refuses everything.

use dyno_test_servers::{Postgres, Setup};
use rustix::process::Signal;

use crate::home::{Home, wait_until};
use crate::server::{database, prefixed, shared, url, value};

const LOAD: [&str; 8] = ["--workload", "tpcb/tpcb-like", "--clients", "3", "--scale", "1", "--warm-up", "0"];

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

/// What a distributed server on PostgreSQL's protocol says where it lost sight of a commit.
#[test]
fn a_commit_of_which_the_server_does_not_know_what_became_is_of_unknown_outcome() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "unknown_commits");
    for state in ["40003", "08007", "40002"] {
        let doubt = format!(
            "sql:create or replace function doubt() returns trigger language plpgsql as \
             'begin raise exception ''lost sight of it'' using errcode = ''{state}''; end'; \
             drop trigger if exists doubt on pgbench_history; \
             create constraint trigger doubt after insert on pgbench_history deferrable initially deferred \
             for each row execute function doubt()"
        );
        let load = ["--transactions", "20", "--before", "hold", &doubt, "--json"];
        let run = [&["run", "--target", &target], &LOAD[..], &load].concat();
        let report = home.dyno(&run).report();
        let totals = &report.stage()["totals"];
        let (failed, unknown) = if state == "40002" { (60, 0) } else { (0, 60) };
        assert_eq!((&totals["failed"], &totals["unknown"]), (&failed.into(), &unknown.into()), "{state}");
        report.assert_checks_passed();
    }
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
        if arguments.contains(&"10m") {
            // What is under way takes all the time that it has: the server is asked all the same.
            running.signal(Signal::INT);
            running.end().expect(code);
            open_gate(&server, keeper);
        } else {
            open_gate(&server, keeper);
            running.end().expect(code);
        }
        let report = home.report();
        let findings = report.findings();
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

/// No time mends that a server does not know the user any more.
#[test]
fn a_login_that_is_taken_away_is_not_waited_for() {
    let Some(server) = shared() else { return };
    database(&server, "locked_out");
    let (database, user) = (prefixed("locked_out"), prefixed("locked_out_user"));
    server.psql(&format!("drop role if exists {user}"));
    server.psql(&format!("create role {user} login superuser"));
    let home = Home::new();
    let target = format!("postgres://{user}@{}/{database}", server.address);
    let hook = ["--before", "hold", &format!("sql:alter role {user} nologin")];
    let ended =
        home.dyno(&[&["run", "--target", &target], &LOAD[..], &["--transactions", "20"], &hook].concat());
    // Of one that is waited for it is said for how long it was.
    ended.expect(1).says(&["cannot connect to", "is not permitted to log in"]);
}
