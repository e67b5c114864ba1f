//! SQLite as a target: a file and no server. What dyno says of it is compared with what SQLite's own shell finds in it.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::home::Home;
use crate::report::Report;
use crate::server::{database, shared, value};

/// A write-ahead log, as most programs that share a file use it.
const WAL: &str = "?journal_mode=wal&synchronous=normal";

pub(crate) fn target(home: &Home, name: &str, parameters: &str) -> String {
    format!("sqlite:{}{parameters}", home.path(name).display())
}

/// What SQLite's shell says of a file; `None` where there is no shell.
#[track_caller]
pub(crate) fn shell(home: &Home, name: &str, sql: &str) -> Option<String> {
    let Ok(output) = Command::new("sqlite3").arg(home.path(name)).arg(sql).output() else {
        println!("skipped: sqlite3 is not installed");
        return None;
    };
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// SQLite's shell finds this in a file that is in order.
#[track_caller]
fn assert_in_file(home: &Home, name: &str, sql: &str, expected: &str) {
    for (sql, expected) in [("PRAGMA integrity_check", "ok"), (sql, expected)] {
        if let Some(found) = shell(home, name, sql) {
            assert_eq!(found, expected, "{sql}");
        }
    }
}

/// Runs on a file; the run is complete, its checks pass and no transaction failed.
#[track_caller]
fn run(home: &Home, target: &str, words: &str) -> Report {
    let words: Vec<&str> = words.split_whitespace().collect();
    let all = [&["run", "--json", "--warm-up", "0s", "--target", target], &words[..]].concat();
    let report = home.dyno(&all).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    report.assert_checks_passed();
    assert_eq!((total(&report, "failed"), total(&report, "unknown")), (0, 0));
    report
}

fn total(report: &Report, name: &str) -> u64 {
    report.stages().iter().map(|stage| stage["totals"][name].as_u64().unwrap()).sum()
}

#[test]
fn a_setting_without_an_effect_is_refused() {
    let home = Home::new();
    let load = "tpcb/select-only --scale 1 --clients 1 --duration 200ms";
    let all = "?journal_mode=wal&page_size=8192&auto_vacuum=incremental&synchronous=off&foreign_keys=on&temp_store=memory&\
               cache_size=-4000&mmap_size=1048576&wal_autocheckpoint=0";
    for _ in 0..2 {
        run(&home, &target(&home, "bank.db", all), load);
    }
    for (parameters, why) in
        [("?page_size=4096", "page_size is 8192"), ("?auto_vacuum=none", "auto_vacuum is 2")]
    {
        let target = target(&home, "bank.db", parameters);
        home.dyno(&["run", "tpcb", "--target", &target]).expect(1).says(&[why, "only a new file"]);
    }
}

#[test]
fn tables_without_statistics_are_told() {
    let home = Home::new();
    let target = target(&home, "bank.db", "");
    let load = "tpcb/select-only --scale 1 --clients 1 --duration 200ms";
    assert!(!run(&home, &target, load).findings().contains(&"stats-missing"));
    let file = rusqlite::Connection::open(home.path("bank.db")).unwrap();
    file.execute_batch("DROP TABLE sqlite_stat1").unwrap();
    drop(file);
    let report = run(&home, &target, load);
    let findings = report.document()["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == "stats-missing").unwrap();
    assert!(found["evidence"].as_str().unwrap().contains("pgbench_accounts"), "{found}");
}

#[test]
fn tpcb_leaves_its_sums_in_the_file() {
    let home = Home::new();
    for (name, parameters) in [("wal.db", WAL), ("delete.db", "?synchronous=off"), ("full.db", "")] {
        let target = target(&home, name, parameters);
        let report = run(&home, &target, "tpcb/tpcb-like --scale 1 --clients 4 --transactions 25");
        assert_eq!(total(&report, "done"), 100);
        let seen = "SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_history), \
                    (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), \
                    (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches), \
                    (SELECT sum(length(filler)) FROM pgbench_accounts)";
        assert_in_file(&home, name, seen, "100000|100|1|1|8400000");
        let described = &report.document()["targets"][0];
        assert_eq!(
            (&described["product"], &described["in_process"], &described["same_host"]),
            (&"SQLite".into(), &true.into(), &true.into())
        );
        // The data are used again, whatever journal they had.
        run(&home, &target, "tpcb/simple-update --clients 2 --transactions 10");
        run(&home, &target, "tpcb/select-only --clients 2 --duration 500ms");
    }
}

#[test]
fn all_tests_of_sysbench_run() {
    let home = Home::new();
    let target = target(&home, "sb.db", WAL);
    let sum = || {
        let both = "SELECT (SELECT sum(k) FROM sbtest1) + (SELECT sum(k) FROM sbtest2)";
        shell(&home, "sb.db", both).map(|sum| sum.parse::<u64>().unwrap())
    };
    let load = "--tables 2 --table-size 2000 --clients 4 --transactions 10 --ignore-errors all";
    for test in ["oltp_point_select", "oltp_read_only", "select_random_ranges", "select_random_points"] {
        let load =
            if test.starts_with("select") { load.replace("--tables 2", "--tables 1") } else { load.into() };
        assert_eq!(total(&run(&home, &target, &format!("{test} {load}")), "done"), 40, "{test}");
    }
    for test in ["oltp_update_non_index", "oltp_write_only", "oltp_read_write"] {
        run(&home, &target, &format!("{test} {load}"));
        assert_in_file(&home, "sb.db", "SELECT count(*) FROM sbtest1", "2000");
    }
    let before = sum();
    run(&home, &target, &format!("oltp_update_index {load}"));
    assert_eq!(sum(), before.map(|before| before + 40));
    run(&home, &target, &format!("oltp_insert {load}"));
    let rows = "SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)";
    assert_in_file(&home, "sb.db", rows, "4040");
    run(&home, &target, &format!("oltp_delete --prepare {load}"));
}

#[test]
fn events_are_ingested_and_joined() {
    let home = Home::new();
    let target = target(&home, "events.db", WAL);
    let load = "--clients 4 --transactions 50";
    run(&home, &target, &format!("events/join --rows 5000 --customers 100 {load}"));
    let report = run(&home, &target, &format!("events/ingest {load}"));
    assert_eq!(total(&report, "done"), 200);
    let seen = "SELECT count(*), max(id) FROM event";
    assert_in_file(&home, "events.db", seen, "5200|5200");
    assert_in_file(&home, "events.db", "PRAGMA foreign_key_check", "");
    // The new ones are joined too.
    run(&home, &target, &format!("events/join {load}"));
    // Somebody else's table is left as it is.
    shell(&home, "events.db", "DROP VIEW dyno_comment_event");
    let refused = home.dyno(&["run", "events/join", "--target", &target, "--prepare"]);
    if Command::new("sqlite3").arg("-version").output().is_ok() {
        refused.expect(1).says(&["event", "dyno has not made it"]);
    }
}

#[test]
fn all_six_of_ycsb_run() {
    let home = Home::new();
    let target = target(&home, "ycsb.db", WAL);
    let mut inserts = 0;
    for mix in ["a", "b", "c", "d", "e", "f"] {
        let words = format!("ycsb/{mix} --records 500 --fields 3 --clients 4 --transactions 50");
        let report = run(&home, &target, &words);
        assert_eq!(total(&report, "done"), 200, "{mix}");
        let types = report.stage()["by_type"].as_array().unwrap();
        let inserted =
            types.iter().find(|of| of["name"] == "insert").map_or(0, |of| of["done"].as_u64().unwrap());
        inserts += inserted;
    }
    let seen = "SELECT count(*), count(DISTINCT ycsb_key) FROM usertable";
    assert_in_file(&home, "ycsb.db", seen, &format!("{0}|{0}", 500 + inserts));
}

#[test]
fn postgresql_runs_beside_it() {
    let Some(server) = shared() else { return };
    let postgres = format!("p={}", database(&server, "beside_sqlite"));
    let home = Home::new();
    let sqlite = format!("s={}", target(&home, "beside.db", WAL));
    for words in [
        "oltp_read_write --tables 1 --table-size 1000 --clients 2 --transactions 20 --ignore-errors all",
        "events/ingest --rows 1000 --customers 50 --clients 2 --transactions 20",
        "ycsb/f --records 300 --clients 2 --transactions 20",
        "tpcb/tpcb-like --scale 1 --clients 2 --transactions 20",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let targets = ["run", "--json", "--warm-up", "0s", "--target", &sqlite, "--target", &postgres];
        let report = home.dyno(&[&targets[..], &words].concat()).expect(0).report();
        report.assert_checks_passed();
        assert_eq!(total(&report, "done"), 80, "{words:?}");
        let places = report.document()["targets"].as_array().unwrap();
        let in_process: Vec<_> =
            places.iter().map(|of| (of["name"].as_str(), of["in_process"].as_bool())).collect();
        assert_eq!(in_process, [(Some("s"), Some(true)), (Some("p"), Some(false))]);
    }
    let counted = "SELECT count(*) FROM event";
    assert_in_file(&home, "beside.db", counted, &value(&server, "beside_sqlite", counted));
    let compared = home.dyno(&["compare", "s", "p"]).expect(0).out;
    assert!(compared.contains("SQLite") && compared.contains("PostgreSQL"), "{compared}");
}

#[test]
fn what_cannot_be_run_on_is_told() {
    let home = Home::new();
    home.file("text.db", &"Dear Sir or Madam, this is no database. ".repeat(100));
    run(&home, &target(&home, "bank.db", ""), "tpcb/select-only --scale 1 --clients 1 --transactions 5");
    for (name, parameters, words, said) in [
        ("nowhere/at/all.db", "", "", &["could not be opened", "there is no directory", "nowhere/at"][..]),
        ("missing.db", "?mode=ro", "tpcb/select-only", &["missing.db", "mode=ro makes none"]),
        ("text.db", "", "", &["text.db", "SQLITE_NOTADB"]),
        ("bank.db", "?journalmode=wal", "", &["did you mean `journal_mode`?"]),
        ("bank.db", "?synchronous=sometimes", "", &["synchronous", "sometimes"]),
        (
            "bank.db",
            "?mode=ro",
            "tpcb/tpcb-like --clients 1",
            &["is only read (mode=ro), and the load writes"],
        ),
        ("bank.db", "?mode=ro", "tpcb/select-only --prepare", &["SQLITE_READONLY", "mode=ro"]),
        ("bank.db", "", "--protocol extended", &["--protocol extended", "SQLite"]),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let target = target(&home, name, parameters);
        let arguments = [&["run", "--quick", "--target", &target], &words[..]].concat();
        home.dyno(&arguments).expect(1).says(said);
    }
    let other = format!("b=sqlite:{}", home.path("servers/../bank.db").display());
    let twice =
        ["run", "--quick", "--target", &format!("a={}", target(&home, "bank.db", "")), "--target", &other];
    home.dyno(&twice).expect(1).says(&["the same database"]);
    home.dyno(&["run", "--quick", "--target", "sqlite::memory:"]).expect(1).says(&["name a file"]);
    assert!(!home.path("missing.db").exists());
    assert!(fs::read_to_string(home.path("text.db")).unwrap().starts_with("Dear Sir"), "it is as it was");
    // What can only be read can be read.
    let read_only = target(&home, "bank.db", "?mode=ro");
    run(&home, &read_only, "tpcb/select-only --clients 2 --transactions 20");
}

#[test]
fn a_killed_run_leaves_a_file_that_can_be_used() {
    let home = Home::new();
    let target = target(&home, "killed.db", "");
    let endless =
        ["run", "tpcb/tpcb-like", "--scale", "1", "--clients", "4", "--duration", "1h", "--warm-up", "0s"];
    let mut running = home.start(&[&endless[..], &["--target", &target]].concat());
    running.wait_for("some transactions", |report| report.intervals().len() > 1);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    let agrees =
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)";
    assert_in_file(&home, "killed.db", agrees, "1");
    let report = run(&home, &target, "tpcb/tpcb-like --clients 4 --transactions 10");
    assert_eq!(total(&report, "done"), 40);
    // The next run begins with an empty history.
    assert_in_file(&home, "killed.db", "SELECT count(*) FROM pgbench_history", "40");
}

#[test]
fn a_load_that_is_interrupted_ends_cleanly() {
    let home = Home::new();
    let target = target(&home, "stopped.db", WAL);
    let endless = ["run", "ycsb/a", "--records", "300", "--clients", "4", "--duration", "1h", "--json"];
    let mut running = home.start(&[&endless[..], &["--target", &target]].concat());
    running.wait_for("some operations", |report| report.intervals().len() > 1);
    running.signal(Signal::INT);
    let report = running.end().expect(2).report();
    assert_eq!(report.outcome(), "incomplete");
    assert_in_file(&home, "stopped.db", "SELECT count(*) FROM usertable", "300");
}

#[test]
fn an_open_load_keeps_its_rate() {
    let home = Home::new();
    let target = target(&home, "rate.db", "?journal_mode=wal&synchronous=off");
    let words = "ycsb/b --records 500 --rate 50/s --arrivals constant --clients 8 --duration 2s";
    let report = run(&home, &target, words);
    let stage = report.stage();
    // The last that is due may end in the drain.
    let done = total(&report, "done_with_drain");
    let late = stage["totals"]["not_begun"].as_u64().unwrap_or_default();
    assert_eq!(done + late, 100, "{stage:#}");
}
