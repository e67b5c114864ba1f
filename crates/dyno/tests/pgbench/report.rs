//! The report and the progress lines, in every form that options give them.

use crate::case::{Case, case, same_beside};
use crate::program::Program;
use crate::server::database;

fn selects(arguments: &str) -> Case {
    case(&format!("-n {arguments}"))
        .file("one", "select 1;\n")
        .file("two", "\\set x 1 + 1\n-- a comment\nselect :x,\n  2;\n\\sleep 1 us\n\\if :x > 1\nselect 3\\; select 4;\n\\endif\n")
        .file("talk", "\\set x 1 + 1\nselect :x;\n\\sleep 1 us\n\\if :x > 2\n\\elif true\nselect 2;\n\\else\n\\endif\n\\shell true\n")
        .file("none", "-- nothing\n")
}

#[test]
fn per_script_and_per_command() {
    let Some(database) = database("report") else { return };
    same_beside(
        &database,
        [
            selects("-t 4 -f one"),
            selects("-t 4 -f one@3 -f two@1 --random-seed=5"),
            selects("-t 4 -f one@3 -f two@0 --random-seed=5"),
            selects("-t 4 -f two -r"),
            selects("-t 4 -f two -r --max-tries=3"),
            selects("-t 4 -f one -f two -r --random-seed=6"),
            selects("-t 4 -f one -f two -r --failures-detailed --max-tries=2 --random-seed=6"),
            selects("-t 4 -c 3 -j 2 -f one -r -M prepared"),
            selects("-t 2 -c 2 -j 4 -f one -s 12"),
            selects("-t 4 -f two -M extended -r -C"),
            selects("-f one"),
            selects("-f one --max-tries=5"),
            selects("-f one --failures-detailed"),
            selects("-f one -f two --failures-detailed --max-tries=5 --random-seed=7"),
            selects("-f one --show-script=tpcb-like"),
            selects("-T 1 -f one").timed(),
            selects("-T 1 -f one -f two -r --random-seed=2").timed(),
            selects("-T 1 -f one --max-tries=0").timed(),
        ],
    );
}

#[test]
fn rates_and_limits() {
    let Some(database) = database("rates") else { return };
    same_beside(
        &database,
        [
            selects("-t 5 -f one -R 5000"),
            selects("-t 5 -f one -R 5000 -L 100000"),
            selects("-t 5 -f one -L 100000"),
            selects("-t 5 -f one -L 100000.5 --max-tries=0"),
            selects(
                "-t 5 -f one -f one -R 5000 -L 100000 --failures-detailed --max-tries=2 -r --random-seed=1",
            ),
            selects("-t 5 -c 2 -j 2 -f one -R 5000 -C"),
            // Each transaction is late: the limit is far below what a statement takes.
            case("-n -t 5 -f slow -L 1").file("slow", "select pg_sleep(0.005);"),
            case("-n -T 1 -f slow -R 500 -L 2").file("slow", "select pg_sleep(0.01);").timed(),
        ],
    );
}

#[test]
fn what_was_too_late_is_skipped_and_counted() {
    let Some(database) = database("skipped") else { return };
    same_beside(&database, [late_by_far("-r")]);
    same_beside(&database, [late_by_far("--failures-detailed --max-tries=2 -c 2 -j 2")]);
    same_beside(&database, [late_by_far("-c 2 -f slow").since(18)]);
}

/// Of six transactions for a client, all but the first are skipped: when it is done, the others are late by half a second
/// more than the limit. The first would be late only on a machine that stands still for a second.
pub(crate) fn late_by_far(arguments: &str) -> Case {
    case(&format!("-n -t 6 -R 200 -L 1000 --random-seed=1 -f slow {arguments}"))
        .file("slow", "select pg_sleep(1.6);")
}

#[test]
fn what_a_client_does() {
    let Some(database) = database("debugged") else { return };
    for mode in ["simple", "extended", "prepared"] {
        // How often it looks for an answer depends on when that comes.
        same_beside(
            &database,
            [selects(&format!("-M {mode} -t 1 -f talk --debug")).each_line_once().since(18)],
        );
    }
    same_beside(&database, [selects("-t 1 -f one -f one@0 --debug -C").each_line_once().since(18)]);
}

#[test]
fn progress() {
    let Some(database) = database("progress") else { return };
    let slow = |arguments: &str| {
        case(&format!("-n -T 2 -P 1 -f slow {arguments}")).file("slow", "select pg_sleep(0.02);").timed()
    };
    same_beside(
        &database,
        [
            slow("-C -c 2"),
            slow("--progress-timestamp --max-tries=2 -R 100"),
            slow("-R 100 -L 1000 --max-tries=2 -c 2 -j 2"),
        ],
    );
}

/// A client leaves once its next transaction is due beyond the end, so the run may end before its last progress line. The seed decides
/// when everything is due: each run, or its first thread, ends about half a second before a line would be due.
#[test]
fn a_schedule_that_ends_early() {
    let Some(database) = database("early") else { return };
    let rate = |arguments: &str| selects(&format!("-T 2 -P 1 -f one {arguments}"));
    same_beside(
        &database,
        [
            rate("-R 0.001 --random-seed=1"),
            rate("-R 3 --random-seed=6"),
            rate("-R 3 -L 1000 -c 2 -j 2 --random-seed=8"),
            // The first thread ends long before the other.
            rate("-R 3 -L 1000 -c 2 -j 2 --random-seed=2"),
            rate("-R 3 -C -c 3 --random-seed=15"),
        ],
    );
}

#[test]
fn the_first_line_has_both_versions() {
    let Some(database) = database("banner") else { return };
    let server = database.run("show server_version");
    let ran = case("-n -t 1 -f s").file("s", "select 1;").run(&Program::dyno(), &database);
    assert_eq!(ran.stdout.lines().next(), Some(&*format!("pgbench (18.0, server {})", server.trim())));
}
