//! What `prepare` leaves, and `cleanup` takes away.

use crate::mask;
use crate::program::{Program, words};
use crate::server::{Database, databases};

/// Columns, keys, rows and the form of texts.
fn shape(database: &Database, table: &str) -> String {
    let contents = format!(
        "select count(*), min(id), max(id), min(k) >= 1, max(k) <= 500, count(distinct c) > 400, \
                min(length(c)), max(length(pad)) from {table}"
    );
    let pattern = "^[0-9]{11}(-[0-9]{11}){9}$";
    if database.is_mysql() {
        let columns = database.sql(&format!("show create table {table}"));
        let texts = format!("select count(*) from {table} where c regexp '{pattern}'");
        return [columns, database.sql(&contents), database.sql(&texts)].concat();
    }
    let columns = format!(
        "select column_name, data_type, character_maximum_length, is_nullable, column_default \
         from information_schema.columns where table_name = '{table}' order by ordinal_position"
    );
    let keys = format!("select indexname, indexdef from pg_indexes where tablename = '{table}' order by 1");
    let texts = format!("select count(*) from {table} where rtrim(c) ~ '{pattern}'");
    let next = format!("select last_value from {table}_id_seq");
    [columns, keys, contents, texts, next].map(|sql| database.sql(&sql)).concat()
}

fn compare(database: &Database, options: &str, look: impl Fn(&Database) -> String) {
    let Some(programs) = Program::both() else { return };
    let product = database.product();
    let [theirs, ours] = programs.map(|program| {
        let run = |command: &str| {
            let ran = program.run(&[], &database.with(&format!("{options} oltp_read_write {command}")));
            // Threads of sysbench write into each other's lines.
            let lines = if options.contains("--threads") { String::new() } else { mask::own(&ran.stdout) };
            (ran.code, mask::kinds(&lines), ran.stderr)
        };
        let (made, found, dropped) = (run("prepare"), look(database), run("cleanup"));
        (made, found, dropped)
    });
    assert_eq!(ours.0, theirs.0, "prepare {options} on {product}");
    assert_eq!(ours.1, theirs.1, "the tables of {options} on {product}");
    assert_eq!(ours.2, theirs.2, "cleanup {options} on {product}");
}

#[test]
fn the_tables_are_the_same() {
    for database in databases("tables") {
        let both = |database: &Database| shape(database, "sbtest1") + &shape(database, "sbtest2");
        compare(&database, "--tables=2 --table-size=500", both);
        compare(&database, "--tables=2 --table-size=500 --threads=2", both);
        compare(&database, "--table-size=500 --create-secondary=off", |database| shape(database, "sbtest1"));
    }
}

#[test]
fn without_numbering_by_the_server_tables_stay_empty() {
    for database in databases("unnumbered") {
        compare(&database, "--table-size=500 --auto-inc=off", |database| {
            database.sql("select count(*) from sbtest1")
        });
    }
}

#[test]
fn tables_that_are_there_are_left_alone() {
    let Some([real, dyno]) = Program::both() else { return };
    for database in databases("again") {
        let prepare = database.with("--table-size=10 oltp_insert prepare");
        assert_eq!(dyno.run(&[], &prepare).code, Some(0));
        let [theirs, ours] = [&real, &dyno].map(|program| {
            let ran = program.run(&[], &prepare);
            // The statement itself is written in other words.
            let said: Vec<_> =
                ran.stdout.lines().filter(|line| line.starts_with("FATAL")).map(str::to_owned).collect();
            let said: String = said
                .iter()
                .map(|line| mask::own(line))
                .filter(|line| !line.contains("CREATE TABLE"))
                .collect();
            (ran.code, said)
        });
        assert!(theirs.1.contains("already exists"), "{theirs:?}");
        assert_eq!(ours, theirs, "{}", database.product());
        assert_eq!(database.sql("select count(*) from sbtest1").trim(), "10");
    }
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
