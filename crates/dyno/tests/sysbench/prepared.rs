//! What `prepare` leaves, and `cleanup` takes away.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;
use serde::{Deserialize, Serialize};

use crate::mask;
use crate::program::{Program, words};
use crate::reference::{Said, assert_alike, recorded};
use crate::server::{Database, databases};

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("prepared"));

/// Columns, keys, rows and the form of texts.
fn shape(database: &Database, table: &str) -> Vec<String> {
    let contents = format!(
        "select count(*), min(id), max(id), min(k) >= 1, max(k) <= 500, count(distinct c) > 400, \
                min(length(c)), max(length(pad)) from {table}"
    );
    let pattern = "^[0-9]{11}(-[0-9]{11}){9}$";
    let questions = match database.is_mysql() {
        true => vec![
            format!("show create table {table}"),
            contents,
            format!("select count(*) from {table} where c regexp '{pattern}'"),
        ],
        false => vec![
            format!(
                "select column_name, data_type, character_maximum_length, is_nullable, column_default \
                 from information_schema.columns where table_name = '{table}' order by ordinal_position"
            ),
            format!("select indexname, indexdef from pg_indexes where tablename = '{table}' order by 1"),
            contents,
            format!("select count(*) from {table} where rtrim(c) ~ '{pattern}'"),
            format!("select last_value from {table}_id_seq"),
        ],
    };
    let answers = questions.iter().map(|sql| database.sql(sql));
    answers.flat_map(|answer| answer.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What `prepare` says and leaves, and what `cleanup` says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Prepared {
    prepare: Said,
    tables: Vec<String>,
    cleanup: Said,
}

fn compare(databases: &[Database], options: &str, look: impl Fn(&Database) -> Vec<String>) {
    assert_alike(&RECORDED, options, databases, |program, database| {
        let run = |command: &str| {
            let ran = program.run(&[], &database.with(&format!("{options} oltp_read_write {command}")));
            // Threads of sysbench write into each other's lines.
            let lines = |stdout: &str| match options.contains("--threads") {
                true => String::new(),
                false => mask::kinds(&mask::own(stdout)),
            };
            Said::new(&ran, lines)
        };
        let prepare = run("prepare");
        Prepared { prepare, tables: look(database), cleanup: run("cleanup") }
    });
}

#[test]
fn the_tables_are_the_same() {
    let databases = databases("tables");
    let both = |database: &Database| [shape(database, "sbtest1"), shape(database, "sbtest2")].concat();
    compare(&databases, "--tables=2 --table-size=500", both);
    compare(&databases, "--tables=2 --table-size=500 --threads=2", both);
    compare(&databases, "--table-size=500 --create-secondary=off", |database| shape(database, "sbtest1"));
}

#[test]
fn without_numbering_by_the_server_tables_stay_empty() {
    let databases = databases("unnumbered");
    compare(&databases, "--table-size=500 --auto-inc=off", |database| {
        vec![database.sql("select count(*) from sbtest1")]
    });
}

#[test]
fn tables_that_are_there_are_left_alone() {
    let databases = databases("again");
    for database in &databases {
        Program::Dyno.run(&[], &database.with("--table-size=10 oltp_insert prepare")).well("prepare");
    }
    let case = "tables that are there";
    let said = assert_alike(&RECORDED, case, &databases, |program, database| {
        let ran = program.run(&[], &database.with("--table-size=10 oltp_insert prepare"));
        assert_eq!(database.sql("select count(*) from sbtest1"), "10", "{program:?}");
        // The statement itself is written in other words.
        let told = |line: &&str| line.starts_with("FATAL") && !line.contains("CREATE TABLE");
        Said::new(&ran, |stdout| mask::own(stdout).lines().filter(told).collect::<Vec<_>>().join("\n"))
    });
    let told = |said: Said| said.stdout.iter().any(|line| line.contains("already exists"));
    assert!(said.is_none_or(told));
}

#[test]
fn prewarming_reads_every_table() {
    for database in databases("warm") {
        let options = "--tables=3 --table-size=50 --threads=2 oltp_read_only";
        for (command, word) in [("prepare", "Inserting 50 records into"), ("prewarm", "Prewarming table")] {
            let ran = Program::Dyno.run(&[], &database.with(&format!("{options} {command}")));
            assert_eq!(ran.code, Some(0), "{command} on {}: {}", database.product(), ran.stdout);
            assert_eq!(ran.stdout.matches(word).count(), 3, "{}", ran.stdout);
        }
    }
}

#[test]
fn a_command_without_a_server_says_so() {
    let ran = Program::Dyno.run(&[], &words("--mysql-host=127.0.0.1 --mysql-port=1 oltp_insert prewarm"));
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("error 2002: Can't connect to server on '127.0.0.1' (115)"),
        "{}",
        ran.stdout
    );
}
