//! `dyno compare`: stored runs and their targets beside each other, as text and JSON, and what cannot be compared.

use std::sync::OnceLock;

use serde_json::Value;

use crate::home::Home;
use crate::server::{database, prefixed, shared};

/// A home with two runs of reads, one of writes, and one of two targets; made once. `None` without a PostgreSQL.
fn home() -> Option<&'static Home> {
    static HOME: OnceLock<Option<Home>> = OnceLock::new();
    HOME.get_or_init(|| {
        let server = shared()?;
        let first = format!("pg={}", database(&server, "compared"));
        let second = format!("other={}", database(&server, "compared_too"));
        let home = Home::for_several();
        let run = |targets: &[&str], workload: &str| {
            let mut words = vec!["run", "--quiet", "--workload", workload, "--scale", "1", "--warm-up", "0"];
            words.extend(["--clients", "1,2", "--step", "200ms", "--hold", "500ms"]);
            targets.iter().for_each(|target| words.extend(["--target", target]));
            home.dyno(&words).expect(0);
        };
        run(&[&first], "tpcb/select-only");
        run(&[&first], "tpcb/select-only");
        run(&[&first, &second], "tpcb/select-only");
        run(&[&first], "tpcb/tpcb-like");
        Some(home)
    })
    .as_ref()
}

fn compare(home: &Home, words: &[&str]) -> Value {
    home.dyno(&[&["compare", "--json"], words].concat()).expect(0).json()
}

/// The row of the first series' headline.
fn row<'a>(comparison: &'a Value, key: &str) -> &'a Value {
    let rows = comparison["series"][0]["sections"][0]["rows"].as_array().unwrap();
    rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key} in {rows:?}"))
}

#[test]
fn two_runs_stand_beside_each_other() {
    let Some(home) = home() else { return };
    let shown = home.dyno(&["compare", "last~3", "last~2"]).expect(0).out;
    for word in [
        "tpcb/select-only",
        "throughput",
        "p99",
        "ratio",
        "95%",
        "ladder",
        "bytes/row",
        "not tested: one run each",
        "--runs 5",
        "base",
    ] {
        assert!(shown.contains(word), "{word} in {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colours where there is no terminal");
    let comparison = compare(home, &["last~3", "last~2"]);
    assert_eq!(comparison["schema"], "dyno.comparison/1");
    let cells = row(&comparison, "throughput")["cells"].clone();
    let (base, other) = (cells[0]["value"].as_f64().unwrap(), cells[1]["value"].as_f64().unwrap());
    assert!(base > 0.0 && cells[0]["ratio"].is_null(), "{cells}");
    let ratio = cells[1]["ratio"]["value"].as_f64().unwrap();
    assert!((ratio - other / base).abs() < 1e-9, "{cells}");
    assert_eq!(comparison["series"][0]["ladder"].as_array().unwrap().len(), 2);
    // The other way round.
    let turned = compare(home, &["last~3", "last~2", "--base", "last~2"]);
    assert_eq!(turned["base"], 1);
    let turned = row(&turned, "throughput")["cells"][0]["ratio"]["value"].as_f64().unwrap();
    assert!((turned * ratio - 1.0).abs() < 1e-9, "{turned} and {ratio}");
}

#[test]
fn runs_of_one_command_are_stored_by_themselves_and_tested() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "compared_runs");
    let load = ["run", "tpcb/select-only", "--target", &target, "--scale", "1", "--warm-up", "0"];
    let load = [&load[..], &["--clients", "1", "--transactions", "50", "--runs", "2"]].concat();
    let compare = |said: &str| {
        let line = said.lines().find(|line| line.starts_with("compare")).unwrap();
        line.split_whitespace().nth(3).unwrap().to_owned()
    };
    let sides = [compare(&home.dyno(&load).expect(0).err), compare(&home.dyno(&load).expect(0).err)];
    assert_eq!(sides.each_ref().map(|side| side.split(',').count()), [2, 2], "{sides:?}");
    let comparison = self::compare(&home, &[&sides[0], &sides[1]]);
    let basis = &comparison["series"][0]["basis"];
    assert_eq!((&basis["unit"], &basis["repeats"]), (&"runs".into(), &serde_json::json!([2, 2])), "{basis}");
    assert!(row(&comparison, "throughput")["cells"][1]["ratio"]["interval"].is_array(), "{comparison}");
    home.dyno(&[&load[..], &["--html", "page.html"]].concat()).expect(1).says(&["--html", "--runs"]);
}

#[test]
fn runs_that_are_stored_are_told_where_a_further_one_cannot_begin() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    database(&server, "run_left");
    let (port, name) = (server.address.port(), prefixed("run_left"));
    let service = format!("[there]\nhost=127.0.0.1\nport={port}\nuser=postgres\ndbname={name}\n");
    let gone = format!("rm {}", home.file(".pg_service.conf", &service));
    let load = ["run", "tpcb/select-only", "--target", "service=there", "--scale", "1", "--warm-up", "0"];
    let two = ["--clients", "1", "--transactions", "50", "--runs", "2", "--after", "run", &gone];
    let ended = home.dyno(&[&load[..], &two].concat()).expect(1);
    let report = home.report();
    let run = report.document()["run"]["name"].as_str().unwrap();
    let told = ended.err.find(&format!("runs      {run}\n")).expect(&ended.err);
    assert!(ended.err.find("error: ").is_some_and(|error| error > told), "{}", ended.err);
    ended.says(&["service", "there"]);
}

#[test]
fn targets_of_one_run_stand_beside_each_other() {
    let Some(home) = home() else { return };
    let names = |comparison: &Value| -> Vec<String> {
        let sides = comparison["sides"].as_array().unwrap().iter();
        sides.map(|side| side["name"].as_str().unwrap().to_owned()).collect()
    };
    for words in [&["pg", "other"][..], &["last~1"], &["last~1:pg", "last~1:other"]] {
        let comparison = compare(home, words);
        assert_eq!(names(&comparison), ["pg", "other"], "{words:?}");
        assert!(row(&comparison, "throughput")["cells"][1]["ratio"]["value"].as_f64().unwrap() > 0.0);
        // In turn, as they run unless told otherwise: nothing says that one took from the other.
        let differences = comparison["differences"].as_array().unwrap();
        assert!(
            differences.iter().all(|difference| difference["aspect"] != "at the same time"),
            "{differences:?}"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_told_and_strict_says_so_with_its_status() {
    let Some(home) = home() else { return };
    home.dyno(&["compare", "last~3", "last~2", "--strict"]).expect(0);
    // A run of reads and one of writes: as series they have nothing in common.
    home.dyno(&["compare", "last~3", "last"]).expect(1).says(&[
        "no series in common",
        "read",
        "write",
        "RUN:TARGET/SERIES",
    ]);
    // Named one for each side they are compared, and told to be no two of a kind.
    let sides = ["last~3/read", "last/write"];
    let shown = home.dyno(&[&["compare"], &sides[..]].concat()).expect(0).out;
    assert!(shown.contains("NOT COMPARABLE: workload"), "{shown}");
    home.dyno(&[&["compare", "--strict"], &sides[..]].concat()).expect(3);
    let comparison = compare(home, &sides);
    let findings = comparison["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding["code"] == "not-comparable" && finding["severity"] == "invalid"),
        "{findings:?}"
    );
}

#[test]
fn names_that_mean_nothing_or_too_much_are_refused() {
    let Some(home) = home() else { return };
    home.dyno(&["compare", "last~1", "last"]).expect(1).says(&["several targets, pg and other"]);
    home.dyno(&["compare", "last"]).expect(1).says(&["all there is to compare"]);
    home.dyno(&["compare", "nosuch", "last"]).expect(1).says(&["neither a run nor a target", "dyno runs"]);
    home.dyno(&["compare", "last~9", "last"]).expect(1).says(&["4 runs"]);
    home.dyno(&["compare", "pg", "other", "--base", "third"]).expect(1).says(&["pg and other"]);
    home.dyno(&["compare"]).expect(1).says(&["SIDE"]);
    Home::new().dyno(&["compare", "pg", "my"]).expect(1).says(&["no run is stored yet"]);
}
