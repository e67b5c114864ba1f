//! Connections: how they are asked for, and what is said when they cannot be had.

use dyno_test_servers::{Postgres, Setup, in_some_attempt};

use crate::case::{same, script};
use crate::program::{Call, Program};
use crate::server::{database, environment};
use crate::shape;

#[test]
fn what_the_session_is_told() {
    let Some(database) = database("sessions") else { return };
    let seen = |arguments: &str| {
        script(arguments, "insert into seen select current_database(), current_user, current_setting('application_name'), current_setting('work_mem'), current_setting('client_encoding'), current_setting('datestyle');\n")
            .setup("drop table if exists seen; create table seen(a text, b text, c text, d text, e text, f text)")
            .contents("select * from seen order by ctid")
    };
    same(
        &database,
        [
            seen(""),
            seen("-c 2 -C -M prepared"),
            seen("").environment("PGOPTIONS", "-c work_mem=7MB"),
            seen("").environment("PGOPTIONS", "-c work_mem=7MB -c datestyle=german,dmy"),
            seen("").environment("PGAPPNAME", "of the user"),
            seen("").environment("PGCLIENTENCODING", "LATIN1"),
            seen("sessions").environment("PGDATABASE", "nowhere"),
            seen("-d sessions").environment("PGDATABASE", "nowhere").since(18),
            seen("-U postgres").environment("PGUSER", "nobody"),
            seen("").argument("dbname=sessions application_name=given user=postgres"),
            seen("")
                .argument("-d")
                .argument("postgresql:///sessions?application_name=url&options=-cwork_mem%3D5MB")
                .since(18),
            seen("").environment("PGDATESTYLE", "SQL, MDY"),
        ],
    );
}

#[test]
fn that_cannot_be_had() {
    let Some(database) = database("unreachable") else { return };
    let elsewhere = |arguments: &str| script(arguments, "select 1;\n");
    same(
        &database,
        [
            elsewhere("nowhere"),
            elsewhere("-U nobody"),
            elsewhere("-d nowhere -c 3"),
            elsewhere("").environment("PGDATABASE", "nowhere"),
            elsewhere("").environment("PGDATABASE", "").environment("PGUSER", "postgres"),
            elsewhere("").environment("PGUSER", "absent"),
            elsewhere("-h 127.0.0.1 -p 1"),
            elsewhere("-p 0"),
            elsewhere("-p x"),
            elsewhere("-h /nowhere"),
            elsewhere("").environment("PGOPTIONS", "-c nothing=1"),
            elsewhere("").environment("PGOPTIONS", "-c work_mem=much"),
            elsewhere("").argument("-d").argument("host=127.0.0.1 nothing=5"),
        ],
    );
}

#[test]
fn of_which_the_server_has_too_few() {
    let setup = Setup::default().with("max_connections=5").with("superuser_reserved_connections=0");
    let Some(server) = Postgres::start(&setup) else { return };
    let mut told = Vec::new();
    let mut programs = Program::references();
    programs.push(Program::dyno());
    for arguments in [&["-n", "-c8", "-t1", "-f", "s"][..], &["-n", "-c8", "-j4", "-t1", "-f", "s"]] {
        for program in &programs {
            let call = Call {
                arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
                environment: environment(&server, "postgres"),
                files: vec![("s".to_owned(), b"select 1;\n".to_vec())],
                ..Call::default()
            };
            // The real one's threads all end it at once, and now and then it crashes then.
            let ran = in_some_attempt("more clients than connections", || {
                let ran = program.run(&call);
                assert!(ran.code.is_some(), "{program:?} was ended by a signal");
                ran
            });
            // Threads of pgbench may write at the same time, one into the beginning of the other's line.
            let line = ran.stderr.lines().find(|line| line.contains("too many clients")).unwrap_or_default();
            let stderr = line[line.rfind("pgbench: error").unwrap_or(0)..].to_owned();
            told.push((ran.code, shape::measured(&ran.stdout), shape::measured(&stderr)));
        }
        let ours = told.pop().unwrap();
        assert_eq!(ours.0, Some(1), "{ours:?}");
        for theirs in told.drain(..) {
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn that_are_lost_on_the_way() {
    let Some(database) = database("reconnects") else { return };
    // From the second transaction on, the database takes no more sessions of this role.
    let closing = "select count(*) from pg_stat_activity;\nalter role guest connection limit 0;\n";
    same(
        &database,
        [script("-C -U guest", closing)
            .setup("drop role if exists guest; create role guest superuser login")
            .contents("select rolname from pg_roles where rolname = 'guest'")],
    );
    same(
        &database,
        [script("-C -U visitor", "select alter_me();\n").setup(
            "drop role if exists visitor; create role visitor login; \
             create or replace function alter_me() returns void security definer language sql as 'alter role visitor nologin'",
        )],
    );
}
