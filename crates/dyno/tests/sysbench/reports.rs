//! What a run prints: the banner, the lines while it lasts, the report.

use std::process::Command;
use std::sync::LazyLock;

use dyno_test_servers::Recorded;
use serde_json::Value;

use crate::mask;
use crate::program::{Program, Ran};
use crate::reference::{Said, assert_alike, recorded};
use crate::server::{databases, postgres_database};
use crate::tables::made;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("reports"));

/// Banner and report; behind a fixed number of events what is counted is the same, too.
const EXACT: &[&str] = &[
    "--events=10 --time=0 oltp_read_write run",
    "--events=10 --time=0 oltp_read_only run --skip-trx",
    "--events=7 --time=0 oltp_write_only run",
    "--events=5 --time=0 --db-ps-mode=disable oltp_insert run",
    "--events=5 --time=0 --percentile=0 oltp_point_select run",
    "--events=5 --time=0 --percentile=5 oltp_update_index run",
    "--events=5 --time=0 --percentile=100 --rand-seed=3 --rand-type=uniform oltp_update_non_index run",
    "--events=5 --time=0 --rand-type=gaussian select_random_points run",
    "--events=5 --time=0 --rand-type=pareto select_random_ranges run",
    "--events=5 --time=0 --validate oltp_point_select run",
    "--events=40 --time=0 --rate=400 oltp_point_select run",
    "--events=4 --time=0 --verbosity=0 oltp_point_select run",
    "--events=4 --time=0 --verbosity=4 --threads=2 oltp_point_select run",
    "--max-requests=4 --max-time=9 --num-threads=2 oltp_point_select run",
];

#[test]
fn the_report_of_a_count_of_events() {
    let databases = databases("reports");
    databases.iter().for_each(made);
    for arguments in EXACT {
        assert_alike(&RECORDED, arguments, &databases, |program, database| {
            let ran = program.run(&[], &database.with(&format!("--table-size=1000 {arguments}")));
            // Threads of sysbench race to tell of themselves.
            Said::new(&ran, |stdout| mask::sorted(&mask::measured(stdout), "Worker thread (#"))
        });
    }
}

/// With so much to do that a run does not take the processors from others.
#[test]
fn lines_and_reports_while_it_lasts() {
    let Some(database) = postgres_database("lines") else { return };
    made(&database);
    for sql in [
        "create function rest() returns trigger language plpgsql as 'begin perform pg_sleep(0.02); return new; end'",
        "create trigger rest before update on sbtest1 for each statement execute function rest()",
    ] {
        database.sql(sql);
    }
    let databases = [database];
    for arguments in [
        "--time=2 --report-interval=1 oltp_update_index run --threads=2",
        "--time=2 --report-interval=1 --rate=50 oltp_read_only run --threads=2 --percentile=99",
        "--time=2 --report-checkpoints=1 oltp_read_write run",
    ] {
        assert_alike(&RECORDED, arguments, &databases, |program, database| {
            let ran = program.run(&[], &database.with(&format!("--table-size=1000 {arguments}")));
            // Columns are compared above; here counts are of different lengths, and how many lines there are depends on
            // how late the last is.
            Said::new(&ran, |stdout| mask::kinds(&mask::layout(stdout)))
        });
    }
}

/// A row of the histogram: where its parts stand.
fn histogram_row(line: &str) -> Option<(usize, usize)> {
    let bar = line.find('|')?;
    let count = line.rfind(' ')?;
    Some((bar, count))
}

#[test]
fn the_histogram_has_the_same_columns() {
    let Some(database) = postgres_database("histogram") else { return };
    made(&database);
    let arguments = "--table-size=1000 --events=200 --time=0 --histogram oltp_point_select run";
    assert_alike(&RECORDED, arguments, &[database], |program, database| {
        let ran = program.run(&[], &database.with(arguments));
        let lines: Vec<_> =
            ran.stdout.lines().skip_while(|line| !line.starts_with("Latency histogram")).collect();
        let rows: Vec<_> = lines.iter().filter_map(|line| histogram_row(line)).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row == &rows[0]), "{}", ran.stdout);
        let most = lines.iter().map(|line| line.matches('*').count()).max();
        let end = lines.iter().position(|line| *line == " ").expect("a line with a space");
        (lines[..2].join("\n"), rows[0], most, lines[end + 1].to_owned())
    });
}

#[test]
fn a_warm_up_is_left_out_of_the_report() {
    let Some(database) = postgres_database("warm_up") else { return };
    made(&database);
    let arguments = "--table-size=1000 --warmup-time=1 --time=1 --rate=20 --events=5 oltp_point_select run";
    let ran = Program::Dyno.run(&[], &database.with(arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("Warming up for 1 seconds...\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("total number of events:              5\n"), "{}", ran.stdout);
}

#[test]
fn what_dyno_adds_is_beside_it() {
    let Some(database) = postgres_database("beside") else { return };
    made(&database);
    let store = tempfile::tempdir().unwrap();
    let run = |extras: &str| {
        let arguments = format!("--table-size=1000 --events=20 --time=0 {extras} oltp_read_write run");
        let mut command = Program::Dyno.command(store.path(), &database.with(&arguments));
        Ran::new(&command.env_remove("DYNO_SYSBENCH").output().unwrap())
    };
    // Standard error is no terminal here.
    let usual = run("");
    assert_eq!(usual.stderr, "");
    assert!(store.path().join("store.db").exists(), "the run is stored all the same");
    let (off, brief, full) = (run("--dyno=off"), run("--dyno=brief"), run("--dyno=full"));
    assert_eq!(mask::measured(&off.stdout), mask::measured(&brief.stdout));
    assert_eq!(mask::measured(&off.stdout), mask::measured(&usual.stdout));
    assert_eq!(off.stderr, "");
    assert!(brief.stderr.contains("dyno: stored as "), "{}", brief.stderr);
    assert!(
        full.stdout.starts_with(&off.stdout[..200]) && full.stdout.len() > off.stdout.len() + 200,
        "{}",
        full.stdout
    );
    let (_, last) = full.stdout.rsplit_once("\nquote: ").unwrap_or_else(|| panic!("{}", full.stdout));
    assert!(last.lines().count() < 3 && last.contains("(oltp_read_write"), "{last}");
}

#[test]
fn a_stored_run_is_of_one_target_and_its_warm_up_is_apart() {
    for database in databases("kept_runs") {
        let product = database.product();
        made(&database);
        let directory = tempfile::tempdir().unwrap();
        let arguments =
            "--table-size=1000 --warmup-time=1 --time=1 --rate=50 --dyno=brief oltp_update_index run";
        let output = Program::Dyno.command(directory.path(), &database.with(arguments)).output().unwrap();
        let ran = Ran::new(&output);
        assert_eq!(ran.code, Some(0), "{product}: {}", ran.stdout);
        let mut report = Command::new(env!("CARGO_BIN_EXE_dyno"));
        let report =
            report.args(["report", "--json"]).env("DYNO_STORE", directory.path().join("store.db")).output();
        let document: Value = serde_json::from_slice(&report.unwrap().stdout).unwrap();
        let target = &document["targets"][0]["name"];
        assert_eq!(target, if database.is_mysql() { "my" } else { "pg" });
        let named = &document["run"]["spec"]["targets"];
        assert_eq!((named.as_array().map(Vec::len), &named[0]["name"]), (Some(1), target));
        assert!(named[0]["url"].as_str().unwrap().contains(&database.address().to_string()), "{named}");
        for list in ["stages", "series", "data", "settings"] {
            for row in document[list].as_array().unwrap() {
                assert_eq!(&row["target"], target, "{list} of {product}");
            }
        }
        let [warm_up, hold] = [0, 1].map(|stage| &document["stages"][stage]);
        assert_eq!([&warm_up["kind"], &hold["kind"]], ["warm-up", "hold"]);
        let max = dyno_results::format::latency_us(hold["response"]["max_us"].as_f64().unwrap());
        assert!(ran.stderr.contains(&format!(", max {max}\n")), "{max} on {product}: {}", ran.stderr);
        let mut again = Command::new(env!("CARGO_BIN_EXE_dyno"));
        again.args(["run", "--rerun", "last", "--store"]).arg(directory.path().join("store.db"));
        let again = again.env("DYNO_SYSBENCH", "off").output().unwrap();
        let [printed, said] =
            [&again.stdout, &again.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        // Of a password that was typed the store knows nothing.
        let hidden = database.is_mysql() && said.contains("contained a secret");
        assert!(hidden || printed.contains("Warming up for 1 seconds"), "{printed}{said}");
    }
}
