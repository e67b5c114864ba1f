//! How the products run the queries of a query set: taken apart from the passes, shown and compared.

use std::fs;

use dyno_test_servers::{Postgres, Setup};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, Running, wait_until};
use crate::report::Report;
use crate::server::{database, shared, url, value};
use crate::tpch::run_on_all_products;

const QUERIES: usize = 22;

/// The plans of a target, taken `before` or `after` the passes without running the queries.
fn planned<'a>(report: &'a Report, target: &str, when: &str) -> Vec<&'a Value> {
    all(report, target).filter(|plan| plan["when"] == when && plan["executed"] == false).collect()
}

/// Those of queries that were run for them.
fn run<'a>(report: &'a Report, target: &str) -> Vec<&'a Value> {
    all(report, target).filter(|plan| plan["executed"] == true).collect()
}

fn all<'a>(report: &'a Report, target: &str) -> impl Iterator<Item = &'a Value> {
    let all = report.document()["plans"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter(move |plan| plan["target"] == target)
}

fn nodes(plan: &Value) -> &[Value] {
    plan["nodes"].as_array().unwrap()
}

/// A folder of queries; how it is named.
fn folder(home: &Home, queries: &[(&str, &str)]) -> String {
    fs::create_dir(home.path("queries")).unwrap();
    queries.iter().for_each(|(query, text)| drop(home.file(&format!("queries/{query}.sql"), text)));
    "./queries/".to_owned()
}

#[test]
fn all_products_agree_on_all_queries_and_say_how_they_ran_them() {
    let Some((home, report, names)) = run_on_all_products("0.01", &[]) else { return };
    let of =
        |some: &[&str]| -> Vec<&str> { names.iter().copied().filter(|name| some.contains(name)).collect() };
    // Those that run queries for their plans, those that only tell steps, and those whose plans are text.
    let (trees, steps, texts) = (of(&["pg", "my", "maria", "duck"]), of(&["ch"]), of(&["ob"]));
    for target in &trees {
        assert_eq!(run(&report, target).len(), QUERIES, "{target}");
        for plan in run(&report, target) {
            let reads = nodes(plan).iter().any(|node| node["object"].is_string());
            let ran = nodes(plan).iter().any(|node| node["rows"].is_f64());
            let planned = nodes(plan).iter().any(|node| node["rows_planned"].as_f64() > Some(0.0));
            let timed = nodes(plan)[0]["time_ms"].as_f64() > Some(0.0);
            assert!(reads && ran && planned && timed, "{target}: {plan:#}");
        }
    }
    for target in trees.iter().chain(&steps).chain(&texts) {
        assert_eq!(planned(&report, target, "after").len(), QUERIES, "{target}");
        // Those of before say the same.
        assert_eq!(planned(&report, target, "before").len(), 0, "{target}");
        for plan in all(&report, target) {
            assert!(plan["reason"].is_null() && plan["shape"].is_string(), "{target}: {plan:#}");
            let is_text = plan["text"].as_str().is_some_and(|text| text.lines().count() > 2);
            assert_eq!(texts.contains(target), is_text, "{target}: {plan:#}");
        }
    }
    let pages = |plan: &&Value| nodes(plan)[0]["pages_hit"].as_u64() > Some(0);
    assert!(run(&report, "pg").iter().all(pages));
    let events = home.dyno(&["report", "--events"]).expect(0).out;
    let before = events
        .lines()
        .filter(|line| line.contains("\"event\":\"plan\"") && line.contains("\"when\":\"before\""));
    assert_eq!(before.count(), QUERIES * names.len());
    // Nothing has changed that could change a plan.
    assert!(!report.findings().contains(&"plan-changed"), "{:#}", report.document()["findings"]);
    // No pass has any of it.
    assert_eq!(report.stages().len(), 2 * names.len());
    for stage in report.stages() {
        assert_eq!(stage["totals"]["done"].as_u64(), Some(QUERIES as u64), "{stage:#}");
    }

    let shown = home.dyno(&["report", "--plan", "q9"]).expect(0).out;
    assert!(shown.contains("Q9 on pg · PostgreSQL") && shown.contains("lineitem"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    home.dyno(&["report", "--plan", "Q77"]).expect(1).says(&["no plan of Q77", "Q22"]);
}

#[test]
fn what_is_not_run_again_says_so() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let postgres = format!("pg={}", database(&server, "plans_not_run"));
    value(&server, "plans_not_run", "CREATE TABLE kept (a int); CREATE SEQUENCE ran");
    let queries = folder(
        &home,
        &[
            ("1-writes", "INSERT INTO kept SELECT 1"),
            ("2-hidden", "WITH added AS (INSERT INTO kept SELECT 2 RETURNING a) SELECT * FROM added"),
            ("3-missing", "SELECT * FROM nowhere_at_all"),
            ("4-slow", "SELECT pg_sleep(30)"),
            ("5-good", "SELECT count(*) FROM kept WHERE a > 0"),
        ],
    );
    let words = ["run", &queries, "--target", &postgres, "--repeat", "2", "--time-limit", "300ms", "--json"];
    // What was cancelled at the time limit has run, and what is missing has not.
    let ended = home.dyno(&words).expect(2);
    ended.says(&["error: 3-missing of queries never ended well on pg"]);
    let report = ended.report();
    let after = planned(&report, "pg", "after");
    let told =
        |plan: &&Value| (!nodes(plan).is_empty(), plan["reason"].as_str().unwrap_or_default().to_owned());
    let told: Vec<(bool, String)> = after.iter().map(told).collect();
    let [writes, hidden, missing, slow, good] = &told[..] else { panic!("{after:#?}") };
    for plan in [writes, hidden] {
        assert_eq!(*plan, (true, "it may write, and is not run again for its plan".to_owned()));
    }
    assert!(!missing.0 && missing.1.contains("nowhere_at_all"), "{missing:?}");
    assert!(slow.0 && slow.1.starts_with("it did not end well in any pass"), "{slow:?}");
    assert_eq!(*good, (true, String::new()));
    assert_eq!(run(&report, "pg").iter().map(|plan| &plan["query"]).collect::<Vec<_>>(), ["5-good"]);
    // Three passes have written, and no plan.
    assert_eq!(value(&server, "plans_not_run", "SELECT count(*) FROM kept"), "6");

    let with = |plans: &str| {
        let words =
            ["run", &queries, "--target", &postgres, "--time-limit", "300ms", "--repeat", "1", "--json"];
        home.dyno(&[&words[..], &["--plans", plans]].concat()).expect(2).report()
    };
    assert!(with("none").document()["plans"].is_null());
    let report = with("estimate");
    assert_eq!((planned(&report, "pg", "after").len(), run(&report, "pg").len()), (5, 0));
    home.dyno(&["run", "ycsb/c", "--target", &postgres, "--plans", "none"])
        .expect(1)
        .says(&["--plans is for queries that are run in passes"]);
}

#[test]
fn a_query_that_takes_too_long_for_its_plan_is_cancelled() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let postgres = format!("pg={}", database(&server, "plans_slow"));
    // Only who explains it waits.
    value(
        &server,
        "plans_slow",
        "CREATE FUNCTION waits() RETURNS int VOLATILE LANGUAGE plpgsql AS $$BEGIN \
         IF current_query() LIKE 'EXPLAIN%' THEN PERFORM pg_sleep(60); END IF; RETURN 1; END$$",
    );
    let queries = folder(&home, &[("a", "SELECT waits()"), ("b", "SELECT 2")]);
    let words = ["run", &queries, "--target", &postgres, "--time-limit", "500ms", "--repeat", "1", "--json"];
    let report = home.dyno(&words).expect(0).report();
    let after = planned(&report, "pg", "after");
    assert!(!nodes(after[0]).is_empty(), "{:#}", after[0]);
    assert!(after[0]["reason"].as_str().unwrap().contains("took longer than 0.5 s"), "{:#}", after[0]);
    assert_eq!(run(&report, "pg").iter().map(|plan| &plan["query"]).collect::<Vec<_>>(), ["b"]);
    assert_eq!((report.outcome(), report.stage()["totals"]["done"].as_u64()), ("complete", Some(2)));
    let asleep =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%waits%'";
    wait_until("the server runs it no more", || value(&server, "plans_slow", asleep) == "0");
}

/// Has a query explained that never ends on a server of the test's own, and lets `end` end it. The passes are kept.
fn ends_while_a_plan_is_taken(end: impl FnOnce(&mut Postgres, &Running<'_>)) -> Option<Report> {
    let mut server = Postgres::start(&Setup::default())?;
    let home = Home::new();
    let target = format!("pg={}", url(&server, "postgres"));
    value(
        &server,
        "postgres",
        "CREATE FUNCTION waits() RETURNS int VOLATILE LANGUAGE plpgsql AS $$BEGIN \
         IF current_query() LIKE 'EXPLAIN%' THEN PERFORM pg_sleep(600); END IF; RETURN 1; END$$",
    );
    let queries = folder(&home, &[("a", "SELECT waits()"), ("b", "SELECT 2")]);
    let running = home.start(&["run", &queries, "--target", &target, "--repeat", "2", "--json"]);
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_until("a plan is taken", || value(&server, "postgres", asleep) == "1");
    end(&mut server, &running);
    let report = running.end().report();
    let passes = &report.series()[0]["passes"];
    assert!(passes["total_s"].as_f64() > Some(0.0), "{passes:#}");
    assert_eq!((planned(&report, "pg", "before").len(), run(&report, "pg").len()), (2, 0));
    Some(report)
}

#[test]
fn a_server_that_dies_while_plans_are_taken_costs_no_measurement() {
    let Some(report) = ends_while_a_plan_is_taken(|server, _| server.crash()) else { return };
    let after = planned(&report, "pg", "after");
    assert!(
        after.len() == 2 && after.iter().all(|plan| nodes(plan).is_empty() && plan["reason"].is_string())
    );
}

#[test]
fn a_user_who_stops_while_plans_are_taken_has_the_passes() {
    let stopped = ends_while_a_plan_is_taken(|server, running| {
        running.signal(Signal::INT);
        let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        wait_until("the server runs it no more", || value(server, "postgres", asleep) == "0");
    });
    let Some(report) = stopped else { return };
    assert_eq!((report.outcome(), report.reason()), ("incomplete", "interrupted"));
    assert_eq!(planned(&report, "pg", "after").len(), 0);
}

#[test]
fn a_plan_that_changes_is_found_and_shown() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let postgres = format!("pg={}", database(&server, "plans_change"));
    value(
        &server,
        "plans_change",
        "CREATE TABLE sold WITH (autovacuum_enabled = off) AS \
         SELECT id, id % 1000 AS item FROM generate_series(1, 100000) AS id; ANALYZE sold",
    );
    let queries = folder(&home, &[("one", "SELECT count(*) FROM sold WHERE item = 7"), ("two", "SELECT 2")]);
    let index = "sql:CREATE INDEX IF NOT EXISTS sold_item ON sold (item)";
    let words = ["run", &queries, "--target", &postgres, "--repeat", "2", "--json"];
    let changed = home.dyno(&[&words[..], &["--after", "hold", index]].concat()).expect(0).report();
    let findings = changed.document()["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == "plan-changed").unwrap();
    let said = found["evidence"].as_str().unwrap();
    assert!(
        said.starts_with("one: ") && said.contains("Seq Scan on sold before") && !said.contains("two: "),
        "{said}"
    );
    let shown = home.dyno(&["report", "--plan", "one"]).expect(0).out;
    assert!(shown.contains("The plan changed. Before the passes:") && shown.contains('≠'), "{shown}");

    // With the index from the beginning nothing changes, and without it the two runs differ.
    assert!(!home.dyno(&words).expect(0).report().findings().contains(&"plan-changed"));
    value(&server, "plans_change", "DROP INDEX sold_item");
    assert!(!home.dyno(&words).expect(0).report().findings().contains(&"plan-changed"));
    let compared = home.dyno(&["compare", "last~1", "last", "--json"]).expect(0).json();
    let found =
        compared["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "plan-changed");
    let said = found.unwrap()["evidence"].as_str().unwrap();
    assert!(
        said.starts_with("one: ") && said.contains("with Seq Scan on sold (") && !said.contains("two"),
        "{said}"
    );
    let shown = home.dyno(&["compare", "last~1", "last", "--plan", "one"]).expect(0).out;
    let marked: Vec<&str> =
        shown.lines().filter(|line| line.starts_with("≠ ") && line.contains("sold")).collect();
    assert!(marked.len() >= 2 && marked.iter().any(|line| line.contains("Seq Scan on sold")), "{shown}");
    let same = home.dyno(&["compare", "last~1", "last", "--plan", "two"]).expect(0).out;
    assert!(same.contains("have the same steps") && !same.contains('≠'), "{same}");
    home.dyno(&["compare", "last~1", "last", "--plan", "three"]).expect(1).says(&["has a plan of three"]);
}

#[test]
fn sqlite_says_its_steps() {
    let home = Home::new();
    let file = home.path("sales.db");
    let tables = "CREATE TABLE sold (id INTEGER PRIMARY KEY, item INT); CREATE INDEX k ON sold (item)";
    Connection::open(&file).unwrap().execute_batch(tables).unwrap();
    let queries =
        folder(&home, &[("one", "SELECT a.id FROM sold a, sold b WHERE a.item = 7 AND b.id = a.id + 1")]);
    let target = format!("lite=sqlite:{}", file.display());
    let report =
        home.dyno(&["run", &queries, "--target", &target, "--repeat", "1", "--json"]).expect(0).report();
    let plan = planned(&report, "lite", "after")[0];
    let named = |node: &Value| format!("{} {} {}", node["operation"], node["object"], node["index"]);
    let steps: Vec<String> = nodes(plan).iter().map(named).collect();
    assert!(steps.len() == 2 && steps[0].contains("\"a\""), "{steps:?}");
}
