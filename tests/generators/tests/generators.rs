//! A campaign whose load other processes generate, joined to it by bytes alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command as Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dbdyno::generator::{Generator as _, Observation, Signals};
use dyno_results::event::{Answer, Event, Interval, Stamped};
use dyno_results::spec::{End, Segment, StageOrder};
use dyno_results::store::Store;
use dyno_test_generators::Command;
use dyno_test_generators::campaign::{GENERATORS, Processes};
use dyno_test_servers::{Postgres, Setup};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dyno-test-generators");

/// A database on a server that all tests share, and its URL.
fn database(name: &str) -> Option<(Arc<Postgres>, String)> {
    let server = Postgres::shared(&Setup::default())?;
    server.psql(&format!("drop database if exists generators_{name} with (force)"));
    server.psql(&format!("create database generators_{name}"));
    let url = format!("postgres://postgres@{}/generators_{name}", server.address);
    Some((server, url))
}

/// What a run with so many generators has printed.
fn run(generators: u32, url: &str, directory: &Path, words: &[&str]) -> Value {
    let store = directory.join(format!("{generators}.db"));
    let store = store.to_str().unwrap();
    let always = ["run", "--json", "--target", url, "--store", store];
    let mut program = Program::new(PROGRAM);
    program.env(GENERATORS, generators.to_string()).current_dir(directory);
    let output = program.args(always).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stages<'r>(report: &'r Value, series: &str) -> Vec<&'r Value> {
    report["stages"].as_array().unwrap().iter().filter(|stage| stage["series"] == series).collect()
}

/// Each stage was of so many generators, ended well and did something without an error.
fn assert_stages(stages: &[&Value], generators: u32) {
    for stage in stages {
        assert_eq!(stage["generators"].as_u64().unwrap_or(1), u64::from(generators), "{stage:#}");
        assert_eq!(
            (&stage["complete"], &stage["errors"]),
            (&true.into(), &serde_json::json!({})),
            "{stage:#}"
        );
        assert!(stage["totals"]["done"].as_u64() > Some(0), "{stage:#}");
    }
}

#[test]
fn a_ladder_and_a_stream_beside_it_are_generated_by_other_processes() {
    let Some((_, url)) = database("ladder") else { return };
    let directory = TempDir::new().unwrap();
    fs::write(
        directory.path().join("big.sql"),
        "\\set bid random(1, 1)\nSELECT count(*) FROM pgbench_accounts WHERE bid = :bid;",
    )
    .unwrap();
    let streams = ["--stream", "oltp=tpcb/tpcb-like,clients=3,6", "--stream", "report=./big.sql,clients=3"];
    let times = ["--scale", "1", "--warm-up", "300ms", "--step", "1s", "--hold", "1s"];
    for generators in [1, 3] {
        let report = run(generators, &url, directory.path(), &[&streams[..], &times].concat());
        assert_eq!(report["run"]["outcome"], "complete");
        let (oltp, big) = (stages(&report, "oltp"), stages(&report, "report"));
        let kinds: Vec<_> = oltp.iter().map(|stage| &stage["kind"]).collect();
        assert_eq!(kinds, ["warm-up", "ladder", "ladder", "hold"]);
        assert_eq!(big.len(), 4);
        assert_stages(&[oltp, big].concat(), generators);
        // All that was acknowledged to any of them was found.
        let checks = report["checks"].as_array().unwrap();
        assert!(!checks.is_empty() && checks.iter().all(|check| check["passed"] == true), "{checks:#?}");
    }
}

#[test]
fn a_folder_of_queries_is_run_by_another_process() {
    let Some((server, url)) = database("queries") else { return };
    let sales = "CREATE TABLE sales (id int, amount int); INSERT INTO sales VALUES (1, 5), (2, 7)";
    assert_eq!(server.client("psql", "generators_queries", &["-X", "-q", "-c", sales]), "");
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("queries");
    fs::create_dir(&folder).unwrap();
    // The third goes on until it is told of.
    for (name, text) in [
        ("a", "SELECT sum(amount) FROM sales"),
        ("b", "SELECT nothing FROM sales"),
        ("c", "SELECT count(*) FROM sales, pg_sleep(4.5)"),
    ] {
        fs::write(folder.join(format!("{name}.sql")), text).unwrap();
    }
    let store = directory.path().join("run.db");
    let words = [
        "run",
        "./queries/",
        "--warm-up",
        "0",
        "--repeat",
        "1",
        "--clients",
        "1",
        "--target",
        &url,
        "--store",
    ];
    let mut program = Program::new(PROGRAM);
    program.env(GENERATORS, "1").current_dir(directory.path()).args(words).arg(&store);
    // A query that never ended well is a failure of the run.
    let output = program.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::open_existing(&store).unwrap();
    let events = store.events(&store.find("last").unwrap()).unwrap();
    let (mut answers, mut failed, mut running) = (Vec::new(), Vec::new(), Vec::new());
    for Stamped { event, .. } in events {
        match event {
            Event::Answer(Answer { answer, .. }) => answers.push((answer.query, answer.rows)),
            Event::QueryFailure(failure) => failed.push(failure.query),
            Event::QueriesRunning(told) => running.extend(told.queries.into_iter().map(|query| query.query)),
            _ => {}
        }
    }
    let row = |value: &str| vec![vec![value.to_owned()]];
    assert_eq!(answers, [("a".to_owned(), row("12")), ("c".to_owned(), row("2"))]);
    assert_eq!(failed, ["b"]);
    assert!(!running.is_empty() && running.iter().all(|query| query == "c"), "{running:?}");
}

#[test]
fn a_number_of_events_of_a_script_is_divided_among_processes() {
    let Some((server, url)) = database("events") else { return };
    let sql = |sql: &str| server.client("psql", "generators_events", &["-X", "-A", "-t", "-q", "-c", sql]);
    assert_eq!(sql("CREATE TABLE seen (thread int, event int)"), "");
    let text = "function thread_init() c = sysbench.sql.driver():connect(); n = 0 end \
                function event() n = n + 1; c:query(string.format('INSERT INTO seen VALUES (%d, %d)', sysbench.tid, n)) end";
    let clients = 5;
    let prepare = (0..3).map(|at| {
        let (text, url, segment) = (text.to_owned(), url.clone(), Segment::new(at, 3).unwrap());
        Command::PrepareLua { text, url, clients, segment }
    });
    let generators = Processes::start(Path::new(PROGRAM), 1, prepare).unwrap();
    let stop = AtomicBool::new(false);
    assert_eq!(generators.connect(0, clients, &stop).unwrap().threads, 3);
    // As `dyno sysbench --events=50` orders it.
    let end = End::TransactionsPerClient(u64::MAX);
    let order = StageOrder { transactions_max: Some(50), ..StageOrder::closed(clients, end) };
    let (mut done, mut complete) = ([0; 3], None);
    generators.start(0, &order, Signals { stop: &stop, over: None }, &mut |observation| match observation {
        Observation::Interval(Interval { generator, types, .. }) => {
            done[generator as usize] += types.iter().map(|of_type| of_type.done).sum::<u64>();
        }
        Observation::End { finished, broken } => complete = Some((finished.complete, broken)),
        Observation::ThreadFinished { .. } => {}
        other => panic!("{other:?}"),
    });
    generators.stop(&mut |_, _| {});
    assert_eq!((done, complete), ([17, 17, 16], Some((true, None))));
    // Each client is of one of them, and its events are its own.
    let seen = sql("SELECT count(*), count(DISTINCT (thread, event)), count(DISTINCT thread) FROM seen");
    assert_eq!(seen.trim(), "50|50|5");
}

#[test]
fn a_workload_that_counts_its_records_is_not_divided() {
    let Some((_, url)) = database("ycsb") else { return };
    let directory = TempDir::new().unwrap();
    let words =
        |workload| [workload, "--records", "1000", "--warm-up", "0", "--duration", "1s", "--clients", "3"];
    assert_stages(&stages(&run(3, &url, directory.path(), &words("ycsb/c")), "c"), 3);
    // Of one generator all is known that the verification needs.
    let report = run(1, &url, directory.path(), &words("ycsb/d"));
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 2 && checks.iter().all(|check| check["passed"] == true), "{checks:#?}");
    let mut program = Program::new(PROGRAM);
    let store = directory.path().join("refused.db");
    program.env(GENERATORS, "3").args(["run", "--target", &url, "--store"]).arg(store);
    let refused = program.args(words("ycsb/d")).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("runs on one generator"), "{said}");
}

#[test]
fn rows_of_a_folder_are_numbered_and_counted_over_all_generators() {
    let Some((_, url)) = database("orders") else { return };
    let directory = TempDir::new().unwrap();
    let mix = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/dyno-workload/tests/folder/orders/mix");
    let report =
        run(3, &url, directory.path(), &[mix, "--warm-up", "0", "--duration", "1s", "--clients", "6"]);
    assert_stages(&stages(&report, "mix"), 3);
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["name"] == "rows-of-line"), "{checks:#?}");
    assert!(checks.iter().all(|check| check["passed"] == true), "{checks:#?}");
}
