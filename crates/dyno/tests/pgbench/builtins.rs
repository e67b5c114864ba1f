//! The scripts that come with pgbench, on its own tables.

use crate::case::{case, same_as, same_beside};
use crate::program::Program;
use crate::server::{Database, database, database_with_tables};

const RESET: &str = "update pgbench_accounts set abalance = 0 where abalance <> 0; \
                     update pgbench_tellers set tbalance = 0; update pgbench_branches set bbalance = 0; \
                     truncate pgbench_history";
/// Everything that a transaction leaves but its time; rows in the order in which they came.
const LEFT: &str = "select aid, abalance from pgbench_accounts where abalance <> 0 order by 1; \
                    select * from pgbench_tellers order by 1; select * from pgbench_branches order by 1; \
                    select tid, bid, aid, delta from pgbench_history order by ctid";

fn cases(arguments: &[&str]) -> Vec<crate::case::Case> {
    arguments.iter().map(|arguments| case(arguments).setup(RESET).contents(LEFT)).collect()
}

#[test]
fn each_in_every_protocol_with_the_same_seed() {
    let Some(database) = database_with_tables("builtins") else { return };
    for mode in ["simple", "extended", "prepared"] {
        for script in
            ["", "-N", "-S", "-b tpcb", "-b si", "-b sel", "-b simple-update@3 -b select-only@2 -b tpcb@0"]
        {
            let arguments = format!("-n -t 5 -M {mode} {script} --random-seed=42");
            same_beside(&database, cases(&[&arguments]));
        }
    }
}

#[test]
fn the_tables_are_looked_at_and_vacuumed() {
    let Some(database) = database_with_tables("vacuumed") else { return };
    same_beside(
        &database,
        cases(&[
            "-t 3 --random-seed=1",
            "-v -t 3 --random-seed=1",
            "-t 1 -s 7 --random-seed=1",
            "-S -t 1 -s 1",
            "-t 2 -D scale=1 --random-seed=5",
            "-S -N -t 3 --random-seed=9 -r",
        ]),
    );
}

#[test]
fn partitions_are_named() {
    for method in ["range", "hash"] {
        let Some(database) = database(&format!("partitioned_by_{method}")) else { return };
        let made = format!("-i -q -I dtG --partitions=3 --partition-method={method}");
        assert_eq!(case(&made).run(&Program::dyno_alone(), &database).code, Some(0));
        same_beside(&database, [case("-n -S -t 2"), case("-n -t 2 -f script").file("script", "select 1;")]);
    }
}

#[test]
fn without_tables_a_hint_is_given() {
    let Some(database) = database("no_tables") else { return };
    same_beside(
        &database,
        [
            case("-t 1"),
            case("-S -n -t 1").since(17),
            case("-t 1 -f script").file("script", "select 1;"),
            case("-v -t 1 -f script").file("script", "select 1;"),
            case("-n -t 1 -S")
                .setup("create table if not exists pgbench_branches(bid int, bbalance int, filler text)")
                .since(18),
            case("-n -t 1 -S -s 5").since(18),
        ],
    );
}

#[test]
fn under_the_name_of_pgbench() {
    let Some(database) = database_with_tables("link") else { return };
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("pgbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let cases = cases(&[
        "-n -t 5 --random-seed=3",
        "-c 2 -t 5 -S",
        "-n -t 1 -x",
        "-n -t 1 -T 1",
        "-b list",
        "-b tcp",
    ]);
    same_as(&database, cases, &Program::dyno_at(link));
}

#[test]
fn clients_and_threads() {
    let Some(database) = database_with_tables("clients") else { return };
    let sum = "select count(*), count(distinct (tid, bid)) <= 10 from pgbench_history; \
               select sum(delta) = (select bbalance from pgbench_branches), \
                      sum(delta) = (select sum(abalance) from pgbench_accounts) from pgbench_history";
    let runs = [
        "-c 4 -t 3",
        "-c 4 -j 2 -t 3",
        "-c 2 -j 5 -t 3",
        "-c 5 -j 3 -t 3 -C",
        "-c 3 -j 3 -t 2 -r",
        "-C -t 2",
    ];
    same_beside(&database, runs.map(|run| case(run).argument("-n").setup(RESET).contents(sum)));
    same_beside(&database, [case("-n -T 1 -c 2 -S").timed(), case("-n -T 1 -c 2 -j 2 -N").timed()]);
}

#[test]
fn with_a_seed_each_client_draws_what_it_draws_there() {
    let Some(database) = database_with_tables("drawn") else { return };
    drawn(&database, "-n -c 4 -j 2 -t 6 --random-seed=77");
    drawn(&database, "-n -c 3 -j 3 -t 4 --random-seed=78 -b tpcb@1 -b simple@2");
}

/// Several clients mix their transactions, so rows are compared as a set.
fn drawn(database: &Database, arguments: &str) {
    let rows = "select aid, delta from pgbench_history order by 1, 2";
    same_beside(database, [case(arguments).setup(RESET).contents(rows)]);
}
