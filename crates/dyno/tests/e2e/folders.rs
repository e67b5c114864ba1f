//! A folder with a `workload.toml` as a workload: its options, its data and its checks, and the run that is stored.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::home::Home;
use crate::report::Report;
use crate::sqlite::target;

/// The shop of the workloads' own tests, beside which nothing is.
fn shop() -> Home {
    let home = Home::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-workload/tests/folder/shop");
    fs::create_dir(home.path("shop")).unwrap();
    for file in ["workload.toml", "look.sql", "buy.sql"] {
        fs::copy(from.join(file), home.path("shop").join(file)).unwrap();
    }
    home
}

/// Replaces a text in a file of the shop.
fn replace(home: &Home, file: &str, from: &str, to: &str) {
    let path = home.path("shop").join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Names of what was run.
fn series(report: &Report) -> Vec<&str> {
    report.series().iter().filter_map(|series| series["name"].as_str()).collect()
}

#[test]
fn what_is_not_compared_is_named() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    replace(&home, "workload.toml", "adds = { purchase = 1, line = 2 }\n", "");
    let why = "no rows are compared: of what buy writes neither `adds` nor `removes` is said";
    let checked = home.dyno(&["workloads", "check", "./shop"]).expect(0);
    for workload in ["./shop/buy", "./shop/mix"] {
        assert!(checked.out.contains(&format!("{workload}: {why}")), "{}", checked.out);
    }
    let run = [
        "run",
        "./shop/mix",
        "--orders",
        "2k",
        "--target",
        &target,
        "--json",
        "--clients",
        "2",
        "--transactions",
        "5",
    ];
    let report = home.dyno(&run).expect(0).report();
    assert!(report.findings().contains(&"data-check-not-made"), "{:?}", report.findings());
    let told = report.checks().iter().any(|check| check["detail"].as_str().unwrap().starts_with(why));
    assert!(told, "{:?}", report.checks());
}

#[test]
fn data_that_contradict_a_check_already_are_told_before_the_load() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    let run = [
        "run",
        "./shop/look",
        "--orders",
        "2k",
        "--target",
        &target,
        "--json",
        "--clients",
        "2",
        "--transactions",
        "5",
    ];
    home.dyno(&run).expect(0).report().assert_checks_passed();
    let stray = rusqlite::Connection::open(home.path("shop.db")).unwrap();
    stray.execute_batch("PRAGMA foreign_keys = OFF; INSERT INTO line VALUES (999999, 1, 1, 1)").unwrap();
    drop(stray);
    let report = home.dyno(&run).expect(0).report();
    let told = "the check `every line has its purchase` is contradicted by 1 row before the load";
    assert!(report.notices().contains(told), "{}", report.notices());
    let failed = report.checks().iter().find(|check| check["passed"] == false).unwrap();
    assert!(failed["detail"].as_str().unwrap().ends_with("and 1 did before the load"), "{failed}");
    let advice = report.finding("data-check-failed")["advice"].as_str().unwrap();
    assert!(advice.contains("`dyno run ./shop --prepare`"), "{advice}");
}

#[test]
fn rows_that_transactions_once_added_are_no_loss() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    let run =
        ["run", "./shop/buy", "--orders", "2k", "--target", &target, "--clients", "2", "--transactions", "5"];
    home.dyno(&run).expect(0);
    replace(&home, "workload.toml", "adds = { purchase = 1, line = 2 }", "adds = {}");
    let ended = home.dyno(&run).expect(1);
    ended.says(&[" rows, not 2,000", "or its transactions once did", "--prepare"]);
    assert!(!ended.err.contains("lost"), "{}", ended.err);
}

#[test]
fn a_mistake_in_sql_is_told_as_one() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    let run =
        ["run", "./shop", "--orders", "2k", "--target", &target, "--clients", "2", "--transactions", "5"];
    let mistaken = "for = [\"buy\"]\nunchanged = \"SELECT COUNT(*), SUM(price) FROM artikel";
    replace(&home, "workload.toml", "unchanged = \"SELECT COUNT(*), SUM(price) FROM article", mistaken);
    // It is asked behind the second load alone, and told before the first.
    let ended = home.dyno(&run).expect(1);
    ended.says(&["the query of the check `articles do not change` cannot be asked", "artikel"]);
    let said = format!("{}{}", ended.out, ended.err);
    assert!(!said.contains("--prepare") && !said.contains("tx/s"), "{said}");
    replace(&home, "workload.toml", "artikel", "article");
    replace(&home, "look.sql", "FROM purchase", "FROM purchases");
    let ended = home.dyno(&run).expect(1);
    ended.says(&["look.sql:", "purchases", "look at its name in the script"]);
    assert!(!format!("{}{}", ended.out, ended.err).contains("--prepare"), "{}", ended.err);
}

#[test]
fn what_was_meant_is_told() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    let meant = |workload| home.dyno(&["run", workload, "--target", &target]).expect(1);
    meant("./shop/lok").says(&["no transaction or mix `lok` in the folder ./shop; did you mean `look`?"]);
    meant("./shop/look.sql")
        .says(&["./shop/look.sql is a script of the folder ./shop: run it as ./shop/look"]);
    meant("./shpo").says(&["cannot read the queries in ./shpo", "did you mean ./shop?"]);
    let text = home.dyno(&["run", "./shop", "--orders", "many", "--target", &target]).expect(1);
    text.says(&["--orders: `many` is no number"]);
    assert!(text.err.matches("Usage:").count() <= 1, "{}", text.err);
    let negative = home.dyno(&["run", "./shop", "--orders", "-5", "--target", &target]).expect(1);
    negative.says(&["--orders -5 is too little: it takes 1 and more"]);
}

#[test]
fn clients_that_pause_are_no_load_with_a_rate() {
    let home = shop();
    let target = target(&home, "shop.db", "");
    replace(&home, "workload.toml", "name = \"look\"\n", "name = \"look\"\nthink = 0.001\n");
    let rated =
        |workload: &'static str| ["run", workload, "--target", &target, "--rate", "5/s", "--duration", "1s"];
    home.dyno(&rated("./shop/mix"))
        .expect(1)
        .says(&["clients do not pause between them, and those of ./shop/mix do"]);
    assert!(!home.path("shop.db").exists());
}

#[test]
fn a_folder_is_run_with_its_options_and_again_without_its_files() {
    let home = shop();
    let target = target(&home, "shop.db", "?journal_mode=wal&synchronous=off");
    let load = ["--json", "--warm-up", "0s", "--clients", "2", "--transactions", "20"];
    let run =
        [&["run", "./shop", "--orders", "2k", "--articles", "50", "--target", &target], &load[..]].concat();
    let report = home.dyno(&run).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    assert_eq!(series(&report), ["look", "buy"]);
    report.assert_checks_passed();
    let names: Vec<&str> = report.checks().iter().filter_map(|check| check["name"].as_str()).collect();
    assert!(names.contains(&"rows-of-line") && names.contains(&"every-line-has-its-purchase"), "{names:?}");
    let resolved = &report.document()["run"]["resolved"];
    assert_eq!(resolved["systems"][0]["data"], json!({ "articles": 50, "orders": 2000 }));
    let stored = &report.document()["run"]["spec"]["phases"][0]["streams"][0]["folder"];
    assert_eq!((&stored["name"], stored["files"].as_object().unwrap().len()), (&json!("./shop"), 3));
    // What is stored is enough.
    fs::rename(home.path("shop"), home.path("gone")).unwrap();
    let again = home.dyno(&["run", "--rerun", "last", "--json"]).expect(0).report();
    assert_eq!((again.outcome(), series(&again)), ("complete", vec!["look", "buy"]));
    again.assert_checks_passed();
    // So does a scenario have them.
    fs::rename(home.path("gone"), home.path("shop")).unwrap();
    let plan = home
        .dyno(&["plan", "./shop/buy", "--orders", "2k", "--articles", "50", "--target", &target])
        .expect(0);
    let scenario = home.file("shop.toml", &plan.out);
    let planned = home.dyno(&[&["run", &scenario], &load[..]].concat()).expect(0).report();
    assert_eq!(series(&planned), ["buy"]);
    // Other data stands there than is asked for.
    let other = [&["run", "./shop", "--orders", "3k", "--target", &target], &load[..]].concat();
    home.dyno(&other).expect(1).says(&["has --orders 2,000, not 3,000", "--prepare"]);
}

#[test]
fn the_help_has_the_options_and_mistakes_have_their_places() {
    let home = shop();
    let help = home.dyno(&["run", "./shop", "--help"]).expect(0);
    assert!(help.out.contains("--articles <N>") && help.out.contains("./shop/buy"), "{}", help.out);
    let checked = home.dyno(&["workloads", "check", "./shop"]).expect(0);
    for words in
        ["CREATE TABLE line", "AUTO_INCREMENT", "BIGSERIAL", "article (1,000 rows)", "INSERT INTO purchase"]
    {
        assert!(checked.out.contains(words), "{words}: {}", checked.out);
    }
    let path = home.path("shop").join("workload.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("varchar(60)", "varchra(60)").replace("line = 2", "lien = 2")).unwrap();
    for command in [&["workloads", "check", "./shop"][..], &["run", "./shop", "--orders", "5"]] {
        home.dyno(command).expect(1).says(&["./shop/workload.toml:32:", "did you mean `varchar(n)`?"]);
    }
    fs::write(
        &path,
        text.replace(
            "[options.articles]",
            "[options.duration]
about = \"x\"
default = 1

[options.articles]",
        ),
    )
    .unwrap();
    home.dyno(&["run", "./shop"]).expect(1).says(&["`duration` is one of `dyno run` already"]);
    fs::write(&path, text).unwrap();
    home.dyno(&["run", "./shop", "--scale", "5", "--target", &target(&home, "x.db", "")])
        .expect(1)
        .says(&["--scale is for"]);
}

#[test]
fn a_workload_that_comes_with_dyno_is_written_out_and_is_ones_own() {
    let home = Home::new();
    let told = home.dyno(&["workloads", "export", "events", "mine"]).expect(0).out;
    assert!(told.contains("mine/workload.toml") && told.contains("`dyno run ./mine`"), "{told}");
    home.dyno(&["workloads", "check", "./mine"]).expect(0);
    home.dyno(&["workloads", "export", "events", "mine"]).expect(1).says(&["mine/workload.toml is there"]);
    home.dyno(&["workloads", "export", "event", "other"]).expect(1).says(&["did you mean events?"]);
    let target = target(&home, "mine.db", "?journal_mode=wal&synchronous=off");
    let data = ["--rows", "500", "--customers", "20", "--customer-index"];
    let load = ["--json", "--warm-up", "0s", "--clients", "2", "--transactions", "20", "--target", &target];
    let run = [&["run", "./mine"][..], &data, &load].concat();
    let report = home.dyno(&run).expect(0).report();
    assert_eq!(series(&report), ["join", "ingest"]);
    report.assert_checks_passed();
    let resolved = &report.document()["run"]["resolved"]["systems"][0]["data"];
    assert_eq!(*resolved, json!({ "customer-index": true, "customers": 20, "rows": 500 }));
    // Its tables are not those of the one that comes with dyno.
    let refused = home.dyno(&[&["run", "events/join"][..], &load].concat()).expect(1);
    refused.says(&["another workload of dyno has made it"]);
}

/// A mix of which each fourth order is undone, and whose limits cannot be kept and cannot be missed.
const MIX: &str = r#"about = "a mix"

[options.slow]
about = "no more than 1,000 orders an hour of each client are possible"
default = false

[options.undone]
about = "which orders are undone"
default = "some"
choices = { some = "each fourth", none = "all are bought" }

[[tables]]
name = "buys"
rows = 10
key = ["id"]
columns = [{ name = "id", type = "integer", value = ":row" }]

[[transactions]]
name = "buy"
adds = { buys = 1 }
counts = { even = { value = "1 - :id % 2", about = "even numbers" } }
within = { p50 = 0.000001 }

[[transactions]]
name = "look"
within = { p90 = 3600.0, p99 = 3600 }
terminals = "case when :slow then 3 end"

[[mixes]]
name = "mix"
weights = { buy = 8, look = 2 }
deal = true
figure = { of = "buy", about = "orders", per = "hour", at-most = "case when :slow then 1000.0 * :clients end", note = "case when :undone = 'none' then 'none is undone' end" }
"#;
const BUY: &str = "\\set id next(buys)
BEGIN;
INSERT INTO buys (id) VALUES (:id);
\\if :id % 4 = 0 and :undone <> 'none'
\\rollback
\\endif
COMMIT;
";

#[test]
fn a_mix_tells_what_it_counts_its_limits_and_what_is_undone() {
    let home = Home::new();
    fs::create_dir(home.path("shop")).unwrap();
    let look = "SELECT COUNT(*) FROM buys;";
    for (file, text) in [("workload.toml", MIX), ("buy.sql", BUY), ("look.sql", look)] {
        fs::write(home.path("shop").join(file), text).unwrap();
    }
    let checked = home.dyno(&["workloads", "check", "./shop"]).expect(0).out;
    assert!(checked.contains("--undone some, of none, some\n"), "{checked}");
    assert!(checked.contains("./shop/look: p90 within 1 h\n"), "{checked}");
    assert!(checked.contains("./shop/mix: orders an hour of buy\n"), "{checked}");
    assert!(checked.contains("./shop/buy: counts even numbers (even)\n"), "{checked}");
    let target = target(&home, "mix.db", "?journal_mode=wal&synchronous=off");
    let run =
        ["run", "./shop", "--warm-up", "0s", "--clients", "1", "--transactions", "100", "--target", &target];
    let report = home.dyno(&[&run[..], &["--json"]].concat()).expect(0).report();
    report.assert_checks_passed();
    let stage = report.stage();
    let [buy, look] = stage["by_type"].as_array().unwrap().as_slice() else { panic!("{stage}") };
    let counts = |it: &Value| ["done", "rolled_back", "failed"].map(|key| it[key].as_u64().unwrap());
    assert_eq!((counts(buy), counts(look)), ([80, 20, 0], [20, 0, 0]));
    assert_eq!((&buy["share"], &look["share"]), (&json!(0.8), &json!(0.2)));
    // Of 100 numbers 80 are drawn here, of which each fourth is undone: 20 even ones stay, of 60.
    let even =
        json!([{ "key": "even", "about": "even numbers", "count": 20, "per_transaction": 20.0 / 60.0 }]);
    assert_eq!((&buy["counts"], &look["counts"]), (&even, &Value::Null));
    let kept = |it: &Value| {
        let limits = it["response_limits"].as_array().unwrap().iter();
        limits.map(|limit| (limit["percentile"].clone(), limit["kept"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(kept(buy), [(json!(50.0), json!(false))]);
    assert_eq!(kept(look), [(json!(90.0), json!(true)), (json!(99.0), json!(true))]);
    let headline = &report.series()[0]["headline"];
    let figure = &headline["figure"];
    let per_hour = headline["throughput"]["mean"].as_f64().unwrap() * 3600.0 * 0.6;
    let mean = figure["value"]["mean"].as_f64().unwrap();
    assert!((mean / per_hour - 1.0).abs() < 1e-9, "{mean} {per_hour}");
    assert_eq!((&figure["about"], &figure["possible_share"]), (&json!("orders"), &Value::Null));
    assert_eq!(figure["note"], Value::Null);
    assert!(report.findings().contains(&"response-limit"), "{:?}", report.findings());
    // Where something limits it, the share is told; and people see all of it.
    let limited = ["--slow", "--undone", "none", "--json"];
    let limited = home.dyno(&[&run[..], &limited].concat()).expect(0).report();
    assert_eq!(limited.stage()["by_type"][0]["rolled_back"], json!(0));
    let figure = &limited.series()[0]["headline"]["figure"];
    let mean = figure["value"]["mean"].as_f64().unwrap();
    assert_eq!(
        (&figure["at_most"], figure["possible_share"].as_f64()),
        (&json!(1000.0), Some(mean / 1000.0))
    );
    let undone = home.dyno(&["report", "last~1"]).expect(0).out;
    assert!(undone.contains("rolled back by design") && undone.contains("rolled back\n"), "{undone}");
    let told = home.dyno(&["report", "last"]).expect(0).out;
    for words in [
        " orders an hour ",
        "% of the possible 1,000",
        "p90 1 h kept, p99 1 h kept",
        " · none is undone",
        "p50 1.0 µs not kept",
        "buy: 40 even numbers, 0.50 a transaction",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // A transaction alone has its terminals, and no ladder, where nobody says how many clients run.
    let alone = ["run", "./shop/look", "--slow", "--warm-up", "0s", "--step", "1s", "--hold", "1s", "--json"];
    let report = home.dyno(&[&alone[..], &["--target", &target]].concat()).expect(0).report();
    let clients: Vec<_> = report.stages().iter().map(|stage| stage["clients"].clone()).collect();
    assert!(!clients.is_empty() && clients.iter().all(|it| *it == json!(3)), "{clients:?}");
    // Each client adds to what is possible.
    let two = run.map(|word| if word == "1" { "2" } else { word });
    let two = [&two[..], &["--slow", "--json"]].concat();
    let report = home.dyno(&two).expect(0).report();
    let figure = &report.series()[0]["headline"]["figure"];
    assert_eq!(figure["at_most"], json!(2000.0));
    home.dyno(&[&run[..], &["--undone", "smoe"]].concat()).expect(1).says(&["smoe", "some", "none"]);
    let help = home.dyno(&["run", "./shop", "--help"]).expect(0).out;
    assert!(help.contains("none, some") && help.contains("--undone"), "{help}");
}
