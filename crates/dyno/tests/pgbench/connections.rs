//! Connections: how they are asked for, and what is said when they cannot be had.

use dyno_test_servers::{Postgres, Setup};

use crate::case::{same, script};
use crate::program::{Call, Program, Ran};
use crate::server::{connect, database, environment, version, without_port};
use crate::{real, shape};

#[test]
fn what_the_session_is_told() {
    let Some(database) = database("sessions") else { return };
    let name = database.name();
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
            seen(name).environment("PGDATABASE", "nowhere"),
            seen(&format!("-d {name}")).environment("PGDATABASE", "nowhere").since(18),
            seen("-U postgres").environment("PGUSER", "nobody"),
            seen("").argument(&format!("dbname={name} application_name=given user=postgres")),
            seen("")
                .argument("-d")
                .argument(&format!("postgresql:///{name}?application_name=url&options=-cwork_mem%3D5MB"))
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
            elsewhere("-p 0").in_any_words(),
            elsewhere("-p x").in_any_words(),
            elsewhere("-h /nowhere"),
            elsewhere("").environment("PGOPTIONS", "-c nothing=1").in_any_words(),
            elsewhere("").environment("PGOPTIONS", "-c work_mem=much"),
            elsewhere("").argument("-d").argument("host=127.0.0.1 nothing=5").in_any_words(),
        ],
    );
}

#[test]
fn of_which_the_server_has_too_few() {
    let setup = Setup::default().with("max_connections=5").with("superuser_reserved_connections=0");
    let Some(server) = Postgres::start(&setup) else { return };
    let run = |program: &Program, arguments: &str| {
        let call = Call {
            arguments: arguments.split(' ').map(str::to_owned).collect(),
            environment: environment(&server, "postgres"),
            files: vec![("s".to_owned(), b"select 1;\n".to_vec())],
            ..Call::default()
        };
        program.run(&call)
    };
    let version = version(&connect(&server, "postgres"));
    // Who comes too late is told by all.
    let told = |ran: &Ran| {
        let line = ran.stderr.lines().find(|line| line.contains("too many clients")).unwrap_or_default();
        // The real one's threads may write into each other's lines, but a message comes in one piece.
        without_port(&server, &line[line.find("connection to server").unwrap_or(0)..])
    };
    for arguments in ["-n -c8 -t1 -f s", "-n -c8 -j4 -t1 -f s"] {
        // How it ends is not recorded: its threads all end it at once, and now and then it crashes then.
        let theirs = real::does(version, &format!("too few connections: {arguments}"), 0, |program| {
            told(&run(program, arguments))
        });
        let Some(theirs) = theirs else { return };
        let ours = run(&Program::dyno(), arguments);
        assert_eq!(told(&ours), theirs);
        assert!(
            ours.stderr.contains("\npgbench: error: connection to server")
                || ours.stderr.starts_with("pgbench: error: connection to server"),
            "{}",
            ours.stderr
        );
        assert_eq!((ours.code, shape::measured(&ours.stdout)), (Some(1), "pgbench (VERSION)\n".to_owned()));
    }
}

#[test]
fn that_are_lost_on_the_way() {
    let Some(database) = database("reconnects") else { return };
    // From the second transaction on, the database takes no more sessions of this role.
    let closing = "select count(*) from pg_stat_activity;\nalter role pgbench_guest connection limit 0;\n";
    same(
        &database,
        [script("-C -U pgbench_guest", closing)
            .setup("drop role if exists pgbench_guest; create role pgbench_guest superuser login")
            .contents("select rolname from pg_roles where rolname = 'pgbench_guest'")],
    );
    same(
        &database,
        [script("-C -U pgbench_visitor", "select alter_me();\n").setup(
            "drop role if exists pgbench_visitor; create role pgbench_visitor login; \
             create or replace function alter_me() returns void security definer language sql as 'alter role pgbench_visitor nologin'",
        )],
    );
}
