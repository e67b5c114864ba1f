//! What goes wrong while tables are made, and damage that verification has to find.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::product::{Bulk, Dialect};
use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_workload::benchmark::Done;
use dyno_workload::dataset::State;
use dyno_workload::sysbench::prepare::Progress;
use dyno_workload::sysbench::{
    Existing, Options, PrepareError, PrepareOptions, Test, Wanted, prepare, state,
};

use crate::server::{Server, failed};

fn options(tables: u32, table_size: u64) -> Options {
    Options { tables, table_size, ..Options::default() }
}

#[test]
fn rows_go_by_insert_where_the_bulk_load_is_not_allowed() {
    let forbidding = |product| MysqlSetup::new(product).with("local_infile=0");
    let servers = [MysqlProduct::Mysql, MysqlProduct::MariaDb];
    for server in servers.into_iter().filter_map(|product| Server::shared_mysql(&forbidding(product))) {
        let name = server.name();
        let options = options(2, 3_000);
        // Recognised as forbidden it is not even tried.
        assert!(matches!(server.dialect().bulk, Bulk::Inserts { .. }), "{name}");
        for dialect in [server.dialect(), Dialect::of_wire(true)] {
            let progress = server.prepare_as(&options, dialect, Existing::Replace).unwrap();
            let fallbacks: Vec<_> =
                progress.iter().filter(|news| matches!(news, Progress::Remark(_))).collect();
            assert_eq!(fallbacks.len(), 1, "{name}: {fallbacks:?}");
            let found = state(&mut server.open(), &options).unwrap();
            let wanted = Wanted { tables: Some(2), table_size: Some(3_000), key: true, index: true };
            assert!(found.found(wanted).is_ok(), "{name}");
        }
    }
    let Some(server) = Server::postgres() else { return };
    let without_copy = Dialect {
        bulk: Bulk::Inserts { because: Some("the server does not take COPY") },
        ..Dialect::of_wire(false)
    };
    server.prepare_as(&options(1, 5_000), without_copy, Existing::Replace).unwrap();
    assert_eq!(server.open().query_value::<u64>("SELECT COUNT(*) FROM sbtest1").unwrap(), Some(5_000));
}

/// Rows that nobody loads before a stop is noticed.
const TOO_MANY: u64 = 5_000_000;

#[test]
fn a_preparation_can_be_stopped_and_made_again() {
    Server::on_each(|server| {
        let name = server.name();
        let (target, options, stop) = (server.target(), options(2, TOO_MANY), AtomicBool::new(false));
        let how = PrepareOptions {
            target: "it".to_owned(),
            options: &options,
            dialect: server.dialect(),
            threads: 4,
            seed: 1,
            existing: Existing::Replace,
            stop: Some(&stop),
        };
        let outcome = prepare(&|| target.connect(), &how, &mut |progress| {
            if matches!(progress, Progress::Rows { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        assert!(matches!(outcome, Err(PrepareError::Stopped { step: "data", .. })), "{name}: {outcome:?}");
        server.wait_until_alone();
        let any = Wanted { tables: None, table_size: Some(TOO_MANY), key: true, index: true };
        let left = state(&mut server.open(), &options).unwrap();
        assert_eq!(left, State::Unfinished, "{name}");
        assert_eq!(left.found(any), Ok(None), "{name}: it is made anew by itself");
        let small = Options { table_size: 1_000, ..options };
        server.prepare(&small).unwrap();
        let wanted = Wanted { table_size: Some(1_000), ..any };
        assert!(matches!(state(&mut server.open(), &small).unwrap().found(wanted), Ok(Some(_))), "{name}");
    });
}

#[test]
fn who_may_not_make_tables_is_told_what_to_do() {
    let Some(server) = Server::postgres() else { return };
    let guest = server.create_user("guest");
    let (target, options) = (server.target(), options(1, 10));
    let how = PrepareOptions {
        target: "it".to_owned(),
        options: &options,
        dialect: server.dialect(),
        threads: 1,
        seed: 1,
        existing: Existing::Keep,
        stop: None,
    };
    let open = || {
        let mut connection = target.connect()?;
        connection.execute(&format!("SET ROLE {guest}")).unwrap();
        Ok(connection)
    };
    let denied = prepare(&open, &how, &mut |_| {}).unwrap_err();
    assert!(matches!(denied, PrepareError::Denied { step: "tables", .. }), "{denied}");
    assert!(denied.to_string().contains("grant the right to make"), "{denied}");
}

/// Faults that a server's bug, or somebody else at the same time, would leave.
#[test]
fn planted_damage_is_found() {
    Server::on_each(|server| {
        let name = server.name();
        let options = options(2, 500);
        server.prepare(&options).unwrap();
        let told = |writes| Done { writes, ..Done::default() };
        let planted = |test, sql: &str, told| {
            let mut connection = server.open();
            let checks = server.verified(test, &options, || {
                connection.execute(sql).unwrap();
                told
            });
            failed(&checks).join(" ")
        };
        let insert = "INSERT INTO sbtest2 (id, k, c, pad) VALUES";
        let gone = planted(Test::ReadWrite, "DELETE FROM sbtest2 WHERE id = 7", told(9));
        assert_eq!(gone, "row-count-unchanged", "{name}");
        // The row that is missing may come back, a strange one may not.
        assert_eq!(planted(Test::WriteOnly, &format!("{insert} (7, 1, '', '')"), told(9)), "", "{name}");
        let strange = planted(Test::WriteOnly, &format!("{insert} (900, 1, '', '')"), told(9));
        assert_eq!(strange, "ids-in-range row-count-unchanged", "{name}");
        let lost = planted(Test::Insert, &format!("{insert} (901, 1, '', '')"), told(2));
        assert_eq!(lost, "every-insert-is-there", "{name}");
        let undeleted = planted(Test::Delete, "DELETE FROM sbtest1 WHERE id = 3", told(2));
        assert_eq!(undeleted, "every-delete-is-done", "{name}");
        let update = "UPDATE sbtest1 SET k = k + 1 WHERE id = 4";
        assert_eq!(planted(Test::UpdateIndex, update, told(1)), "", "{name}");
        assert_eq!(planted(Test::UpdateIndex, update, told(2)), "every-update-is-there", "{name}");
        assert_eq!(planted(Test::UpdateNonIndex, update, told(1)), "k-unchanged", "{name}");
        assert_eq!(planted(Test::PointSelect, update, told(0)), "nothing-changed", "{name}");
        assert_eq!(planted(Test::ReadOnly, "SELECT 1", told(0)), "", "{name}");
    });
}

/// An index that has lost rows: PostgreSQL keeps no rows out of one that it takes for invalid while they come.
#[test]
fn an_index_that_misses_rows_is_found() {
    let Some(server) = Server::postgres() else { return };
    let options = options(1, 500);
    server.prepare(&options).unwrap();
    let mut connection = server.open();
    let torn = "UPDATE pg_index SET indisready = false, indislive = false WHERE indexrelid = 'k_1'::regclass; \
                INSERT INTO sbtest1 (k, c, pad) VALUES (1, '', ''); \
                UPDATE pg_index SET indisready = true, indislive = true WHERE indexrelid = 'k_1'::regclass";
    let checks = server.verified(Test::Insert, &options, || {
        for sql in torn.split("; ") {
            connection.execute(sql).unwrap();
            // The next statement has to plan with what the catalog says now.
            connection = server.open();
        }
        Done { writes: 1, ..Done::default() }
    });
    assert_eq!(failed(&checks), ["index-agrees-with-table"], "{checks:#?}");
}
