//! The same statements through our machines and through tokio-postgres.

use dyno_wire::pg::backend::TransactionStatus;
use dyno_wire::pg::error::PostgresError;
use dyno_wire::pg::frontend;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::{DbError, ErrorPosition};

use crate::client::{Client, Reply, with_tokio};
use crate::postgres;

const QUERIES: &[&str] = &[
    "SELECT 1 AS one, 'zwölf' AS two, NULL AS three",
    "SELECT g, md5(g::text), g % 3 = 0, g / 7.0 FROM generate_series(1, 5000) g",
    "SELECT repeat('x', 300000) AS wide",
    "SELECT repeat('y', g) FROM generate_series(0, 70000, 9973) g",
    "SELECT ''::text, '{}'::text[], 'NaN'::float8, '-infinity'::timestamp, '\\x00ff'::bytea",
    "SELECT 1 AS a; SELECT 2 AS b, 3 AS c; SELECT 4 AS d WHERE false",
    "SELECT",
    "VALUES ('a'), (NULL), ('b')",
    "CREATE TEMP TABLE t AS SELECT g FROM generate_series(1, 10) g; UPDATE t SET g = g + 1 WHERE g > 5",
    "BEGIN; CREATE TEMP TABLE r (i int); INSERT INTO r VALUES (1), (2) RETURNING i; ROLLBACK",
    "",
];

#[test]
fn simple_queries_give_the_same_values() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    with_tokio(server.address, async |tokio| {
        for sql in QUERIES {
            let ours = client.query(sql);
            assert!(ours.errors.is_empty(), "{sql}: {:?}", ours.errors);
            assert_eq!(ours.rows, simple_rows(&tokio.simple_query(sql).await.unwrap()), "{sql}");
        }
    });
}

fn simple_rows(messages: &[SimpleQueryMessage]) -> Vec<Vec<Option<String>>> {
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
        }
        _ => None,
    });
    rows.collect()
}

#[test]
fn rows_are_counted_as_the_server_counts_them() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    for (sql, statements, rows, affected) in [
        ("CREATE TEMP TABLE t (i int PRIMARY KEY, s text)", 1, 0, 0),
        ("INSERT INTO t SELECT g, 's' FROM generate_series(1, 100) g", 1, 0, 100),
        ("UPDATE t SET s = 'u' WHERE i <= 30", 1, 0, 30),
        ("DELETE FROM t WHERE i > 90 RETURNING i", 1, 10, 10),
        ("SELECT * FROM t", 1, 90, 0),
        ("CREATE TEMP TABLE u AS SELECT * FROM t", 1, 0, 90),
        (
            "MERGE INTO t USING u ON t.i = u.i + 1 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN DO NOTHING",
            1,
            0,
            89,
        ),
        ("BEGIN; DECLARE c CURSOR FOR SELECT * FROM u; FETCH 20 FROM c; COMMIT", 4, 20, 0),
        ("SELECT 1; UPDATE u SET s = 'x'; SELECT 2", 3, 2, 90),
        ("", 1, 0, 0),
    ] {
        let totals = client.query(sql).totals;
        assert_eq!((totals.statements, totals.rows, totals.affected), (statements, rows, affected), "{sql}");
    }
    assert_eq!(client.query("BEGIN").totals.status, TransactionStatus::InTransaction);
    assert_eq!(client.query("SELECT 1/0").totals.status, TransactionStatus::Failed);
    assert_eq!(client.query("ROLLBACK").totals.status, TransactionStatus::Idle);
}

#[test]
fn prepared_statements_give_the_same_values() {
    let Some(server) = postgres::shared() else { return };
    let sql = "SELECT $1::int8 * 2, upper($2::text), $3::float8 / 3, $4::bool, $5::text";
    let mut client = Client::superuser(server.address);
    let prepared = client.exchange(1, |out| {
        frontend::parse(out, "statement", sql, &[]);
        frontend::sync(out);
    });
    assert!(prepared.errors.is_empty());
    let cases = [
        (1_i64, Some("grün"), 1.0_f64, true),
        (i64::MAX / 2, None, f64::MAX, false),
        (-1, Some(""), -0.1, true),
    ];
    with_tokio(server.address, async |tokio| {
        let statement = tokio.prepare(sql).await.unwrap();
        for (number, text, float, truth) in cases {
            let nothing = None::<&str>;
            let theirs =
                tokio.query_one(&statement, &[&number, &text, &float, &truth, &nothing]).await.unwrap();
            let ours = bound(&mut client, number, text, float, truth);
            let [row] = &ours.rows[..] else { panic!("{ours:?}") };
            assert_eq!(row[0].as_ref().unwrap().parse(), Ok(theirs.get::<_, i64>(0)));
            assert_eq!(row[1].as_deref(), theirs.get::<_, Option<&str>>(1));
            assert_eq!(row[2].as_ref().unwrap().parse(), Ok(theirs.get::<_, f64>(2)));
            assert_eq!(row[3].as_deref() == Some("t"), theirs.get::<_, bool>(3));
            assert_eq!(row[4].as_deref(), theirs.get::<_, Option<&str>>(4));
        }
    });
    let closed = client.exchange(1, |out| {
        frontend::close_statement(out, "statement");
        frontend::bind(out, "", "statement", []);
        frontend::sync(out);
    });
    assert_eq!(closed.errors[0].code, "26000");
}

fn bound(client: &mut Client, number: i64, text: Option<&str>, float: f64, truth: bool) -> Reply {
    let (number, float) = (number.to_string(), format!("{float:?}"));
    let truth: &[u8] = if truth { b"t" } else { b"f" };
    client.exchange(1, |out| {
        let parameters =
            [Some(number.as_bytes()), text.map(str::as_bytes), Some(float.as_bytes()), Some(truth), None];
        frontend::bind(out, "", "statement", parameters);
        frontend::execute(out, "", 0);
        frontend::sync(out);
    })
}

#[test]
fn portals_give_their_rows_in_portions() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let reply = client.exchange(1, |out| {
        frontend::parse(out, "", "SELECT generate_series(1, 5)", &[]);
        frontend::bind(out, "portal", "", []);
        frontend::describe_portal(out, "portal");
        frontend::execute(out, "portal", 3);
        frontend::flush(out);
        frontend::execute(out, "portal", 3);
        frontend::sync(out);
    });
    assert_eq!(reply.columns, ["generate_series"]);
    assert_eq!((reply.totals.statements, reply.totals.rows), (2, 5));
}

#[test]
fn a_pipeline_of_several_syncs_goes_on_after_an_error() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let reply = client.exchange(3, |out| {
        for sql in ["SELECT 1", "SELECT 1/0", "SELECT 3"] {
            frontend::parse(out, "", sql, &[]);
            frontend::bind(out, "", "", []);
            frontend::execute(out, "", 0);
            frontend::sync(out);
        }
    });
    assert_eq!(reply.rows, [[Some("1".to_owned())], [Some("3".to_owned())]]);
    assert_eq!(reply.errors.len(), 1);
    assert_eq!(reply.errors[0].code, "22012");
    assert_eq!(reply.totals.statements, 2);
}

const SCHEMA: &str = "
DROP SCHEMA IF EXISTS failures CASCADE;
CREATE SCHEMA failures;
CREATE DOMAIN failures.small AS int CHECK (VALUE < 10);
CREATE TABLE failures.t (i int PRIMARY KEY, n int NOT NULL, CONSTRAINT positive CHECK (n > 0));
INSERT INTO failures.t VALUES (1, 1);
CREATE FUNCTION failures.f() RETURNS void LANGUAGE plpgsql AS
  $$BEGIN EXECUTE 'SELECT nonsense FROM failures.t'; END$$;
CREATE FUNCTION failures.g() RETURNS void LANGUAGE plpgsql AS
  $$BEGIN RAISE EXCEPTION 'grün' USING ERRCODE = 'XX123', DETAIL = 'd', HINT = 'h'; END$$";

const FAILURES: &[(&str, &str)] = &[
    ("SELEC 1", "42601"),
    ("SELECT 'ä', nonsense", "42703"),
    ("SELECT 1/0", "22012"),
    ("SELECT 'x'::int", "22P02"),
    ("INSERT INTO failures.t VALUES (1, 1)", "23505"),
    ("INSERT INTO failures.t VALUES (2, NULL)", "23502"),
    ("INSERT INTO failures.t VALUES (3, -1)", "23514"),
    ("SELECT 10::failures.small", "23514"),
    ("SELECT failures.f()", "42703"),
    ("SELECT failures.g()", "XX123"),
    ("SELECT * FROM nowhere", "42P01"),
    ("SELECT lower(1)", "42883"),
];

#[test]
fn errors_have_the_same_sqlstate_and_fields() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    assert!(client.query(SCHEMA).errors.is_empty());
    with_tokio(server.address, async |tokio| {
        for (sql, code) in FAILURES {
            let reply = client.query(sql);
            let [ours] = &reply.errors[..] else { panic!("{sql}: {reply:?}") };
            let theirs = tokio.simple_query(sql).await.unwrap_err();
            same_error(ours, theirs.as_db_error().unwrap());
            assert_eq!(ours.code, *code, "{sql}");
            assert_eq!(ours.to_string(), format!("ERROR: {} (SQLSTATE {code})", ours.message));
        }
    });
}

fn same_error(ours: &PostgresError, theirs: &DbError) {
    assert_eq!(ours.severity, theirs.severity());
    assert_eq!(ours.code.as_str(), theirs.code().code());
    assert_eq!(ours.message, theirs.message());
    let (position, internal) = match theirs.position() {
        None => (None, None),
        Some(ErrorPosition::Original(position)) => (Some(*position), None),
        Some(ErrorPosition::Internal { position, query }) => (None, Some((*position, query.as_str()))),
    };
    assert_eq!(ours.position, position);
    assert_eq!(ours.internal_position.zip(ours.internal_query.as_deref()), internal);
    for (ours, theirs) in [
        (&ours.detail, theirs.detail()),
        (&ours.hint, theirs.hint()),
        (&ours.context, theirs.where_()),
        (&ours.routine, theirs.routine()),
    ] {
        assert_eq!(ours.as_deref(), theirs);
    }
}

#[test]
fn notices_parameters_and_notifications_arrive() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let reply = client.query("DO $$BEGIN RAISE NOTICE 'hört'; RAISE WARNING 'two'; END$$");
    assert_eq!(reply.notices, ["hört", "two"]);
    assert_eq!(client.session.parameters["client_encoding"], "UTF8");
    let reply = client.query("SET application_name = 'renamed'");
    assert_eq!(reply.parameters, [("application_name".to_owned(), "renamed".to_owned())]);
    let reply = client.query("LISTEN bell; NOTIFY bell, 'rung'");
    let process_id = client.session.process_id;
    assert_eq!(reply.notifications, [(process_id, "bell".to_owned(), "rung".to_owned())]);
    let reply = client.query("SELECT pg_backend_pid()");
    assert_eq!(reply.rows, [[Some(process_id.to_string())]]);
}

#[test]
fn a_text_with_a_nul_cannot_become_a_second_message() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let reply = client.query("SELECT 1\0; SELECT 2");
    assert_eq!(reply.rows, [[Some("1".to_owned())]]);
    assert_eq!(client.query("SELECT 3").rows, [[Some("3".to_owned())]]);
}
