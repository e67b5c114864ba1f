//! Folders with a `workload.toml` on targets whose library or protocol has a driver: what they hold, and what they cannot run.

use std::fs;

use dyno_test_servers::{ClickHouse, ClickHouseKind, MysqlProduct, duckdb_library};
use serde_json::json;

use crate::home::{Ended, Home};
use crate::mysql::{database, shared};
use crate::sqlite::{shell, target};

const LOAD: [&str; 7] = ["--json", "--warm-up", "0s", "--clients", "1", "--transactions", "3"];

/// A folder of these files.
fn folder(home: &Home, files: &[(&str, &str)]) -> String {
    let folder = home.path("own");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    "./own".to_owned()
}

/// Runs a test on SQLite, and on DuckDB and ClickHouse where they can be had.
fn on_each(test: impl Fn(&Home, &str)) {
    let home = Home::new();
    test(&home, &target(&home, "own.db", ""));
    if let Some(library) = duckdb_library() {
        test(&home, &format!("duckdb:{}?driver={}", home.path("duck.db").display(), library.display()));
    }
    if let Some(server) = ClickHouse::start(ClickHouseKind::Engine) {
        test(&home, &server.url());
    }
}

#[test]
fn null_stays_null() {
    let kinds = [
        ("integer", ":row"),
        ("double", ":row / 2.0"),
        ("decimal(8,2)", "decimal(:row, 2)"),
        ("varchar(9)", "'a' || :row"),
        ("date", "date('2024-01-01', :row)"),
        ("timestamp", "timestamp('2024-01-01 00:00:00', :row)"),
    ];
    let columns: Vec<String> = (1..)
        .zip(kinds)
        .map(|(number, (kind, value))| {
            let value = format!("case when :row % 10 = 0 then null else {value} end");
            format!("  {{ name = \"c{number}\", type = \"{kind}\", null = true, value = \"{value}\" }},\n")
        })
        .collect();
    let checks: Vec<String> = (1..=kinds.len())
        .map(|number| {
            format!(
                "[[checks]]\nabout = \"a tenth of c{number} is NULL\"\n\
                 equal = [\"SELECT COUNT(*), COUNT(c{number}) FROM t\", \"SELECT 100, 90\"]\n"
            )
        })
        .collect();
    let text = format!(
        "about = \"x\"\n[[tables]]\nname = \"t\"\nrows = 100\nkey = [\"id\"]\ncolumns = [\n  \
         {{ name = \"id\", type = \"bigint\", value = \":row\" }},\n{}]\n[[transactions]]\nname = \"read\"\n{}",
        columns.concat(),
        checks.concat()
    );
    on_each(|home, target| {
        let own = folder(home, &[("workload.toml", &text), ("read.sql", "SELECT COUNT(*) FROM t;\n")]);
        let run = [&["run", &own, "--target", target], &LOAD[..]].concat();
        let report = home.dyno(&run).expect(0).report();
        report.assert_checks_passed();
        assert_eq!(report.checks().len(), 1 + kinds.len(), "{target}");
    });
}

#[test]
fn a_number_of_many_digits_stays_a_number() {
    let text = "about = \"x\"\n[[tables]]\nname = \"t\"\nrows = 10\nkey = [\"id\"]\ncolumns = [\n  \
                { name = \"id\", type = \"bigint\", value = \":row\" },\n  \
                { name = \"v\", type = \"decimal(18,2)\", value = \"decimal(123456789012345670 + :row, 2)\" },\n]\n\
                [[transactions]]\nname = \"read\"\n";
    // Read back, compared and added to, it is what it was.
    let read = "SELECT v AS kept FROM t WHERE id = 7 \\gset\n\
                SELECT COUNT(*) AS found FROM t WHERE v = :kept AND v - :kept = 0 \\gset\n\
                \\if :found <> 1\n\\set wrong 1 / 0\n\\endif\n";
    on_each(|home, target| {
        let own = folder(home, &[("workload.toml", text), ("read.sql", read)]);
        if target.starts_with("sqlite") {
            // It keeps a decimal as a binary fraction.
            fs::write(
                home.path("own").join("workload.toml"),
                text.replace("123456789012345670", "1234567890123450"),
            )
            .unwrap();
        }
        let run = [&["run", &own, "--target", target, "--prepare"], &LOAD[..]].concat();
        home.dyno(&run).expect(0);
    });
}

/// A name that differs in its case alone is the same name here.
#[test]
fn a_table_of_somebody_else_stays_in_whatever_case_its_name_is() {
    let home = Home::new();
    let target = target(&home, "theirs.db", "");
    let tables = "CREATE TABLE Pgbench_Accounts (mine INTEGER); CREATE TABLE SBTEST1 (mine INTEGER)";
    if shell(&home, "theirs.db", tables).is_none() {
        return;
    }
    for (workload, table) in [("tpcb", "pgbench_accounts"), ("sysbench", "sbtest1")] {
        let run = [&["run", workload, "--prepare", "--target", &target], &LOAD[..]].concat();
        home.dyno(&run).expect(1).says(&[&format!("{table} is there and is no")]);
    }
    let left = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema ORDER BY name)";
    assert_eq!(shell(&home, "theirs.db", left).unwrap(), "Pgbench_Accounts SBTEST1");
}

/// Accounts between which a transaction moves something.
const BANK: &str = r#"about = "x"
[options.accounts]
about = "accounts"
default = 20

[[tables]]
name = "acc"
rows = ":accounts"
key = ["id"]
columns = [
  { name = "id", type = "integer", identity = true },
  { name = "v", type = "integer", value = "0" },
]

[[transactions]]
name = "transfer"
"#;

fn run(home: &Home, target: &str, transfer: &str) -> Ended {
    let own = folder(home, &[("workload.toml", BANK), ("transfer.sql", transfer)]);
    home.dyno(&[&["run", &own, "--target", target], &LOAD[1..]].concat())
}

#[test]
fn what_a_target_lacks_is_told_before_any_data_is_made() {
    on_each(|home, target| {
        let in_transaction = "BEGIN;\nUPDATE acc SET v = 1 WHERE id = 1;\nCOMMIT;\n";
        let without_number = "INSERT INTO acc (v) VALUES (7);\n";
        for (script, lacks, words) in [
            (
                in_transaction,
                target.contains("clickhouse"),
                "transfer.sql:1: there are no transactions on this target",
            ),
            (without_number, !target.starts_with("sqlite"), "nothing on this target numbers the rows of acc"),
        ] {
            if lacks {
                let refused = run(home, target, script).expect(1);
                refused.says(&[words]);
                assert!(!refused.err.contains("prepare   data"), "{}", refused.err);
            }
        }
    });
}

#[test]
fn an_error_has_the_file_and_the_line_of_its_statement() {
    let test = |home: &Home, target: &str| {
        let wrong = "\\set id random(1, :accounts)\nUPDATE acc SET v = :id WHERE no_such_column = :id;\n";
        let ended = run(home, target, wrong);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains("transfer.sql:2: "), "{target}: {said}");
        let division = "SELECT 1;\n\\set wrong 1 / (:accounts - :accounts)\n";
        run(home, target, division).expect(2).says(&["transfer.sql:2: \\set: division by zero"]);
        let always = division.replace("(:accounts - :accounts)", "0");
        run(home, target, &always).expect(1).says(&["transfer.sql:2:1: \\set wrong 1 / 0 divides by zero"]);
    };
    on_each(test);
    if let Some(server) = shared(MysqlProduct::MariaDb) {
        test(&Home::new(), &database(&server, "errors_of_folders"));
    }
}

#[test]
fn a_stored_folder_is_run_again_with_another_option() {
    let home = Home::new();
    let target = target(&home, "again.db", "");
    let look = "\\set id random(1, :accounts)\nSELECT v FROM acc WHERE id = :id;\n";
    run(&home, &target, look).expect(0);
    fs::remove_dir_all(home.path("own")).unwrap();
    let again = ["run", "--rerun", "last", "--accounts", "30", "--prepare", "--json"];
    let report = home.dyno(&again).expect(0).report();
    let resolved = &report.document()["run"]["resolved"];
    assert_eq!(resolved["systems"][0]["data"], json!({ "accounts": 30 }));
    // The same folder with another text is other work.
    run(&home, &target, &format!("{look}SELECT 1;\n")).expect(0);
    let compared = home.dyno(&["compare", "last~1", "last"]).expect(0);
    assert!(compared.out.contains("own/transfer ("), "{}", compared.out);
    assert!(compared.out.contains("workload: "), "{}", compared.out);
}
