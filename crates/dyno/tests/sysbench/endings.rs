//! Runs that do not end by themselves: an error, a signal, a time that is up.

use std::process::Child;
use std::sync::LazyLock;
use std::time::Duration;

use dyno_test_servers::Recorded;
use rustix::process::{Pid, Signal, kill_process};

use crate::mask;
use crate::program::{Program, Ran, words};
use crate::reference::{Said, assert_alike, recorded};
use crate::relay::Relay;
use crate::server::{
    Database, databases, databases_with_little_room, mysql_databases, postgres_database, wait_until,
};
use crate::tables::made;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("endings"));

/// A load that can be seen in its table from the first event on.
const LOAD: &str = "--table-size=1000 --time=600 oltp_update_index run";

/// Starts [`LOAD`], does something when events were done, and waits for its end.
fn disturbed(program: &Program, database: &Database, words: &str, disturb: impl FnOnce(&Child)) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let mut connection = database.connect();
    let sum = "select sum(k) from sbtest1";
    let before: u64 = connection.query_value(sum).unwrap().unwrap();
    let child = program.start(directory.path(), &database.with(&format!("{words} {LOAD}")));
    wait_until(&mut connection, sum, |now| now > before);
    disturb(&child);
    Ran::new(&child.wait_with_output().unwrap())
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn a_statement_that_fails_ends_the_run_with_what_the_server_said() {
    let databases = databases("failing");
    databases.iter().for_each(made);
    for mode in ["auto", "disable"] {
        assert_alike(&RECORDED, &format!("a table goes, {mode}"), &databases, |program, database| {
            let ran = disturbed(program, database, &format!("--db-ps-mode={mode}"), |_| {
                database.sql("alter table sbtest1 rename to elsewhere");
            });
            database.sql("alter table elsewhere rename to sbtest1");
            // With the values of that moment, and with places for them.
            let statement = |line: &str| line.split(" WHERE id=").next().unwrap_or("").to_owned() + "\n";
            Said::new(&ran, |stdout| mask::own(stdout).lines().map(statement).collect())
        });
    }
}

#[test]
fn events_that_do_not_end_are_cut_off() {
    let Some(database) = postgres_database("cut_off") else { return };
    made(&database);
    // Few rows are found at once, and all others never.
    for sql in [
        "alter table sbtest1 rename to found",
        "create sequence asked",
        "create view sbtest1 as select * from found \
         where pg_sleep(case when nextval('asked') % 10 > 5 then 3600 else 0 end)::text = ''",
    ] {
        database.sql(sql);
    }
    let databases = [database];
    let said = assert_alike(&RECORDED, "events that do not end", &databases, |program, database| {
        database.sql("alter sequence asked restart");
        let words = "--table-size=1000 --time=2 --forced-shutdown=1 --threads=2 oltp_point_select run";
        let ran = program.run(&[], &database.with(words));
        // They sleep on.
        database.end_sessions();
        Said::new(&ran, mask::layout)
    });
    let cut_off = |line: &String| line.starts_with("Number of unfinished transactions");
    assert!(said.is_none_or(|said| said.stdout.iter().any(cut_off)));
}

#[test]
fn a_signal_ends_the_run_with_a_report() {
    let Some(database) = postgres_database("signalled") else { return };
    made(&database);
    let ran = disturbed(&Program::Dyno, &database, "", interrupt);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\nSQL statistics:\n") && ran.stdout.contains("execution time"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_signal_ends_a_script_that_sleeps_behind_its_load() {
    const RESTS: &str = "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event() end\n\
                         function thread_done()\n   io.open('rests', 'w'):close()\n   ffi.C.usleep(600e6)\nend\n";
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("rests.lua"), RESTS).unwrap();
    let arguments = words("./rests.lua --events=1 --time=0 --mysql-port=1 run");
    let mut child = Program::Dyno.start(directory.path(), &arguments);
    while !directory.path().join("rests").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let ran = Ran::new(&child.wait_with_output().unwrap());
    assert!(ran.code != Some(0) && ran.stdout.contains("interrupted"), "{ran:?}");
}

#[test]
fn a_signal_ends_a_preparation_that_waits_for_the_server() {
    let Some(database) = postgres_database("preparing") else { return };
    // While somebody else makes the same table, nobody knows whether it will be there.
    let mut holder = database.connect();
    holder.execute("begin").unwrap();
    holder.execute("create table sbtest1 ()").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let child = Program::Dyno.start(directory.path(), &database.with("--table-size=100 oltp_insert prepare"));
    let waiting = database.sessions("wait_event_type = 'Lock'");
    wait_until(&mut database.administrator(), &waiting, |count| count == 1);
    interrupt(&child);
    // It ends before the table is there, or not.
    let ran = Ran::new(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    holder.execute("rollback").unwrap();
}

/// Both connections are cut while they wait for an answer, since the table is locked: what a server says to a session that
/// it ends depends on what that does just then.
#[test]
fn a_lost_connection_ends_the_run_unless_it_is_ignored() {
    for database in mysql_databases("lost") {
        made(&database);
        let relay = Relay::to(database.address());
        let mut administrator = database.administrator();
        let mut cut_off = |words: &str| {
            let mut holder = database.connect();
            holder.execute("lock tables sbtest1 write").unwrap();
            let limits = "--table-size=1000 --time=0 --events=40 --threads=2 --db-ps-mode=disable";
            let arguments = format!("{limits} {words} oltp_update_index run");
            let mut arguments: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
            arguments.extend(database.options_at(relay.address));
            let directory = tempfile::tempdir().unwrap();
            let child = Program::Dyno.start(directory.path(), &arguments);
            let mut wait_for_both = |after: i64| {
                let waiting = format!("state like 'Waiting for table%' and id > {after}");
                wait_until(&mut administrator, &database.sessions(&waiting), |count| count == 2);
            };
            wait_for_both(holder.wire().unwrap().process_id());
            // Who comes from now on has a greater number.
            let last = database.administrator().wire().unwrap().process_id();
            relay.cut();
            if !words.is_empty() {
                wait_for_both(last);
                holder.execute("unlock tables").unwrap();
            }
            Ran::new(&child.wait_with_output().unwrap())
        };
        let ended = cut_off("");
        assert_eq!(ended.code, Some(1), "{}", ended.stdout);
        let lost = "returned error 2013 (Lost connection to server during query) for query";
        assert!(ended.stdout.contains(lost), "{}", ended.stdout);
        let went_on = cut_off("--mysql-ignore-errors=2013").well(&database.product());
        let reconnects = went_on.stdout.lines().find(|line| line.contains("reconnects:")).unwrap();
        assert!(reconnects.contains("reconnects:                          2 "), "{reconnects}");
    }
}

/// Lines of one kind and their number depend on how many threads came through.
#[test]
fn a_server_without_room_says_so() {
    let databases = databases_with_little_room("crowded");
    databases.iter().for_each(made);
    let said = assert_alike(&RECORDED, "more threads than connections", &databases, |program, database| {
        let words = "--table-size=1000 --threads=30 --time=1 oltp_point_select run";
        let port = format!("port {}", database.address().port());
        let ran = program.run(&[], &database.with(words));
        Said::new(&ran, |stdout| mask::kinds(&mask::own(stdout)).replace(&port, "port …"))
    });
    let full = |line: &String| line.to_lowercase().contains("too many");
    assert!(said.is_none_or(|said| said.stdout.iter().any(full)));
}
