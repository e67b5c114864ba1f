//! A folder of the user's own queries: run in passes on targets of several kinds, which agree or do not.

use std::fs;

use dyno_test_servers::{ClickHouse, ClickHouseKind, MysqlProduct, Postgres, duckdb_library};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, wait_until};
use crate::mysql;
use crate::report::Report;
use crate::server::{NOBODY, database, prefixed, shared, value};

const SALES: &str = "CREATE TABLE sales (id INTEGER PRIMARY KEY, region VARCHAR(9), amount NUMERIC(9, 2)); \
                     INSERT INTO sales VALUES (1, 'north', 10.50), (2, 'north', 2), (3, 'south', 7.25)";
const QUERIES: [(&str, &str); 3] = [
    ("01-regions", "-- sums; of each\nSELECT region, count(*), sum(amount) FROM sales GROUP BY region;\n"),
    ("02-largest", "SELECT id, ';' AS mark FROM sales ORDER BY amount DESC LIMIT 2"),
    ("03-average", "/* of all */ SELECT avg(amount) FROM sales;"),
];

/// A folder of queries; how it is named.
fn folder(home: &Home, name: &str, queries: &[(&str, &str)]) -> String {
    fs::create_dir(home.path(name)).unwrap();
    queries.iter().for_each(|(query, text)| drop(home.file(&format!("{name}/{query}.sql"), text)));
    home.file(&format!("{name}/read.me"), "no query");
    format!("./{name}/")
}

fn sqlite(home: &Home, sql: &str) -> String {
    let file = home.path("sales.db");
    Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    format!("lite=sqlite:{}", file.display())
}

fn passes<'a>(report: &'a Report, target: &str) -> &'a Value {
    &report.series().iter().find(|series| series["target"] == target).unwrap()["passes"]
}

/// One thing of each query on a target.
fn each<'a>(report: &'a Report, target: &str, field: &str) -> Vec<&'a Value> {
    passes(report, target)["queries"].as_array().unwrap().iter().map(|query| &query[field]).collect()
}

/// The evidence of a finding.
fn evidence<'a>(report: &'a Report, code: &str) -> &'a str {
    let findings = report.document()["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == code);
    found.map_or("", |finding| finding["evidence"].as_str().unwrap())
}

#[test]
fn targets_that_agree_and_one_that_differs() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &QUERIES);
    let postgres = format!("pg={}", database(&server, "query_sets"));
    value(&server, "query_sets", SALES);
    let lite = sqlite(&home, SALES);
    let run = ["run", &queries, "--target", &postgres, "--target", &lite, "--json"];
    let report = home.dyno(&run).expect(0).report();
    for target in ["pg", "lite"] {
        assert_eq!(each(&report, target, "query"), ["01-regions", "02-largest", "03-average"]);
        assert_eq!(each(&report, target, "rows"), [2, 2, 1]);
        assert_eq!(each(&report, target, "differs"), [&Value::Null; 3]);
        assert!(each(&report, target, "times_s").iter().all(|times| times.as_array().unwrap().len() == 3));
        assert!(passes(&report, target)["total_s"].as_f64() > Some(0.0));
        assert_eq!(passes(&report, target)["qph"], Value::Null);
    }
    // One to warm up and three that are measured, in turn.
    assert_eq!(report.stages().len(), 8);
    for stage in report.stages() {
        assert_eq!((&stage["workload"], &stage["series"]), (&"./queries/".into(), &"queries".into()));
        assert_eq!(
            (&stage["totals"]["done"], &stage["protocol"]),
            (&3.into(), &"simple".into()),
            "{stage:#}"
        );
    }
    let found = report.findings();
    for code in ["answer-differs", "not-validated", "too-few-repeats", "errors"] {
        assert!(!found.contains(&code), "{found:?}");
    }
    let told = home.dyno(&["report"]).expect(0).out;
    assert!(told.contains("02-largest") && told.contains("geo. mean") && !told.contains("QPH"), "{told}");

    // The queries are run as they were, also where their files are gone.
    fs::remove_dir_all(home.path("queries")).unwrap();
    sqlite(&home, "UPDATE sales SET amount = 8 WHERE id = 3");
    let rerun = ["run", "--rerun", "last", "--repeat", "1", "--warm-up", "0s", "--json"];
    let report = home.dyno(&rerun).expect(0).report();
    assert_eq!(report.stages().len(), 2);
    let said = evidence(&report, "answer-differs");
    // In which row it stands is the server's choice.
    assert!(said.contains("01-regions: the answer is not that of lite: row"), "{said}");
    assert!(said.contains("is (south, 1, 7.25) instead of (south, 1, 8)"), "{said}");
    assert!(said.contains("03-average") && !said.contains("02-largest"), "{said}");
}

#[test]
fn a_folder_of_more_than_a_thousand_queries() {
    let home = Home::new();
    let texts: Vec<(String, String)> =
        (1..=1_100).map(|number| (format!("q{number:04}"), format!("SELECT {number}"))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, sql)| (name.as_str(), sql.as_str())).collect();
    let queries = folder(&home, "many", &texts);
    let lite = sqlite(&home, SALES);
    let run = ["run", &queries, "--target", &lite, "--repeat", "1", "--warm-up", "0s", "--json"];
    let report = home.dyno(&run).expect(0).report();
    assert_eq!(report.stages()[0]["totals"]["done"], 1_100);
    assert_eq!(passes(&report, "lite")["answers"]["kept"], 1_100);
    let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
    assert_eq!(each(&report, "lite", "query"), names);
    let told = home.dyno(&["report"]).expect(0).out;
    assert!(told.contains("q0001") && told.contains("q1100"), "{told}");
}

#[test]
fn the_others_go_on_where_a_query_fails() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let (good, missing, wrong) =
        (("1-good", "SELECT 1"), ("2-missing", "SELECT * FROM nowhere_at_all"), ("3-wrong", "SELEKT 1"));
    let queries = folder(&home, "queries", &[good, missing, wrong, ("4-good", "SELECT 4")]);
    let postgres = format!("pg={}", database(&server, "failing_queries"));
    let lite = sqlite(&home, SALES);
    let run =
        ["run", &queries, "--target", &postgres, "--target", &lite, "--repeat", "2", "--json", "--strict"];
    // Half of the queries failed.
    let report = home.dyno(&run).expect(3).report();
    for target in ["pg", "lite"] {
        let ran: Vec<bool> = each(&report, target, "median_s").iter().map(|median| median.is_f64()).collect();
        assert_eq!(ran, [true, false, false, true], "{target}");
        assert_eq!(passes(&report, target)["total_s"], Value::Null);
    }
    for (target, missing, wrong) in [
        ("pg", "ERROR: relation \"nowhere_at_all\" does not exist", "ERROR: syntax error"),
        ("lite", "no such table: nowhere_at_all", "near \"SELEKT\": syntax error"),
    ] {
        let failures = each(&report, target, "failure");
        for (failure, said) in [(&failures[1], missing), (&failures[2], wrong)] {
            assert!(failure.as_str().unwrap().contains(said), "{failures:?}");
        }
    }
    // The table has each, and nothing else.
    assert_eq!(report.notices(), "");
    let findings = report.document()["findings"].as_array().unwrap();
    let errors = findings.iter().filter(|finding| finding["code"] == "errors");
    let told: Vec<(&str, &str)> = errors
        .map(|finding| (finding["evidence"].as_str().unwrap(), finding["advice"].as_str().unwrap()))
        .collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    for (evidence, advice) in told {
        assert!(
            evidence.contains("not run: 2-missing; 3-wrong") && !evidence.contains("nowhere"),
            "{evidence}"
        );
        // Of the two only PostgreSQL has a log.
        assert_eq!(advice.contains("server's log"), evidence.contains("42P01"), "{advice}");
    }
    assert!(home.dyno(&["report"]).expect(0).out.contains("not run"));
}

#[test]
fn a_first_pass_knows_what_a_query_took_in_the_run_before() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &[("slow", "SELECT pg_sleep(4.5)")]);
    let postgres = database(&server, "earlier_queries");
    let run = ["run", &queries, "--target", &postgres, "--repeat", "1", "--warm-up", "0s", "--plans", "none"];
    for _ in 0..2 {
        home.dyno(&run).expect(0);
    }
    let (first, second) = (told_running(&home, 1), told_running(&home, 2));
    assert!(!first.is_empty() && first.iter().all(|query| query["earlier"].is_null()), "{first:?}");
    assert!(!second.is_empty(), "the query took seconds");
    for query in &second {
        assert!(query["earlier"]["run"].as_str().unwrap().ends_with("-1"), "{query}");
        assert!(query["earlier"]["seconds"].as_f64().unwrap() >= 4.5, "{query}");
        // Nobody says it of this product.
        assert!(query["read_share"].is_null(), "{query}");
    }
}

/// What a run told of the queries that went on for some time.
fn told_running(home: &Home, run: u32) -> Vec<Value> {
    let store = Connection::open(home.store()).unwrap();
    let body =
        "SELECT body FROM event JOIN run ON run.id = run_id WHERE kind = 'queries-running' AND number = ?1";
    let mut statement = store.prepare(body).unwrap();
    let bodies = statement.query_map([run], |row| row.get::<_, String>(0)).unwrap();
    let events: Vec<Value> = bodies.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect();
    events.iter().flat_map(|event| event["queries"].as_array().unwrap().clone()).collect()
}

#[test]
fn it_is_told_how_far_a_query_of_clickhouse_is() {
    let Some(clickhouse) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let home = Home::new();
    // Takes a quarter of an hour, until it is stopped, and hardly any of the processors.
    let sleep =
        "SELECT count() FROM numbers(1000000) WHERE sleepEachRow(0.001) = 0 SETTINGS max_block_size = 100";
    let slow = ("slow", sleep);
    let queries = folder(&home, "queries", &[("fast", "SELECT 1"), slow]);
    let clickhouse = clickhouse.url();
    let target = ["--target", &clickhouse, "--clients", "2"];
    let limits = ["--repeat", "1", "--warm-up", "0s", "--plans", "none", "--time-limit", "12s"];
    home.dyno(&[&["run", &queries], &target[..], &limits].concat()).expect(0);
    let told = told_running(&home, 1);
    let shares: Vec<f64> = told.iter().filter_map(|query| query["read_share"].as_f64()).collect();
    let rise = shares.windows(2).all(|pair| pair[0] <= pair[1]) && shares.first() < shares.last();
    assert!(rise && shares.iter().all(|share| (0.0..1.0).contains(share)), "{told:?}");
    // The two clients wait for the same: only the first is asked about.
    assert!(told.iter().any(|query| query["read_share"].is_null()) && told.len() > shares.len(), "{told:?}");
}

#[test]
fn the_others_go_on_where_a_query_ends_its_connection() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let ends = ("b", "SELECT pg_terminate_backend(pg_backend_pid())");
    let queries = folder(&home, "queries", &[("a", "SELECT 1"), ends, ("c", "SELECT 3")]);
    let postgres = database(&server, "ending_queries");
    // The run has not done all that it was asked to.
    let ended = home.dyno(&["run", &queries, "--target", &postgres, "--json"]).expect(2);
    ended.says(&["b of queries never ended well on pg"]);
    let report = ended.report();
    assert_eq!(report.document()["run"]["outcome"], "incomplete");
    let times = each(&report, "pg", "times_s");
    let ran = |times: &Value| times.as_array().unwrap().iter().filter(|time| time.is_f64()).count();
    assert_eq!(times.iter().map(|times| ran(times)).collect::<Vec<_>>(), [3, 0, 3], "{times:?}");
    assert!(each(&report, "pg", "failure")[1].is_string(), "{times:?}");
}

#[test]
fn each_client_begins_one_query_further() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &[("a", "SELECT 1"), ("b", "SELECT 2"), ("c", "SELECT 3")]);
    let postgres = database(&server, "query_clients");
    let stream = format!("nightly={queries},clients=4");
    let run = ["run", "--stream", &stream, "--target", &postgres, "--repeat", "2", "--json"];
    let report = home.dyno(&run).expect(0).report();
    assert_eq!(report.stage_names(), ["warm-up 4", "hold 4", "hold 4"]);
    for stage in report.stages() {
        assert_eq!(stage["series"], "nightly");
        let each = stage["by_type"].as_array().unwrap();
        assert!(each.len() == 3 && each.iter().all(|query| query["done"] == 4), "{each:#?}");
    }
}

#[test]
fn answers_are_compared_with_those_that_were_recorded() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &QUERIES);
    let postgres = database(&server, "recorded_answers");
    value(&server, "recorded_answers", SALES);
    let once = ["run", &queries, "--repeat", "1", "--warm-up", "0s", "--json"];
    let run = |words: &[&str]| home.dyno(&[&once[..], words].concat());
    let ended = run(&["--target", &postgres, "--record", "answers.json"]).expect(0);
    ended.says(&["recorded 3 of 3 answers to answers.json"]);
    let report = ended.report();
    assert!(report.findings().contains(&"not-validated"), "{:?}", report.findings());
    let recorded: Value = serde_json::from_slice(&fs::read(home.path("answers.json")).unwrap()).unwrap();
    assert_eq!(recorded["schema"], "dyno.answers/1");
    assert_eq!(recorded["answers"][2]["rows"], serde_json::json!([["6.5833333333333333"]]));

    // On another product too.
    let lite = sqlite(&home, SALES);
    let report = run(&["--target", &lite, "--answers", "answers.json"]).expect(0).report();
    assert_eq!(report.checks()[0]["name"], "answers-as-recorded");
    assert_eq!(report.checks()[0]["series"], "queries");
    report.assert_checks_passed();
    assert!(!report.findings().contains(&"not-validated"), "{:?}", report.findings());
    assert_eq!(each(&report, "lite", "validated"), [true; 3]);

    sqlite(&home, "UPDATE sales SET region = 'west' WHERE id = 3");
    let ended = run(&["--target", &lite, "--answers", "answers.json", "--strict"]).expect(3);
    let report = ended.report();
    assert_eq!((&report.checks()[0]["passed"], &report.checks()[0]["found"]), (&false.into(), &"2".into()));
    let said = evidence(&report, "answer-differs");
    assert_eq!(
        said,
        "01-regions: the answer is not the recorded one: row 2 is (west, 1, 7.25) instead of (south, 1, 7.25)"
    );
    assert!(!report.findings().contains(&"data-check-failed"), "{:?}", report.findings());

    let others =
        folder(&home, "others", &[("04-count", "SELECT count(*) FROM sales"), ("05-none", "SELEKT")]);
    let other = ["run", &others, "--target", &lite, "--repeat", "1", "--warm-up", "0s", "--json"];
    let ended = home.dyno(&[&other[..], &["--answers", "answers.json", "--record", "some.json"]].concat());
    ended.says(&["recorded 1 of 2 answers to some.json: not 05-none"]);
    // What is recorded is that of the queries that ran.
    ended.says(&["05-none of others never ended well on lite"]);
    let report = ended.report();
    assert_eq!(report.checks()[0]["passed"], Value::Null);
    assert!(evidence(&report, "not-validated").starts_with("none of the recorded answers"));
}

/// Records the answers of a set of queries on a target.
fn record(home: &Home, queries: &str, target: &str) {
    let once = ["run", queries, "--target", target, "--repeat", "1", "--warm-up", "0s", "--plans", "none"];
    home.dyno(&[&once[..], &["--record", "answers.json"]].concat()).expect(0);
}

#[test]
fn a_wrong_answer_is_found_where_the_load_is_no_passes() {
    let home = Home::new();
    let queries = folder(&home, "queries", &[("sum", "SELECT sum(amount) FROM sales")]);
    let lite = sqlite(&home, SALES);
    record(&home, &queries, &lite);
    sqlite(&home, "UPDATE sales SET amount = 8 WHERE id = 3");
    let run = ["run", &queries, "--target", &lite, "--transactions", "5", "--warm-up", "0s"];
    let run = [&run[..], &["--answers", "answers.json", "--strict", "--json"]].concat();
    let report = home.dyno(&run).expect(3).report();
    assert_eq!(passes(&report, "lite"), &Value::Null);
    let said = evidence(&report, "data-check-failed");
    assert!(said.contains("answers-as-recorded: 0 of 1 answers are as recorded"), "{said}");
}

#[test]
fn no_answer_is_missing_of_a_target_to_which_nothing_was_sent() {
    let home = Home::new();
    let queries = folder(&home, "queries", &QUERIES);
    let lite = sqlite(&home, SALES);
    record(&home, &queries, &lite);
    let other = lite.replacen("lite", "other", 1);
    let run = ["run", &queries, "--target", &lite, "--target", &other, "--warm-up", "0s", "--json"];
    // It ends the run behind the first pass of the first target.
    let hook = ["--answers", "answers.json", "--after", "lite:hold", "exit 1"];
    let report = home.dyno(&[&run[..], &hook].concat()).expect(2).report();
    report.assert_checks_passed();
    let checked: Vec<&Value> = report.checks().iter().map(|check| &check["target"]).collect();
    assert_eq!(checked, ["lite"]);
}

/// Queries of which the second waits for as many seconds as its database says, with the answers of those that wait for none.
fn waiting_queries(home: &Home, server: &Postgres, database_name: &str) -> [String; 2] {
    let waits = ("2-waits", "SELECT 2 FROM pause, pg_sleep(seconds)");
    let queries = folder(home, "queries", &[("1-good", "SELECT 1"), waits, ("3-good", "SELECT 3")]);
    let target = waiting_database(server, database_name, 0);
    record(home, &queries, &target);
    [queries, target]
}

fn waiting_database(server: &Postgres, name: &str, seconds: u32) -> String {
    let target = database(server, name);
    value(
        server,
        name,
        &format!("CREATE TABLE pause (seconds INTEGER); INSERT INTO pause VALUES ({seconds})"),
    );
    target
}

#[test]
fn no_answer_is_missing_where_the_time_ends_before_a_query_is_sent() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let [queries, target] = waiting_queries(&home, &server, "timed_answers");
    value(&server, "timed_answers", "UPDATE pause SET seconds = 3");
    let run = ["run", &queries, "--target", &target, "--duration", "1s", "--clients", "1", "--repeat", "1"];
    let answers = ["--warm-up", "0s", "--plans", "none", "--answers", "answers.json", "--json"];
    let report = home.dyno(&[&run[..], &answers].concat()).expect(0).report();
    report.assert_checks_passed();
    assert_ne!(report.checks()[0]["found"], "3");
}

#[test]
fn no_answer_is_missing_where_another_target_ends_the_load() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let [queries, first] = waiting_queries(&home, &server, "ending_answers");
    let second = format!("second={}", waiting_database(&server, "ended_answers", 600));
    let first = format!("first={first}");
    let run = ["run", &queries, "--target", &first, "--target", &second, "--together", "--warm-up", "0s"];
    let hook = ["--plans", "none", "--answers", "answers.json", "--after", "first:hold", "exit 1", "--json"];
    let report = home.dyno(&[&run[..], &hook].concat()).expect(2).report();
    report.assert_checks_passed();
    assert!(report.notices().contains("the load ended early here"), "{}", report.notices());
}

#[test]
fn a_query_that_failed_has_no_answer_where_one_was_recorded() {
    let home = Home::new();
    let queries = folder(&home, "queries", &QUERIES);
    let lite = sqlite(&home, SALES);
    record(&home, &queries, &lite);
    home.file("queries/03-average.sql", "SELECT avg(amount) FROM nowhere");
    let run = ["run", &queries, "--target", &lite, "--warm-up", "0s", "--answers", "answers.json", "--json"];
    let report = home.dyno(&run).expect(2).report();
    let said = evidence(&report, "answer-differs");
    assert_eq!(said, "2 of 3 answers are as recorded; 1 of the queries returned none");
}

#[test]
fn answers_are_recorded_where_another_target_was_lost() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &[("1-good", "SELECT 1"), ("2-good", "SELECT 2")]);
    let kept = format!("kept={}", database(&server, "kept_answers"));
    database(&server, "lost_answers");
    let (database, user) = (prefixed("lost_answers"), prefixed("lost_answers_user"));
    let lost = format!("lost=postgres://{user}@{}/{database}", server.address);
    let no_login = format!("sql:alter role {user} nologin");
    let run = |targets: [&str; 2]| {
        server.psql(&format!("drop role if exists {user}"));
        server.psql(&format!("create role {user} login superuser"));
        let run = ["run", &queries, "--target", targets[0], "--target", targets[1], "--plans", "none"];
        let hook = ["--before", "lost:hold", &no_login, "--record", "answers.json"];
        home.dyno(&[&run[..], &hook].concat()).expect(2)
    };
    run([&lost, &kept]).says(&["lost was given up", "answers.json was not written"]);
    run([&kept, &lost]).says(&["lost was given up", "recorded 2 of 2 answers"]);
    assert!(home.path("answers.json").exists());
}

#[test]
fn a_run_that_is_stopped_misses_no_answer_and_replaces_none() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let waits = ("2-waits", "SELECT 2 FROM pause, pg_sleep(seconds)");
    let queries = folder(&home, "queries", &[("1-good", "SELECT 1"), waits]);
    let postgres = database(&server, "stopped_answers");
    value(&server, "stopped_answers", "CREATE TABLE pause (seconds INTEGER); INSERT INTO pause VALUES (0)");
    let once =
        ["run", &queries, "--target", &postgres, "--repeat", "1", "--warm-up", "0s", "--plans", "none"];
    home.dyno(&[&once[..], &["--record", "answers.json"]].concat()).expect(0);
    let recorded = fs::read(home.path("answers.json")).unwrap();

    value(&server, "stopped_answers", "UPDATE pause SET seconds = 600");
    let again = ["--json", "--answers", "answers.json", "--record", "answers.json"];
    let running = home.start(&[&once[..], &again].concat());
    let asleep = "SELECT count(*) FROM pg_stat_activity \
                  WHERE wait_event = 'PgSleep' AND datname = current_database()";
    wait_until("a query waits", || value(&server, "stopped_answers", asleep) == "1");
    running.signal(Signal::INT);
    let ended = running.end().expect(2);
    ended.says(&["answers.json was not written"]);
    let report = ended.report();
    assert_eq!(report.checks()[0]["found"], "1");
    report.assert_checks_passed();
    for code in ["data-check-failed", "answer-differs"] {
        assert!(!report.findings().contains(&code), "{:?}", report.findings());
    }
    assert_eq!(fs::read(home.path("answers.json")).unwrap(), recorded);
}

#[test]
fn parameters_have_their_values_and_answers_for_others_are_not_compared() {
    let home = Home::new();
    let sum = "-- of :nobody\nSELECT sum(amount), '12:30' AS time\nFROM sales WHERE region = :'region' AND :\"column\" > :least";
    let queries = folder(&home, "queries", &[("sum", sum), ("all", "SELECT count(*) FROM sales")]);
    let lite = sqlite(&home, SALES);
    let once = ["run", &queries, "--target", &lite, "--repeat", "1", "--warm-up", "0s", "--json"];
    let run = |words: &[&str]| home.dyno(&[&once[..], &["-D", "column=id", "-D", "least=0"], words].concat());
    let north = ["-D", "region=north", "--record", "answers.json"];
    assert_eq!(each(&run(&north).expect(0).report(), "lite", "rows"), [1, 1]);
    let recorded: Value = serde_json::from_slice(&fs::read(home.path("answers.json")).unwrap()).unwrap();
    let answer = &recorded["answers"][1];
    assert_eq!(answer["rows"][0], serde_json::json!(["12.5", "12:30"]));
    assert_eq!(answer["parameters"], serde_json::json!(["column=id", "least=0", "region=north"]));
    let said = "SELECT sum(amount), '12:30' AS time\nFROM sales WHERE region = 'north' AND \"id\" > 0";
    assert_eq!(answer["sql"], said);

    let other = ["-D", "region=south", "--answers", "answers.json"];
    let report = run(&other).expect(0).report();
    assert_eq!(each(&report, "lite", "validated"), [&Value::Bool(true), &Value::Null]);
    report.assert_checks_passed();
    run(&[]).expect(1).says(&["sum.sql has a parameter :region in line 3", "-D region=VALUE"]);
    run(&["-D", "region=x", "-D", "regoin=x"]).expect(1).says(&["no query has a parameter :regoin"]);
    run(&["-D", "region=x", "-D", "region=y"]).expect(1).says(&["region is defined twice"]);
    home.dyno(&["run", "tpcb", "-D", "a=b"]).expect(1).says(&["-D a=…", "folder"]);
}

/// Each file of theirs has its own value of a parameter of the same name; what is stored needs the files no more.
#[test]
fn a_value_may_be_for_one_query() {
    let home = Home::new();
    let count = |sign: &str| format!("SELECT count(*) FROM sales WHERE amount {sign} :least AND id < :end");
    let queries = folder(&home, "queries", &[("less", &count("<")), ("more", &count(">"))]);
    home.file("queries/less.params", "# as drawn\nleast=10\n\nend=1\n");
    let lite = sqlite(&home, SALES);
    let once = ["--target", &lite, "--repeat", "1", "--warm-up", "0s", "--record", "a.json"];
    let answers = |words: &[&str]| {
        home.dyno(&[&["run"], words, &once].concat()).expect(0);
        let recorded: Value = serde_json::from_slice(&fs::read(home.path("a.json")).unwrap()).unwrap();
        recorded["answers"].as_array().unwrap().iter().map(|it| it["rows"][0][0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(answers(&[&queries, "-D", "more:least=5", "-D", "end=9"]), ["2", "2"]);
    assert_eq!(answers(&[&queries, "-D", "more.sql:least=5", "-D", "more:end=9"]), ["0", "2"]);
    fs::remove_dir_all(home.path("queries")).unwrap();
    assert_eq!(answers(&["--rerun", "last"]), ["0", "2"]);
}

/// A file of several statements is a query: its time is one, its answer that of the last statement that reads.
#[test]
fn a_file_of_several_statements_is_one_query() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let text = "-- by region\nCREATE VIEW best AS SELECT region, sum(amount) AS total FROM sales GROUP BY region;\n\
                SELECT region FROM best WHERE total = (SELECT max(total) FROM best);\n/* ; */ DROP VIEW best;\n";
    let later = "BEGIN; CREATE TABLE more (a int); INSERT INTO more VALUES (7), (8); SELECT max(a) FROM more; ROLLBACK";
    let fails = "BEGIN; SELECT count(*) FROM nowhere; SELECT 2; COMMIT";
    let queries = folder(&home, "queries", &[("a", text), ("b", later), ("c", fails), QUERIES[2]]);
    let postgres = format!("pg={}", database(&server, "query_steps"));
    value(&server, "query_steps", SALES);
    let lite = sqlite(&home, SALES);
    let report = home
        .dyno(&["run", &queries, "--target", &postgres, "--target", &lite, "--record", "a.json", "--json"])
        .expect(2)
        .report();
    for target in ["pg", "lite"] {
        let ends = each(&report, target, "median_s").into_iter().map(Value::is_null).collect::<Vec<_>>();
        assert_eq!(ends, [false, false, false, true], "{target}: {:#}", passes(&report, target));
        assert_eq!(each(&report, target, "rows")[1..3], [1, 1], "{target}");
    }
    let recorded: Value = serde_json::from_slice(&fs::read(home.path("a.json")).unwrap()).unwrap();
    let answers = recorded["answers"].as_array().unwrap();
    assert_eq!((&answers[1]["rows"][0][0], &answers[2]["rows"][0][0]), (&"north".into(), &"8".into()));
    assert!(
        answers[1]["sql"].as_str().unwrap().contains("GROUP BY region;\nSELECT region"),
        "{:#}",
        answers[1]
    );
    assert_eq!(
        value(&server, "query_steps", "SELECT count(*) FROM pg_class WHERE relname IN ('best', 'more')"),
        "0"
    );
}

/// What is a comment, and where a statement ends, is decided by the product.
#[test]
fn a_file_is_read_as_by_the_products_own_client() {
    let home = Home::new();
    let once = ["--repeat", "1", "--warm-up", "0s", "--plans", "none", "--record", "a.json"];
    let answers = |queries: &str, target: &str| {
        home.dyno(&[&["run", queries, "--target", target], &once[..]].concat()).expect(0);
        let recorded: Value = serde_json::from_slice(&fs::read(home.path("a.json")).unwrap()).unwrap();
        recorded["answers"].as_array().unwrap().iter().map(|it| it["rows"][0][0].clone()).collect::<Vec<_>>()
    };
    let nested = ("nested", "/* first try:\n   /* note */ SELECT 2; -- */ SELECT 1;");
    if let Some(server) = mysql::shared(MysqlProduct::MariaDb) {
        let block = "BEGIN NOT ATOMIC\n IF 1 THEN SET @a = 4; END IF; SELECT @a;\nEND; # :x";
        let texts = [("a", "SELECT 1 # one; two :x\n+ 1;"), ("b", "SELECT 5--1;"), ("c", block), nested];
        let target = mysql::database(&server, "query_texts");
        assert_eq!(answers(&folder(&home, "mariadb", &texts), &target), ["2", "6", "4", "2"]);
    }
    if let Some(server) = shared() {
        let body = "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 9 END; END;\n\
                    SELECT f(); DROP FUNCTION f();";
        let slices = "SELECT (x[:2])[:n], x[n:] FROM (SELECT array[1, 2, 3] AS x, 2 AS n) q";
        let texts = [("a", slices), ("b", body), ("c", "SELECT 6 # 3"), nested];
        let target = database(&server, "query_texts");
        assert_eq!(answers(&folder(&home, "postgres", &texts), &target), ["{1,2}", "9", "5", "1"]);
    }
}

#[test]
fn a_cold_start_says_what_it_could_not_drop() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let queries = folder(&home, "queries", &QUERIES);
    let postgres = format!("pg={}", database(&server, "query_cold"));
    value(&server, "query_cold", SALES);
    let lite = sqlite(&home, SALES);
    let run =
        ["run", &queries, "--target", &postgres, "--target", &lite, "--cold", "--repeat", "2", "--json"];
    let report = home.dyno(&run).expect(0).report();
    // There is no pass that would fill the caches before.
    assert_eq!(report.stage_names().len(), 4);
    let hooks = report.document()["hooks"].as_array().unwrap();
    let of = |target: &str| {
        let own = hooks.iter().filter(|hook| hook["target"] == target);
        own.map(|hook| hook["cold"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((of("pg").len(), of("lite").len()), (2, 2), "before each pass: {hooks:#?}");
    let kept = |cold: &Value| cold["kept"].to_string();
    assert!(of("pg").iter().all(|cold| kept(cold).contains("dyno did not start it")), "{hooks:#?}");
    assert!(of("lite")[0]["dropped"].to_string().contains("each session has its own"), "{hooks:#?}");
    assert!(!kept(&of("lite")[0]).contains("own cache"), "{hooks:#?}");
    assert!(evidence(&report, "cold-not-cold").contains("the server was not restarted"));
}

#[test]
fn a_query_that_runs_out_of_memory_is_told_and_the_others_go_on() {
    let home = Home::new();
    // One value that fits into no file that a query may put aside.
    let duck =
        ("SELECT length(list(i)) FROM range(20000000) t(i)", "memory_limit=50MB&max_temp_directory_size=0KB");
    let click = (
        "SELECT count() FROM (SELECT cityHash64(number) AS h, count() FROM numbers(5000000) GROUP BY h)",
        "max_memory_usage=20000000",
    );
    let clickhouse = ClickHouse::start(ClickHouseKind::Engine);
    let file = home.path("duck.db");
    let duckdb = duckdb_library()
        .map(|library| (format!("duckdb:{}?driver={}&", file.display(), library.display()), duck));
    let clickhouse_target = clickhouse.as_ref().map(|server| (format!("{}?", server.url()), click));
    for (name, (target, (sql, limit))) in [("duck", duckdb), ("click", clickhouse_target)]
        .into_iter()
        .filter_map(|(name, it)| Some((name, it?)))
    {
        let queries = folder(&home, name, &[("large", sql), ("small", "SELECT 1")]);
        let target = format!("{name}={target}{limit}");
        let run = ["run", &queries, "--target", &target, "--repeat", "1", "--warm-up", "0s", "--json"];
        let report = home.dyno(&run).expect(2).report();
        let times = each(&report, name, "median_s");
        assert!(times[0].is_null() && times[1].is_number(), "{times:?}");
        let failure = &each(&report, name, "failure")[0];
        let said = failure.as_str().unwrap();
        assert!(said.starts_with("out of memory: ") && said.contains("its memory limit"), "{said}");
    }
}

/// By what the rows of a LIMIT are ordered decides whether they may tie, as each product's catalog says.
#[test]
fn rows_in_the_order_of_a_key_do_not_tie() {
    let home = Home::new();
    let own = "CREATE TABLE keyed (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b INTEGER, c INTEGER NOT NULL, d INTEGER NOT NULL, v INTEGER, \
             t VARCHAR(9) NOT NULL, UNIQUE (a), UNIQUE (b), UNIQUE (c, d), UNIQUE (t), UNIQUE (c, t)); \
             INSERT INTO keyed VALUES (1, 1, 1, 1, 1, 10, 'a'), (2, 2, 2, 1, 2, 20, 'B'), (3, 3, 3, 2, 1, 30, 'c')";
    let queries: Vec<(String, String, bool)> =
        [("id", true), ("a DESC", true), ("v, d, c", true), ("t, a", true)]
            .iter()
            .chain(&[("b", false), ("c", false), ("v", false), ("t", false), ("c, t", false)])
            .enumerate()
            .map(|(at, (order, expected))| {
                (format!("q{at}"), format!("SELECT v FROM keyed k ORDER BY {order} LIMIT 2"), *expected)
            })
            .collect();
    let texts: Vec<(&str, &str)> =
        queries.iter().map(|(name, sql, _)| (name.as_str(), sql.as_str())).collect();
    let queries_named = folder(&home, "keys", &texts);
    let mut targets = vec![sqlite(&home, own)];
    targets.extend(shared().map(|server| {
        let target = database(&server, "keyed");
        value(&server, "keyed", own);
        target
    }));
    let maria = mysql::shared(MysqlProduct::MariaDb);
    targets.extend(maria.map(|server| {
        let target = mysql::database(&server, "keyed");
        server.sql(&format!("USE {}; {own}", prefixed("keyed")));
        target
    }));
    let duck = home.path("keyed.db");
    if let Some(library) = duckdb_library() {
        let target = format!("duckdb:{}?driver={}", duck.display(), library.display());
        let tables = folder(&home, "tables", &[("all", own)]);
        home.dyno(&["run", &tables, "--target", &target, "--repeat", "1", "--warm-up", "0s"]).expect(0);
        targets.push(target);
    }
    for target in &targets {
        let once = [
            "run",
            &queries_named,
            "--target",
            target,
            "--repeat",
            "1",
            "--warm-up",
            "0s",
            "--record",
            "keyed.json",
        ];
        home.dyno(&once).expect(0);
        let recorded: Value = serde_json::from_slice(&fs::read(home.path("keyed.json")).unwrap()).unwrap();
        let told: Vec<bool> =
            recorded["answers"].as_array().unwrap().iter().map(|answer| answer["no_ties"] == true).collect();
        let expected: Vec<bool> = queries.iter().map(|(_, _, expected)| *expected).collect();
        assert_eq!(told, expected, "{target}");
    }
}

#[test]
fn an_answer_that_differs_in_rows_that_cannot_tie_is_another_answer() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let postgres = format!("pg={}", database(&server, "no_ties"));
    value(&server, "no_ties", &SALES.replace("2, 'north', 2)", "2, 'north', 3)"));
    let lite = sqlite(&home, SALES);
    let all = ("0-all", "SELECT count(*) FROM sales");
    let by_key = ("1-by-key", "SELECT id, amount FROM sales ORDER BY id LIMIT 2");
    let not_shown = ("2-not-shown", "SELECT amount FROM sales ORDER BY id LIMIT 2");
    let groups = (
        "3-groups",
        "SELECT region, max(id), sum(amount) FROM sales GROUP BY region ORDER BY region LIMIT 1",
    );
    let ties = ("4-ties", "SELECT region, amount FROM sales ORDER BY region LIMIT 2");
    let queries = folder(&home, "queries", &[all, by_key, not_shown, groups, ties]);
    let words = ["run", &queries, "--target", &postgres, "--target", &lite, "--repeat", "1", "--json"];
    let report = home.dyno(&words).report();
    let differs = each(&report, "lite", "differs").iter().map(|it| !it.is_null()).collect::<Vec<_>>();
    assert_eq!(differs, [false, true, true, true, false], "{}", evidence(&report, "answer-differs"));
    assert!(evidence(&report, "answer-varies").contains("4-ties"), "{}", evidence(&report, "answer-varies"));
}

/// The totals of one pass of one query: how many have failed, and of how many the outcome is unknown.
fn failed_and_unknown(home: &Home, target: &str, name: &str, sql: &str) -> [u64; 2] {
    let queries = folder(home, name, &[("one", sql)]);
    let run = [
        "run",
        &queries,
        "--target",
        target,
        "--repeat",
        "1",
        "--warm-up",
        "0s",
        "--plans",
        "none",
        "--json",
    ];
    let report = home.dyno(&run).report();
    ["failed", "unknown"].map(|count| report.stage()["totals"][count].as_u64().unwrap())
}

#[test]
fn a_query_that_may_have_written_when_its_server_was_lost_is_of_unknown_outcome() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "query_outcomes");
    let setup = "CREATE TABLE seen (state text); \
                 CREATE FUNCTION doubt() RETURNS trigger LANGUAGE plpgsql AS \
                 'begin raise exception ''lost sight of it'' using errcode = new.state; end'; \
                 CREATE CONSTRAINT TRIGGER doubt AFTER INSERT ON seen DEFERRABLE INITIALLY DEFERRED \
                 FOR EACH ROW EXECUTE FUNCTION doubt()";
    value(&server, "query_outcomes", setup);
    let gone = "pg_terminate_backend(pg_backend_pid())";
    for (name, sql, expected) in [
        ("unknown", "INSERT INTO seen VALUES ('40003')".to_owned(), [0, 1]),
        ("commit", "BEGIN; INSERT INTO seen VALUES ('08007'); COMMIT".to_owned(), [0, 1]),
        ("rolled-back", "INSERT INTO seen VALUES ('40002')".to_owned(), [1, 0]),
        ("lost", format!("INSERT INTO seen SELECT 'x' WHERE {gone}"), [0, 1]),
        ("before-commit", format!("BEGIN; INSERT INTO seen SELECT 'x' WHERE {gone}; COMMIT"), [1, 0]),
        ("read", format!("SELECT {gone}"), [1, 0]),
    ] {
        assert_eq!(failed_and_unknown(&home, &target, name, &sql), expected, "{name}");
    }
}

/// A script that ends its own session: by `dyno run`, by the front end of pgbench, and as a Lua script.
#[test]
fn a_script_that_may_have_written_when_its_server_was_lost_is_of_unknown_outcome() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "script_outcomes");
    value(&server, "script_outcomes", "CREATE TABLE seen (state text)");
    let (port, name) = (server.address.port().to_string(), prefixed("script_outcomes"));
    let write = "INSERT INTO seen SELECT 'x' WHERE pg_terminate_backend(pg_backend_pid())";
    let read = "SELECT pg_terminate_backend(pg_backend_pid())";
    for (what, statements, expected) in [
        ("alone", &[write][..], [0, 1]),
        ("before its COMMIT", &["BEGIN", write, "COMMIT"], [1, 0]),
        ("a read", &[read], [1, 0]),
    ] {
        let totals = |report: &Report| {
            ["failed", "unknown"].map(|count| report.stage()["totals"][count].as_u64().unwrap())
        };
        home.file("lost.sql", &format!("{};\n", statements.join(";\n")));
        let run = ["run", "./lost.sql", "--target", &target, "--clients", "1", "--transactions", "1"];
        let report = home.dyno(&[&run[..], &["--warm-up", "0s", "--json"]].concat()).report();
        assert_eq!(totals(&report), expected, "{what}");

        let pgbench = ["pgbench", "--dyno=full", "-n", "-t", "1", "-f", "lost.sql", "-h", "127.0.0.1", "-p"];
        home.dyno(&[&pgbench[..], &[&port, "-U", "postgres", &name]].concat());
        assert_eq!(totals(&home.report()), expected, "pgbench, {what}");

        let queries: Vec<String> = statements.iter().map(|sql| format!("con:query([[{sql}]])")).collect();
        let script = "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event()\n";
        home.file("lost.lua", &format!("{script}{}\nend\n", queries.join("\n")));
        let at = [format!("--pgsql-port={port}"), format!("--pgsql-db={name}")];
        let lua = ["sysbench", "./lost.lua", "--db-driver=pgsql", "--pgsql-host=127.0.0.1", &at[0], &at[1]];
        home.dyno(&[&lua[..], &["--pgsql-user=postgres", "--events=1", "--time=0", "run"]].concat());
        assert_eq!(totals(&home.report()), expected, "sysbench, {what}");
    }
}

#[test]
fn an_insert_of_which_clickhouse_does_not_know_what_became_is_of_unknown_outcome() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let home = Home::new();
    for (name, code, expected) in [("unknown", 319, [0, 1]), ("refused", 395, [1, 0])] {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS seen (a UInt8) ENGINE = Memory;\n\
             INSERT INTO seen SELECT throwIf(number = 1, 'lost sight of it', toInt16({code})) FROM numbers(2) \
             SETTINGS allow_custom_error_code_in_throwif = 1"
        );
        assert_eq!(failed_and_unknown(&home, &server.url(), name, &sql), expected, "{name}");
    }
}

#[test]
fn a_command_of_the_products_own_client_is_refused_before_anything_runs() {
    let home = Home::new();
    let lite = sqlite(&home, SALES);
    let refused = |name: &str, target: &str, text: &str, words: &[&str]| {
        let queries = folder(&home, name, &[("a", text)]);
        home.dyno(&["run", &queries, "--target", target]).expect(1).says(words);
    };
    refused("points", &lite, "SELECT 1;\n.mode csv\n", &["a.sql has `.mode csv` in line 2", "leave it out"]);
    let nobody = format!("postgres://{NOBODY}/x");
    refused(
        "psql",
        &nobody,
        "\\copy sales from 'x'",
        &["a.sql has `\\copy sales from 'x'` in line 1", "--before"],
    );
    let nobody = format!("mysql://{NOBODY}/x");
    refused("mysql", &nobody, "\n\nDELIMITER //\n", &["a.sql has `DELIMITER //` in line 3", "semicolon"]);
}

#[test]
fn they_run_on_every_kind_of_target() {
    let home = Home::new();
    let one = "-- self-contained\nSELECT a, count(*) AS n FROM (SELECT 1 AS a UNION ALL SELECT 1 UNION ALL SELECT 2) AS t \
               GROUP BY a ORDER BY a;";
    let queries = folder(&home, "queries", &[("count", one), ("text", "SELECT 'it''s; so' AS said")]);
    let clickhouse = ClickHouse::start(ClickHouseKind::Engine);
    let mut targets = vec![sqlite(&home, SALES)];
    targets.extend(shared().map(|server| format!("pg={}", database(&server, "query_kinds"))));
    let maria = mysql::shared(MysqlProduct::MariaDb);
    targets.extend(maria.map(|server| format!("my={}", mysql::database(&server, "query_kinds"))));
    targets.extend(clickhouse.as_ref().map(|server| format!("click={}", server.url())));
    let duck = home.path("duck.db");
    targets.extend(
        duckdb_library()
            .map(|library| format!("duck=duckdb:{}?driver={}", duck.display(), library.display())),
    );
    let mut words = vec!["run", &queries, "--repeat", "1", "--json"];
    targets.iter().for_each(|target| words.extend(["--target", target]));
    let report = home.dyno(&words).expect(0).report();
    for target in &targets {
        let name = target.split('=').next().unwrap();
        assert_eq!(each(&report, name, "rows"), [2, 1], "{name}");
        assert_eq!(each(&report, name, "differs"), [&Value::Null; 2], "{name}");
    }
    assert_eq!(report.notices().matches("failed").count(), 0, "{}", report.notices());
}

/// On PostgreSQL one value, and on the others another.
fn other_on_postgres(one: &str, other: &str) -> String {
    format!("SELECT CASE WHEN version() LIKE 'PostgreSQL%' THEN {one} ELSE {other} END AS a")
}

#[test]
fn values_are_compared_by_the_types_of_their_columns() {
    let (Some(server), Some(library)) = (shared(), duckdb_library()) else { return };
    let home = Home::new();
    let same = "SELECT CAST(12.50 AS DECIMAL(9, 2)) AS a, ' a ' AS b, 'NULL' AS c, NULL AS d, 3 AS e, 1.5 / 7 AS f, \
                1 = 1 AS g, 1 = 2 AS h";
    let others = [
        ("100.25", "100.26"),
        ("21615929300.24", "21615929280.24"),
        ("'1.10'", "'1.1'"),
        ("'a '", "'a'"),
        ("1 = 1", "1 = 2"),
    ];
    let others = others.map(|(one, other)| other_on_postgres(one, other));
    let [cent, sum, digits, blank, truth] = others.each_ref().map(String::as_str);
    let queries = [
        ("blank", blank),
        ("cent", cent),
        ("digits", digits),
        ("same", same),
        ("sum", sum),
        ("truth", truth),
    ];
    let common = folder(&home, "common", &queries);
    let postgres = format!("pg={}", database(&server, "query_types"));
    let duck = format!("duck=duckdb:{}?driver={}", home.path("duck.db").display(), library.display());
    let maria = mysql::shared(MysqlProduct::MariaDb);
    let maria = maria.map(|server| format!("my={}", mysql::database(&server, "query_types")));
    let once = ["--plans", "none", "--repeat", "1", "--warm-up", "0s", "--json"];
    for target in [Some(&duck), maria.as_ref()].into_iter().flatten() {
        let run = ["run", common.as_str(), "--target", &postgres, "--target", target];
        let report = home.dyno(&[&run[..], &once].concat()).expect(0).report();
        let differ: Vec<bool> = each(&report, "pg", "differs").iter().map(|it| !it.is_null()).collect();
        assert_eq!(
            differ,
            [true, true, true, false, true, true],
            "{target}: {}",
            evidence(&report, "answer-differs")
        );
    }
    let types = "SELECT CAST('12:34:56.5' AS time), INTERVAL '14 months 3 days 04:05:06.7', CAST('infinity' AS timestamp), \
                 ARRAY['a b', NULL, 'NULL'], CAST('abc' AS bytea), CAST('{\"b\": 1, \"a\": [1, 2]}' AS json), \
                 ARRAY['it''s', 'a, b', '[c'], CAST(ARRAY[1.50, 2.25] AS numeric[]), CAST(ARRAY[0.1, 1e20] AS float8[]), \
                 CAST('12:34:56.5+02' AS timetz), CAST('550e8400-e29b-41d4-a716-446655440000' AS uuid), SUM(3), 1 = 1";
    let types = folder(&home, "types", &[("types", types)]);
    let run = ["run", types.as_str(), "--target", &postgres, "--target", &duck];
    let report = home.dyno(&[&run[..], &once].concat()).expect(0).report();
    assert_eq!(each(&report, "pg", "differs"), [&Value::Null], "{}", evidence(&report, "answer-differs"));
    // Of more rows than are kept.
    let padded = |last: &str| {
        format!(
            "SELECT CAST(CASE WHEN i = 1999 AND version() LIKE 'PostgreSQL%' THEN '{last}' ELSE 'A' END AS char(10)) AS a \
             FROM generate_series(1, 2000) AS t (i)"
        )
    };
    let [same, other] = ["A", "B"].map(padded);
    let large = folder(&home, "large", &[("other", &other), ("same", &same)]);
    let run = ["run", large.as_str(), "--target", &postgres, "--target", &duck];
    let report = home.dyno(&[&run[..], &once].concat()).expect(0).report();
    assert_eq!(each(&report, "pg", "compared"), [true, true]);
    let differ: Vec<bool> = each(&report, "pg", "differs").iter().map(|it| !it.is_null()).collect();
    assert_eq!(differ, [true, false], "{}", evidence(&report, "answer-differs"));
}

#[test]
fn a_query_that_does_not_determine_its_rows_is_a_note() {
    let (Some(server), Some(library)) = (shared(), duckdb_library()) else { return };
    let home = Home::new();
    let postgres = format!("pg={}", database(&server, "query_ties"));
    value(
        &server,
        "query_ties",
        "CREATE TABLE hit AS SELECT i % 50 AS uid, i AS n FROM generate_series(1, 1000) AS t (i)",
    );
    let hit = "SELECT i % 50 AS uid, i AS n FROM generate_series(1000, 1, -1) AS t (i)";
    let setup = format!("CREATE TABLE IF NOT EXISTS hit AS {hit}");
    let file = home.path("duck.db");
    let duck = format!("duck=duckdb:{}?driver={}", file.display(), library.display());
    let create = folder(&home, "create", &[("create", &setup)]);
    let once = ["--plans", "none", "--repeat", "1", "--warm-up", "0s", "--json"];
    home.dyno(&[&["run", create.as_str(), "--target", &duck][..], &once].concat()).expect(0);
    let queries = folder(
        &home,
        "queries",
        &[
            ("any", "SELECT uid, n FROM hit LIMIT 10"),
            ("ties", "SELECT uid, count(*) AS c FROM hit GROUP BY uid ORDER BY c DESC LIMIT 10"),
            ("unique", "SELECT n FROM hit ORDER BY n LIMIT 10"),
            ("value", "SELECT n, uid FROM hit WHERE n = ANY (ARRAY[6, 7])"),
        ],
    );
    let run = ["run", queries.as_str(), "--target", &postgres, "--target", &duck];
    let report = home.dyno(&[&run[..], &once].concat()).expect(0).report();
    assert_eq!(each(&report, "pg", "differs"), [&Value::Null; 4]);
    assert!(evidence(&report, "answer-varies").contains("any: its LIMIT has no ORDER BY"));
    // A server that has lost a row, and has another value in one.
    value(&server, "query_ties", "DELETE FROM hit WHERE n = 5");
    value(&server, "query_ties", "UPDATE hit SET uid = 60 WHERE n = 7");
    let report = home.dyno(&[&run[..], &once].concat()).expect(0).report();
    let differ: Vec<bool> = each(&report, "pg", "differs").iter().map(|it| !it.is_null()).collect();
    assert_eq!(differ, [false, false, true, true], "{}", evidence(&report, "answer-differs"));
}

#[test]
fn what_is_no_set_of_queries_is_refused() {
    let home = Home::new();
    let lite = sqlite(&home, SALES);
    folder(&home, "none", &[]);
    folder(&home, "empty", &[("a", "-- later\n;")]);
    folder(&home, "params", &[("a", "SELECT :n")]);
    home.file("params/a.params", "# why\n\n1");
    folder(&home, "writes", &[("a", "DELETE FROM sales")]);
    folder(&home, "good", &[("a", "SELECT 1")]);
    folder(&home, "bytes", &[]);
    folder(&home, "queries", &[("a", "SELECT 1")]);
    fs::write(home.path("bytes/a.sql"), b"SELECT '\xff'").unwrap();
    let text = home.file("text.json", "{\"schema\": \"dyno.report/1\", \"answers\": []}");
    for (words, said) in [
        ("./nowhere/", &["cannot read the queries in ./nowhere/", "No such file"][..]),
        ("queries", &["`queries` could be a folder of queries or a workload", "./queries/"]),
        ("./none", &["./none has no query", ".sql"]),
        ("./empty/", &["a.sql has no statement"]),
        ("params", &["line 3 of params/a.params has no value of a parameter", "NAME=VALUE"]),
        ("params -D b:n=1", &["line 3 of params/a.params"]),
        ("./good/ -D a:n=1", &["no query a has a parameter :n"]),
        ("bytes/", &["bytes/a.sql", "UTF-8"]),
        ("./good/ --clients 1,2", &["takes one number of clients"]),
        ("./good/ --answers nowhere.json", &["cannot read the answers nowhere.json"]),
        (
            &format!("./good/ --answers {text}"),
            &["text.json has no answers of queries", "dyno.report/1", "--record"],
        ),
        ("ycsb/c --record a.json", &["--record is for queries that are run in passes"]),
        ("./good/ --scale 3", &["leave out the options of a workload's data"]),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        home.dyno(&[&["run", "--target", &lite][..], &words].concat()).expect(1).says(said);
    }
    home.file("text.json", "{\"schema\": \"dyno.answers/1\", \"answers\": []}");
    home.dyno(&["run", "ycsb/c", "--target", &lite, "--answers", "text.json"])
        .expect(1)
        .says(&["--answers is for queries that are run in passes"]);
    let read_only = format!("{lite}?mode=ro");
    home.dyno(&["run", "./writes", "--target", &read_only]).expect(1).says(&["is only read (mode=ro)"]);
    let plan = home.dyno(&["plan", "good", "--target", &lite]).expect(0).out;
    assert!(plan.contains("[phases.streams.queries]\na = \"SELECT 1\""), "{plan}");
    home.file("mine.toml", &plan);
    fs::remove_dir_all(home.path("good")).unwrap();
    home.dyno(&["run", "mine.toml", "--repeat", "1"]).expect(0);
}
