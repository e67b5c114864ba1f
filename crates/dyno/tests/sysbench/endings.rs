//! Runs that do not end by themselves: an error, a signal, a time that is up.

use std::process::Child;
use std::time::Duration;

use dyno_test_servers::in_some_attempt;

use crate::mask;
use crate::program::{Program, Ran};
use crate::server::{Database, databases, databases_with_little_room, postgres_database};

/// Waits until the load runs: until the server is asked for rows.
fn wait_for_load(database: &Database) {
    let busy = |database: &Database| {
        let count = "select count(*) > 0 from pg_stat_activity \
                     where datname = current_database() and pid <> pg_backend_pid() and query like '%sbtest1%'";
        let on_mysql = "select count(*) > 0 from information_schema.processlist where db = database() and id <> connection_id()";
        let said = database.sql(if database.is_mysql() { on_mysql } else { count });
        said.contains('t') || said.lines().any(|line| line.trim() == "1")
    };
    for _ in 0..1200 {
        if busy(database) {
            // Behind the statements that prepare.
            std::thread::sleep(Duration::from_millis(500));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no load began");
}

fn made(database: &Database) {
    let ran = Program::Dyno.run(&[], &database.with("--table-size=1000 oltp_insert prepare"));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

/// Starts a run, does something while it runs, and waits for its end.
fn disturbed(program: &Program, database: &Database, words: &str, disturb: impl FnOnce(&Child)) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let child = program.start(directory.path(), &database.with(words));
    wait_for_load(database);
    disturb(&child);
    Ran::new(&child.wait_with_output().unwrap())
}

#[test]
fn a_statement_that_fails_ends_the_run_with_what_the_server_said() {
    let Some(programs) = Program::both() else { return };
    for database in databases("failing") {
        made(&database);
        for mode in ["auto", "disable"] {
            in_some_attempt("a table goes in mid-run", || {
                let [theirs, ours] = programs.clone().map(|program| {
                    let words =
                        format!("--table-size=1000 --time=60 --db-ps-mode={mode} oltp_point_select run");
                    let ran = disturbed(&program, &database, &words, |_| {
                        database.sql("alter table sbtest1 rename to elsewhere");
                    });
                    database.sql("alter table elsewhere rename to sbtest1");
                    // With the values of that moment, and with places for them.
                    let query = |line: &str| line.split(" WHERE id=").next().unwrap().to_owned() + "\n";
                    let said: String = mask::own(&ran.stdout).lines().map(query).collect();
                    (ran.code, said, ran.stderr)
                });
                assert_eq!(ours, theirs, "{mode} on {}", database.product());
            });
        }
    }
}

#[test]
fn events_that_do_not_end_are_cut_off() {
    let Some(programs) = Program::both() else { return };
    let Some(database) = postgres_database("cut_off") else { return };
    made(&database);
    in_some_attempt("a lock that outlasts the run", || {
        let [theirs, ours] = programs.clone().map(|program| {
            let words = "--table-size=1000 --time=3 --forced-shutdown=1 --threads=2 oltp_point_select run";
            let ran = disturbed(&program, &database, words, |_| {
                // Waited for by both, until they are gone.
                database.sql("begin; lock table sbtest1; select pg_sleep(5); commit");
            });
            let said: String =
                mask::measured(&ran.stdout).lines().map(|line| mask::numbers(line) + "\n").collect();
            let said: Vec<_> =
                said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            (ran.code, said, ran.stderr)
        });
        assert_eq!(ours, theirs);
        assert!(ours.1.iter().any(|line| line.starts_with("Number of unfinished transactions")), "{ours:?}");
    });
}

#[test]
fn a_signal_ends_the_run_with_a_report() {
    let Some(database) = postgres_database("signalled") else { return };
    made(&database);
    let ran =
        disturbed(&Program::Dyno, &database, "--table-size=1000 --time=60 oltp_point_select run", |child| {
            let killed =
                std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(killed.success());
        });
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\nSQL statistics:\n") && ran.stdout.contains("execution time"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_signal_ends_a_preparation_that_waits_for_the_server() {
    let Some(database) = postgres_database("preparing") else { return };
    let own = "datname = current_database() and pid <> pg_backend_pid()";
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        // While somebody else makes the same table, nobody knows whether it will be there.
        scope.spawn(|| database.try_sql("begin; create table sbtest1 (); select pg_sleep(600)"));
        let waits = |event: &str| {
            let count =
                format!("select count(*) from pg_stat_activity where {own} and wait_event_type = '{event}'");
            (0..1200).any(|_| {
                std::thread::sleep(Duration::from_millis(50));
                database.sql(&count).trim() == "1"
            })
        };
        assert!(waits("Timeout"), "nobody sleeps");
        let child =
            Program::Dyno.start(directory.path(), &database.with("--table-size=100 oltp_insert prepare"));
        assert!(waits("Lock"), "nobody waits");
        let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let ran = Ran::new(&child.wait_with_output().unwrap());
        assert!(waits("Timeout"), "it waited until the table was there");
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        database.sql(&format!("select pg_terminate_backend(pid) from pg_stat_activity where {own}"));
    });
}

#[test]
fn a_lost_connection_ends_the_run_unless_it_is_ignored() {
    for database in databases("lost").into_iter().filter(Database::is_mysql) {
        made(&database);
        let kill = || {
            let list = "select id from information_schema.processlist where db = database() and id <> connection_id()";
            let ids = database.sql(list);
            for id in ids.lines().filter_map(|line| line.trim().parse::<u64>().ok()) {
                database.try_sql(&format!("kill {id}"));
            }
        };
        let words =
            |seconds: u32| format!("--table-size=1000 --time={seconds} --threads=2 oltp_point_select run");
        in_some_attempt("sessions are killed in mid-run", || {
            let ended = disturbed(&Program::Dyno, &database, &words(60), |_| kill());
            assert_eq!(ended.code, Some(1), "{}", ended.stdout);
            let lost = "returned error 2013 (Lost connection to server during query) for query";
            assert!(ended.stdout.contains(lost), "{}", ended.stdout);
        });
        in_some_attempt("sessions are killed in mid-run and made again", || {
            let words = words(4) + " --mysql-ignore-errors=2013";
            let went_on = disturbed(&Program::Dyno, &database, &words, |_| kill());
            assert_eq!(went_on.code, Some(0), "{}{}", went_on.stdout, went_on.stderr);
            let reconnects = went_on.stdout.lines().find(|line| line.contains("reconnects:")).unwrap();
            assert!(reconnects.contains("reconnects:                          2 "), "{reconnects}");
        });
    }
}

/// Lines of one kind and their number depend on how many threads came through.
#[test]
fn a_server_without_room_says_so() {
    let Some(programs) = Program::both() else { return };
    for database in databases_with_little_room("crowded") {
        made(&database);
        in_some_attempt("more threads than connections", || {
            let [theirs, ours] = programs.clone().map(|program| {
                let words = "--table-size=1000 --threads=30 --time=1 oltp_point_select run";
                let ran = program.run(&[], &database.with(words));
                (ran.code, mask::kinds(&mask::own(&ran.stdout)), ran.stderr)
            });
            assert!(ours.1.contains("too many") || ours.1.contains("Too many"), "{ours:?}");
            assert_eq!(ours, theirs, "{}", database.product());
        });
    }
}
