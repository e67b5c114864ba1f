//! `-l`: the files, their names, their lines and columns.

use crate::case::{Case, case, same};
use crate::server::database;

fn logged(arguments: &str) -> Case {
    case(&format!("-n -l {arguments}"))
        .file("one", "select 1;\n")
        .file("two", "select 2;\n")
        // The second of three tries goes well.
        .file("again", "do $$ begin if nextval('tries') % 2 = 1 then raise 'no' using errcode = '40001'; end if; end $$;\n")
        .file("dead", "do $$ begin raise 'no' using errcode = '40P01'; end $$;\n")
        .setup("drop sequence if exists tries; create sequence tries")
}

#[test]
fn each_transaction() {
    let Some(database) = database("raw_logs") else { return };
    same(
        &database,
        [
            logged("-t 4 -f one").raw_log(false),
            logged("-t 4 -f one -f two@2 --random-seed=3").raw_log(false),
            logged("-t 4 -f one --log-prefix=other.log").raw_log(false),
            logged("-t 4 -c 2 -j 2 -f one --log-prefix=threads").raw_log(false),
            logged("-t 4 -c 5 -j 3 -f one").raw_log(false),
            logged("-t 4 -c 2 -j 4 -f one").raw_log(false),
            logged("-t 5 -f one -R 5000").raw_log(true),
            logged("-t 5 -f one -R 5000 --max-tries=4").raw_log(true),
            logged("-t 4 -f again --max-tries=2").raw_log(false),
            logged("-t 4 -f again --max-tries=1").raw_log(false),
            logged("-t 4 -f again --max-tries=1 --failures-detailed").raw_log(false),
            logged("-t 4 -f dead --max-tries=3 --failures-detailed").raw_log(false).since(18),
            logged("-t 4 -f dead --failures-detailed -R 5000").raw_log(true).since(18),
            logged("-t 4 -f again -f dead --max-tries=3 --random-seed=2").raw_log(false).since(18),
            logged("-t 50 -f one --sampling-rate=0.3 --random-seed=7").raw_log(false),
            logged("-t 50 -c 2 -j 2 -f one --sampling-rate=0.5 --random-seed=8").raw_log(false),
            logged("-t 4 -f one --log-prefix=nowhere/log"),
            logged("-t 4 -c 2 -f one --log-prefix=").raw_log(false),
        ],
    );
}

#[test]
fn what_was_skipped() {
    let Some(database) = database("skipped_logs") else { return };
    same(&database, [crate::report::late_by_far("-l").raw_log(true)]);
}

#[test]
fn intervals() {
    let Some(database) = database("aggregated_logs") else { return };
    let intervals =
        |arguments: &str| logged(&format!("--aggregate-interval=1 -T 2 -R 200 {arguments}")).aggregated_log();
    same(
        &database,
        [
            intervals("-c 4 -j 2 -f one -L 100000 --log-prefix=late"),
            intervals("-f again -f dead --max-tries=2 --failures-detailed --random-seed=2").since(18),
            // What comes after the last full interval is not logged.
            logged("--aggregate-interval=1000 -t 20 -f one").aggregated_log(),
        ],
    );
}
