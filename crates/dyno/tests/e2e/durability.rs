//! Whether a user's own tables have a log, on real servers: what the catalog says of the tables that the statements name.

use std::fs;

use dyno_target::{Environment, Target};
use dyno_test_servers::{ClickHouse, ClickHouseKind, MysqlProduct, Postgres, Setup};

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::{prefixed, url};

/// The code and the evidence of what is said of durability; the load is known to have written.
#[track_caller]
fn durability(report: &Report) -> (&str, &str) {
    let findings = report.document()["findings"].as_array().unwrap();
    let mut about = findings.iter().filter(|finding| finding["code"].as_str().unwrap().starts_with("durab"));
    // An old ClickHouse does not say how it writes.
    let Some(found) = about.next() else { return ("", "") };
    assert!(about.next().is_none(), "{findings:#?}");
    (found["code"].as_str().unwrap(), found["evidence"].as_str().unwrap())
}

#[test]
fn a_script_is_as_durable_as_the_tables_that_it_names() {
    let Some(server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    server.psql(
        "create table ql(id bigserial primary key, p text); create unlogged table qu(id bigserial primary key, p text); \
         create view vl as select * from ql; create schema app; create unlogged table app.qs(p text); \
         create table qt(p text); \
         create function put() returns void language sql as 'insert into qu(p) values (''x'')'; \
         create function copied() returns trigger language plpgsql as 'begin insert into qu(p) values (new.p); return new; end'; \
         create trigger copy after insert on qt for each row execute function copied()",
    );
    let (target, port) = (url(&server, "postgres"), server.address.port().to_string());
    let home = Home::new();
    let full = [
        "pgbench",
        "--dyno=full",
        "-n",
        "-c",
        "2",
        "-t",
        "20",
        "-h",
        "127.0.0.1",
        "-p",
        &port,
        "-U",
        "postgres",
        "-f",
    ];
    for (sql, code, said) in [
        ("INSERT INTO ql(p) VALUES ('x');", "durable", ""),
        (
            "-- do an update of a row that the setup did create\n\\set id random(1, 9)\n\
             INSERT INTO ql(id, p) VALUES (:id, 'x') ON CONFLICT (id)\nDO UPDATE SET p = 'create; do';",
            "durable",
            "",
        ),
        (
            "\\set x 1\nCREATE TEMP TABLE IF NOT EXISTS own AS SELECT :x; INSERT INTO ql(p) VALUES ('x');",
            "durability-unknown",
            "CREATE",
        ),
        ("insert into QU(p) values ('x');", "durability-off", "unlogged: qu"),
        ("INSERT INTO ql(p) VALUES ('x');\nDELETE FROM qu WHERE id = 1;", "durability-off", "unlogged: qu"),
        ("INSERT INTO vl(p) VALUES ('x');", "durability-unknown", "vl"),
        ("INSERT INTO ql(p) VALUES ('x');\nSELECT put();", "durability-unknown", "put"),
        ("INSERT INTO qt(p) VALUES ('x');", "durability-unknown", "copy"),
        ("INSERT INTO app.qs(p) VALUES ('x');", "durability-unknown", "app.qs"),
        (
            "SET synchronous_commit = off;\nINSERT INTO ql(p) VALUES ('x');",
            "durability-unknown",
            "SYNCHRONOUS_COMMIT",
        ),
    ] {
        home.file("mine.sql", sql);
        let run = [
            "run",
            "./mine.sql",
            "--json",
            "--warm-up",
            "0s",
            "--clients",
            "2",
            "--transactions",
            "20",
            "--target",
            &target,
        ];
        let report = home.dyno(&run).expect(0).report();
        let found = durability(&report);
        assert!(found.0 == code && found.1.contains(said), "{sql}: {found:?}");
        home.dyno(&[&full[..], &["mine.sql", "postgres"]].concat()).expect(0);
        let report = home.report();
        let found = durability(&report);
        assert!(found.0 == code && found.1.contains(said), "pgbench, {sql}: {found:?}");
    }
}

#[test]
fn queries_that_write_are_as_durable_as_the_engines_of_their_tables() {
    let home = Home::new();
    let run = |target: &str, sql: &str| {
        fs::create_dir_all(home.path("mine")).unwrap();
        home.file("mine/put.sql", sql);
        let run = ["run", "./mine/", "--json", "--warm-up", "0s", "--clients", "1", "--target", target];
        home.dyno(&run).expect(0).report()
    };
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let Some(server) = mysql::shared(product) else { continue };
        let target = mysql::database(&server, "durability");
        let database = prefixed("durability");
        server.sql(&format!(
            "CREATE TABLE {database}.kept (p INT) ENGINE = InnoDB; CREATE TABLE {database}.forgotten (p INT) ENGINE = MEMORY; \
             CREATE TABLE {database}.old (p INT) ENGINE = MyISAM"
        ));
        for (table, unlogged) in [("kept", false), ("forgotten", true), ("old", true)] {
            let report = run(&target, &format!("INSERT INTO {table} VALUES (1)"));
            let (code, evidence) = durability(&report);
            let said = evidence.contains(&format!("unlogged: {table}"));
            assert!(
                said == unlogged && (code == "durability-off" || !unlogged),
                "{table}: {code}: {evidence}"
            );
        }
    }
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let target = server.url();
    for (engine, unlogged) in [("Memory", true), ("Null", true), ("MergeTree ORDER BY p", false)] {
        let mut session = Target::parse(&target, &Environment::empty()).unwrap().connect().unwrap();
        session.execute("DROP TABLE IF EXISTS own").unwrap();
        session.execute(&format!("CREATE TABLE own (p Int64) ENGINE = {engine}")).unwrap();
        let report = run(&target, "INSERT INTO own VALUES (1)");
        let (code, evidence) = durability(&report);
        assert!((code == "durability-off") == unlogged, "{engine}: {code}: {evidence}");
    }
}
