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
         create table qt(p text); create unlogged table \"Mixed\"(p text); create unlogged table \"order-lines\"(p text); \
         create function read(text) returns bigint language sql stable as 'select count(*) from ql where p = $1'; \
         create function put() returns void language sql as 'insert into qu(p) values (''x'')'; \
         create function step(sum bigint, text) returns bigint language sql as 'insert into qu(p) values ($2); select $1 + 1'; \
         create aggregate tally(text) (sfunc = step, stype = bigint, initcond = 0); \
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
        ("INSERT INTO app.qs(p) VALUES ('x');", "durability-off", "unlogged: app.qs"),
        ("INSERT INTO \"app\" . qs(p) VALUES ('x');", "durability-off", "unlogged: app.qs"),
        ("SET search_path = app;\nINSERT INTO qs(p) VALUES ('x');", "durability-off", "unlogged: app.qs"),
        ("SET SCHEMA 'app';\nINSERT INTO qs(p) VALUES ('x');", "durability-off", "unlogged: app.qs"),
        ("INSERT INTO \"order-lines\"(p) VALUES ('x');", "durability-off", "unlogged: \"order-lines\""),
        ("SELECT tally(p) FROM ql;", "durability-unknown", "tally"),
        ("INSERT INTO \"Mixed\"(p) VALUES ('x');", "durability-off", "unlogged: \"Mixed\""),
        ("INSERT INTO ql(p) VALUES ('x');\nSELECT count(*) FROM qu;", "durable", ""),
        ("INSERT INTO ql(p) VALUES ('x');\nSELECT read('x');", "durable", ""),
        (
            "SET synchronous_commit = off;\nINSERT INTO ql(p) VALUES ('x');",
            "durability-relaxed",
            "synchronous_commit is off by the load's own statements",
        ),
        (
            "BEGIN;\nSET LOCAL synchronous_commit TO 'off';\nINSERT INTO ql(p) VALUES ('x');\nCOMMIT;",
            "durability-relaxed",
            "synchronous_commit is off",
        ),
        (
            "SELECT set_config('synchronous_commit', 'off', false);\nINSERT INTO ql(p) VALUES ('x');",
            "durability-relaxed",
            "synchronous_commit is off",
        ),
        ("SET synchronous_commit = local;\nINSERT INTO ql(p) VALUES ('x');", "durable", ""),
        (
            "SELECT set_config('synchronous_commit', 'o' || 'ff', false);\nINSERT INTO ql(p) VALUES ('x');",
            "durability-unknown",
            "the load's own statements set: synchronous_commit",
        ),
        ("SELECT p FROM qu WHERE id = 5;", "", ""),
        ("SELECT count(*), sum(id) FROM ql WHERE id >= 0;", "", ""),
        ("SELECT put();", "durability-unknown", "put"),
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
fn a_stream_that_only_reads_takes_nothing_from_the_durability_of_another() {
    let Some(server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    server.psql(
        "create table lg(id int primary key, v int); insert into lg select i, 0 from generate_series(1, 10000) i; \
         create unlogged table ul(v int); create sequence s; \
         create function put() returns void language sql as 'insert into ul values (1)'",
    );
    let (target, home) = (url(&server, "postgres"), Home::new());
    home.file("lg.sql", "\\set id random(1, 10000)\nUPDATE lg SET v = v + 1 WHERE id = :id;");
    for (sql, code, said) in [
        ("select count(*), sum(v) from lg where v >= 0", "durable", ""),
        ("select v from lg where id = 5", "durable", ""),
        ("select max(v), now(), random() from ul", "durable", ""),
        ("select put()", "durability-unknown", "put"),
        ("update ul set v = 1", "durability-off", "unlogged: ul"),
        ("update :\"tab\" set v = 1", "durability-off", "unlogged: ul"),
        ("select nextval('s')", "durability-unknown", "./big.sql"),
    ] {
        home.file("big.sql", &format!("{sql};"));
        let given = if sql.contains("tab") { ",define=tab=ul" } else { "" };
        let (one, other) = ("w=./lg.sql,clients=1", format!("r=./big.sql,clients=1{given}"));
        let run = ["run", "--json", "--warm-up", "0s", "--duration", "300ms", "--target", &target];
        let report =
            home.dyno(&[&run[..], &["--stream", one, "--stream", &other]].concat()).expect(0).report();
        let found = durability(&report);
        assert!(found.0 == code && found.1.contains(said), "{sql}: {found:?}");
        let data = report.document()["data"].to_string();
        assert!(!data.contains("\"script\""), "{data}");
    }
    // A table whose name a variable has.
    home.file("named.sql", "UPDATE :tab SET v = v + 1;");
    let run = |more: &[&str]| {
        let run =
            ["run", "./named.sql", "--json", "--warm-up", "0s", "--clients", "1", "--transactions", "20"];
        home.dyno(&[&run[..], &["--target", &target], more].concat())
    };
    let refused = run(&["-D", "tab=ul"]).expect(1).err;
    assert!(refused.contains("./named.sql:1: :tab stands where a table's name"), "{refused}");
    let report = run(&["-D", "tab=ul", "--protocol", "simple"]).expect(0).report();
    let (code, evidence) = durability(&report);
    assert!(code == "durability-off" && evidence.contains("unlogged: ul"), "{code}: {evidence}");
    let port = server.address.port().to_string();
    let place = ["-n", "-t", "20", "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-D", "tab=ul", "-f"];
    home.dyno(&[&["pgbench", "--dyno=full"], &place[..], &["named.sql", "postgres"]].concat()).expect(0);
    let report = home.report();
    assert_eq!(durability(&report).0, "durability-off");
    home.file(
        "named.sql",
        "SELECT 'ul' AS tab \\gset\nUPDATE lg SET v = 1 WHERE id = 1;\nUPDATE :tab SET v = v + 1;",
    );
    let report = run(&["--protocol", "simple"]).expect(0).report();
    let (code, evidence) = durability(&report);
    assert!(code == "durability-unknown" && evidence.contains(":tab"), "{code}: {evidence}");
    // What dyno cannot check it does not ask for.
    let findings = report.document()["findings"].as_array().unwrap();
    let unchecked = findings.iter().find(|finding| finding["code"] == "data-check-not-made").unwrap();
    assert!(unchecked["advice"].as_str().unwrap().contains("look yourself"), "{unchecked}");
}

#[test]
fn queries_that_write_are_as_durable_as_the_engines_of_their_tables() {
    let home = Home::new();
    // Of a folder.
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
        let elsewhere = prefixed("durability_elsewhere");
        server.sql(&format!(
            "DROP DATABASE IF EXISTS {elsewhere}; CREATE DATABASE {elsewhere}; \
             CREATE TABLE {elsewhere}.gone (p INT) ENGINE = MEMORY"
        ));
        let gone = format!("{elsewhere}.gone");
        for (table, unlogged) in [("kept", false), ("forgotten", true), ("old", true), (&*gone, true)] {
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
    let mut session = Target::parse(&target, &Environment::empty()).unwrap().connect().unwrap();
    session.execute("CREATE DATABASE IF NOT EXISTS elsewhere").unwrap();
    session.execute("CREATE TABLE IF NOT EXISTS elsewhere.gone (p Int64) ENGINE = Memory").unwrap();
    let report = run(&target, "INSERT INTO elsewhere.gone VALUES (1)");
    let (code, evidence) = durability(&report);
    assert!(code == "durability-off" && evidence.contains("elsewhere.gone"), "{code}: {evidence}");
}
