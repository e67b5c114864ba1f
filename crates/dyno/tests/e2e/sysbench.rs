//! `dyno run sysbench/…`: the same tests on PostgreSQL and on what speaks MySQL's protocol.

use std::fs;

use dyno_test_servers::{MysqlProduct, Postgres, Setup};
use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, wait_until};
use crate::report::Report;
use crate::server::{database, installed, shared, url, value};
use crate::{mysql, secrets};

/// Little data, and one client, whose transactions nobody disturbs.
const BRIEF: [&str; 9] =
    ["--json", "--warm-up", "0", "--clients", "1", "--transactions", "25", "--table-size", "500"];

/// The ten tests, and what an event of each reads, writes and does otherwise.
const TESTS: [(&str, [u64; 3]); 10] = [
    ("oltp_point_select", [1, 0, 0]),
    ("oltp_read_only", [14, 0, 2]),
    ("oltp_read_write", [14, 4, 2]),
    ("oltp_write_only", [0, 4, 2]),
    ("oltp_update_index", [0, 1, 0]),
    ("oltp_update_non_index", [0, 1, 0]),
    ("select_random_points", [1, 0, 0]),
    ("select_random_ranges", [1, 0, 0]),
    ("oltp_insert", [0, 1, 0]),
    ("oltp_delete", [0, 1, 0]),
];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Every event was counted by what it did; only a delete may meet a row that is gone.
#[track_caller]
fn assert_queries(report: &Report, test: &str, of_each: [u64; 3]) {
    let stage = report.stage();
    let (queries, done) = (&stage["queries"], number(&stage["totals"]["done"]));
    assert_eq!(done, 25, "{test}");
    let in_vain = number(&queries["writes_in_vain"]);
    assert!(in_vain == 0 || test == "oltp_delete", "{test}: {queries}");
    let [reads, writes, other] = of_each.map(|count| count * done);
    assert_eq!(number(&queries["reads"]), reads, "{test}: {queries}");
    assert_eq!(number(&queries["writes"]), writes - in_vain, "{test}: {queries}");
    assert_eq!(number(&queries["other"]), other + in_vain, "{test}: {queries}");
    assert!(queries["per_s"].as_f64() > Some(0.0), "{test}: {queries}");
}

#[test]
fn a_transaction_begins_also_with_the_sql_mode_of_oracle() {
    let Some(server) = mysql::start(MysqlProduct::MariaDb, &["sql_mode=ORACLE"]) else { return };
    let target = mysql::database(&server, "oracle");
    let home = Home::new();
    let arguments = [&["run", "sysbench/oltp_read_write", "--target", &target], &BRIEF[..]].concat();
    let report = home.dyno(&arguments).expect(0).report();
    assert_queries(&report, "oltp_read_write", [14, 4, 2]);
}

#[test]
fn all_ten_tests_run_on_postgresql() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ten_tests");
    let home = Home::new();
    for (test, of_each) in TESTS {
        let tables = if test.starts_with("select_") { "1" } else { "2" };
        // What was inserted has made the tables larger.
        let prepare = if test == "oltp_delete" { "--prepare=always" } else { "--prepare=auto" };
        let named = ["run", test, "--target", &target, "--tables", tables, prepare];
        let report = home.dyno(&[&named[..], &BRIEF].concat()).expect(0).report();
        assert_eq!(report.outcome(), "complete");
        assert_eq!(report.stage()["workload"], format!("sysbench/{test}"));
        assert_eq!(report.document()["targets"][0]["name"], "pg");
        let read_only = of_each[1] == 0;
        assert_eq!(report.series()[0]["name"], if read_only { "read" } else { "write" });
        assert_queries(&report, test, of_each);
        report.assert_checks_passed();
    }
    // The tables were made by the first of them, and used by all.
    let rows = value(&server, "ten_tests", "select count(*) from sbtest1");
    assert_ne!(rows, "0");
}

/// The same three on a server that speaks MySQL's protocol, where a password is to stand nowhere afterwards.
fn three_tests_run_on(product: MysqlProduct, name: &str) {
    let Some(server) = mysql::shared(product) else { return };
    let target = mysql::database(&server, "three_tests");
    let home = Home::new();
    for (test, of_each) in [TESTS[0], TESTS[2], TESTS[9]] {
        let named = ["run", &format!("sysbench/{test}"), "--target", &target, "--tables", "2"];
        let ended = home.dyno(&[&named[..], &BRIEF].concat()).expect(0);
        assert!(!ended.out.contains(mysql::PASSWORD) && !ended.err.contains(mysql::PASSWORD));
        let report = ended.report();
        let subject = &report.document()["targets"][0];
        assert_eq!((&subject["name"], &subject["product"]), (&"my".into(), &name.into()));
        assert!(!subject["version"].is_null(), "{subject}");
        assert_eq!(report.document()["data"][0]["tables"][0]["rows"], 500);
        assert_queries(&report, test, of_each);
        report.assert_checks_passed();
    }
    secrets::assert_nowhere(&home, mysql::PASSWORD);
}

#[test]
fn three_tests_run_on_mysql() {
    three_tests_run_on(MysqlProduct::Mysql, "MySQL");
}

#[test]
fn three_tests_run_on_mariadb() {
    three_tests_run_on(MysqlProduct::MariaDb, "MariaDB");
}

#[test]
fn three_tests_run_on_seekdb() {
    three_tests_run_on(MysqlProduct::SeekDb, "OceanBase seekdb");
}

#[test]
fn the_family_alone_reads_and_then_writes_and_is_what_runs_on_mysql() {
    let Some(server) = mysql::shared(MysqlProduct::MariaDb) else { return };
    let target = mysql::database(&server, "family");
    let home = Home::new();
    let size = ["--tables", "2", "--table-size", "200"];
    let load = ["--json", "--warm-up", "0", "--clients", "1,2", "--step", "200ms", "--hold", "300ms"];
    for named in [&["run"][..], &["run", "sysbench"], &["run", "--workload", "sys"]] {
        let arguments = [named, &["--target", &target], &size, &load].concat();
        let report = home.dyno(&arguments).expect(0).report();
        let workloads: Vec<&Value> = report.series().iter().map(|series| &series["workload"]).collect();
        assert_eq!(workloads, ["sysbench/oltp_point_select", "sysbench/oltp_read_write"]);
        report.assert_checks_passed();
    }
}

#[test]
fn an_embedded_server_runs_them_too() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let servers = home.servers();
    let brief = ["--tables", "1", "--table-size", "300", "--clients", "2", "--transactions", "20"];
    let further = ["--warm-up", "0", "--json", "--distribution", "zipfian:0.9", "--data-dir", &servers];
    let arguments = [&["run", "oltp_read_only"], &brief[..], &further].concat();
    let report = home.dyno(&arguments).expect(0).report();
    assert_eq!(
        report.document()["run"]["spec"]["systems"][0]["data"]["sysbench"]["distribution"],
        "zipfian:0.9"
    );
    assert_eq!(number(&report.stage()["totals"]["done"]), 40);
    report.assert_checks_passed();
}

#[test]
fn options_change_the_statements_on_the_command_line_and_in_a_scenario() {
    let Some(server) = shared() else { return };
    let target = database(&server, "test_options");
    let home = Home::new();
    let text = format!(
        "version = 1\n[[targets]]\nurl = '{target}'\n[[systems]]\n\
         data.sysbench = {{ tables = 3, table_size = 100, range-selects = false, point-selects = 7 }}\n\
         [[phases]]\nwarm-up = 0\n[[phases.streams]]\nworkload = 'read_write'\n\
         load = {{ clients = 1, transactions = 10 }}\n"
    );
    let scenario = home.file("mine.toml", &text);
    let typed =
        ["run", &scenario, "--json", "--skip_trx=on", "--point-selects", "2", "--non-index-updates=0"];
    let report = home.dyno(&typed).expect(0).report();
    let queries = &report.stage()["queries"];
    // Two point selects; one update, a delete and an insert; no BEGIN and no COMMIT.
    let counted = ["reads", "writes", "other"].map(|kind| number(&queries[kind]));
    assert_eq!(counted, [20, 30, 0], "{queries}");
    assert_eq!(report.document()["data"][0]["tables"].as_array().unwrap().len(), 3);
}

#[test]
fn deletes_that_find_nothing_are_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "in_vain");
    let home = Home::new();
    let brief = ["--tables", "1", "--table-size", "50", "--clients", "2", "--transactions", "200"];
    let arguments =
        [&["run", "delete", "--target", &target], &brief[..], &["--warm-up", "0", "--json"]].concat();
    let report = home.dyno(&arguments).expect(0).report();
    let queries = &report.stage()["queries"];
    assert!(number(&queries["writes"]) <= 50, "{queries}");
    assert!(queries["in_vain_share"].as_f64() > Some(0.8), "{queries}");
    assert!(report.findings().contains(&"no-work"), "{:?}", report.findings());
    // The deletes that found their row are in the tables, or rather no longer.
    report.assert_checks_passed();
    let left = value(&server, "in_vain", "select count(*) from sbtest1").parse::<u64>().unwrap();
    assert_eq!(left + number(&queries["writes"]), 50);
    // Rows are missing now, which is told rather than run on.
    let again = home.dyno(&[&["run", "read_only", "--target", &target], &brief[..]].concat()).expect(1);
    again.says(&["sysbench", "--prepare"]);
}

#[test]
fn tables_that_are_there_are_used_and_others_refused() {
    let Some(server) = shared() else { return };
    let target = database(&server, "as_found");
    let home = Home::new();
    let run = |further: &[&str]| {
        let brief = ["--clients", "1", "--transactions", "5", "--warm-up", "0", "--json"];
        home.dyno(&[&["run", "point_select", "--target", &target], &brief[..], further].concat())
    };
    run(&["--prepare=never"]).expect(1).says(&["sysbench", "missing", "--prepare"]);
    run(&["--tables", "2", "--table-size", "100"]).expect(0);
    let report = run(&[]).expect(0).report();
    assert_eq!(report.document()["prepare"].as_array().unwrap().len(), 0, "nothing was made");
    assert_eq!(report.document()["data"][0]["tables"].as_array().unwrap().len(), 2);
    run(&["--table-size", "99"]).expect(1).says(&["100 rows, not 99", "--table-size 100", "--prepare"]);
    run(&["--tables", "5"]).expect(1).says(&["2 tables", "--tables 2"]);
    // Tables of an earlier, larger preparation are left alone, and told where they are used.
    run(&["--tables", "1", "--table-size", "50", "--prepare=always"]).expect(0);
    let notices = run(&[]).expect(0).report().notices();
    assert!(notices.contains("sbtest2 has more than the 50 rows"), "{notices}");
    assert!(!run(&["--tables", "1"]).expect(0).report().notices().contains("more than"));
    let _ = value(&server, "as_found", "drop table sbtest1; create table sbtest1 as select 7 as mine");
    for prepare in ["--prepare=auto", "--prepare=always"] {
        run(&[prepare]).expect(1).says(&["sbtest1", "mine"]);
    }
    assert_eq!(value(&server, "as_found", "select mine from sbtest1"), "7", "it was left alone");
}

#[test]
fn a_server_that_is_set_read_only_ends_the_run_with_what_helps() {
    let Some(server) = mysql::start(MysqlProduct::Mysql, &[]) else { return };
    let target = mysql::database(&server, "read_only");
    let home = Home::new();
    let load =
        ["--tables", "1", "--table-size", "500", "--clients", "2", "--warm-up", "0", "--duration", "10m"];
    let mut running = home.start(&[&["run", "update_index", "--target", &target], &load[..]].concat());
    running.wait_for("an interval of the load", |report| {
        report.stages().last().is_some_and(|stage| stage["throughput"]["samples"].as_u64() >= Some(1))
    });
    server.sql("SET GLOBAL super_read_only = 1");
    let ended = running.end().expect(2);
    ended.says(&["super-read-only", "1290", "the server is read-only", "replica"]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    assert!(number(&report.stage()["errors"]["1290"]) > 0);
    report.assert_checks_passed();
}

#[test]
fn an_interrupted_preparation_ends_on_all_its_connections() {
    let Some(server) = mysql::start(MysqlProduct::MariaDb, &[]) else { return };
    let target = mysql::database(&server, "interrupted");
    let home = Home::new();
    let many = ["--tables", "2", "--table-size", "5000000", "--clients", "1", "--duration", "1s"];
    let mut running = home.start(&[&["run", "point_select", "--target", &target], &many[..]].concat());
    running.wait_for("the data", |report| {
        report.document()["prepare"].as_array().unwrap().iter().any(|step| step["step"] == "tables")
    });
    running.signal(Signal::INT);
    running.end().expect(1).says(&["interrupted"]);
    // What was sent is undone first.
    let working = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'";
    wait_until("the server loads no rows any more", || server.sql(working).trim() == "0");
    // What it left is not taken for data, but made anew.
    let again = [&["run", "point_select", "--target", &target, "--tables", "2"], &BRIEF[..]].concat();
    let report = home.dyno(&again).expect(0).report();
    assert_eq!(report.document()["prepare"][0]["step"], "drop");
    assert_eq!(server.sql("SELECT COUNT(*) FROM e2e_interrupted.sbtest2").trim(), "500");
    report.assert_checks_passed();
}

#[test]
fn local_infile_that_is_off_is_told_and_done_without() {
    let Some(server) = mysql::start(MysqlProduct::Mysql, &["local-infile=0"]) else {
        return;
    };
    let target = mysql::database(&server, "without_local");
    let home = Home::new();
    let report = home
        .dyno(&[&["run", "point_select", "--target", &target, "--tables", "2"], &BRIEF[..]].concat())
        .expect(0)
        .report();
    assert_eq!(report.notices().matches("local_infile").count(), 1, "{}", report.notices());
    assert_eq!(server.sql("SELECT COUNT(*) FROM e2e_without_local.sbtest2").trim(), "500");
    report.assert_checks_passed();
}

#[test]
fn a_server_that_would_commit_nothing_is_not_loaded() {
    let Some(server) = mysql::start(MysqlProduct::MariaDb, &["autocommit=0"]) else {
        return;
    };
    let target = mysql::database(&server, "autocommit");
    let home = Home::new();
    let refused = home
        .dyno(&[&["run", "update_index", "--target", &target, "--tables", "1"], &BRIEF[..]].concat())
        .expect(1);
    for part in ["autocommit off", "SET GLOBAL autocommit = 1"] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }
}

#[test]
fn prepared_statements_that_the_server_has_no_room_for_are_told_with_the_arithmetic() {
    let Some(server) = mysql::start(MysqlProduct::MariaDb, &["max-prepared-stmt-count=60"]) else { return };
    let target = mysql::database(&server, "statements");
    let home = Home::new();
    let small = ["--tables", "2", "--table-size", "100", "--warm-up", "0"];
    let run = |further: &[&str]| {
        home.dyno(&[&["run", "point_select", "--target", &target], &small[..], further].concat())
    };
    // A statement for each table.
    let refused = run(&["--clients", "1,10,40", "--step", "200ms", "--hold", "200ms"]).expect(1);
    refused.says(&["40 clients with 2 prepared statements each need 80", "room for 60"]);
    refused.says(&["--clients 1,10,30", "--protocol simple", "max_prepared_stmt_count = 80"]);
    let simple = ["--clients", "40", "--transactions", "2", "--json"];
    run(&[&simple[..], &["--protocol", "simple"]].concat()).expect(0).report().assert_checks_passed();
    // A ladder of dyno's own ends where there is no room for more. Clients that pause do not come to a peak before: each
    // does one transaction in a step, and has half a second for it.
    let pausing = ["--think-time", "500ms", "--step", "1s", "--hold", "200ms", "--json"];
    let report = run(&pausing).expect(0).report();
    let notices = report.notices();
    assert!(
        notices.contains("ends at 30 clients") && notices.contains("max_prepared_stmt_count"),
        "{notices}"
    );
}

#[test]
fn a_statement_that_is_too_large_is_told_with_what_helps() {
    let Some(server) = mysql::start(MysqlProduct::Mysql, &[]) else { return };
    let target = mysql::database(&server, "packets");
    let home = Home::new();
    let run = |points: &str| {
        let load =
            ["--clients", "1", "--transactions", "20", "--warm-up", "0", "--json", "--random-points", points];
        home.dyno(
            &[&["run", "select_random_points", "--table-size", "100", "--target", &target], &load[..]]
                .concat(),
        )
    };
    run("10").expect(0);
    server.sql("SET GLOBAL max_allowed_packet = 16384");
    let report = run("5000").expect(1).report();
    let stage = report.stage();
    // The server closes the connection behind the error, so that not every client gets to read it.
    assert!(number(&stage["errors"]["1153"]) > 0, "{stage:#}");
    assert_eq!((number(&stage["totals"]["done"]), number(&stage["totals"]["failed"])), (0, 20));
    assert!(report.notices().contains("max_allowed_packet"), "{}", report.notices());
    let mut findings = report.document()["findings"].as_array().unwrap().iter();
    let errors = findings.find(|finding| finding["code"] == "errors").unwrap();
    assert_eq!(errors["severity"], "invalid", "{errors}");
    run("10").expect(0);
}

#[test]
fn the_wrong_protocol_is_told_both_ways() {
    let home = Home::new();
    let postgres = shared();
    if let Some(server) = &postgres {
        let ended =
            home.dyno(&["run", "--target", &format!("mysql://root@{}/test", server.address)]).expect(1);
        ended.says(&["is not MySQL", "PostgreSQL", "postgres://"]);
    }
    let Some(server) = mysql::shared(MysqlProduct::Mysql) else { return };
    let ended =
        home.dyno(&["run", "--target", &format!("postgres://root@{}/test", server.address)]).expect(1);
    ended.says(&["is not PostgreSQL", "MySQL", "mysql://"]);
}

#[test]
fn what_does_not_run_on_mysql_is_told_with_what_does() {
    let home = Home::new();
    let target = "mysql://root@127.0.0.1:1/test";
    let tpcb = home.dyno(&["run", "tpcb", "--target", target]).expect(1);
    tpcb.says(&["tpcb", "PostgreSQL and SQLite only", "sysbench/oltp_read_write"]);
    home.dyno(&["run", "latency", "--target", target]).expect(1).says(&["tpcb/select-only", "sysbench"]);
    home.dyno(&["run", "read_only", "--target", target, "--protocol", "extended"])
        .expect(1)
        .says(&["extended"]);
    home.dyno(&["run", "--target", "mysql://root@127.0.0.1:1"]).expect(1).says(&["no database", "/DATABASE"]);
    home.dyno(&["run", "read_only", "--scale", "3"]).expect(1).says(&["--scale", "--table-size"]);
    home.dyno(&["run", "tpcb", "--tables", "3"]).expect(1).says(&["--tables", "--scale"]);
}

#[test]
fn an_account_whose_plugin_is_not_supported_is_told_with_the_plugin() {
    let Some(server) = mysql::start(MysqlProduct::MariaDb, &[]) else { return };
    // Asks for the password in a dialogue of its own.
    let sql = "INSTALL SONAME 'auth_pam_v1'; CREATE USER asked IDENTIFIED VIA pam";
    let made = server.client("root", &server.password).args(["-e", sql]).output().unwrap();
    if !made.status.success() {
        println!("skipped: no plugin pam: {}", String::from_utf8_lossy(&made.stderr));
        return;
    }
    let home = Home::new();
    let ended = home.dyno(&["run", "--target", &server.url("asked", "x", "test")]).expect(1);
    ended.says(&["dialog", "not supported", "caching_sha2_password"]);
}

#[test]
fn names_without_an_option_are_scenarios_or_workloads() {
    let home = Home::new();
    let ambiguous = home.dyno(&["run", "select"]).expect(1);
    ambiguous.says(&["tpcb/select-only", "sysbench/select_random_points"]);
    let mistyped = home.dyno(&["run", "oltp_raed_write"]).expect(1);
    mistyped.says(&["neither a scenario nor a workload", "did you mean sysbench/oltp_read_write?"]);
    let listed = home.dyno(&["workloads", "--json"]).expect(0).json();
    let runs_on = |name: &str| {
        let rows = listed["workloads"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["runs_on"].clone()
    };
    assert_eq!(runs_on("sysbench/oltp_read_write"), serde_json::json!(["PostgreSQL", "MySQL", "SQLite"]));
    assert_eq!(runs_on("tpcb"), serde_json::json!(["PostgreSQL", "SQLite"]));
}

#[test]
fn no_room_for_a_table_is_told_before_a_server_is_started() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let servers = home.servers();
    let huge = ["--tables", "1000", "--table-size", "2000000000", "--data-dir", &servers];
    home.dyno(&[&["run", "point_select"], &huge[..]].concat()).expect(1).says(&["too little room", "needed"]);
    assert!(fs::read_dir(home.path("servers")).unwrap().next().is_none());
}

#[test]
fn a_postgresql_that_becomes_a_replica_is_told_as_well() {
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    let load =
        ["--tables", "1", "--table-size", "500", "--clients", "2", "--warm-up", "0", "--duration", "10m"];
    let mut running = home.start(&[&["run", "insert", "--target", &target], &load[..]].concat());
    running.wait_for("an interval of the load", |report| {
        report.stages().last().is_some_and(|stage| stage["throughput"]["samples"].as_u64() >= Some(1))
    });
    server.psql("alter system set default_transaction_read_only = on");
    server.psql("select pg_reload_conf()");
    running.end().expect(2).says(&["25006", "the server is read-only"]);
}
