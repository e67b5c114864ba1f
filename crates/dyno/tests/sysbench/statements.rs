//! The statements that reach the server: the same ones, as often.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;

use crate::reference::{assert_alike, recorded};
use crate::server::{Database, counting_databases};
use crate::tables::made;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("statements"));

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

/// By one client, unless there is nothing to fear from a second: two writers may get into each other's way, which costs a
/// further try, and MySQL adds up without a lock, so that of what two sessions do at the same time one may not be counted.
fn compare(databases: &[Database], arguments: &str) {
    let sent = assert_alike(&RECORDED, arguments, databases, |program, database| {
        let alone = database.is_mysql() || arguments.contains("_write");
        let threads = if alone { 1 } else { 2 };
        database.statements_of(|| {
            let limits = format!("--table-size=1000 --time=0 --threads={threads}");
            let arguments = database.with(&format!("{limits} {arguments}"));
            program.run(&[], &arguments).well(&format!("{program:?} {arguments:?}"));
        })
    });
    assert!(sent.is_none_or(|sent| !sent.is_empty()), "{arguments}");
}

#[test]
fn of_each_test_with_and_without_prepared_statements() {
    let databases = counting_databases("statements");
    databases.iter().for_each(made);
    for test in TESTS {
        for mode in ["auto", "disable"] {
            compare(&databases, &format!("--db-ps-mode={mode} --events=20 {test} run"));
        }
    }
}

#[test]
fn of_transactions_of_every_shape() {
    let databases = counting_databases("shapes");
    databases.iter().for_each(made);
    for shape in SHAPES {
        compare(&databases, &format!("--events=10 {shape} oltp_read_write run"));
    }
}
