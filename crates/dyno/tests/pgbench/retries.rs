//! Transactions that are tried again, and those that fail for good.

use dyno_test_servers::in_some_attempt;

use crate::case::{Case, case, same};
use crate::program::Program;
use crate::server::database;

/// Fails with a serialization failure unless this is the third try.
const THIRD_GOES: &str = "\\set x random(1, 1000000)\n\
                          \\shell echo :x :y >> tried\n\
                          begin;\n\
                          insert into done values (:x);\n\
                          do $$ begin if nextval('tries') % 3 <> 0 then raise 'no' using errcode = '40001'; end if; end $$;\n\
                          commit;\n";

fn tried(arguments: &str) -> Case {
    case(&format!("-n -t 4 -D y=5 --random-seed=12 {arguments}"))
        .file("third", THIRD_GOES)
        .file("deadlock", THIRD_GOES.replace("40001", "40P01"))
        .file("variable", "\\set y :y + 1\n\\shell echo :y >> tried\ndo $$ begin if nextval('tries') % 2 <> 0 then raise 'no' using errcode = '40001'; end if; end $$;\n")
        .file("bare", "select 1;\ndo $$ begin raise 'no' using errcode = '40001', detail = 'more', hint = 'none'; end $$;\nselect 2;\n")
        .setup("drop sequence if exists tries; create sequence tries; drop table if exists done; create table done(x int)")
        .contents("select * from done order by ctid; select last_value from tries")
}

#[test]
fn with_the_same_random_values() {
    let Some(database) = database("retries") else { return };
    for mode in ["simple", "extended", "prepared"] {
        same(
            &database,
            [
                "third --max-tries=3",
                "third --max-tries=2",
                "deadlock --max-tries=10",
                "variable --max-tries=5",
            ]
            .map(|arguments| tried(&format!("-M {mode} -f {arguments}"))),
        );
        same(&database, [tried(&format!("-M {mode} -f bare --max-tries=2")).since(18)]);
    }
}

#[test]
fn told_in_the_same_words() {
    let Some(database) = database("retries_told") else { return };
    same(
        &database,
        [
            tried("-f third --max-tries=3 --verbose-errors"),
            tried("-f third --max-tries=2 --verbose-errors"),
            tried("-f deadlock --verbose-errors"),
            tried("-f third -f deadlock --max-tries=2 --verbose-errors --failures-detailed -r").since(18),
            tried("-f bare --max-tries=4 -r --failures-detailed").since(18),
            tried("-f bare -r").since(18),
            tried("-f third --max-tries=0 -L 100000"),
            tried("-f third --max-tries=0 -L 100000 -R 5000 --verbose-errors"),
            tried("-f bare -L 1 --max-tries=1000000 -f slow")
                .file("slow", "select pg_sleep(0.002);")
                .timed()
                .since(18),
            tried("-f third --max-tries=3 -C -r"),
            tried("-f third -c 1 -P 1 --max-tries=3"),
        ],
    );
}

#[test]
fn real_conflicts_are_resolved() {
    let Some(database) = database("conflicts") else { return };
    let case = case("-n -c 4 -j 2 -t 20 -f add --max-tries=1000 --failures-detailed")
        .file("add", "begin isolation level serializable;\nupdate sum set n = n + 1;\nend;\n")
        .setup("drop table if exists sum; create table sum as select 0 as n")
        .contents("select n from sum");
    let mut programs = Program::references();
    programs.push(Program::dyno());
    for program in &programs {
        let ran = case.run(program, &database);
        assert_eq!(ran.code, Some(0), "{program:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("actually processed: 80/80"), "{program:?}: {}", ran.stdout);
        assert_eq!(database.run("select n from sum").trim(), "80", "{program:?}");
    }
}

#[test]
fn real_deadlocks_are_counted() {
    let Some(database) = database("deadlocks") else { return };
    database.run("alter database deadlocks set deadlock_timeout = '5ms'");
    let case = case("-n -c 2 -t 10 -f cross --max-tries=1000 --failures-detailed --random-seed=3")
        .file(
            "cross",
            "\\set a random(1, 2)\nbegin;\nupdate pair set n = n + 1 where id = :a;\nselect pg_sleep(0.003);\n\
             update pair set n = n + 1 where id = 3 - :a;\nend;\n",
        )
        .setup("drop table if exists pair; create table pair as select generate_series(1, 2) id, 0 n");
    let mut programs = Program::references();
    programs.push(Program::dyno());
    for program in &programs {
        // One client might be through before the other meets it.
        in_some_attempt("two clients cross", || {
            let ran = case.run(program, &database);
            assert_eq!(ran.code, Some(0), "{program:?}: {}", ran.stderr);
            assert!(ran.stdout.contains("number of deadlock failures: 0"), "{program:?}: {}", ran.stdout);
            assert!(!ran.stdout.contains("total number of retries: 0\n"), "{program:?}: {}", ran.stdout);
            assert_eq!(database.run("select sum(n) from pair").trim(), "40", "{program:?}");
        });
    }
}

/// pgbench has it since 19, and none is at hand to compare with.
#[test]
fn other_errors_are_counted_where_the_user_says_so() {
    let Some(database) = database("continued") else { return };
    let run = |arguments: &str, script: &str| {
        case(&format!("-n -t 4 --continue-on-error {arguments} -f s"))
            .file("s", script)
            .run(&Program::dyno(), &database)
    };
    let divides = "begin;\nselect 1 / 0;\nend;\n";
    for mode in ["simple", "extended", "prepared"] {
        let ran = run(&format!("-M {mode} --failures-detailed"), divides);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stdout.contains("actually processed: 0/4\nnumber of failed transactions: 4 (100.000%)"),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("number of other failures: 4 (100.000%)"), "{}", ran.stdout);
    }
    let ran = run("-l --failures-detailed", divides);
    let log = &ran.files["pgbench_log.PID"];
    assert!(log.lines().count() == 4 && log.lines().all(|line| line.contains(" other 0 ")), "{log}");
    let columns =
        case("-n -T 2 -R 100 -l --aggregate-interval=1 --continue-on-error -f s").file("s", divides);
    let ran = columns.run(&Program::dyno(), &database);
    let log = crate::shape::aggregated_log(&ran.files["pgbench_log.PID"]);
    assert_eq!(log, "N 0 0 0 0 0 0 0 0 0 0 0 0 0 0 N", "{:?}", ran.files);
    // What is wrong with the script itself still ends the client.
    assert_eq!(run("", "\\set x 1 / 0\n").code, Some(2));
    assert_eq!(run("", "select 1 as x where false \\gset\n").code, Some(2));
}
