//! The statements that reach the server: the same ones, as often.

use dyno_test_servers::in_some_attempt;

use crate::program::Program;
use crate::server::{Database, databases};

const TESTS: [&str; 10] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_delete",
    "oltp_insert",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
];

/// Further options of the transactional tests.
const SHAPES: [&str; 4] = [
    "--skip-trx",
    "--range-selects=off",
    "--point-selects=2 --simple-ranges=0 --sum-ranges=3 --order-ranges=2 --distinct-ranges=0",
    "--index-updates=3 --non-index-updates=0 --delete-inserts=2",
];

fn compare(database: &Database, arguments: &str) {
    let Some(programs) = Program::both() else { return };
    if !database.forget_statements() {
        return;
    }
    // MySQL counts statements of two sessions that come for the first time as one, now and then.
    in_some_attempt(arguments, || {
        let [theirs, ours] = programs.clone().map(|program| {
            database.forget_statements();
            let ran = program.run(&[], &database.with(arguments));
            assert_eq!(
                ran.code,
                Some(0),
                "{program:?} {arguments} on {}: {}{}",
                database.product(),
                ran.stdout,
                ran.stderr
            );
            database.statements()
        });
        assert!(!theirs.is_empty(), "{arguments} on {}", database.product());
        assert_eq!(ours, theirs, "{arguments} on {}", database.product());
    });
}

fn made(name: &str, tables: u32) -> Vec<Database> {
    let databases = databases(name);
    for database in &databases {
        let arguments = format!("--tables={tables} --table-size=1000 oltp_insert prepare");
        let ran = Program::Dyno.run(&[], &database.with(&arguments));
        assert_eq!(ran.code, Some(0), "{}: {}", database.product(), ran.stdout);
    }
    databases
}

#[test]
fn of_each_test_with_and_without_prepared_statements() {
    for database in made("statements", 1) {
        for test in TESTS {
            // Two writers may get into each other's way, which costs a further try; and two that are the first to send
            // a statement may be counted as one by MySQL.
            let alone = database.is_mysql() || ["oltp_read_write", "oltp_write_only"].contains(&test);
            let threads = if alone { 1 } else { 2 };
            for mode in ["auto", "disable"] {
                let limits = format!("--table-size=1000 --threads={threads} --events=20 --time=0");
                compare(&database, &format!("--db-ps-mode={mode} {limits} {test} run"));
            }
        }
    }
}

#[test]
fn of_transactions_of_every_shape() {
    for database in made("shapes", 1) {
        for shape in SHAPES {
            let limits = "--table-size=1000 --events=10 --time=0";
            compare(&database, &format!("{limits} {shape} oltp_read_write run"));
        }
    }
}
