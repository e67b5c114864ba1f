//! Command lines that are refused, or answered without a server.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;
use serde::{Deserialize, Serialize};

use crate::mask;
use crate::program::{Program, Ran, words};
use crate::reference::{Said, recorded};

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("refusals"));

/// Ended by the command line itself, or by a server that nobody is at port 1.
const CASES: &[&str] = &[
    "",
    "--x",
    "--x foo",
    "foo",
    "run oltp_point_select",
    "oltp_point_select",
    "oltp_point_select bogus",
    "oltp_point_select run extra",
    "--version a b c",
    "--help a b c",
    "a b c --threads=x",
    "-x oltp_insert help",
    "--threads 4 oltp_insert run",
    "--x oltp_insert run",
    "oltp_insert --x run",
    "oltp_insert help --x",
    "oltp_insert foo --x",
    "oltp_insert -- run",
    "oltp_insert --=x run",
    "oltp_insert --RANGE_SIZE=3 run",
    "--threads=abc oltp_insert help",
    "--threads=4x oltp_insert help",
    "--threads=1.5 oltp_insert help",
    "--threads=1K oltp_insert help",
    "--threads=99999999999 oltp_insert help",
    "--threads= oltp_insert help",
    "--threads oltp_insert help",
    "--threads=0 oltp_insert run",
    "--num-threads=0",
    "--num-threads=2 --threads=0",
    "--tx-rate=1 --max-time=2 --max-requests=3 --num-threads=4",
    "--events=x",
    "--time=x",
    "--rate=0.5",
    "--rand-seed=x",
    "--rand-spec-iter=x",
    "--rand-type=x",
    "--rand_type=x",
    "--report-interval=x",
    "--report-checkpoints=x",
    "--report-checkpoints=1,x",
    "--report-checkpoints=-1",
    "--report-checkpoints=1.5 --percentile=101",
    "--forced-shutdown=x --thread-stack-size=x",
    "--forced-shutdown=5x",
    "--thread-stack-size=x",
    "--thread-stack-size=0 --threads=0",
    "--percentile=101",
    "--percentile=-1",
    "--percentile=x",
    "--percentile=101 --verbosity=9",
    "--percentile=101 --rand-type=x",
    "--verbosity=9",
    "--verbosity=-1",
    "--verbosity=x",
    "--verbosity=2 foo",
    "--verbosity=0 --num-threads=2 foo",
    "--events=0 --time=0 --percentile=101",
    "--events=0 --time=0 --forced-shutdown=x",
    "--debug=x oltp_insert help",
    "--debug=ON oltp_insert help",
    "--debug= oltp_insert help",
    "--histogram=foo oltp_insert help",
    "--skip-trx=x oltp_insert run",
    "--auto_inc=yes oltp_insert run",
    "--mysql-ssl=x oltp_insert help",
    "--pgsql-port=x oltp_insert run",
    "--pgsql-port=x oltp_insert prepare",
    "--db-driver=foo oltp_insert prepare",
    "--db-driver=foo oltp_insert run",
    "--db-driver=help oltp_insert run",
    "--db-ps-mode=x oltp_insert prepare",
    "--db-ps-mode=x oltp_insert run",
    "--db-ps-mode=x --db-driver=foo oltp_insert cleanup",
    "oltp_insert --mysql-host=127.0.0.1 --mysql-port=1 prepare",
    "oltp_insert --mysql-host=127.0.0.1 --mysql-port=1 run",
    "oltp_insert --mysql-host=127.0.0.1 --mysql-port=1 cleanup --threads=2",
    "oltp_insert --mysql-host=127.0.0.1,127.0.0.2 --mysql-port=1 run",
    "oltp_insert --mysql-host=nope.invalid run",
    "oltp_insert --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 prepare",
    "oltp_insert --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 run",
    "oltp_insert --db-driver=pgsql --pgsql-host=/nonexistent run",
    "oltp_insert --db-driver=pgsql --pgsql-host=nope.invalid cleanup",
    "oltp_insert --db-driver=pgsql --pgsql-port=1 --pgsql-host=127.0.0.1 run --rate=5 --report-interval=2 \
     --validate --rand-seed=7 --report-checkpoints=3,1 --forced-shutdown=4",
    "oltp_insert --db-driver=pgsql --pgsql-port=1 --pgsql-host=127.0.0.1 run --verbosity=0",
    "--config-file=nope foo",
    "--config-file=wrong foo",
    "--config-file=good --db-driver=pgsql --pgsql-port=1 --pgsql-host=127.0.0.1 oltp_insert run",
    "bulk_insert",
    "bulk_insert foo",
    "bulk_insert help",
    "./idle.lua",
    "./idle.lua foo",
    "./idle.lua --x foo",
    "./idle.lua prepare",
    "./idle.lua cleanup",
    "./idle.lua help",
    "./idle.lua --debug=x run",
    "./options.lua --flag=x run",
    "./options.lua --x=1 run",
    "./options.lua help",
    "./nothing.lua run",
    "./wrong.lua run",
    "./nope.lua run",
    "./caught.lua --mysql-host=nope.invalid run",
    "./caught.lua --mysql-host=127.0.0.1 --mysql-port=1 run",
    "./caught.lua --db-driver=pgsql --pgsql-host=nope.invalid run",
    "./caught.lua --db-driver=pgsql --pgsql-host=/nonexistent run",
    "options help",
];

const FILES: &[(&str, &str)] = &[
    ("good", "# of the load\nrand-seed=5\n\n[mysql]\nreport-interval=2\n"),
    ("wrong", "threads=x\n"),
    ("idle.lua", "function event() return true end\n"),
    ("nothing.lua", "x = 1\n"),
    ("wrong.lua", "x = = 1\n"),
    // What fails in an event is the script's to catch, and may be tried again.
    (
        "caught.lua",
        "function event()\n  local driver = sysbench.sql.driver()\n  \
         for _ = 1, 2 do print(pcall(driver.connect, driver)) end\n  error('it goes on')\nend\n",
    ),
    (
        "options.lua",
        "sysbench.cmdline.options = {\n  flag = {\"A flag\", false}, size = {\"A number\", 10}, \
         list = {\"A list\", {\"a\", \"b\"}}, share = {\"A share\", 1.5}, text = {\"A text\"}}\n",
    ),
];

#[test]
fn what_is_refused_is_refused_alike() {
    let mut differences = String::new();
    for case in CASES {
        let said = |program: &Program| Said::new(&program.run(FILES, &words(case)), mask::own);
        let theirs = RECORDED.get(case, || said(&Program::real()));
        let ours = said(&Program::Dyno);
        if theirs != ours {
            differences.push_str(&format!("{case}\n  sysbench: {theirs:?}\n  dyno:     {ours:?}\n"));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// The options that a help text lists, with the form of their values.
fn listed(help: &str) -> Vec<&str> {
    let options = help.lines().filter_map(|line| line.strip_prefix("  --"));
    options.map(|line| line.split(' ').next().unwrap()).collect()
}

/// Where the descriptions begin.
fn column(help: &str, option: &str) -> Option<usize> {
    let line = help.lines().find(|line| line.starts_with(&format!("  --{option} ")))?;
    let after = line["  --".len() + option.len()..].chars().take_while(|c| *c == ' ').count();
    Some("  --".len() + option.len() + after)
}

/// The default behind the description.
fn default(help: &str, option: &str) -> Option<String> {
    let line = help.lines().find(|line| line.starts_with(&format!("  --{option} ")))?;
    line.ends_with(']').then(|| line.rsplit_once('[')).flatten().map(|(_, default)| default.to_owned())
}

/// An option with its form, where its description begins, and its default: the descriptions are each program's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Listed(String, Option<usize>, Option<String>);

#[test]
fn help_lists_the_same_options_in_the_same_columns() {
    let tests = ["--help", "oltp_read_write help", "select_random_points help", "select_random_ranges help"];
    for case in tests {
        let options = |program: &Program| -> Vec<Listed> {
            let help = program.run(&[], &words(case)).well(case).stdout;
            let one = |option: &str| Listed(option.to_owned(), column(&help, option), default(&help, option));
            listed(&help).into_iter().map(one).collect()
        };
        let theirs = RECORDED.get(&format!("options of {case}"), || options(&Program::real()));
        assert!(theirs.len() > 15, "{case}: {theirs:?}");
        // dyno has further ones.
        assert_eq!(options(&Program::Dyno)[..theirs.len()], theirs, "{case}");
    }
}

#[test]
fn the_version_begins_with_that_of_sysbench() {
    let version = |program: &Program| program.run(&[], &words("--version")).stdout;
    let theirs = RECORDED.get("version", || version(&Program::real()));
    let ours = version(&Program::Dyno);
    assert!(ours.starts_with(&format!("{} (dyno ", theirs.trim_end())), "{ours}");
}

#[test]
fn tests_without_a_database_are_refused_with_a_reason() {
    for test in ["cpu", "fileio", "memory", "threads", "mutex"] {
        let ran = Program::Dyno.run(&[], &words(&format!("{test} run")));
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.stdout.contains(&format!("FATAL: The '{test}' test needs no database")),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn under_the_name_of_sysbench_it_is_sysbench() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("sysbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let output = std::process::Command::new(&link).arg("--version").output().unwrap();
    assert!(Ran::new(&output).stdout.starts_with("sysbench 1.0.20 "), "{output:?}");
}
