//! What stands on a target is recognised, and what is not pgbench's is left alone.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::connection::Connection;
use dyno_workload::benchmark::{BenchmarkError, Progress};
use dyno_workload::dataset::{NotReady, PrepareError, StateError, TableError};

use crate::server::Database;
use crate::{Place, benchmark, damage, find, load, prepared, refusal};

#[test]
fn tables_that_are_missing_are_said_to_be() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    assert_eq!(find(&mut connection, Some(7)).unwrap(), None);
    let missing = benchmark("tpcb", Some(7)).unwrap().missing().to_string();
    assert!(missing.contains("--prepare"), "{missing}");
    prepared(&database, &mut connection, 1).unwrap();
    let load = load(&mut connection, "tpcb/tpcb-like");
    connection.execute("drop table pgbench_history").unwrap();
    for error in [
        load.baseline(&mut connection).map(drop).unwrap_err(),
        load.reset(&mut connection, Some(&mut |_| {})).unwrap_err(),
        load.reset(&mut connection, None).unwrap_err(),
    ] {
        assert!(
            matches!(&error, BenchmarkError::Table(TableError::Missing { table, .. }) if table == "pgbench_history"),
            "{error}"
        );
        assert!(error.to_string().contains("42P01"), "{error}");
    }
    // The session is usable after each of these.
    assert!(benchmark("tpcb", Some(0)).unwrap_err().contains("--scale 0 is too little"));
    assert_eq!(damage(&mut connection), "pgbench_history is missing");
}

#[test]
fn another_scale_than_wanted_is_refused() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0));
    assert_eq!(find(&mut connection, Some(1)).unwrap(), Some(1.0));
    let refused = find(&mut connection, Some(3)).unwrap_err().to_string();
    assert!(refused.contains("has --scale 1, not 3; run with --scale 1"), "{refused}");
}

#[test]
fn damage_is_recognised() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 2).unwrap();
    let damages = [
        ("delete from pgbench_accounts where aid between 50000 and 60000", "are missing"),
        ("delete from pgbench_accounts where aid = 200000", "from 1 to 199,999"),
        ("truncate pgbench_accounts", "pgbench_accounts is empty"),
        ("alter table pgbench_accounts drop constraint pgbench_accounts_pkey", "no primary key on aid"),
        ("delete from pgbench_tellers where tid = 5", "of 20 rows of pgbench_tellers that were looked up, 1"),
        ("delete from pgbench_branches where bid = 1", "pgbench_tellers runs from 1 to 20, not from 1 to 10"),
        ("truncate pgbench_branches", "--scale 0 is too little"),
        ("drop table pgbench_history", "pgbench_history is missing"),
    ];
    for (fault, expected) in damages {
        connection.execute("begin").unwrap();
        connection.execute(fault).unwrap();
        let found = damage(&mut connection);
        assert!(found.contains(expected), "{fault}: {found}");
        connection.execute("rollback").unwrap();
    }
    assert_eq!(find(&mut connection, None).unwrap(), Some(2.0));
    connection.execute("drop table pgbench_history").unwrap();
    prepared(&database, &mut connection, 1).unwrap();
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0));
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
        let mut is_left = || {
            let found = find(&mut connection, None).unwrap_err();
            assert!(
                matches!(&found, BenchmarkError::NotReady(NotReady::NotOurs { table, .. }) if table == "pgbench_accounts"),
                "{stranger}: {found:?}"
            );
        };
        is_left();
        let refused = refusal(prepared(&database, &mut database.open(), 1).unwrap_err());
        assert!(matches!(refused, PrepareError::NotOurs { .. }), "{refused}");
        is_left();
    }
}

#[test]
fn a_scale_that_does_not_fit_is_refused_before_anything_is_dropped() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    let stop = AtomicBool::new(false);
    let free_disk_bytes = Some(2_000_000_000);
    let place = Place { database: &database, user: "postgres", scale: 1000, free_disk_bytes, stop: &stop };
    let refused = place.prepare(&mut connection, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.starts_with("the data of tpcb") && refused.contains("2.0 GB free"), "{refused}");
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0));
}

/// Stopped at `when`, which is told what has been reported; returns the step in which it ended.
fn stopped(
    database: &Database,
    connection: &mut Connection,
    when: impl Fn(&Progress) -> bool,
) -> &'static str {
    let stop = AtomicBool::new(false);
    let mut look = |progress: Progress| {
        if when(&progress) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let place = Place { database, user: "postgres", scale: 2, free_disk_bytes: None, stop: &stop };
    match refusal(place.prepare(connection, &mut look).unwrap_err()) {
        PrepareError::Stopped { step, .. } => step,
        other => panic!("not stopped: {other:?}"),
    }
}

#[test]
fn a_preparation_stops_where_it_is_and_leaves_a_usable_session() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    let begun = |step: &'static str| move |progress: &Progress| *progress == Progress::Begun { step };
    assert_eq!(stopped(&database, &mut connection, begun("drop")), "drop");
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0), "nothing was dropped yet");

    let loading = |progress: &Progress| matches!(progress, Progress::Rows { done, .. } if *done > 50_000);
    assert_eq!(stopped(&database, &mut connection, loading), "data");
    let rows: Option<u64> = connection.query_value("select count(*) from pgbench_accounts").unwrap();
    assert_eq!(rows, Some(0), "the load was rolled back");
    assert_eq!(find(&mut connection, None).unwrap(), None, "it is made anew like what is not there");

    assert_eq!(stopped(&database, &mut connection, begun("keys")), "keys");
    assert_eq!(find(&mut connection, None).unwrap(), None, "nor can it be used before it has its keys");
    let between = |progress: &Progress| matches!(progress, Progress::Finished(step) if step.step == "tables");
    assert_eq!(stopped(&database, &mut connection, between), "data");
    prepared(&database, &mut connection, 1).unwrap();
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0));
}

#[test]
fn missing_rights_are_said_with_what_to_do() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    connection.execute("create role tpcb_guest login; revoke create on schema public from public").unwrap();
    let mut guest = Connection::open(&database.endpoint("tpcb_guest")).unwrap();
    let stop = AtomicBool::new(false);
    let place =
        Place { database: &database, user: "tpcb_guest", scale: 1, free_disk_bytes: None, stop: &stop };
    let refused = refusal(place.prepare(&mut guest, &mut |_| {}).unwrap_err());
    assert!(matches!(refused, PrepareError::Denied { step: "tables", .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("SQLSTATE 42501") && text.contains("make, fill, alter and drop tables"), "{text}");
    prepared(&database, &mut connection, 1).unwrap();
    let refused = find(&mut guest, None).unwrap_err();
    assert!(matches!(refused, BenchmarkError::State(StateError::Denied { .. })), "{refused}");
    let load = load(&mut connection, "tpcb/tpcb-like");
    let refused = load.baseline(&mut guest).map(drop).unwrap_err();
    assert!(matches!(refused, BenchmarkError::Table(TableError::Denied { .. })), "{refused}");
    let refused = load.reset(&mut guest, None).unwrap_err();
    assert!(
        matches!(&refused, BenchmarkError::Table(TableError::Denied { table, .. }) if table == "pgbench_history"),
        "{refused}"
    );
}
