//! Several targets in one run: PostgreSQL and MySQL side by side, two servers of dyno's own, and one that is lost while
//! the other goes on.

use std::sync::Arc;

use dyno_test_servers::{Mysql, MysqlProduct, Postgres, Setup};
use serde_json::Value;

use crate::home::Home;
use crate::report::Report;
use crate::server::{NOBODY, database, installed, shared, url};
use crate::{mysql, secrets};

/// Little data and no warm-up.
const BRIEF: [&str; 7] = ["--json", "--warm-up", "0", "--rows", "2000", "--customers", "100"];

/// PostgreSQL and MySQL side by side. They run as long as this lives.
struct Both {
    postgres: Arc<Postgres>,
    mysql: Arc<Mysql>,
}

impl Both {
    /// `None` where this machine cannot have both.
    fn shared() -> Option<Self> {
        Some(Self { postgres: shared()?, mysql: mysql::shared(MysqlProduct::Mysql)? })
    }

    /// Both as targets, each with a database of that name.
    fn targets(&self, name: &str) -> [String; 2] {
        let (postgres, mysql) = (database(&self.postgres, name), mysql::database(&self.mysql, name));
        [format!("pg={postgres}"), format!("my={mysql}")]
    }
}

/// `pg ladder 2`, in the order in which the stages ran.
fn turns(report: &Report) -> Vec<String> {
    let turn = |stage: &Value| {
        let text = |key: &str| stage[key].as_str().unwrap();
        format!("{} {} {}", text("target"), text("kind"), stage["clients"])
    };
    report.stages().iter().map(turn).collect()
}

fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_databases_take_turns_at_every_step_on_the_same_data() {
    let Some(both) = Both::shared() else { return };
    let [pg, my] = both.targets("turns");
    let home = Home::new();
    let ramp = ["--ramp", "1..3", "--step", "300ms", "--to-the-end", "--connections", "2"];
    let targets = ["run", "events/join", "--target", &pg, "--target", &my];
    let report = home.dyno(&[&targets[..], &BRIEF, &ramp].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    let expected =
        ["pg 1", "my 1", "my 2", "pg 2", "pg 3", "my 3"].map(|turn| turn.replacen(' ', " ladder ", 1));
    assert_eq!(turns(&report), expected);
    report.assert_checks_passed();
    let document = report.document();
    assert_eq!(names(&document["targets"], "name"), ["pg", "my"]);
    for target in document["targets"].as_array().unwrap() {
        assert_eq!(target["host_source"], "this host");
    }
    assert_eq!(document["hosts"].as_array().unwrap().len(), 1);
    assert_eq!(document["hosts"][0]["roles"], serde_json::json!(["driver", "pg", "my"]));
    let same = report.checks().iter().find(|check| check["name"] == "same-data").unwrap();
    assert_eq!((&same["expected"], &same["found"]), (&same["expected"], &same["expected"]));
    assert!(same["expected"].as_str().unwrap().contains("event 2000"), "{same}");
    for stage in report.stages() {
        assert_eq!(stage["connections"], 2);
        assert!(stage["pool"].is_object(), "{stage:#}");
    }
    for target in ["pg", "my"] {
        let mut stages = report.stages().iter().filter(|stage| stage["target"] == target);
        // In a step of some hundred milliseconds a machine that is busy elsewhere may do nothing.
        let worked =
            |stage: &Value| stage["throughput"]["mean"].as_f64() > Some(0.0) && stage["wait"].is_object();
        assert!(stages.any(worked), "{target} did something: {:#?}", report.stages());
    }
    assert_eq!(names(&document["series"], "target"), ["pg", "my"]);
    let timelines = document["timelines"].as_array().unwrap();
    assert_eq!(timelines.len(), 2, "one for each target");
}

#[test]
fn what_was_written_is_verified_on_both() {
    let Some(both) = Both::shared() else { return };
    let [pg, my] = both.targets("written");
    let home = Home::new();
    let targets = ["run", "events/ingest", "--target", &pg, "--target", &my];
    let load = ["--clients", "4", "--connections", "2", "--transactions", "25", "--repeat", "2"];
    let report = home.dyno(&[&targets[..], &BRIEF, &load].concat()).expect(0).report();
    report.assert_checks_passed();
    assert_eq!(turns(&report), ["pg hold 4", "my hold 4", "my hold 4", "pg hold 4"], "repeats take turns");
    for target in ["pg", "my"] {
        let of = |list: &'static str| {
            let items = report.document()[list].as_array().unwrap().iter();
            items.filter(|item| item["target"] == target).collect::<Vec<_>>()
        };
        let done: u64 =
            of("stages").iter().filter_map(|stage| stage["totals"]["done_with_drain"].as_u64()).sum();
        assert_eq!(done, 200);
        let tables = &of("data")[0]["tables"];
        assert_eq!(
            (&tables[1]["name"], &tables[1]["rows"]),
            (&"event".into(), &2200.into()),
            "sizes after it"
        );
        assert!(of("checks").len() >= 2, "{:?}", of("checks"));
    }
}

#[test]
fn together_they_begin_each_step_at_the_same_time() {
    let Some(both) = Both::shared() else { return };
    let [pg, my] = both.targets("together");
    let home = Home::new();
    let ramp = ["--ramp", "1..3", "--step", "1s", "--to-the-end", "--together"];
    let targets = ["run", "events/join", "--target", &pg, "--target", &my];
    let report = home.dyno(&[&targets[..], &BRIEF, &ramp].concat()).expect(0).report();
    report.assert_checks_passed();
    let spans = |target: &str| -> Vec<(f64, f64)> {
        let stages = report.stages().iter().filter(|stage| stage["target"] == target);
        let number = |value: &Value| value.as_f64().unwrap();
        let span = |stage: &Value| {
            (number(&stage["start_s"]), number(&stage["start_s"]) + number(&stage["seconds"]))
        };
        stages.map(span).collect()
    };
    let (pg, my) = (spans("pg"), spans("my"));
    assert_eq!((pg.len(), my.len()), (3, 3));
    let overlap = |((pg_start, pg_end), (my_start, my_end)): (&(f64, f64), &(f64, f64))| {
        pg_start < my_end && my_start < pg_end
    };
    // One of the two may be late when a machine that is busy elsewhere lets it wait; in turns they never overlap.
    assert!(pg.iter().zip(&my).any(overlap), "they ran at the same time: {pg:?} {my:?}");
    for ([(_, pg_end), (pg_next, _)], [(_, my_end), (my_next, _)]) in
        pg.array_windows().zip(my.array_windows())
    {
        // A start is told in whole milliseconds.
        let begun_late = pg_next + 2e-3 >= *my_end && my_next + 2e-3 >= *pg_end;
        assert!(begun_late, "nobody begins before all have ended: {pg:?} {my:?}");
    }
}

#[test]
fn a_target_that_is_lost_in_its_turn_takes_nothing_of_the_other_with_it() {
    lose_one("survivor", &[]);
}

#[test]
fn a_target_that_is_lost_beside_another_is_waited_for_no_longer() {
    lose_one("survivor_beside", &["--together"]);
}

/// Kills one of two servers in its hold, of which the other one comes to the end.
#[track_caller]
fn lose_one(name: &str, further: &[&str]) {
    let Some(healthy) = shared() else { return };
    // Each commit takes a tenth of a second there, so that its hold would last a minute.
    let slow = ["fsync=on", "commit_delay=100000", "commit_siblings=0"];
    let slow = slow.iter().fold(Setup::default(), |setup, setting| setup.with(setting));
    let Some(mut doomed) = Postgres::start(&slow) else { return };
    let home = Home::new();
    let (a, b) = (format!("a={}", database(&healthy, name)), format!("b={}", url(&doomed, "postgres")));
    let load = ["--clients", "2", "--transactions", "600"];
    let targets = ["run", "events/ingest", "--target", &b, "--target", &a];
    let mut running = home.start(&[&targets[..], &BRIEF, &load, further].concat());
    running.wait_for("work in the hold of the target that will be lost", |report| {
        let mut holds =
            report.stages().iter().filter(|stage| stage["target"] == "b" && stage["kind"] == "hold");
        holds.any(|stage| stage["totals"]["done"].as_u64() > Some(0))
    });
    doomed.crash();
    let is_lost = |report: &Report| !report.document()["lost"].as_array().unwrap().is_empty();
    running.wait_for("the loss of a target", is_lost);
    // What it has acknowledged is verified when the others have ended.
    doomed.restart();
    let ended = running.end().expect(2);
    ended.says(&["b was given up", &doomed.address.to_string()]);
    let report = ended.report();
    assert_eq!(report.outcome(), "incomplete");
    report.assert_checks_passed();
    assert!(report.reason().starts_with("b was given up after"), "{}", report.reason());
    let [lost] = report.document()["lost"].as_array().unwrap().as_slice() else { panic!("one is lost") };
    assert_eq!(lost["target"], "b");
    assert!(lost["at_s"].as_f64() > Some(0.0) && lost["stage"].is_u64(), "{lost}");
    assert!(report.notices().contains("given up at"), "{}", report.notices());
    let hold =
        report.stages().iter().find(|stage| stage["target"] == "a" && stage["kind"] == "hold").unwrap();
    assert_eq!(hold["complete"], true);
    let lost_hold = report.stages().iter().find(|stage| stage["target"] == "b" && stage["kind"] == "hold");
    assert!(lost_hold.unwrap()["totals"]["done"].as_u64() > Some(0), "what was measured is kept");
}

#[test]
fn two_servers_of_dynos_own_run_side_by_side() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let servers = home.servers();
    let targets = ["run", "events/join", "--target", "a=embedded", "--target", "b=embedded:postgres"];
    let load = ["--data-dir", &servers, "--clients", "2", "--duration", "500ms", "--cold"];
    let report = home.dyno(&[&targets[..], &BRIEF, &load].concat()).expect(0).report();
    report.assert_checks_passed();
    assert_eq!(turns(&report), ["a hold 2", "b hold 2"]);
    assert!(home.server_directories().is_empty());
    for (hook, target) in report.document()["hooks"].as_array().unwrap().iter().zip(["a", "b"]) {
        assert_eq!((&hook["target"], &hook["action"]), (&target.into(), &"cold".into()));
        assert_eq!((&hook["about"], &hook["succeeded"]), (&"join".into(), &true.into()));
        assert!(hook["said"].as_str().unwrap().contains("cannot be dropped"), "{hook}");
        assert!(hook["cold"]["dropped"][0].as_str().unwrap().contains("restarted"), "{hook}");
    }
    assert_eq!(report.document()["hooks"].as_array().unwrap().len(), 2);
}

#[test]
fn an_interrupt_stops_all_targets_and_keeps_what_was_measured() {
    let Some(both) = Both::shared() else { return };
    let [pg, my] = both.targets("interrupted");
    for together in [&[][..], &["--together"]] {
        let home = Home::new();
        let load = ["--clients", "2", "--duration", "10m"];
        let targets = ["run", "events/join", "--target", &pg, "--target", &my];
        let mut running = home.start(&[&targets[..], &BRIEF, &load, together].concat());
        running.wait_for("load", |report| {
            report.stages().iter().any(|stage| stage["throughput"]["samples"].as_u64() >= Some(1))
        });
        running.signal(rustix::process::Signal::INT);
        let ended = running.end().expect(2);
        assert_eq!(ended.report().reason(), "interrupted");
        secrets::assert_nowhere(&home, mysql::PASSWORD);
    }
}

#[test]
fn what_is_wrong_with_one_target_ends_the_run_before_any_load() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let good = format!("good={}", database(&server, "one_is_wrong"));
    let bad = format!("bad=postgres://me@{NOBODY}/bank");
    let run = |further: &[&str]| home.dyno(&[&["run", "events/join", "--target", &good], further].concat());
    run(&["--target", &bad]).expect(1).says(&["cannot connect", NOBODY]);
    let exporter = format!("good=http://{NOBODY}/metrics");
    run(&["--host-metrics", &exporter]).expect(1).says(&["--host-metrics of good", NOBODY]);
    run(&["--connections", "400", "--clients", "500"]).expect(1).says(&["share", "--connections"]);
    assert_eq!(crate::server::value(&server, "one_is_wrong", "select to_regclass('event')"), "");
}

#[test]
fn targets_that_cannot_be_told_apart_or_are_not_there_are_refused() {
    let home = Home::new();
    let two = ["--target", "a=postgres://h/d", "--target", "b=postgres://i/d"];
    for (arguments, words) in [
        (
            &["--target", "postgres://h/d", "--target", "postgres://i/d"][..],
            &["two targets have the name pg"][..],
        ),
        (&["--target", "a=postgres://h/d", "--target", "a=mysql://i/d"], &["two targets have the name a"]),
        (
            &["--target", "a=postgres://h/d", "--target", "b=postgres://h/d"],
            &["a and b are the same database"],
        ),
        (&["--target", "driver=postgres://h/d"], &["driver"]),
        (&["--target", "a=postgers://h/d"], &["postgers"]),
        (&["--target", "a=embedded:mysql"], &["mysql"]),
        (&["--target", "a=postgres://h/d", "--together"], &["--together"]),
        (
            &[two.as_slice(), &["--host-metrics", "http://h:9100/metrics"]].concat(),
            &["--host-metrics NAME=URL"],
        ),
        (
            &[two.as_slice(), &["--host-metrics", "c=http://h:9100/metrics"]].concat(),
            &["no target c", "a, b"],
        ),
        (&[two.as_slice(), &["--host-metrics", "a=ftp://h/"]].concat(), &["ftp"]),
        (&[two.as_slice(), &["--before", "jion", "true"]].concat(), &["jion", "read, write"]),
        (&[two.as_slice(), &["--before", "c:hold", "true"]].concat(), &["no target c", "a, b"]),
        (&[two.as_slice(), &["--before", "hold", " "]].concat(), &["names nothing"]),
        (&[two.as_slice(), &["--before", "hold"]].concat(), &["--before"]),
        (&[two.as_slice(), &["--rows", "5"]].concat(), &["--rows", "events"]),
        (&["events", "--scale", "5"], &["--rows"]),
        (&["events", "--rows", "many"], &["many", "10M"]),
        (&["--connections", "0"], &["--connections"]),
        (&["--connections", "4", "--rate", "10/s"], &["--clients instead"]),
        (&["--ramp", "5..1"], &["the larger one"]),
        (&["--ramp", "1..5", "--clients", "5"], &["leave out --clients"]),
        (&["--ramp", "1..5", "--duration", "5s"], &["--step"]),
        (&["--ramp", "1..5", "--rate", "5/s"], &["leave out --rate"]),
        (&["--ramp", "1/s..5/s", "--think-time", "5s"], &["--think-time"]),
        (&["--ramp", "1/s..5/s", "--connections", "5"], &["--clients instead"]),
        (&["--ramp", "1..5", "--repeat", "2"], &["--hold"]),
        (&["--to-the-end"], &["--ramp"]),
        (&["--repeat", "0"], &["--repeat"]),
    ] {
        let ended = home.dyno(&[&["run"], arguments].concat()).expect(1);
        ended.says(words);
        assert_eq!(ended.out, "");
    }
}

#[test]
fn data_that_an_ingest_made_unequal_is_topped_up() {
    let Some(both) = Both::shared() else { return };
    let home = Home::new();
    let [postgres, mysql] = both.targets("topped_up");
    let file = format!("lite=sqlite:{}", home.path("topped_up.db").display());
    let targets = ["--target", &postgres, "--target", &mysql, "--target", &file];
    let load = ["--clients", "2", "--transactions", "20"];
    home.dyno(&[&["run", "events/join"], &BRIEF[..], &load, &targets].concat()).expect(0);
    home.dyno(&[&["run", "events/ingest"], &BRIEF[..], &load, &targets[..2]].concat()).expect(0);
    let join = [&["run", "events/join"], &BRIEF[..], &load, &targets].concat();
    home.dyno(&join).expect(1).says(&["earlier loads have added different rows", "--top-up"]);
    let report = home.dyno(&[&join[..], &["--top-up"]].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    report.assert_checks_passed();
    let rows = |target: &Value| {
        target["tables"].as_array().unwrap().iter().map(|it| it["rows"].clone()).collect::<Vec<_>>()
    };
    let data = report.document()["data"].as_array().unwrap();
    assert_eq!(data.len(), 3);
    for target in data {
        assert_eq!(rows(target), [100, 2040], "{target:#}");
    }
    // Where nothing is missing nothing is added, and where rows change instead it is refused.
    home.dyno(&[&join[..], &["--top-up"]].concat()).expect(0);
    let refused =
        home.dyno(&["run", "sysbench/oltp_read_only", "--table-size", "100", "--top-up", "--target", &file]);
    refused.expect(1).says(&["sysbench"]);
}
