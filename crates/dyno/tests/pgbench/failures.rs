//! Scripts that fail while they run: who says what, and how the run ends.

use std::cell::RefCell;

use dyno_test_servers::{Postgres, Setup};

use crate::case::{case, lines, same, script};
use crate::program::{Call, Program};
use crate::server::{connect, database, environment, version, wait_until, without_port};
use crate::{real, shape};

const MODES: [&str; 3] = ["-M simple", "-M extended", "-M prepared"];

#[test]
fn statements_that_the_server_refuses() {
    let Some(database) = database("refused") else { return };
    let failing = [
        "select nothing;\n",
        "select 1;\nselect from nowhere;\n",
        "select 1 / 0;\n",
        "selec 1;\n",
        "select 'é' || x;\n",
        "select\n  1,\n  nothing\nfrom pg_class;\n",
        "begin;\nselect 1 / 0;\nend;\n",
        "do $$ begin raise exception 'told' using detail = 'a\nb', hint = 'c'; end $$;\n",
        "do $$ begin raise exception using errcode = 'P0001', message = ''; end $$;\n",
        "select :undefined;\n",
        "select ':undefined', 1 where 1 = :undefined;\n",
        "insert into pair values (1); insert into pair values (1);\n",
        "savepoint a;\n",
        "select 1\\; select 1 / 0\\; select 2;\n",
        "create function f() returns int language plpgsql as 'begin return 1 / 0; end';\n",
    ];
    for mode in MODES {
        same(
            &database,
            failing.map(|text| {
                script(mode, text).setup("drop table if exists pair; create table pair(id int primary key); drop function if exists f")
            }),
        );
    }
    let two = |mode| script(mode, "select 1 / (:client_id - 1);\n").argument("-c2").any_order();
    same(&database, MODES.map(two));
    let two_threads =
        |mode| script(mode, "select 1 / (:client_id - 1);\n").argument("-c3").argument("-j2").any_order();
    same(&database, MODES.map(two_threads));
}

#[test]
fn the_end_of_a_client_ends_the_run_where_the_user_says_so() {
    let Some(database) = database("exits") else { return };
    same(
        &database,
        [
            script("--exit-on-abort", "select 1 / 0;\n").since(18),
            script("--exit-on-abort", "\\set x 1 / 0\n").since(18),
            script("--exit-on-abort", "select 1;\n").since(18),
            case("-n -T 20 -c 2 -j 2 --exit-on-abort -f s")
                .file("s", "select pg_sleep(0.01), 1 / :client_id;\n")
                .since(18),
        ],
    );
}

#[test]
fn notices_are_told() {
    let Some(database) = database("notices") else { return };
    for mode in MODES {
        same(
            &database,
            [
                script(
                    mode,
                    "do $$ begin raise notice 'one'; raise warning 'two' using hint = 'three'; end $$;\n",
                ),
                script(mode, "begin;\nbegin;\nend;\nend;\n"),
                script(mode, "drop table if exists nothing;\n"),
                script(&format!("{mode} --verbose-errors"), "do $$ begin raise info 'é'; end $$;\n"),
            ],
        );
    }
}

#[test]
fn copy_is_no_part_of_it() {
    let Some(database) = database("copies") else { return };
    for mode in MODES {
        same(
            &database,
            [
                script(mode, "copy (select 1) to stdout;\n"),
                script(mode, "copy t from stdin;\n"),
                script(mode, "select 1;\ncopy (select 1) to stdout;\nselect 2;\n"),
            ]
            .map(|case| case.setup("create table if not exists t(x int)")),
        );
    }
}

#[test]
fn what_is_left_open() {
    let Some(database) = database("open") else { return };
    for mode in MODES {
        same(
            &database,
            [
                script(mode, "begin;\n"),
                script(mode, "begin;\nselect 1;\n\\set x 1\n"),
                script(mode, "begin;\nend;\nbegin;\n\\if false\nend;\n\\endif\n"),
            ],
        );
    }
}

#[test]
fn sessions_that_are_ended() {
    let Some(database) = database("ended") else { return };
    for mode in MODES {
        same(
            &database,
            [
                script(mode, "select pg_terminate_backend(pg_backend_pid());\n"),
                script(
                    mode,
                    "select 1;\nbegin;\nselect pg_terminate_backend(pg_backend_pid()), pg_sleep(5);\nend;\n",
                ),
                script(mode, "set statement_timeout = 200;\nselect pg_sleep(60);\n"),
            ],
        );
    }
}

#[test]
fn a_session_that_ends_while_its_client_sleeps() {
    let Some(database) = database("asleep") else { return };
    // The client goes on when the session's process is gone, however late the server's clock has ended it.
    let text = "select pg_backend_pid() as pid \\gset\nset idle_in_transaction_session_timeout = 1;\nbegin;\n\\sleep 50 ms\n\
                \\shell sh gone :pid\nselect 1;\nend;\n";
    let gone = "while test -e /proc/$1; do sleep 0.01; done";
    // In which words the real program tells of it is a matter of time.
    same(&database, MODES.map(|mode| script(mode, text).file("gone", gone).in_any_words()));
}

#[test]
fn a_server_that_goes_away() {
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    let version = version(&connect(&server, "postgres"));
    let server = RefCell::new(server);
    let killed =
        |program: &Program, threads: &str| killed_in_mid_run(&mut server.borrow_mut(), program, threads);
    // Of one thread: two of the real one's write into each other's lines.
    let Some(theirs) = real::does(version, "a server that goes away", 0, |program| killed(program, "1"))
    else {
        return;
    };
    assert_eq!(killed(&Program::dyno(), "1"), theirs);
    let (code, stdout, stderr) = killed(&Program::dyno(), "2");
    let stdout = stdout.into_iter().map(|line| line.replace("threads: 2", "threads: 1")).collect();
    assert_eq!((code, stdout, stderr), theirs);
}

/// Exit status and what was told when the server crashed while two clients waited for it.
fn killed_in_mid_run(
    server: &mut Postgres,
    program: &Program,
    threads: &str,
) -> (Option<i32>, Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let call = Call {
        arguments: ["-n", "-c2", "-j", threads, "-t2", "-f", "wait"].map(str::to_owned).to_vec(),
        environment: environment(server, "postgres"),
        files: vec![("wait".to_owned(), b"select pg_sleep(600);\n".to_vec())],
        ..Call::default()
    };
    let mut command = program.command(directory.path(), &call);
    command.env("DYNO_STORE", directory.path().join("store.db"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let process = command.spawn().unwrap();
    wait_until(
        &mut connect(server, "postgres"),
        "select count(*) = 2 from pg_stat_activity where query = 'select pg_sleep(600);' and state = 'active'",
    );
    let logged = server.log().len();
    server.crash();
    let output = process.wait_with_output().unwrap();
    let killed = server.log()[logged..].contains("to recalcitrant children");
    server.restart();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let printed = |text| shape::measured(&without_port(server, text));
    let stdout = shape::in_later_words(&printed(&stdout));
    // What comes of the server's last words depends on the machine: it kills sessions that do not end within 5 s.
    let (warnings, stderr): (Vec<_>, Vec<_>) = lines(&shape::sorted(&printed(&stderr)))
        .into_iter()
        .partition(|line| line.starts_with("WARNING:  terminating connection "));
    assert!(warnings.len() == 2 || killed, "{program:?}: {warnings:?} {stderr:?}\n{}", server.log());
    (output.status.code(), lines(&stdout), stderr)
}
