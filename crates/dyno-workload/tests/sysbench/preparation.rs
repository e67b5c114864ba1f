//! The tables that are made: like sysbench's, complete, and found again.

use std::sync::LazyLock;

use dyno_test_servers::{MysqlProduct, MysqlSetup, Recorded, runs_references, succeed};
use dyno_workload::benchmark::Done;
use dyno_workload::dataset::State;
use dyno_workload::sysbench::prepare::Progress;
use dyno_workload::sysbench::{Existing, Options, PrepareError, Test, Wanted, cleanup, prewarm, state};

use crate::recorded;
use crate::server::{Server, assert_passed};

const ANY: Wanted = Wanted { tables: None, table_size: None, key: true, index: true };

fn options(tables: u32, table_size: u64) -> Options {
    Options { tables, table_size, ..Options::default() }
}

/// Columns with their types and defaults, then indexes, of all tables with such names.
fn schema(server: &Server) -> Vec<String> {
    let (columns, indexes) = match server.is_mysql() {
        true => (
            "SELECT table_name, column_name, column_type, is_nullable, column_default, extra \
             FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, ordinal_position",
            "SELECT table_name, index_name, column_name, non_unique FROM information_schema.statistics \
             WHERE table_schema = DATABASE() ORDER BY 1, 2, seq_in_index",
        ),
        false => (
            "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default \
             FROM information_schema.columns WHERE table_name LIKE 'sbtest%' ORDER BY 1, ordinal_position",
            "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'sbtest%' ORDER BY 1, 2",
        ),
    };
    let mut connection = server.open();
    let rows = [columns, indexes].map(|sql| connection.query(sql).unwrap());
    let line = |row: &dyno_target::connection::TextRow| {
        row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join(" ")
    };
    rows.iter().flatten().map(line).collect()
}

#[test]
fn tables_are_those_of_the_real_sysbench_and_serve_it() {
    static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("schema"));
    Server::on_each(|server| {
        let name = server.name();
        let wanted = Wanted { tables: Some(2), table_size: Some(500), ..ANY };
        let really = |arguments: &[&str]| {
            let mut sysbench = server.sysbench().unwrap_or_else(|| panic!("there is no sysbench to record"));
            succeed(sysbench.args(["--tables=2", "--table-size=500"]).args(arguments))
        };
        let is_found = || {
            let found = state(&mut server.open(), &options(2, 500)).unwrap().found(wanted).unwrap().unwrap();
            assert_eq!((found.tables, found.table_size), (2, 500), "{name}");
        };
        let theirs: Vec<String> = RECORDED.get(&name, || {
            really(&["oltp_read_write", "prepare"]);
            is_found();
            schema(&server)
        });
        server.prepare(&options(2, 500)).unwrap();
        is_found();
        assert_eq!(schema(&server), theirs, "{name}");
        if runs_references() {
            let report = really(&["oltp_read_write", "--events=50", "--time=0", "--threads=2", "run"]);
            assert!(report.contains("transactions:                        50 "), "{name}: {report}");
        }
        // The numbering goes on behind the rows that were loaded.
        let mut connection = server.open();
        for table in ["sbtest1", "sbtest2", "sbtest2"] {
            connection.execute(&format!("INSERT INTO {table} (k, c, pad) VALUES (1, '', '')")).unwrap();
        }
        for (table, last) in [("sbtest1", 501), ("sbtest2", 502)] {
            let newest = format!("SELECT MAX(id) FROM {table}");
            assert_eq!(connection.query_value::<u64>(&newest).unwrap(), Some(last), "{name}");
        }
    });
}

#[test]
fn rows_are_complete_and_steps_are_told() {
    Server::on_each(|server| {
        // More than a transaction's worth where a table is loaded in parts, and several tables.
        for (tables, table_size) in [(1, 100_500), (3, 700)] {
            is_complete(&server, tables, table_size);
        }
    });
}

fn is_complete(server: &Server, tables: u32, table_size: u64) {
    let about = format!("{tables} of {table_size} on {}", server.name());
    let options = options(tables, table_size);
    let progress = server.prepare(&options).unwrap();
    let begun: Vec<_> = progress
        .iter()
        .filter_map(|news| match news {
            Progress::Begun { step } => Some(*step),
            _ => None,
        })
        .collect();
    assert_eq!(begun, ["drop", "tables", "data", "keys", "indexes", "analyze"], "{about}");
    let finished = progress.iter().filter(|news| matches!(news, Progress::Finished(_))).count();
    assert_eq!(finished, 6, "{about}");
    let last_rows = progress.iter().rev().find(|news| matches!(news, Progress::Rows { .. }));
    let all = u64::from(tables) * table_size;
    assert_eq!(last_rows, Some(&Progress::Rows { done: all, total: all }), "{about}");
    let mut connection = server.open();
    for table in 1..=tables {
        let loaded = Progress::Table { step: "data", table };
        assert_eq!(progress.iter().filter(|news| **news == loaded).count(), 1, "{about}");
        let whole = format!(
            "SELECT COUNT(DISTINCT c) FROM sbtest{table} WHERE k BETWEEN 1 AND {table_size} \
             AND LENGTH(c) >= 119 AND LENGTH(pad) >= 59 \
             AND c LIKE '___________-%-___________%' AND pad LIKE '___________-%-___________%'"
        );
        assert_eq!(connection.query_value::<u64>(&whole).unwrap(), Some(table_size), "{about}");
        let count = format!("SELECT COUNT(*) FROM sbtest{table}");
        assert_eq!(connection.query_value::<u64>(&count).unwrap(), Some(table_size), "{about}");
    }
    let found = state(&mut connection, &options).unwrap().found(ANY).unwrap().unwrap();
    assert_eq!((found.tables, found.table_size), (tables, table_size), "{about}");
    for table in 1..=tables {
        prewarm(&mut connection, &options, &server.dialect(), table).unwrap();
    }
    cleanup(&mut connection, &options, &mut |_| {}).unwrap();
    assert_eq!(state(&mut connection, &options).unwrap(), State::Missing, "{about}");
}

#[test]
fn what_cannot_be_used_is_told_apart() {
    Server::on_each(|server| {
        let name = server.name();
        let mut connection = server.open();
        let wanted = options(2, 200);
        assert_eq!(state(&mut connection, &wanted).unwrap(), State::Missing, "{name}");
        server.prepare(&wanted).unwrap();
        let now = |wanted: &Options, asked| state(&mut server.open(), wanted).unwrap().found(asked);
        let fewer = now(&options(4, 200), Wanted { tables: Some(4), ..ANY }).unwrap_err().to_string();
        assert!(fewer.contains("has 2 tables, not 4"), "{name}: {fewer}");
        let other = Wanted { table_size: Some(300), ..ANY };
        let other = now(&wanted, other).unwrap_err().to_string();
        assert!(other.contains("has tables of 200 rows, not 300"), "{name}: {other}");
        connection.execute("DELETE FROM sbtest2 WHERE id BETWEEN 50 AND 60").unwrap();
        let damaged = now(&wanted, ANY).unwrap_err().to_string();
        assert!(damaged.contains("rows of sbtest2 that were looked up"), "{name}: {damaged}");
        connection.execute("DELETE FROM sbtest2").unwrap();
        let empty = now(&wanted, ANY).unwrap_err().to_string();
        assert!(empty.contains("sbtest2 is empty"), "{name}: {empty}");
        connection.execute("DROP TABLE sbtest2").unwrap();
        connection.execute("CREATE TABLE sbtest2 (what INTEGER)").unwrap();
        let State::NotOurs { table, .. } = state(&mut connection, &wanted).unwrap() else { panic!("{name}") };
        assert_eq!(table, "sbtest2", "{name}");
        assert!(matches!(server.prepare(&wanted), Err(PrepareError::NotOurs { .. })), "{name}");
        let kept = server.prepare_as(&wanted, server.dialect(), Existing::Keep).unwrap_err();
        assert!(matches!(kept, PrepareError::Exists { .. }), "{name}: {kept}");
        connection.execute("DROP TABLE sbtest2").unwrap();
        server.prepare(&wanted).unwrap();
        let found = now(&wanted, ANY).unwrap().unwrap();
        assert_eq!((found.tables, found.table_size), (2, 200), "{name}");
    });
}

#[test]
fn a_user_who_may_only_read_finds_the_keys() {
    Server::on_each(|server| {
        let name = server.name();
        let options = options(2, 200);
        server.prepare(&options).unwrap();
        let user = server.create_reader();
        let mut reader = server.target_of(&user, "x").connect().unwrap();
        let found = state(&mut reader, &options).unwrap().found(ANY).unwrap().unwrap();
        assert_eq!((found.tables, found.keyed, found.indexed), (2, true, true), "{name}");
        assert!(reader.execute("DELETE FROM sbtest1").is_err(), "{name}");
    });
}

/// Parts of a table go over several connections, of which only one makes its index and commits by it.
#[test]
fn defaults_of_sessions_do_not_matter() {
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with("autocommit=0");
    let Some(server) = Server::own_mysql(&setup.with("sql_mode=NO_BACKSLASH_ESCAPES")) else { return };
    let (options, dialect) = (options(1, 100_500), server.dialect());
    // Every statement from here on that whoever prepares or checks has not freed of it.
    server.open().execute("SET GLOBAL max_statement_time = 0.3").unwrap();
    server.prepare_as(&options, dialect, Existing::Keep).unwrap();
    let checks = server.verified(Test::PointSelect, &options, Done::default);
    assert_passed(&checks, "nothing was done");
    assert!(checks.iter().any(|check| check.detail.contains("100,500 rows")), "{checks:#?}");
}

#[test]
fn other_keys_and_no_rows_can_be_had() {
    Server::on_each(|server| {
        let name = server.name();
        let options =
            Options { secondary: true, auto_inc: false, create_secondary: false, ..options(2, 300) };
        server.prepare(&options).unwrap();
        let found = state(&mut server.open(), &options).unwrap();
        let found = found.found(Wanted { key: false, index: false, ..ANY }).unwrap().unwrap();
        assert_eq!((found.tables, found.keyed, found.indexed), (2, false, false), "{name}");
        let indexes = schema(&server).iter().filter(|line| line.contains("xid")).count();
        assert_eq!(indexes, 2, "{name}");
        let empty = Options { table_size: 0, auto_inc: false, ..Options::default() };
        server.prepare(&empty).unwrap();
        assert_eq!(server.open().query_value::<u64>("SELECT COUNT(*) FROM sbtest1").unwrap(), Some(0));
        assert_eq!(
            state(&mut server.open(), &empty).unwrap().found(ANY).unwrap().unwrap().tables,
            1,
            "{name}"
        );
    });
}
