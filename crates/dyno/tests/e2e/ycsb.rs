//! YCSB's core workloads, on each protocol that dyno speaks.

use dyno_test_servers::MysqlProduct;
use serde_json::Value;

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::{database, shared, value};
use crate::sqlite;

/// All six, one after the other, on little data.
const SIX: &str = r#"
version = 1
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/a", load = { clients = "4", duration = "500ms" } }]
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/b", load = { clients = "4", duration = "500ms" } }]
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/c", load = { clients = "4", duration = "500ms" } }]
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/d", load = { clients = "4", duration = "500ms" } }]
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/e", load = { clients = "4", duration = "500ms" } }]
[[phases]]
warm-up = "0s"
streams = [{ workload = "ycsb/f", load = { clients = "4", duration = "500ms" } }]
"#;

fn done(report: &Report, series: &str) -> Vec<(String, u64)> {
    let stage = report.stages().iter().find(|stage| stage["series"] == series).unwrap();
    assert_eq!(
        (&stage["totals"]["failed"], &stage["totals"]["unknown"]),
        (&0.into(), &0.into()),
        "{stage:#}"
    );
    let of_type = |of: &Value| (of["name"].as_str().unwrap().to_owned(), of["done"].as_u64().unwrap());
    stage["by_type"].as_array().unwrap().iter().map(of_type).collect()
}

/// Runs all six twice on a target: what the first has inserted, the second neither repeats nor misses.
fn run_twice(home: &Home, target: &str, further: &[&str]) {
    let six = home.file("six.toml", SIX);
    let run = ["run", &six, "--json", "--target", target, "--records", "400"];
    for _ in 0..2 {
        let report = home.dyno(&[&run[..], further].concat()).expect(0).report();
        assert_eq!(report.outcome(), "complete");
        report.assert_checks_passed();
        // One more of the three that update.
        assert_eq!(report.checks().len(), 4 * 6 + 3);
        let names = |series| done(&report, series).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("a"), ["read", "update"]);
        assert_eq!(names("c"), ["read"]);
        assert_eq!(
            (names("d"), names("e")),
            (vec!["read".into(), "insert".into()], vec!["scan".into(), "insert".into()])
        );
        assert_eq!(names("f"), ["read", "read-modify-write"]);
        for series in ["a", "b", "c", "d", "e", "f"] {
            assert!(done(&report, series).iter().all(|(_, count)| *count > 0), "{series}");
        }
    }
}

#[test]
fn all_six_run_on_postgresql_and_leave_what_they_should() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ycsb");
    let home = Home::new();
    run_twice(&home, &target, &["--fields", "3", "--field-length", "20"]);
    let asked = |sql: &str| value(&server, "ycsb", sql);
    // The keys of YCSB's first records.
    let first = "SELECT count(*) FROM usertable WHERE ycsb_key IN ('user6284781860667377211', 'user8517097267634966620')";
    assert_eq!(asked(first), "2");
    assert!(asked("SELECT count(*) FROM usertable").parse::<u64>().unwrap() > 400);
    // Other data than what is there is asked for, not made.
    let other = ["run", "ycsb/c", "--target", &target, "--fields", "4", "--duration", "1s"];
    let refused = home.dyno(&other).expect(1).err;
    assert!(refused.contains("fields 3, not fields 4"), "{refused}");
    // Somebody else's table is left as it is.
    asked("COMMENT ON TABLE usertable IS 'ours'");
    let refused =
        home.dyno(&["run", "ycsb/c", "--target", &target, "--prepare", "--duration", "1s"]).expect(1).err;
    assert!(refused.contains("usertable is there and dyno has not made it"), "{refused}");
}

/// By YCSB's names on the command line and in a scenario; the run says which mix it is, and is run again from what is stored.
#[test]
fn a_mix_of_ones_own_is_run_and_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ycsb_mix");
    let home = Home::new();
    let title = "ycsb/mix: 50% read, 20% update, 10% insert, 20% scan, uniform, scans of 1 to 3 records, 2 fields, 30 bytes each field";
    let shares = "--readproportion=0.5 --updateproportion=0.2 --insertproportion=0.1 --scanproportion=0.2 --maxscanlength=3 \
                  --requestdistribution=uniform --fieldcount=2 --fieldlength=30";
    let load = "--records 400 --clients 2 --transactions 400 --warm-up 0s --json";
    let words =
        ["run", "ycsb", "--target", &target].into_iter().chain(shares.split(' ').filter(|it| !it.is_empty()));
    let typed: Vec<&str> = words.chain(load.split(' ')).collect();
    let data = r#"{ records = 400, readproportion = 0.5, updateproportion = 0.2, insertproportion = 0.1, scanproportion = 0.2,
                    maxscanlength = 3, requestdistribution = "uniform", fieldcount = 2, field-length = 30 }"#;
    let scenario = home.file(
        "mix.toml",
        &format!(
            "version = 1\n[[systems]]\ndata.ycsb = {}\n[[phases]]\nwarm-up = \"0s\"\n\
             streams = [{{ workload = \"ycsb\", load = {{ clients = 2, transactions = 400 }} }}]\n",
            data.replace('\n', " ")
        ),
    );
    let runs: [&[&str]; 3] = [
        &typed,
        &["run", &scenario, "--target", &target, "--json"],
        &["run", "--rerun", "last", "--target", &target, "--json"],
    ];
    for words in runs {
        let report = home.dyno(words).expect(0).report();
        report.assert_checks_passed();
        assert_eq!((report.checks().len(), &report.stage()["workload"]), (5, &title.into()), "{words:?}");
        let names: Vec<String> = done(&report, "mix").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["read", "update", "insert", "scan"]);
        assert!(home.dyno(&["report", "last"]).expect(0).out.contains("ycsb/mix: 50% read, 20% update"));
    }
}

fn run_on(product: MysqlProduct) {
    let Some(server) = mysql::shared(product) else { return };
    let target = mysql::database(&server, "ycsb");
    run_twice(
        &Home::new(),
        &target,
        &["--insert-order", "ordered", "--zero-padding", "12", "--requests", "uniform"],
    );
}

#[test]
fn all_six_run_on_mysql() {
    run_on(MysqlProduct::Mysql);
}

#[test]
fn all_six_run_on_mariadb() {
    run_on(MysqlProduct::MariaDb);
}

#[test]
fn all_six_run_on_seekdb() {
    run_on(MysqlProduct::SeekDb);
}

#[test]
fn records_that_cannot_be_are_refused() {
    let home = Home::new();
    for (words, why) in [
        ("--fields 65", "--fields 1 to 64"),
        ("--fields 60 --field-length 1000", "1 to 16384 bytes together"),
        ("--records 0", "--records takes 1 to 4,294,967,295"),
        ("--scale 3", "--scale"),
        ("--requests hotspot", "hotspot"),
        (
            "--readproportion 0.5 --updateproportion 0.5",
            "is for ycsb/mix, and the shares of ycsb/a are fixed",
        ),
    ] {
        let words: Vec<&str> = ["run", "ycsb/a"].into_iter().chain(words.split(' ')).collect();
        let refused = home.dyno(&words).expect(1).err;
        assert!(refused.contains(why), "{words:?}: {refused}");
    }
}

/// Something undoes updates behind the load, as a server does that loses what it has acknowledged.
fn assert_lost_updates_are_found(home: &Home, target: &str, undo: &str) {
    let load = ["--records", "400", "--clients", "2", "--transactions", "400", "--warm-up", "0s", "--json"];
    for (workload, hook, is_there) in [
        ("ycsb/a", None, true),
        ("ycsb/f", None, true),
        ("ycsb/a", Some(undo), false),
        ("ycsb/f", Some(undo), false),
    ] {
        let hook = hook.map_or(Vec::new(), |hook| vec!["--after", "hold", hook]);
        let words = [&["run", workload, "--target", target], &load[..], &hook].concat();
        let report = home.dyno(&words).expect(0).report();
        let check = report.checks().iter().find(|check| check["name"] == "updates-are-there").unwrap();
        assert_eq!(check["passed"], is_there, "{workload}: {check}");
        assert_eq!(report.findings().contains(&"data-check-failed"), !is_there, "{workload}: {check}");
    }
}

/// Reads twice, without the primary key at the second time.
fn assert_dropped_key_is_named(target: &str, name: &str, drop: impl FnOnce()) {
    let home = Home::new();
    let read =
        ["run", "ycsb/c", "--records", "400", "--clients", "1", "--duration", "100ms", "--warm-up", "0s"];
    let run = || home.dyno(&[&read[..], &["--target", target, "--json"]].concat()).expect(0).report();
    assert!(!run().findings().contains(&"index-missing"));
    drop();
    let report = run();
    let mut findings = report.document()["findings"].as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["code"] == "index-missing").expect("a finding");
    assert!(
        finding["evidence"].as_str().unwrap().contains(&format!("index {name} of usertable")),
        "{finding:#}"
    );
    let compared = home.dyno(&["compare", "last~1", "last"]).out;
    // Where a line ends depends on the texts before.
    let words = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("without index {name} of usertable")), "{compared}");
}

#[test]
fn a_key_that_was_dropped_is_named() {
    if let Some(server) = shared() {
        let target = database(&server, "ycsb_key");
        assert_dropped_key_is_named(&target, "usertable_pkey", || {
            value(&server, "ycsb_key", "ALTER TABLE usertable DROP CONSTRAINT usertable_pkey");
        });
    }
    if let Some(server) = mysql::shared(MysqlProduct::MariaDb) {
        let target = mysql::database(&server, "ycsb_key");
        assert_dropped_key_is_named(&target, "PRIMARY", || {
            server.sql("ALTER TABLE e2e_ycsb_key.usertable DROP PRIMARY KEY");
        });
    }
}

#[test]
fn updates_that_are_lost_are_found_on_postgresql() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ycsb_lost");
    let undo = "sql:update usertable set field0 = 'as it was before, for all that is known'";
    assert_lost_updates_are_found(&Home::new(), &target, undo);
}

#[test]
fn updates_that_are_lost_are_found_on_sqlite() {
    let home = Home::new();
    if sqlite::shell(&home, "lost.db", "SELECT 1").is_none() {
        return;
    }
    let undo = format!("sqlite3 {} \"UPDATE usertable SET field3 = field4\"", home.path("lost.db").display());
    assert_lost_updates_are_found(&home, &sqlite::target(&home, "lost.db", ""), &undo);
}
