//! sysbench's tests: shell sessions, of which cram compares what is printed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dyno_test_servers::{
    Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Sysbench, SysbenchTests, postgres_binaries, succeed,
};

use super::{line_of, stand_in};

/// Tests that do not apply to dyno, and why.
const NOT_APPLICABLE: [(&str, &str); 12] = [
    ("test_cpu", NO_DATABASE),
    ("test_fileio", NO_DATABASE),
    ("test_memory", NO_DATABASE),
    ("test_mutex", NO_DATABASE),
    ("test_threads", NO_DATABASE),
    ("opt_rate", NO_DATABASE),
    ("opt_report_checkpoints", NO_DATABASE),
    ("opt_report_interval", NO_DATABASE),
    ("opt_help", OWN_WORDS),
    ("help_drv_mysql", OWN_WORDS),
    ("help_drv_pgsql", OWN_WORDS),
    ("opt_version", "it names dyno's version beside sysbench's"),
];
const NO_DATABASE: &str = "it runs one of sysbench's tests without a database";
const OWN_WORDS: &str = "its help has dyno's own words";

/// Lines of sessions that do apply, where dyno says something else on purpose: as they begin, sysbench's with `-` and dyno's with
/// `+`.
const ON_PURPOSE: [&str; 13] = [
    "- The 'fileio' test requires a command argument.",
    "- invalid option: --invalid-option",
    "+ FATAL: The 'fileio' test needs no database, and dyno has none of these tests",
    // Of a script on the standard input sysbench finds no `prepare`: it has read the input before.
    "+ prepare",
    // Dyno names the entry that is wrong.
    "- FATAL: `sysbench.cmdline.read_cmdline_options' function failed: [string \"sysbench.cmdline.lua\"]:*: wrong table structure",
    "+ FATAL: `sysbench.cmdline.read_cmdline_options' function failed: wrong table structure in sysbench.cmdline.options, at",
    // Dyno reconnects on PostgreSQL, too.
    "- ALERT: reconnect is not supported by the current driver",
    "- reconnects = 0",
    "+ reconnects = 0",
    // The port is that of the server which these tests have started.
    "- FATAL: unable to connect to MySQL server on host 'non-existing', port 0",
    "+ FATAL: unable to connect to MySQL server on host 'non-existing', port 0",
    // Dyno has the words of MariaDB's client library, with which sysbench is built on Debian.
    "- FATAL: error 0: Unknown MySQL server host 'non-existing' (0)",
    "+ FATAL: error 0: Unknown server host 'non-existing' (-0)",
];

/// After which time a call of sysbench or dyno is ended that hangs, so that its session shows which it was; and all sessions of a
/// group. The longest call takes some seconds.
const CALL_MAX_S: u32 = 60;
const GROUP_MAX_S: u32 = 600;

/// By the names of tests, the lines that a session prints otherwise than its test says: what was to come with `-`, what came
/// instead with `+`.
type Deviations = BTreeMap<String, Vec<String>>;

#[test]
#[ignore = "slow: a minute, and fetches sysbench's sources"]
fn dyno_passes_the_tests_that_sysbench_passes() {
    let (Some(sysbench), Some(tests)) = (Sysbench::find(), SysbenchTests::get()) else { return };
    let bounded = format!("exec timeout --kill-after=5 {CALL_MAX_S}");
    let script = format!("{bounded} '{}' sysbench \"$@\"", env!("CARGO_BIN_EXE_dyno"));
    // It prints the name that it was called by.
    let folder = sysbench.program.parent().unwrap().display();
    let real = format!("export PATH='{folder}':\"$PATH\"; {bounded} sysbench \"$@\"");
    let [real, dyno] = std::thread::scope(|scope| {
        [real, script]
            .map(|script| {
                let tests = &tests;
                scope.spawn(move || deviations(tests, &script))
            })
            .map(|thread| thread.join().unwrap())
    });
    let (Some(real), Some(dyno)) = (real, dyno) else { return };
    for (name, why) in NOT_APPLICABLE {
        println!("{name} does not apply: {why}");
    }
    let count = sessions(&tests.tests).len();
    // Where sysbench deviates, too, the test is of another version of the database: then dyno has to do the same.
    let differ = |(name, lines): &(&String, &Vec<String>)| real.get(*name) != Some(*lines);
    let failing: Vec<_> = dyno.iter().filter(differ).collect();
    let none = Vec::new();
    for (name, lines) in &failing {
        let control = real.get(*name).unwrap_or(&none);
        let only = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter().filter(|line| !other.contains(line)).cloned().collect()
        };
        println!("---- {name}: only of sysbench {:#?}", only(control, lines));
        println!("only of dyno {:#?}", only(lines, control));
    }
    println!("of {count} tests that apply, dyno passes {}", count - failing.len());
    let failing: Vec<&str> = failing.iter().map(|(name, _)| name.as_str()).collect();
    assert!(failing.is_empty(), "dyno does not pass {failing:?}");
    // On MariaDB Debian's sysbench dies in `api_sql_mysql`.
    let dies = |lines: &[String]| lines.iter().any(|line| line.contains("Segmentation fault"));
    let missing = real.iter().filter(|(name, lines)| !dyno.contains_key(*name) && !dies(lines));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "dyno passes, and sysbench does not: {missing:#?}");
}

/// Runs all sessions with a script in place of sysbench, against servers of its own: those of one server, which share its
/// tables, one after another.
fn deviations(tests: &SysbenchTests, sysbench: &str) -> Option<Deviations> {
    let postgres = Postgres::start(&Setup::default().with("fsync=off"))?;
    postgres.psql("CREATE DATABASE sbtest");
    let mariadb = MysqlSetup::new(MysqlProduct::MariaDb).with("innodb-flush-log-at-trx-commit=0");
    let mariadb = Mysql::start(&mariadb.with_sql("CREATE DATABASE sbtest"))?;
    let place = tempfile::Builder::new().prefix("dyno-peers-").tempdir().unwrap();
    let at = place.path();
    succeed(Command::new("cp").arg("-r").arg(&tests.tests).arg(at));
    let bin = at.join("bin");
    stand_in(&bin, "sysbench", sysbench);
    stand_in(&bin, "mysql", &format!("exec {} \"$@\"", line_of(&mariadb.client("root", ""))));
    let config = "export SBTEST_VERSION_STRING='sysbench 1.0.20' SBTEST_VERSION=1.0.20\n\
                  export SBTEST_HAS_MYSQL=yes SBTEST_HAS_PGSQL=yes\n";
    fs::write(at.join("config.sh"), config).unwrap();
    let uses = |path: &Path, text: &str| fs::read_to_string(path).unwrap().contains(text);
    let (mysql, others): (Vec<_>, Vec<_>) = sessions(&at.join("tests"))
        .into_iter()
        .partition(|path| uses(path, "mysql_common.sh") || uses(path, "SBTEST_MYSQL_ARGS"));
    let (pgsql, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|path| uses(path, "pgsql_common.sh"));
    let ports = (mariadb.address.port(), postgres.address.port());
    let groups = [mysql, pgsql, others];
    let printed: Vec<String> = std::thread::scope(|scope| {
        let threads = groups.map(|group| scope.spawn(move || cram(tests, at, ports, &group)));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    Some(printed.iter().flat_map(|printed| read(printed)).collect())
}

fn cram(tests: &SysbenchTests, at: &Path, (mysql, pgsql): (u16, u16), sessions: &[PathBuf]) -> String {
    let own = at.join("tests");
    let scripts = tests.scripts.display();
    let include = own.join("include");
    let path =
        format!("{}:{}:/usr/bin:/bin", at.join("bin").display(), postgres_binaries().unwrap().display());
    let mut cram = Command::new("timeout");
    cram.args(["--kill-after=5", &GROUP_MAX_S.to_string()]);
    cram.args(["python3", "-m", "cram", "--verbose", "--shell=/bin/bash"]).args(sessions).current_dir(&own);
    cram.env("PYTHONPATH", &tests.cram).env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
    cram.env("PYTHONDONTWRITEBYTECODE", "1");
    cram.env("SBTEST_ROOTDIR", &own).env("SBTEST_SUITEDIR", own.join("t")).env("SBTEST_INCDIR", &include);
    cram.env("SBTEST_SCRIPTDIR", &tests.scripts).env("SBTEST_CONFIG", at.join("config.sh"));
    cram.env("SBTEST_HAS_MYSQL", "yes").env("SBTEST_HAS_PGSQL", "yes");
    let include = include.display();
    cram.env("LUA_PATH", format!("{scripts}/?;{scripts}/?.lua;{include}/?;{include}/?.lua"));
    let mysql = format!("--mysql-host=127.0.0.1 --mysql-port={mysql} --mysql-user=root --mysql-db=sbtest");
    let server =
        format!("--pgsql-host=127.0.0.1 --pgsql-port={pgsql} --pgsql-user=postgres --pgsql-db=sbtest");
    cram.env("SBTEST_MYSQL_ARGS", mysql).env("SBTEST_PGSQL_ARGS", server);
    cram.env("PGHOST", "127.0.0.1").env("PGPORT", pgsql.to_string()).env("PGUSER", "postgres");
    let output = cram.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    // It fails where a session prints something else.
    let ran = format!("# Ran {} tests, 0 skipped", sessions.len());
    assert!(said.contains(&ran), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.into_owned()
}

/// The deviations in what cram prints, which is a patch of each test.
fn read(printed: &str) -> Deviations {
    let mut deviations = Deviations::new();
    let mut name = None;
    for line in printed.lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            name = Some(name_of(Path::new(path)));
        } else if let (Some(name), '-' | '+') = (&name, line.chars().next().unwrap_or(' ')) {
            let line = normal(line);
            if !line.starts_with("+++") && ON_PURPOSE.iter().all(|start| !line.starts_with(start)) {
                deviations.entry(name.clone()).or_default().push(line);
            }
        }
    }
    deviations
}

/// Those that apply.
fn sessions(tests: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(tests.join("t")).unwrap().map(|file| file.unwrap().path());
    let applies = |path: &PathBuf| NOT_APPLICABLE.iter().all(|(name, _)| *name != name_of(path));
    let is_session = |path: &PathBuf| path.extension().is_some_and(|it| it == "t");
    let mut sessions: Vec<_> = files.filter(is_session).filter(applies).collect();
    sessions.sort();
    sessions
}

/// `api_rand` of `…/t/api_rand.t`.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// What is the same of two runs: one space where there are several, one zero for each number, no name of a directory of cram's, and
/// of the first line only the version.
fn normal(line: &str) -> String {
    let words = line.split_whitespace().map(|word| match word.split_once("cramtests-") {
        Some((before, rest)) => {
            format!("{before}{}", rest.trim_start_matches(|char: char| char.is_alphanumeric() || char == '_'))
        }
        None => word.to_owned(),
    });
    let line = words.collect::<Vec<String>>().join(" ");
    if let Some((version, _)) =
        line.split_once(" (").filter(|(before, _)| before.ends_with("sysbench 1.0.20"))
    {
        return version.to_owned();
    }
    let mut normal = String::new();
    for char in line.chars() {
        let char = if char.is_ascii_digit() { '0' } else { char };
        if char != '0' || !normal.ends_with('0') {
            normal.push(char);
        }
    }
    normal
}
