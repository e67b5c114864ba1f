//! Transactions that are tried again, and those that fail for good.

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
            tried("-f third -c 1 -P 1000 --max-tries=3"),
        ],
    );
}

#[test]
fn serializable_clients_all_come_to_their_end() {
    let Some(database) = database("conflicts") else { return };
    let case = case("-n -c 4 -j 2 -t 20 -f add --max-tries=1000 --failures-detailed")
        .file("add", "begin isolation level serializable;\nupdate sum set n = n + 1;\nend;\n")
        .setup("drop table if exists sum; create table sum as select 0 as n")
        .contents("select n from sum");
    for program in &Program::each() {
        let ran = case.run(program, &database);
        assert_eq!(ran.code, Some(0), "{program:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("actually processed: 80/80"), "{program:?}: {}", ran.stdout);
        assert_eq!(database.run("select n from sum").trim(), "80", "{program:?}");
    }
}

/// Waits until both clients have come this far. That is not undone with the transaction, so a second try does not wait.
const MEET: &str = "do $$ begin perform nextval('arrived'); while (select last_value from arrived) < 2 loop perform pg_sleep(0.001); end loop; end $$;\n";

/// Two clients with one transaction each, which meet in the midst of it: one of them must be tried again, once.
fn meeting(script: &str) -> Case {
    const SETUP: &str = "drop sequence if exists arrived; create sequence arrived minvalue 0; select nextval('arrived'); \
                         drop table if exists pair; create table pair as select generate_series(1, 2) id, 0 n";
    case("-n -c 2 -t 1 -f meeting --max-tries=1000 --failures-detailed")
        .file("meeting", script)
        .setup(SETUP)
        .contents("select id, n from pair order by id")
}

fn meetings(script: &str) -> [Case; 2] {
    ["1", "2"].map(|threads| meeting(script).argument("-j").argument(threads))
}

#[test]
fn a_conflict_that_must_come_is_counted() {
    let Some(database) = database("met_in_conflict") else { return };
    let script = format!(
        "begin isolation level repeatable read;\nselect n from pair;\n{MEET}update pair set n = n + 1;\nend;\n"
    );
    same(&database, meetings(&script));
}

#[test]
fn a_deadlock_that_must_come_is_counted() {
    let Some(database) = database("met_in_deadlock") else { return };
    database.run(&format!("alter database {} set deadlock_timeout = '5ms'", database.name()));
    // Who is tried again waits until the other is done, or the two might meet in the same way once more.
    let after = "do $$ begin if (select last_value from arrived) >= 2 then \
                 while (select sum(n) from pair) = 0 loop perform pg_sleep(0.001); end loop; end if; end $$;\n";
    let script = format!(
        "begin;\n{after}update pair set n = n + 1 where id = 1 + :client_id;\n{MEET}\
         update pair set n = n + 1 where id = 2 - :client_id;\nend;\n"
    );
    same(&database, meetings(&script));
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
