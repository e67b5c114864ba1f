//! Files of SQL on databases that do not speak PostgreSQL's protocol: their variables are values there.

use dyno_test_servers::{MysqlProduct, duckdb_library};

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::prefixed;
use crate::sqlite::{shell, target};

const TABLE: &str = "CREATE TABLE acct (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, owner VARCHAR(40))";
const ROWS: &str = "INSERT INTO acct VALUES (1, 0, 'O''Neil \\'), (2, 0, NULL), (3, 0, 'x'), (4, 0, 'x')";
/// A key that is there is inserted where a value has another type or other letters than it was given.
const SCRIPT: &str = "\
-- a transfer
\\set from random(1, 4)
\\set to 1 + :from % 4
\\set amount random(1, 100)
\\set nothing null
BEGIN;
UPDATE acct SET balance = balance - :amount WHERE id = :from;
UPDATE acct SET balance = balance + :amount WHERE id = :to;
SELECT owner, id, 7 AS seven FROM acct WHERE owner = :who AND :nothing IS NULL \\gset
SELECT owner AS missing FROM acct WHERE id = -1 \\gset
\\if :id <> 1 or :seven + 1 <> 8 or :owner <> 'O''Neil \\' or :missing is not null
INSERT INTO acct VALUES (1, 0, NULL);
\\endif
END;
";

fn run(home: &Home, target: &str, more: &[&str]) -> Report {
    let run =
        ["run", "./transfer.sql", "--json", "--warm-up", "0", "--target", target, "-D", "who=O'Neil \\"];
    let report = home.dyno(&[&run[..], more].concat()).expect(0).report();
    assert_eq!((report.outcome(), &report.stage()["errors"]), ("complete", &serde_json::json!({})));
    report
}

#[track_caller]
fn assert_ran(report: &Report, transactions: u64) {
    let totals = &report.stage()["totals"];
    assert_eq!((&totals["done"], &totals["failed"]), (&transactions.into(), &0.into()), "{totals}");
}

#[test]
fn a_script_runs_on_sqlite() {
    let home = Home::new();
    home.file("transfer.sql", SCRIPT);
    let target = target(&home, "own.db", "?journal_mode=wal&synchronous=off");
    let file = rusqlite::Connection::open(home.path("own.db")).unwrap();
    file.execute_batch(&format!("{TABLE}; {ROWS}")).unwrap();
    for protocol in ["prepared", "simple"] {
        let load = ["--clients", "2", "--transactions", "50", "--protocol", protocol];
        assert_ran(&run(&home, &target, &load), 100);
        let moved: (i64, i64) = file
            .query_row("SELECT sum(balance), sum(balance <> 0) FROM acct", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!((moved.0, moved.1 > 1), (0, true), "{protocol}");
    }
    if let Some(found) = shell(&home, "own.db", "PRAGMA integrity_check") {
        assert_eq!(found, "ok");
    }
}

#[test]
fn a_script_runs_on_duckdb() {
    let Some(library) = duckdb_library() else { return };
    let home = Home::new();
    home.file("transfer.sql", SCRIPT);
    home.file("make.sql", &format!("{TABLE};\n{ROWS};\n"));
    let target = format!("duckdb:{}?driver={}", home.path("own.duckdb").display(), library.display());
    let once = ["--clients", "1", "--transactions", "1", "--warm-up", "0", "--protocol", "simple"];
    home.dyno(&[&["run", "./make.sql", "--target", &target], &once[..]].concat()).expect(0);
    for protocol in ["prepared", "simple"] {
        let load = ["--clients", "1", "--transactions", "30", "--protocol", protocol];
        assert_ran(&run(&home, &target, &load), 30);
    }
    home.file("sums.sql", "SELECT sum(balance)::bigint AS sum, count(*) AS count FROM acct \\gset\n\\if :sum <> 0 or :count <> 4\nINSERT INTO acct VALUES (1, 0, NULL);\n\\endif\n");
    let sums = home.dyno(&[&["run", "./sums.sql", "--json", "--target", &target], &once[..]].concat());
    assert_eq!(sums.expect(0).report().stage()["errors"], serde_json::json!({}));
}

#[test]
fn a_script_runs_on_mariadb() {
    let Some(server) = mysql::shared(MysqlProduct::MariaDb) else { return };
    let home = Home::new();
    home.file("transfer.sql", SCRIPT);
    let target = mysql::database(&server, "own_script");
    server.sql(&format!("USE {}; {TABLE}; {}", prefixed("own_script"), ROWS.replace('\\', "\\\\")));
    for protocol in ["prepared", "simple"] {
        // In a literal of the file a backslash is MySQL's.
        let load = ["--clients", "2", "--transactions", "50", "--protocol", protocol];
        assert_ran(&run(&home, &target, &load), 100);
    }
}

#[test]
fn what_is_no_value_is_refused_where_variables_are_values() {
    let home = Home::new();
    let target = target(&home, "own.db", "");
    let refused = |text: &str, more: &[&str], why: &[&str]| {
        home.file("q.sql", text);
        let run = ["run", "./q.sql", "--target", &target, "--clients", "1", "-T", "1"];
        home.dyno(&[&run[..], more].concat()).expect(1).says(why);
    };
    for protocol in ["simple", "prepared"] {
        let more = ["-D", "t=acct", "--protocol", protocol];
        refused("SELECT 1;\nSELECT * FROM :t;", &more, &["./q.sql:2: :t is to be a name"]);
        refused("SELECT ':t';", &more, &["./q.sql:1: :t stands in quotes"]);
        refused("\\set t 1\nSELECT 1 FROM :\"t\";", &more[2..], &["./q.sql:2: :\"t\" is to be a name"]);
    }
    refused("\\startpipeline\nSELECT 1;\n\\endpipeline", &[], &["./q.sql:1: \\startpipeline", "PostgreSQL"]);
    refused("\\set a 1\nSELECT 1\\;SELECT :a;", &[], &["./q.sql:2: a message of several statements"]);
}

/// Inserts a key that is there where something is not as it should be.
const ORDERS: &str = "\
\\once home random(1, 1000000000)
\\set id next(ord)
\\set lines random(0, 3)
\\for i 1 :lines
\\set item[:i] :i * 10
\\endfor
BEGIN;
INSERT INTO ord VALUES (:id, :home, :client_id);
\\if :affected <> 1
INSERT INTO ord VALUES (1, 0, 0);
\\endif
\\for i 1 :lines
INSERT INTO line VALUES (:id, :i, :item[:i]);
\\endfor
SELECT n FROM line WHERE ord = :id;
\\if :returned <> :lines or :clients <> 2
INSERT INTO ord VALUES (1, 0, 0);
\\elif :id % 5 = 0
\\rollback
\\endif
END;
";

#[test]
fn a_script_has_loops_arrays_shared_numbers_and_values_that_last() {
    let home = Home::new();
    home.file("orders.sql", ORDERS);
    let target = target(&home, "own.db", "?journal_mode=wal&synchronous=off");
    let file = rusqlite::Connection::open(home.path("own.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE ord (id INTEGER PRIMARY KEY, home INTEGER, client INTEGER); \
         CREATE TABLE line (ord INTEGER, n INTEGER, item INTEGER, PRIMARY KEY (ord, n));",
    )
    .unwrap();
    let run = ["run", "./orders.sql", "--json", "--warm-up", "0", "--target", &target];
    let load = ["--clients", "2", "--transactions", "30"];
    let report = home.dyno(&[&run[..], &load].concat()).expect(0).report();
    assert_eq!(report.stage()["errors"], serde_json::json!({}));
    assert_ran(&report, 60);
    let value = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(value("SELECT count(*) FROM ord WHERE id BETWEEN 1 AND 60 AND id % 5 <> 0"), 48);
    assert_eq!(value("SELECT count(*) FROM ord"), 48);
    assert_eq!(
        value("SELECT count(DISTINCT home) FROM ord"),
        value("SELECT count(DISTINCT client) FROM ord")
    );
    assert_eq!(value("SELECT count(*) FROM line WHERE item <> 10 * n OR ord % 5 = 0"), 0);
    assert!(value("SELECT count(*) FROM line") > 20);

    home.file("orders.sql", "\\for i 1 1000000\n\\set a :i\n\\endfor\nSELECT :a;\n");
    let ended = home.dyno(&[&run[..], &load].concat());
    assert!(ended.err.contains("more than 100000 turns of \\for"), "{}", ended.err);
    for (text, why) in [
        ("\\for i 1 2\nSELECT 1;\n", "\\for without matching \\endfor"),
        ("\\endfor\n", "\\endfor without matching \\for"),
        ("\\for i 1 2\n\\if 1\n\\endfor\n\\endif\n", "\\endfor without matching \\for"),
        ("\\for i 1 2\n\\else\n\\endfor\n", "\\else without matching \\if"),
        ("\\for i 1\n\\endfor\n", "\\for NAME FROM TO"),
        ("\\set item[1 5\n", "NAME[NUMBER], without blanks"),
        ("\\set a :item[1]\n", "the variable :item has no value"),
        ("\\rollback now\n", "unexpected argument"),
    ] {
        home.file("orders.sql", text);
        home.dyno(&run).expect(1).says(&[why]);
    }
}
