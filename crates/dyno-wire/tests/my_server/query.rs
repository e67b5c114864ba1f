//! Rows, counts and errors: the same as mysql_async has them, text and binary, with and without EOF packets.

use dyno_test_servers::MysqlProduct;
use dyno_wire::my::capabilities::StatusFlags;
use dyno_wire::my::error::MySqlError;
use dyno_wire::my::frontend;
use dyno_wire::my::handshake::Options;
use dyno_wire::my::reply::{Expect, Totals};
use mysql_async::Value;
use mysql_async::prelude::Queryable;

use crate::client::{Client, Owned, with_mysql_async};
use crate::servers::{Server, each, each_and_seekdb, each_of, for_long_statements, shared};

/// Every common type, at its limits, and NULL.
const TYPES: &str = "CREATE TABLE types (
    id int PRIMARY KEY AUTO_INCREMENT,
    ti tinyint, tu tinyint unsigned, si smallint, su smallint unsigned, mi mediumint, mu mediumint unsigned,
    i int, iu int unsigned, bi bigint, bu bigint unsigned, f float, d double, de decimal(30,10), b bit(12),
    y year, da date, dt datetime, dt6 datetime(6), ts timestamp(3) NULL, t time, t6 time(6),
    c char(10), v varchar(300), bn binary(4), vb varbinary(300), tx text, bl longblob,
    e enum('one','two'), s set('a','b','c'), j json) CHARACTER SET utf8mb4";

const ROWS: &[&str] = &[
    "(-128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808, \
     18446744073709551615, -1.5, 1e300, '-12345678901234567890.0123456789', b'101010101010', 2026, '2026-11-20', \
     '2026-11-20 12:34:56', '2026-11-20 12:34:56.789012', '2026-11-20 12:34:56.789', '-838:59:59', \
     '100:00:00.000001', 'char', repeat('v', 300), 'bin', repeat(0xff, 251), 'täxt 🦀', repeat('l', 66000), \
     'two', 'a,c', '{\"a\": [1, 2]}')",
    "(127, 0, 32767, 0, 8388607, 0, 2147483647, 0, 9223372036854775807, 0, 0, -0.1, 0, b'0', 1901, '1000-01-01', \
     '9999-12-31 00:00:00', '2000-01-01 00:00:00', '1970-01-02 00:00:01', '00:00:00', '-00:00:00.5', '', '', '', '', \
     '', '', 'one', '', 'null')",
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
];

const NAMES: &str = "ti, tu, si, su, mi, mu, i, iu, bi, bu, f, d, de, b, y, da, dt, dt6, ts, t, t6, c, v, bn, vb, tx, bl, e, s, j";

fn make_types(server: &Server, table: &str) {
    server.run(&TYPES.replace("TABLE types", &format!("TABLE {table}")));
    for row in ROWS {
        server.run(&format!("INSERT INTO {table} ({NAMES}) VALUES {row}"));
    }
}

/// Their value in the words of ours.
fn owned(value: Value) -> Owned {
    match value {
        Value::NULL => Owned::Null,
        Value::Bytes(bytes) => Owned::Bytes(bytes),
        Value::Int(number) => Owned::Text("int", number.to_string()),
        Value::UInt(number) => Owned::Text("uint", number.to_string()),
        Value::Float(number) => Owned::Text("float", number.to_string()),
        Value::Double(number) => Owned::Text("double", number.to_string()),
        Value::Date(year, month, day, hour, minute, second, micro) => {
            let fraction = if micro == 0 { String::new() } else { format!(".{micro:06}") };
            let time = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
            Owned::Text("datetime", format!("{year:04}-{month:02}-{day:02} {time}"))
        }
        Value::Time(negative, days, hours, minutes, seconds, micro) => {
            let sign = if negative { "-" } else { "" };
            let hours = days * 24 + u32::from(hours);
            let fraction = if micro == 0 { String::new() } else { format!(".{micro:06}") };
            Owned::Text("time", format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"))
        }
    }
}

fn rows(rows: Vec<mysql_async::Row>) -> Vec<Vec<Owned>> {
    rows.into_iter().map(|row| row.unwrap().into_iter().map(owned).collect()).collect()
}

/// Theirs knows no date without a time, and an unsigned number only where it must.
fn in_their_words(rows: &[Vec<Owned>]) -> Vec<Vec<Owned>> {
    let translated = |value: &Owned| match value {
        Owned::Text("date", text) => Owned::Text("datetime", format!("{text} 00:00:00")),
        Owned::Text("uint", text) if text.parse::<i64>().is_ok() => Owned::Text("int", text.clone()),
        other => other.clone(),
    };
    rows.iter().map(|row| row.iter().map(translated).collect()).collect()
}

/// Without the status, which says of the session more than of the statement.
fn counts(totals: Totals) -> Totals {
    Totals { status: StatusFlags::default(), ..totals }
}

fn every_way(server: &Server) -> [Client; 2] {
    [true, false].map(|deprecate_eof| server.root_with(Options { deprecate_eof, ..Options::default() }))
}

#[test]
fn rows_of_every_type_are_the_same_in_text() {
    each_and_seekdb(|server| {
        make_types(server, "types_text");
        let sql = format!("SELECT id, {NAMES} FROM types_text ORDER BY id");
        let theirs = with_mysql_async(server, async |other| rows(other.query(&sql).await.unwrap()));
        for mut client in every_way(server) {
            let ours = client.query(&sql);
            assert_eq!(ours.results, std::slice::from_ref(&theirs), "{}", server.product());
            assert_eq!(counts(client.count(&sql)), counts(ours.totals));
            assert_eq!((ours.totals.rows, ours.totals.statements), (3, 1));
        }
    });
}

#[test]
fn rows_of_every_type_are_the_same_in_binary() {
    each_and_seekdb(|server| {
        make_types(server, "types_binary");
        let sql = format!("SELECT id, {NAMES} FROM types_binary WHERE id > ? ORDER BY id");
        let theirs =
            with_mysql_async(server, async |other| rows(other.exec(sql.as_str(), (0,)).await.unwrap()));
        for mut client in every_way(server) {
            let prepared = client.prepare(&sql);
            assert_eq!((prepared.parameters, prepared.columns), (1, 31));
            let ours = client.execute(prepared, |writer| writer.integer(0));
            assert_eq!(in_their_words(&ours.results[0]), in_their_words(&theirs), "{}", server.product());
            assert_eq!(client.execute(prepared, |writer| writer.integer(2)).totals.rows, 1);
        }
    });
}

#[test]
fn columns_are_named_and_typed_as_theirs() {
    each(|server| {
        make_types(server, "types_columns");
        let sql = format!("SELECT id, {NAMES} FROM types_columns LIMIT 1");
        let theirs = with_mysql_async(server, async |other| {
            let row: mysql_async::Row = other.query_first(&sql).await.unwrap().unwrap();
            let column = |column: &mysql_async::Column| {
                let unsigned = column.flags().contains(mysql_async::consts::ColumnFlags::UNSIGNED_FLAG);
                (column.name_str().into_owned(), column.column_type() as u8, unsigned)
            };
            row.columns_ref().iter().map(column).collect::<Vec<_>>()
        });
        assert_eq!(server.root().query(&sql).columns, theirs);
    });
}

#[test]
fn parameters_of_every_kind_arrive() {
    each(|server| {
        for mut client in every_way(server) {
            let prepared = client.prepare("SELECT ? + 0, ? + 0, ? + 0e0, ?, ? IS NULL, ? IS NULL, hex(?)");
            let long = vec![b'x'; 70_000];
            let reply = client.execute(prepared, |writer| {
                writer.integer(i64::MIN);
                writer.unsigned(u64::MAX);
                writer.double(-0.125);
                writer.text(&long);
                writer.null();
                writer.text(b"");
                writer.text("ü🦀".as_bytes());
                writer.integer(8);
            });
            let values = reply.texts().remove(0).into_iter().map(Option::unwrap).collect::<Vec<_>>();
            let long = String::from_utf8(long.clone()).unwrap();
            let expected =
                ["-9223372036854775808", "18446744073709551615", "-0.125", &long, "1", "0", "C3BCF09FA680"];
            assert_eq!(values, expected, "{}", server.product());
            // What is not given is NULL.
            let reply = client.execute(prepared, |_| ());
            assert_eq!(reply.texts()[0][4].as_deref(), Some("1"));
        }
    });
}

#[test]
fn counts_warnings_and_infos_are_the_same() {
    let statements = [
        "CREATE TABLE counts_TAG (id int PRIMARY KEY AUTO_INCREMENT, k int, v varchar(5))",
        "INSERT INTO counts_TAG (k, v) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "INSERT IGNORE INTO counts_TAG (id, k, v) VALUES (1, 9, 'x'), (10, 10, 'much too long')",
        "UPDATE counts_TAG SET k = k WHERE id = 1",
        "UPDATE counts_TAG SET k = k + 1 WHERE id <= 2",
        "DELETE FROM counts_TAG WHERE id = 3",
        "DELETE FROM counts_TAG WHERE id = 3",
        "SELECT * FROM counts_TAG",
        "SELECT 1 / 0, 'a' + 1",
        "DROP TABLE IF EXISTS counts_none",
        "INSERT INTO counts_TAG (k) SELECT k FROM counts_TAG",
        "SET @a = 1",
    ];
    each_and_seekdb(|server| {
        let theirs = with_mysql_async(server, async |other| {
            let mut seen = Vec::new();
            for sql in statements {
                let result = other.query_iter(sql.replace("TAG", "theirs")).await.unwrap();
                let (affected, id) = (result.affected_rows(), result.last_insert_id().unwrap_or(0));
                let (warnings, info) = (result.warnings(), result.info().into_owned());
                let rows: Vec<mysql_async::Row> = result.collect_and_drop().await.unwrap();
                // After rows what it says of the statement is about their end.
                let warnings = if rows.is_empty() { warnings } else { other.get_warnings() };
                seen.push((affected, id, u64::from(warnings), info, rows.len() as u64));
            }
            seen
        });
        for (number, mut client) in every_way(server).into_iter().enumerate() {
            let ours = statements.map(|sql| {
                let reply = client.query(sql.replace("TAG", &format!("ours_{number}")));
                assert!(reply.errors.is_empty(), "{sql}: {:?}", reply.errors);
                let totals = reply.totals;
                let [info] = &reply.infos[..] else { panic!("{sql}: {:?}", reply.infos) };
                (totals.affected, totals.last_insert_id, totals.warnings, info.clone(), totals.rows)
            });
            for (at, sql) in statements.iter().enumerate() {
                // OceanBase leaves out the length before a text, and theirs takes one off it.
                if server.is(MysqlProduct::SeekDb) && !theirs[at].3.is_empty() {
                    assert!(ours[at].3.contains(&theirs[at].3), "{:?} {:?}", ours[at], theirs[at]);
                    continue;
                }
                assert_eq!(ours[at], theirs[at], "{} {number}: {sql}", server.product());
            }
        }
    });
}

#[test]
fn errors_are_the_same_and_leave_the_session_usable() {
    let statements = [
        "SELECT nothing",
        "SELEC 1",
        "SELECT * FROM mysql.none",
        "INSERT INTO errors VALUES (1)",
        "SIGNAL SQLSTATE '45123' SET MYSQL_ERRNO = 31000, MESSAGE_TEXT = 'gewollt: ä'",
    ];
    each_and_seekdb(|server| {
        server.run("CREATE TABLE errors (id int PRIMARY KEY)");
        server.run("INSERT INTO errors VALUES (1)");
        let theirs = with_mysql_async(server, async |other| {
            let mut seen = Vec::new();
            for sql in statements {
                let Err(mysql_async::Error::Server(error)) = other.query_drop(sql).await else {
                    panic!("{sql} did not fail");
                };
                seen.push((error.code, error.state, error.message));
            }
            seen
        });
        let seen = |error: &MySqlError| (error.number, error.state.to_string(), error.message.clone());
        for mut client in every_way(server) {
            for (sql, theirs) in statements.iter().zip(&theirs) {
                let reply = client.query(sql);
                let [error] = &reply.errors[..] else { panic!("{sql}: {reply:?}") };
                assert_eq!(&seen(error), theirs);
                assert_eq!(reply.totals.statements, 0);
            }
            assert_eq!(client.query("SELECT 1").value(), "1");
        }
    });
}

/// Rows are on their way when the statement fails.
#[test]
fn an_error_within_rows_ends_them() {
    each_and_seekdb(|server| {
        server.run("CREATE TABLE late (id int PRIMARY KEY, v varchar(20))");
        server.run("INSERT INTO late VALUES (1, 'x'), (2, 'x'), (3, 'x')");
        // A subquery that finds two rows, at the third row only.
        let sql =
            "SELECT id, repeat('y', 20000), (SELECT v FROM late l WHERE late.id = 3 OR l.id = 1) FROM late";
        for mut client in every_way(server) {
            let reply = client.query(sql);
            assert_eq!(reply.errors[0].number, 1242, "{}: {:?}", server.product(), reply.errors);
            assert_eq!((reply.errors.len(), reply.totals.statements), (1, 0));
            // OceanBase looks at all rows before it sends one.
            let rows = if server.is(MysqlProduct::SeekDb) { 0 } else { 2 };
            assert_eq!((reply.totals.rows, client.count(sql).rows), (rows, rows));
            assert_eq!(client.query("SELECT 1").value(), "1");
        }
    });
}

#[test]
fn several_statements_give_several_results() {
    each(|server| {
        server.run("CREATE TABLE several (id int)");
        let sql = "SELECT 1; INSERT INTO several VALUES (1), (2); SELECT 2, 3; DELETE FROM several";
        for mut client in every_way(server) {
            let reply = client.query(sql);
            assert!(reply.errors.is_empty());
            assert_eq!(reply.results.len(), 2);
            assert_eq!(counts(client.count(sql)), counts(reply.totals));
            let totals = reply.totals;
            assert_eq!((totals.statements, totals.rows, totals.affected), (4, 2, 4));
            assert!(!totals.status.more_results());
            // What follows the failing statement is not run.
            let reply = client.query("SELECT 1; SELECT nothing; SELECT 2");
            assert_eq!((reply.results.len(), reply.errors.len(), reply.totals.statements), (1, 1, 1));
        }
    });
}

#[test]
fn a_procedure_gives_results_and_an_end_in_text_and_in_binary() {
    each(|server| {
        server.run("CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2, 'b'; END");
        for mut client in every_way(server) {
            let text = client.query("CALL two_results()");
            assert!(text.errors.is_empty(), "{}: {:?}", server.product(), text.errors);
            assert_eq!((text.results.len(), text.totals.statements, text.totals.rows), (2, 3, 2));
            let prepared = client.prepare("CALL two_results()");
            let binary = client.execute(prepared, |_| ());
            assert_eq!((binary.results.len(), counts(binary.totals)), (2, counts(text.totals)));
            assert_eq!(binary.texts(), text.texts());
        }
    });
}

#[test]
fn long_statements_and_long_rows_take_several_packets() {
    // OceanBase takes 16 MiB at most.
    each_of(&[MysqlProduct::Mysql, MysqlProduct::MariaDb], for_long_statements, |server| {
        for length in [0xff_ffff - 33, 0xff_ffff, 0xff_ffff + 1, 34_000_000] {
            let mut sql = b"SELECT length('".to_vec();
            sql.resize(sql.len() + length, b'z');
            sql.extend_from_slice(b"'), 1");
            let mut client = server.root();
            assert_eq!(client.query(&sql).value(), length.to_string(), "{}", server.product());
            let sql = format!("SELECT repeat('r', {length}), 7 UNION ALL SELECT 'short', 8");
            let reply = client.query(&sql);
            let texts: Vec<_> = reply.texts().concat().into_iter().map(Option::unwrap).collect();
            assert_eq!(
                (texts[0].len(), &texts[1][..], &texts[2][..], &texts[3][..]),
                (length, "7", "short", "8")
            );
            assert!(texts[0] == "r".repeat(length));
            // Once is enough: nobody looks at the values then.
            if length == 0xff_ffff {
                assert_eq!(client.count(&sql).rows, 2);
            }
            let prepared = client.prepare("SELECT length(?), ?");
            let reply = client.execute(prepared, |writer| {
                writer.text(&vec![b'p'; length]);
                writer.text(&vec![b'q'; length / 2]);
            });
            let texts = reply.texts();
            assert_eq!(texts[0][0], Some(length.to_string()));
            assert_eq!(texts[0][1].as_ref().unwrap().len(), length / 2);
        }
    });
}

/// MariaDB answers as soon as it has read how long the packet is that makes the statement too long, and closes the connection.
/// Of a client that has sent more by then, the network may fail the writing, or throw the answer away: a matter of chance. This
/// one has sent no more when it is answered.
#[test]
fn a_statement_beyond_the_servers_limit_is_refused() {
    let Some(server) = shared(MysqlProduct::MariaDb) else { return };
    // The limit is 16 MiB.
    const FULL_PACKET: usize = 4 + 0xff_ffff;
    let mut command = Vec::new();
    frontend::query(&mut command, [&b"SELECT length('"[..], &vec![b'z'; 17_000_000], b"')"].concat());
    command.truncate(FULL_PACKET + 4);
    let reply = server.root().exchange(Expect::Text, |out| out.extend_from_slice(&command));
    assert_eq!(reply.errors[0].number, 1153, "{:?}", reply.errors);
    assert!(reply.errors[0].ends_session());
}
