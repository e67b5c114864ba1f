//! What stands on a target is recognised, and what is not pgbench's is left alone.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::connection::Connection;
use dyno_target::product::Dialect;
use dyno_workload::benchmark::Site;
use dyno_workload::dataset::{Found as _, State, StateError, TableError};
use dyno_workload::tpcb::{Baseline, Found, PrepareError, Progress, prepare, reset, state};

use crate::server::Database;
use crate::{prepared, site};

#[test]
fn tables_that_are_missing_are_said_to_be() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    let found = state(&mut connection).unwrap();
    assert_eq!(found, State::Missing);
    assert_eq!(found.found(Some(7)), Ok(None));
    let error = Found::missing(Some(7)).to_string();
    assert!(error.contains("--prepare") && error.contains("pgbench -i -s 7"), "{error}");
    let error = Baseline::take(&mut connection).unwrap_err();
    assert!(matches!(&error, TableError::Missing { table, .. } if table == "pgbench_accounts"), "{error}");
    assert!(error.to_string().contains("42P01"), "{error}");
    assert!(matches!(reset(&mut connection), Err(TableError::Missing { .. })));
    // The session is usable after each of these.
    assert!(matches!(prepared(&mut connection, 0), Err(PrepareError::Size(_))));
    assert_eq!(state(&mut connection).unwrap(), State::Missing);
}

#[test]
fn another_scale_than_wanted_is_refused() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&mut connection, 1).unwrap();
    let found = state(&mut connection).unwrap();
    assert_eq!(found.clone().found(None), Ok(Some(Found { scale: 1 })));
    assert_eq!(found.clone().found(Some(1)), Ok(Some(Found { scale: 1 })));
    let refused = found.found(Some(3)).unwrap_err().to_string();
    assert!(refused.contains("has scale 1, not 3; run with --scale 1"), "{refused}");
}

#[test]
fn damage_is_recognised() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&mut connection, 2).unwrap();
    let damages = [
        ("delete from pgbench_accounts where aid between 50000 and 60000", "are missing"),
        ("delete from pgbench_accounts where aid = 200000", "from 1 to 199,999"),
        ("truncate pgbench_accounts", "pgbench_accounts is empty"),
        ("alter table pgbench_accounts drop constraint pgbench_accounts_pkey", "no primary key on aid"),
        ("delete from pgbench_tellers where tid = 5", "pgbench_tellers has 19 rows"),
        ("delete from pgbench_branches where bid = 1", "pgbench_branches has 1 rows and ends with 2"),
        ("truncate pgbench_branches", "pgbench_branches is empty"),
        ("drop table pgbench_history", "pgbench_history is missing"),
    ];
    for (damage, expected) in damages {
        connection.execute("begin").unwrap();
        connection.execute(damage).unwrap();
        let found = state(&mut connection).unwrap();
        assert!(matches!(&found, State::Damaged { why } if why.contains(expected)), "{damage}: {found:?}");
        connection.execute("rollback").unwrap();
    }
    assert_eq!(state(&mut connection).unwrap(), State::Ready(Found { scale: 2 }));
    connection.execute("drop table pgbench_history").unwrap();
    prepared(&mut connection, 1).unwrap();
    assert_eq!(state(&mut connection).unwrap(), State::Ready(Found { scale: 1 }));
}

#[test]
fn tables_that_are_not_pgbenchs_are_left_alone() {
    let strangers = [
        "create table pgbench_accounts (aid int primary key, owner text)",
        "create view pgbench_accounts as select 1 as aid, 1 as bid, 0 as abalance, ''::char(84) as filler",
        "create table pgbench_accounts (aid int not null, bid int, abalance numeric, filler char(84))",
    ];
    for stranger in strangers {
        let Some(database) = Database::new() else { return };
        let mut connection = database.open();
        connection.execute(stranger).unwrap();
        let found = state(&mut connection).unwrap();
        assert!(
            matches!(&found, State::NotOurs { table, .. } if table == "pgbench_accounts"),
            "{stranger}: {found:?}"
        );
        let refused = prepared(&mut connection, 1).unwrap_err();
        assert!(matches!(refused, PrepareError::NotOurs { .. }), "{refused}");
        assert_eq!(state(&mut connection).unwrap(), found, "it must still be there");
    }
}

#[test]
fn a_scale_that_does_not_fit_is_refused_before_anything_is_dropped() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&mut connection, 1).unwrap();
    let stop = AtomicBool::new(false);
    let site = Site { free_disk_bytes: Some(2_000_000_000), ..site(&stop) };
    let refused =
        prepare(&mut connection, &site, &Dialect::of_wire(false), 1000, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("16.8 GB") && refused.contains("would fit"), "{refused}");
    assert_eq!(state(&mut connection).unwrap(), State::Ready(Found { scale: 1 }));
}

/// Stopped at `when`, which is told what has been reported; returns the step in which it ended.
fn stopped(connection: &mut Connection, when: impl Fn(&Progress) -> bool) -> &'static str {
    let stop = AtomicBool::new(false);
    let mut look = |progress: Progress| {
        if when(&progress) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    match prepare(connection, &site(&stop), &Dialect::of_wire(false), 2, &mut look) {
        Err(PrepareError::Stopped { step, .. }) => step,
        other => panic!("not stopped: {other:?}"),
    }
}

#[test]
fn a_preparation_stops_where_it_is_and_leaves_a_usable_session() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&mut connection, 1).unwrap();
    let begun = |step: &'static str| move |progress: &Progress| *progress == Progress::Begun { step };
    assert_eq!(stopped(&mut connection, begun("drop")), "drop");
    assert_eq!(state(&mut connection).unwrap(), State::Ready(Found { scale: 1 }), "nothing was dropped yet");

    let loading = |progress: &Progress| matches!(progress, Progress::Rows { done, .. } if *done > 50_000);
    assert_eq!(stopped(&mut connection, loading), "data");
    let rows: Option<u64> = connection.query_value("select count(*) from pgbench_accounts").unwrap();
    assert_eq!(rows, Some(0), "the load was rolled back");
    assert_eq!(state(&mut connection).unwrap(), State::Unfinished);

    assert_eq!(stopped(&mut connection, begun("keys")), "keys");
    let unfinished = state(&mut connection).unwrap();
    assert_eq!(unfinished, State::Unfinished);
    assert_eq!(unfinished.found(None), Ok(None), "it is made anew like what is not there");
    let between = |progress: &Progress| matches!(progress, Progress::Finished(step) if step.step == "tables");
    assert_eq!(stopped(&mut connection, between), "data");
    prepared(&mut connection, 1).unwrap();
    assert_eq!(state(&mut connection).unwrap(), State::Ready(Found { scale: 1 }));
}

#[test]
fn missing_rights_are_said_with_what_to_do() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    connection.execute("create role tpcb_guest login; revoke create on schema public from public").unwrap();
    let mut guest = Connection::open(&database.endpoint("tpcb_guest")).unwrap();
    let refused = prepared(&mut guest, 1).unwrap_err();
    assert!(matches!(refused, PrepareError::Denied { step: "tables", .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("SQLSTATE 42501") && text.contains("grant CREATE"), "{text}");
    prepared(&mut connection, 1).unwrap();
    let refused = state(&mut guest).unwrap_err();
    assert!(matches!(refused, StateError::Denied { .. }), "{refused}");
    assert!(matches!(Baseline::take(&mut guest), Err(TableError::Denied { .. })));
    assert!(matches!(reset(&mut guest), Err(TableError::Denied { table, .. }) if table == "pgbench_history"));
}
