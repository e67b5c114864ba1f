//! The tables that are made: like sysbench's, complete, and found again.

use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_workload::sysbench::prepare::Progress;
use dyno_workload::sysbench::{
    Existing, NotReady, Options, PrepareError, State, Test, Told, Wanted, cleanup, prewarm, state,
};

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
    let line = |row: &dyno_target::connection::Row| {
        row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join(" ")
    };
    rows.iter().flatten().map(line).collect()
}

#[test]
fn tables_are_those_of_the_real_sysbench_and_serve_it() {
    Server::on_each(|server| {
        let name = server.name();
        let Some(mut theirs) = server.sysbench() else { return };
        theirs.args(["oltp_read_write", "--tables=2", "--table-size=500"]);
        dyno_test_servers::succeed(theirs.arg("prepare"));
        let expected = schema(&server);
        let found = state(&mut server.open(), &options(2, 500)).unwrap();
        let found = found.ready(Wanted { tables: Some(2), table_size: Some(500), ..ANY }).unwrap();
        assert_eq!((found.tables, found.table_size), (2, 500), "{name}");
        server.prepare(&options(2, 500)).unwrap();
        assert_eq!(schema(&server), expected, "{name}");
        let mut theirs = server.sysbench().unwrap();
        theirs.args([
            "oltp_read_write",
            "--tables=2",
            "--table-size=500",
            "--events=50",
            "--time=0",
            "--threads=2",
            "run",
        ]);
        let report = dyno_test_servers::succeed(&mut theirs);
        assert!(report.contains("transactions:                        50 "), "{name}: {report}");
        // The numbering goes on behind the rows that were loaded.
        let mut theirs = server.sysbench().unwrap();
        theirs.args(["oltp_insert", "--tables=2", "--table-size=500", "--events=10", "--time=0", "run"]);
        dyno_test_servers::succeed(&mut theirs);
        let sum = "SELECT (SELECT MAX(id) FROM sbtest1) + (SELECT MAX(id) FROM sbtest2)";
        assert_eq!(server.open().query_value::<u64>(sum).unwrap(), Some(1_010), "{name}");
    });
}

#[test]
fn rows_are_complete_and_steps_are_told() {
    Server::on_each(|server| {
        let name = server.name();
        // More than a transaction's worth where a table is loaded in parts.
        let options = options(2, 120_000);
        let progress = server.prepare(&options).unwrap();
        let begun: Vec<_> = progress
            .iter()
            .filter_map(|news| match news {
                Progress::Begun { step } => Some(*step),
                _ => None,
            })
            .collect();
        assert_eq!(begun, ["drop", "tables", "data", "keys", "analyze"], "{name}");
        let finished = progress.iter().filter(|news| matches!(news, Progress::Finished(_))).count();
        assert_eq!(finished, 5, "{name}");
        let last_rows = progress.iter().rev().find(|news| matches!(news, Progress::Rows { .. }));
        assert_eq!(last_rows, Some(&Progress::Rows { done: 240_000, total: 240_000 }), "{name}");
        for table in [1, 2] {
            let loaded = Progress::Table { step: "data", table };
            assert_eq!(progress.iter().filter(|news| **news == loaded).count(), 1, "{name}");
            let whole = format!(
                "SELECT COUNT(*) FROM sbtest{table} WHERE k BETWEEN 1 AND 120000 AND LENGTH(c) >= 119 AND \
                 LENGTH(pad) >= 59 AND c LIKE '___________-%-___________%' AND pad LIKE '___________-%-___________%'"
            );
            assert_eq!(server.open().query_value::<u64>(&whole).unwrap(), Some(120_000), "{name}");
            let distinct = format!("SELECT COUNT(DISTINCT c) FROM sbtest{table}");
            assert_eq!(server.open().query_value::<u64>(&distinct).unwrap(), Some(120_000), "{name}");
        }
        let mut connection = server.open();
        let found = state(&mut connection, &options).unwrap().ready(ANY).unwrap();
        assert_eq!((found.tables, found.table_size), (2, 120_000), "{name}");
        for table in [1, 2] {
            prewarm(&mut connection, &options, &server.dialect(), table).unwrap();
        }
        cleanup(&mut connection, &options, &mut |_| {}).unwrap();
        assert_eq!(state(&mut connection, &options).unwrap(), State::Missing, "{name}");
    });
}

#[test]
fn what_cannot_be_used_is_told_apart() {
    Server::on_each(|server| {
        let name = server.name();
        let mut connection = server.open();
        let wanted = options(2, 200);
        assert_eq!(state(&mut connection, &wanted).unwrap(), State::Missing, "{name}");
        server.prepare(&wanted).unwrap();
        let now = |wanted: &Options, ready| state(&mut server.open(), wanted).unwrap().ready(ready);
        assert_eq!(
            now(&options(4, 200), Wanted { tables: Some(4), ..ANY }),
            Err(NotReady::FewerTables { found: 2, wanted: 4 }),
            "{name}"
        );
        let other = Wanted { table_size: Some(300), ..ANY };
        assert_eq!(now(&wanted, other), Err(NotReady::OtherSize { found: 200, wanted: 300 }), "{name}");
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
        server.prepare_as(&wanted, server.dialect(), Existing::ReplaceForeign).unwrap();
        let found = now(&wanted, ANY).unwrap();
        assert_eq!((found.tables, found.table_size), (2, 200), "{name}");
    });
}

#[test]
fn a_user_who_may_only_read_finds_the_keys() {
    Server::on_each(|server| {
        let name = server.name();
        let options = options(2, 200);
        server.prepare(&options).unwrap();
        let mut admin = server.open();
        let grants = match server.is_mysql() {
            true => vec![
                "CREATE USER reader@'%' IDENTIFIED BY 'x'".to_owned(),
                "CREATE USER reader@localhost IDENTIFIED BY 'x'".to_owned(),
                format!("GRANT SELECT ON {}.* TO reader@'%'", server.database()),
                format!("GRANT SELECT ON {}.* TO reader@localhost", server.database()),
            ],
            false => vec![
                "CREATE ROLE reader LOGIN".to_owned(),
                "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader".to_owned(),
            ],
        };
        for grant in grants {
            admin.execute(&grant).unwrap();
        }
        let mut reader = server.target_of("reader", "x").connect().unwrap();
        let found = state(&mut reader, &options).unwrap().ready(ANY).unwrap();
        assert_eq!((found.tables, found.keyed, found.indexed), (2, true, true), "{name}");
        assert!(reader.execute("DELETE FROM sbtest1").is_err(), "{name}");
    });
}

/// Parts of a table go over several connections, of which only one makes its index and commits by it.
#[test]
fn defaults_of_sessions_do_not_matter() {
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with("autocommit=0");
    let Some(server) = Server::own_mysql(&setup.with("sql_mode=NO_BACKSLASH_ESCAPES")) else { return };
    let (options, dialect) = (options(1, 120_000), server.dialect());
    // Every statement from here on that whoever prepares or checks has not freed of it.
    server.open().execute("SET GLOBAL max_statement_time = 0.3").unwrap();
    server.prepare_as(&options, dialect, Existing::ReplaceForeign).unwrap();
    let checks = server.verified(Test::PointSelect, &options, Told::default);
    assert_passed(&checks, "nothing was done");
    assert!(checks.iter().any(|check| check.detail.contains("120,000 rows")), "{checks:#?}");
}

#[test]
fn other_keys_and_no_rows_can_be_had() {
    Server::on_each(|server| {
        let name = server.name();
        let options =
            Options { secondary: true, auto_inc: false, create_secondary: false, ..options(2, 300) };
        server.prepare(&options).unwrap();
        let found = state(&mut server.open(), &options).unwrap();
        let found = found.ready(Wanted { key: false, index: false, ..ANY }).unwrap();
        assert_eq!((found.tables, found.keyed, found.indexed), (2, false, false), "{name}");
        let indexes = schema(&server).iter().filter(|line| line.contains("xid")).count();
        assert_eq!(indexes, 2, "{name}");
        let empty = Options { table_size: 0, auto_inc: false, ..Options::default() };
        server.prepare(&empty).unwrap();
        assert_eq!(server.open().query_value::<u64>("SELECT COUNT(*) FROM sbtest1").unwrap(), Some(0));
        assert_eq!(state(&mut server.open(), &empty).unwrap().ready(ANY).unwrap().tables, 1, "{name}");
    });
}
