//! Errors and notices worded by us and by psql, which has libpq word them.

use std::process::Command;

use dyno_wire::libpq_text;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::client::Client;
use crate::postgres::{self, Postgres};

const FAILING: &[&str] = &[
    "SELEC 1",
    "SELECT 1 +",
    "SELECT * FROM nowhere",
    "SELECT\n1,\n  2 2 2,\n3",
    "SELECT\r\n1,\r\n\tx y z",
    "SELECT\r1,\r x y z",
    "\n\n\nSELECT nothing",
    "SELECT 'über', 'ゆき', '🦀' ,\t\twrong FROM t",
    "SELECT 'ゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆきゆき', wrong, 1, 2, 3, 4, 5, 6, 7, 8",
    "SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e, 6 AS f, 7 AS g, wrong, 8 AS h, 9 AS i, 10 AS j, 11 AS k",
    "SELECT 1; SELECT 2; SELECT e\u{301}, wrong",
    "SELECT 1/0",
    "SELECT 'x'::int",
    "SELECT pg_catalog.length(1, 2)",
    "CREATE TEMP TABLE d (i int PRIMARY KEY); INSERT INTO d VALUES (1), (1)",
    "CREATE TEMP TABLE d (i int CHECK (i > 0)); INSERT INTO d VALUES (-1)",
    "DO 'BEGIN EXECUTE ''SELECT nothing''; END'",
    "DO 'BEGIN\n  PERFORM 1 / 0;\nEND'",
    "DO 'BEGIN x = = 1; END'",
    "DO $$BEGIN RAISE EXCEPTION 'a' USING DETAIL = E'two\\nlines', HINT = 'h'; END$$",
    "SELECT 'open",
    "COPY nowhere FROM STDIN",
];

const NOTICING: &[&str] = &[
    "DROP TABLE IF EXISTS nowhere",
    "DO $$BEGIN RAISE NOTICE E'two\\nlines' USING DETAIL = 'd', HINT = 'h'; END$$",
    "DO $$BEGIN RAISE WARNING 'w'; END$$",
    "ROLLBACK",
    "CREATE TEMP TABLE n (i int); CREATE TEMP TABLE IF NOT EXISTS n (i int)",
];

/// What psql prints for each query, all in one go.
fn by_psql(server: &Postgres, queries: &[&str]) -> Vec<String> {
    const END: &str = "--- end ---";
    let mut psql: Command = server.command("psql", "postgres");
    psql.args(["-X", "-q"]).env("PGCLIENTENCODING", "UTF8");
    for query in queries {
        psql.args(["-c", query, "-c", &format!("\\warn {END}")]);
    }
    let output = psql.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let mut parts: Vec<String> = text.split(&format!("{END}\n")).map(str::to_owned).collect();
    assert_eq!(parts.pop().as_deref(), Some(""));
    assert_eq!(parts.len(), queries.len());
    parts
}

#[test]
fn errors_read_as_psql_prints_them() {
    let Some(server) = postgres::shared() else { return };
    for (query, expected) in FAILING.iter().zip(by_psql(&server, FAILING)) {
        let reply = Client::superuser(server.address).query(query);
        let [error] = reply.errors.as_slice() else { panic!("{query}: {:?}", reply.errors) };
        assert_eq!(libpq_text::error(error, Some(query)), expected, "{query}");
    }
}

#[test]
fn notices_read_as_psql_prints_them() {
    let Some(server) = postgres::shared() else { return };
    for (query, expected) in NOTICING.iter().zip(by_psql(&server, NOTICING)) {
        let reply = Client::superuser(server.address).query(query);
        assert!(reply.errors.is_empty() && !expected.is_empty(), "{query}");
        assert_eq!(reply.notice_texts.concat(), expected, "{query}");
    }
}

#[test]
fn a_prepared_statement_has_its_position_in_words() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let reply = client.query("SELECT nothing");
    assert_eq!(
        libpq_text::error(&reply.errors[0], None),
        "ERROR:  column \"nothing\" does not exist at character 8\n"
    );
}

/// Lines of every length with letters of every width around a word that no table has.
#[test]
fn generated_queries_point_at_the_same_place() {
    let Some(server) = postgres::shared() else { return };
    let filling =
        || proptest::collection::vec("'[a-zé🦀ゆ ]{0,12}',[ \t\n\r]{0,2}|1,|[ \t]{0,9}1,\r?\n", 0..14);
    let query = (filling(), filling())
        .prop_map(|(before, after)| format!("SELECT {} wrong, {} 1", before.concat(), after.concat()));
    let mut runner = TestRunner::new(Config::with_cases(1));
    runner
        .run(&proptest::collection::vec(query, 400), |queries| {
            let mut client = Client::superuser(server.address);
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            for (query, expected) in queries.iter().zip(by_psql(&server, &queries)) {
                let reply = client.query(query);
                prop_assert_eq!(reply.errors.len(), 1, "{:?}", query);
                prop_assert_eq!(libpq_text::error(&reply.errors[0], Some(query)), expected, "{:?}", query);
            }
            Ok(())
        })
        .unwrap();
}
