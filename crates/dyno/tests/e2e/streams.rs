//! Several loads at the same time on one target, and a load for each system.

use serde_json::Value;

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::{database, shared};

const BIG: &str =
    "-- all accounts\nSELECT bid, count(*), sum(abalance) FROM pgbench_accounts GROUP BY bid;\n";

fn of_series<'r>(report: &'r Report, name: &str) -> Vec<&'r Value> {
    report.stages().iter().filter(|stage| stage["series"] == name).collect()
}

fn begin_and_end(stage: &Value) -> (f64, f64) {
    let begin = stage["start_s"].as_f64().unwrap();
    (begin, begin + stage["seconds"].as_f64().unwrap())
}

#[test]
fn two_streams_load_one_target_at_the_same_time() {
    let Some(server) = shared() else { return };
    let target = database(&server, "two_streams");
    let home = Home::new();
    std::fs::write(home.path("big.sql"), BIG).unwrap();
    let streams = [
        "--stream",
        "oltp=tpcb/tpcb-like,clients=1,2,step=1s,hold=1s",
        "--stream",
        "report=./big.sql,clients=1",
    ];
    let run = ["run", "--json", "--target", &target, "--scale", "1", "--warm-up", "300ms"];
    let report = home.dyno(&[&run[..], &streams].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    // What oltp has acknowledged was found, though another stream read meanwhile.
    report.assert_checks_passed();
    let (oltp, big) = (of_series(&report, "oltp"), of_series(&report, "report"));
    let kinds = |stages: &[&Value]| stages.iter().map(|stage| stage["kind"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&oltp), ["warm-up", "ladder", "ladder", "hold"]);
    assert_eq!(kinds(&big), kinds(&oltp));
    for (one, other) in oltp.iter().zip(&big) {
        assert_eq!((&one["round"], &one["complete"]), (&other["round"], &Value::Bool(true)));
        assert_eq!(other["stream"], 1);
        let ((begin, end), (other_begin, other_end)) = (begin_and_end(one), begin_and_end(other));
        assert!(begin < other_end && other_begin < end, "at the same time: {one:#} {other:#}");
        // Nobody can say which of them the server worked for.
        assert_eq!((&one["costs"], &other["costs"]), (&Value::Null, &Value::Null));
        assert_eq!((&one["errors"], &other["errors"]), (&serde_json::json!({}), &serde_json::json!({})));
    }
    assert!(big.iter().any(|stage| stage["totals"]["done"].as_u64() > Some(0)), "{big:#?}");
    let timelines = report.document()["timelines"].as_array().unwrap();
    let lanes: Vec<(u64, bool)> = timelines
        .iter()
        .map(|lane| (lane["stream"].as_u64().unwrap_or(0), lane["metrics"].as_array().unwrap().is_empty()))
        .collect();
    assert_eq!(lanes, [(0, false), (1, true)]);
    let csv = home.dyno(&["report", "--csv"]).expect(0).out;
    assert!(csv.contains(",oltp,") && csv.contains(",report,"), "{csv}");
    let list = home.dyno(&["runs"]).expect(0).out;
    assert!(list.contains("oltp") && list.contains("report"), "{list}");
    // The script is run as it was, also where its file is gone.
    std::fs::remove_file(home.path("big.sql")).unwrap();
    let again = home.dyno(&["run", "--json", "--rerun", "last", "--target", &target]);
    assert_eq!(of_series(&again.expect(0).report(), "report").len(), 4);
}

#[test]
fn streams_that_change_data_each_in_its_way_are_not_checked_and_that_is_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "two_writers");
    let home = Home::new();
    let run = |streams: [&str; 2]| {
        let [one, other] = streams;
        let run =
            ["run", "--json", "--target", &target, "--scale", "1", "--warm-up", "0", "--duration", "500ms"];
        home.dyno(&[&run[..], &["--stream", one, "--stream", other]].concat()).expect(0).report()
    };
    let same = run(["a=tpcb/tpcb-like,clients=1", "b=tpcb/tpcb-like,clients=2"]);
    same.assert_checks_passed();
    let others = run(["a=tpcb/tpcb-like,clients=1", "b=tpcb/simple-update,clients=1"]);
    let [check] = others.checks() else { panic!("{:#?}", others.checks()) };
    assert_eq!(check["passed"], Value::Null);
    assert!(check["detail"].as_str().unwrap().contains("several streams change the data"), "{check:#}");
}

#[test]
fn a_script_that_fails_fails_by_its_own_error() {
    let Some(server) = shared() else { return };
    let target = database(&server, "script_alone");
    let home = Home::new();
    let run = |text: &str| {
        std::fs::write(home.path("q.sql"), text).unwrap();
        home.dyno(&[
            "run",
            "./q.sql",
            "--json",
            "--target",
            &target,
            "--warm-up",
            "0",
            "-T",
            "500ms",
            "-c",
            "1",
        ])
    };
    let report = run("\\set n random(1, 10)\nSELECT :n;").expect(0).report();
    assert_eq!(
        (report.stage()["workload"].as_str(), report.stage()["series"].as_str()),
        (Some("./q.sql"), Some("q"))
    );
    assert!(report.stage()["totals"]["done"].as_u64() > Some(0));
    let failed = run("SELECT * FROM no_such_table;");
    assert!(failed.err.contains("no_such_table"), "{}", failed.err);
    run("\\sett").expect(1).says(&["./q.sql is no script", "sett"]);
}

#[test]
fn one_system_rises_while_the_other_is_held() {
    let (Some(postgres), Some(mysql)) = (shared(), mysql::shared(dyno_test_servers::MysqlProduct::MariaDb))
    else {
        return;
    };
    let pg = format!("pg={}", database(&postgres, "rises"));
    let my = format!("my={}", mysql::database(&mysql, "is_held"));
    let home = Home::new();
    let load = ["--ramp", "pg=1..3", "--to-the-end", "--step", "500ms", "--clients", "my=2", "--together"];
    let run = ["run", "events/join", "--json", "--warm-up", "0", "--rows", "2000", "--customers", "100"];
    let report =
        home.dyno(&[&run[..], &["--target", &pg, "--target", &my], &load].concat()).expect(0).report();
    let clients = |target: &str| -> Vec<u64> {
        let stages = report.stages().iter().filter(|stage| stage["target"] == target);
        stages.map(|stage| stage["clients"].as_u64().unwrap()).collect()
    };
    assert_eq!(
        (clients("pg"), clients("my")),
        (vec![1, 2, 3], vec![2, 2, 2]),
        "{} {:#?}",
        report.reason(),
        report.stages()
    );
    assert!(report.stages().iter().all(|stage| stage["complete"] == true), "{:#?}", report.stages());
}
