//! Where the options of the drivers lead: several hosts, encrypted or not.

use crate::program::{Program, words};
use crate::server::{Database, mysql_databases, postgres_database};

fn made(database: &Database) {
    let ran = Program::Dyno.run(&[], &database.with("--table-size=10 oltp_insert prepare"));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

/// The value of an option that names a database.
fn value(database: &Database, name: &str) -> String {
    let prefix = format!("--{name}=");
    let options = database.options();
    options.iter().find_map(|option| option.strip_prefix(&prefix)).unwrap().to_owned()
}

#[test]
fn several_places_are_given_to_the_threads_in_turn() {
    let databases = mysql_databases("spread");
    let [one, other] = &databases[..] else { return };
    if value(one, "mysql-password") != value(other, "mysql-password") {
        println!("skipped: the servers have different passwords");
        return;
    }
    databases.iter().for_each(made);
    let ports = [one, other].map(|database| value(database, "mysql-port")).join(",");
    let arguments = format!("--mysql-port={ports} --threads=4 --events=400 --time=0 oltp_insert run");
    let ran = Program::Dyno.run(&[], &one.with(&arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let [here, there] = [one, other].map(|database| {
        let count = database.sql("select count(*) from sbtest1");
        count.trim().parse::<u64>().unwrap() - 10
    });
    assert_eq!(here + there, 400);
    assert!(here > 0 && there > 0, "{here} and {there}");
}

#[test]
fn encryption_that_cannot_be_had_is_told() {
    let Some(database) = postgres_database("encrypted") else { return };
    let refused = Program::Dyno.run(&[], &database.with("--pgsql-sslmode=require oltp_insert run"));
    assert_eq!(refused.code, Some(1));
    let said = "FATAL: Connection to database failed: connection to server at \"127.0.0.1\"";
    assert!(refused.stdout.contains(said), "{}", refused.stdout);
    assert!(
        refused.stdout.contains("server does not support SSL, but SSL was required"),
        "{}",
        refused.stdout
    );
    made(&database);
    let plain = Program::Dyno.run(&[], &database.with("--pgsql-sslmode=disable oltp_insert run --events=3"));
    assert_eq!(plain.code, Some(0), "{}", plain.stdout);
}

#[test]
fn what_cannot_be_done_is_refused() {
    for option in ["--mysql-compression", "--mysql-dry-run"] {
        let ran = Program::Dyno.run(&[], &words(&format!("{option} oltp_insert run")));
        assert_eq!(ran.code, Some(1));
        assert!(ran.stdout.contains(&format!("FATAL: {option} is not supported")), "{}", ran.stdout);
    }
}
