//! The queries derived from TPC-H: the products agree on all answers, and on those of the specification.

use dyno_test_servers::{ClickHouse, ClickHouseKind, MysqlProduct, Spark};
use serde_json::Value;

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::{database, shared, value};

const QUERIES: usize = 22;

/// What the passes of a target came to.
fn passes<'a>(report: &'a Report, target: &str) -> &'a Value {
    let series = report.series().iter().find(|series| series["target"] == target).unwrap();
    &series["passes"]
}

fn queries<'a>(report: &'a Report, target: &str) -> &'a [Value] {
    passes(report, target)["queries"].as_array().unwrap()
}

/// All queries ran, and none of their answers is doubted.
fn assert_all_agree(report: &Report, target: &str) {
    assert_eq!(queries(report, target).len(), QUERIES);
    for query in queries(report, target) {
        assert!(query["median_s"].as_f64() > Some(0.0) && query["rows"].is_u64(), "{target}: {query:#}");
        assert_eq!(query["differs"], Value::Null, "{target}: {query:#}");
    }
    assert!(passes(report, target)["total_s"].as_f64() > passes(report, target)["geometric_mean_s"].as_f64());
}

/// A file of DuckDB as a target, where its library can be had.
fn duckdb(home: &Home) -> Option<String> {
    let library = dyno_test_servers::duckdb_library()?;
    Some(format!("duck=duckdb:{}?driver={}", home.path("tpch.duckdb").display(), library.display()))
}

/// The same as any database with a driver of ADBC, of which dyno knows nothing.
fn unknown(home: &Home) -> Option<String> {
    let (library, file) = (dyno_test_servers::duckdb_library()?, home.path("tpch.adbc"));
    let (library, file) = (library.display(), file.display());
    Some(format!("adbc=adbc:{library}?entrypoint=duckdb_adbc_init&path={file}"))
}

#[test]
#[ignore = "slow: loads 100 MB into each product"]
fn all_queries_agree_on_all_products_at_scale_0_1() {
    run_on_all_products("0.1", &["--warm-up", "0s"]);
}

/// Runs all queries once on each product, with `more` options. All agree. With the run, the names of its targets; `None`
/// without PostgreSQL.
pub(crate) fn run_on_all_products(scale: &str, more: &[&str]) -> Option<(Home, Report, Vec<&'static str>)> {
    let postgres = shared()?;
    let home = Home::new();
    let words = ["run", "tpch", "--scale", scale, "--repeat", "1", "--json"];
    let mut words: Vec<String> = words.iter().chain(more).map(|&word| word.to_owned()).collect();
    words.extend(["--target".to_owned(), format!("pg={}", database(&postgres, "tpch"))]);
    let mut names = vec!["pg"];
    for product in MysqlProduct::tested().iter().copied() {
        let Some(server) = mysql::shared(product) else { continue };
        let name = match product {
            MysqlProduct::Mysql => "my",
            MysqlProduct::MariaDb => "maria",
            MysqlProduct::SeekDb => "ob",
        };
        words.extend(["--target".to_owned(), format!("{name}={}", mysql::database(&server, "tpch"))]);
        names.push(name);
    }
    for (name, target) in [("duck", duckdb(&home)), ("adbc", unknown(&home))] {
        let Some(target) = target else { continue };
        words.extend(["--target".to_owned(), target]);
        names.push(name);
    }
    let clickhouse = ClickHouse::start(ClickHouseKind::Engine);
    if let Some(server) = &clickhouse {
        words.extend(["--target".to_owned(), format!("ch={}", server.url())]);
        names.push("ch");
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = home.dyno(&words).expect(0).report();
    for name in &names {
        assert_all_agree(&report, name);
    }
    assert!(passes(&report, "pg")["qph"].as_f64() > Some(0.0));
    let found = report.findings();
    assert!(found.contains(&"too-few-repeats") && !found.contains(&"answer-differs"), "{found:?}");
    assert!(!found.contains(&"noisy"), "{found:?}");
    assert_eq!(found.contains(&"not-validated"), names.len() == 1);
    Some((home, report, names))
}

/// All answers of two targets at scale 0.1 agree.
fn assert_two_agree(home: &Home, targets: [&str; 2], env: &[(&str, &str)]) {
    let targets = ["--target", targets[0], "--target", targets[1]];
    let run = ["run", "tpch", "--scale", "0.1", "--repeat", "1", "--warm-up", "0s", "--json"];
    let words = [&run[..], &targets[..]].concat();
    let mut command = home.command(&words);
    command.envs(env.iter().copied());
    let report = home.watch(&mut command, &words).end().expect(0).report();
    for target in [targets[1], targets[3]] {
        assert_all_agree(&report, target.split_once('=').unwrap().0);
    }
}

#[test]
#[ignore = "slow: a server of Spark"]
fn all_queries_agree_on_spark() {
    let (Some(postgres), Some(spark)) = (shared(), Spark::start(false)) else { return };
    let postgres = format!("pg={}", database(&postgres, "tpch_spark"));
    assert_two_agree(&Home::new(), [&postgres, &format!("spark={}", spark.url())], &[]);
}

#[test]
#[ignore = "slow: fetches PostgreSQL 18"]
fn all_queries_agree_on_postgresql_18() {
    let Some(postgres) = shared() else { return };
    if std::env::var_os("DYNO_TEST_FETCH").is_none() {
        println!("skipped: DYNO_TEST_FETCH is not set, and PostgreSQL 18 would be fetched");
        return;
    }
    let postgres = format!("pg={}", database(&postgres, "tpch_eighteen"));
    let variable = |name: &str| std::env::var(name).ok();
    // Fetched once for all runs of this test.
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(format!("{}/.cache", variable("HOME")?)));
    let cache = cache.unwrap_or_default();
    let env: Vec<(String, String)> = std::env::vars().filter(|(name, _)| name.ends_with("PROXY")).collect();
    let env = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let env: Vec<(&str, &str)> = env.chain([("XDG_CACHE_HOME", cache.as_str())]).collect();
    assert_two_agree(&Home::new(), [&postgres, "new=embedded:postgres@18"], &env);
}

#[test]
fn data_are_used_again_and_only_as_they_were_asked_for() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "tpch_again"));
    let run =
        ["run", "tpch/power", "--target", &target, "--repeat", "1", "--warm-up", "0s", "--plans", "none"];
    let with = |words: &[&str]| home.dyno(&[&run[..], words].concat());
    let told = with(&["--scale", "0.01"]).expect(0).out;
    assert!(told.contains("derived from TPC-H") && told.contains("not-validated"), "{told}");
    let asked = |sql: &str| value(&server, "tpch_again", sql);
    assert_eq!(asked("SELECT count(*) FROM lineitem"), "60175");
    let indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'public'";
    let foreign_keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    assert_eq!((asked(indexes), asked(foreign_keys)), ("14".into(), "8".into()));
    // What is there is used where nothing else is asked for.
    let report = with(&["--json", "--parameters", "random"]).expect(0).report();
    assert!(report.document()["prepare"].as_array().unwrap().is_empty());
    assert_eq!(report.document()["data"][0]["scale"], 0.01);
    let refused = with(&["--scale", "0.02"]).expect(1).err;
    assert!(refused.contains("has scale 0.01, not scale 0.02"), "{refused}");
    let refused = with(&["--indexes", "none"]).expect(1).err;
    assert!(refused.contains("has indexes keys+fk, not indexes none"), "{refused}");
    // A preparation that was broken off is recognised and made anew.
    asked("COMMENT ON TABLE orders IS 'dyno tpch/1 unfinished'");
    let anew = ["--scale", "0.01", "--indexes", "none", "--time-limit", "300ms", "--json"];
    let report = with(&anew).expect(0).report();
    assert!(!report.document()["prepare"].as_array().unwrap().is_empty());
    assert_eq!((asked(indexes), asked(foreign_keys)), ("0".into(), "0".into()));
    // What does not fit is refused before anything is dropped.
    let refused = with(&["--prepare", "--scale", "9000"]).expect(1).err;
    assert!(refused.contains("scale 9000 needs about") && refused.contains("would fit"), "{refused}");
    assert_eq!(asked("SELECT count(*) FROM nation"), "25");
    // A table of somebody else's is left as it is.
    asked("COMMENT ON TABLE region IS 'ours'");
    let refused = with(&["--prepare"]).expect(1).err;
    assert!(refused.contains("region is there and dyno has not made it"), "{refused}");
}

#[test]
fn a_query_over_its_limit_is_cancelled_and_told() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "tpch_limit"));
    let once = ["--repeat", "1", "--warm-up", "0s", "--plans", "none", "--json"];
    let run = [&["run", "tpch", "--target", &target, "--scale", "0.05"], &once[..]].concat();
    home.dyno(&run).expect(0);
    // Without its index Q17 and Q20 look through all lines for each part.
    value(&server, "tpch_limit", "DROP INDEX lineitem_fk1");
    let report = home.dyno(&[&run[..], &["--time-limit", "400ms"]].concat()).expect(0).report();
    let findings = report.document()["findings"].as_array().unwrap().iter();
    let missing: Vec<&Value> = findings.filter(|finding| finding["code"] == "index-missing").collect();
    assert!(missing.len() == 1 && missing[0]["severity"] == "doubt", "{missing:#?}");
    assert!(missing[0]["evidence"].as_str().unwrap().contains("with index lineitem_fk1 of lineitem,"));
    let missed: Vec<&Value> =
        queries(&report, "pg").iter().filter(|query| query["median_s"].is_null()).collect();
    assert!(!missed.is_empty() && missed.len() < QUERIES, "{missed:#?}");
    assert_eq!(passes(&report, "pg")["total_s"], Value::Null);
    let stage = report.stage();
    assert_eq!(stage["totals"]["cancelled"].as_u64(), Some(missed.len() as u64), "{stage:#}");
}

#[test]
fn several_clients_have_orders_and_parameters_of_their_own() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "tpch_streams"));
    let twice = ["--clients", "3", "--repeat", "2", "--plans", "none", "--json"];
    let run = [&["run", "tpch", "--target", &target, "--scale", "0.01"], &twice[..]].concat();
    let report = home.dyno(&run).expect(0).report();
    let stages = report.stages();
    assert_eq!(stages.len(), 3);
    for stage in stages {
        assert_eq!(stage["totals"]["done"].as_u64(), Some(3 * QUERIES as u64));
        let each = stage["by_type"].as_array().unwrap();
        assert!(each.len() == QUERIES && each.iter().all(|query| query["done"] == 3), "{each:#?}");
    }
    let seconds = |stage: &Value| stage["seconds"].as_f64().unwrap();
    let (one, other) = (seconds(&stages[1]), seconds(&stages[2]));
    let total = passes(&report, "pg")["total_s"].as_f64().unwrap();
    assert!((total - (one + other) / 2.0).abs() < 1e-6, "{total}: {one}, {other}");
}

#[test]
fn what_cannot_be_is_refused() {
    let home = Home::new();
    for (words, why) in [
        ("tpch --scale 0", "tpch takes 0.01 to 10000"),
        ("tpch --scale much", "a scale is a number"),
        ("tpch --indexes all", "keys+fk"),
        ("tpch --rows 3", "--rows is for events; tpch takes --scale"),
        ("tpcb --scale 0.5", "--scale 0.5 is no whole number"),
        ("tpch --clients 1,2,4", "takes one number of clients"),
    ] {
        let words: Vec<&str> = ["run"].into_iter().chain(words.split(' ')).collect();
        let ended = home.dyno(&words);
        let refused = format!("{}{}", ended.out, ended.err);
        assert!(refused.contains(why), "{words:?}: {refused}");
    }
}

#[test]
#[ignore = "slow: loads 1 GB into three products"]
fn all_answers_at_scale_1_are_those_of_the_specification() {
    let (Some(server), home) = (shared(), Home::new()) else { return };
    let mut targets = vec![format!("pg={}", database(&server, "tpch_valid"))];
    targets.extend(duckdb(&home));
    let clickhouse = ClickHouse::start(ClickHouseKind::Engine);
    targets.extend(clickhouse.as_ref().map(|server| format!("ch={}", server.url())));
    let run = ["run", "tpch", "--repeat", "1", "--warm-up", "0s", "--plans", "none", "--json"];
    let targets: Vec<&str> = targets.iter().flat_map(|target| ["--target", target]).collect();
    let report = home.dyno(&[&run[..], &targets].concat()).expect(0).report();
    for series in report.series() {
        let target = series["target"].as_str().unwrap();
        assert_all_agree(&report, target);
        for query in queries(&report, target) {
            assert_eq!(query["validated"], true, "{target}: {query:#}");
        }
    }
    report.assert_checks_passed();
    assert!(!report.findings().contains(&"not-validated"));
}
