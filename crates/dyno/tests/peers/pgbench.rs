//! PostgreSQL's programs `001_pgbench_with_server` and `002_pgbench_no_server`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use dyno_test_servers::{
    PostgresTests, become_user, copy_program, give_to_server, postgres_binaries, unprivileged_user,
};

use super::stand_in;

/// The last major version whose `-d` is `--debug`; since then it is `--dbname`, as dyno has it.
const DEBUG_IS_D: u32 = 16;

/// Tests by their numbers, with their names and what they got.
type Tests = BTreeMap<u32, String>;

#[derive(Debug, Default)]
struct Outcomes {
    passed: Tests,
    failed: Tests,
}

#[test]
#[ignore = "slow: half a minute, and fetches PostgreSQL's sources"]
fn dyno_passes_the_tests_that_pgbench_passes() {
    let Some(binaries) = postgres_binaries() else {
        println!("skipped: no PostgreSQL in /usr/lib/postgresql");
        return;
    };
    let major = binaries.parent().and_then(Path::file_name).unwrap().to_str().unwrap().parse().unwrap();
    let Some(tests) = PostgresTests::get(major) else { return };
    for program in ["001_pgbench_with_server.pl", "002_pgbench_no_server.pl"] {
        let [real, dyno] = std::thread::scope(|scope| {
            [false, true]
                .map(|dyno| {
                    let (tests, binaries) = (&tests, &binaries);
                    scope.spawn(move || outcomes(tests, binaries, program, dyno.then_some(major)))
                })
                .map(|thread| thread.join().unwrap())
        });
        assert!(real.passed.len() > 150, "{program}: pgbench itself passes {} tests", real.passed.len());
        println!("{program}: pgbench passes {}, dyno {}", real.passed.len(), dyno.passed.len());
        let missing: Vec<_> =
            real.passed.iter().filter(|(number, _)| !dyno.passed.contains_key(number)).collect();
        assert!(missing.is_empty(), "{program}: dyno does not pass {missing:#?}\nfailed: {:#?}", dyno.failed);
    }
}

/// What a program says of the real pgbench, or of dyno in place of that of a `major` version.
fn outcomes(tests: &PostgresTests, binaries: &Path, program: &str, dyno: Option<u32>) -> Outcomes {
    let place = tempfile::Builder::new().prefix("dyno-peers-").tempdir().unwrap();
    let at = place.path();
    let mut path = format!("{}:/usr/bin:/bin", binaries.display());
    if let Some(major) = dyno {
        // Whoever runs the tests may not enter where dyno was built.
        copy_program(Path::new(env!("CARGO_BIN_EXE_dyno")), &at.join("dyno"));
        let debug = if major <= DEBUG_IS_D { "--debug" } else { "-d" };
        let script = format!(
            "for word; do shift; [ \"$word\" = -d ] && word={debug}; set -- \"$@\" \"$word\"; done\n\
             exec '{}' pgbench \"$@\"",
            at.join("dyno").display()
        );
        stand_in(&at.join("bin"), "pgbench", &script);
        path = format!("{}:{path}", at.join("bin").display());
    }
    give_to_server(at);
    let mut perl = Command::new("perl");
    become_user(&mut perl, unprivileged_user());
    perl.current_dir(at).env_clear().env("PATH", path).env("HOME", at).env("TMPDIR", at).env("LC_ALL", "C");
    perl.env("TESTDATADIR", at.join("data")).env("TESTLOGDIR", at.join("log")).env("TESTDIR", at);
    perl.env("top_builddir", at).env("PG_REGRESS", "/bin/true");
    for modules in &tests.modules {
        perl.arg("-I").arg(modules);
    }
    let output = perl.arg(tests.programs.join(program)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let outcomes = read(&said);
    assert!(!outcomes.passed.is_empty(), "{program}: {said}{}", String::from_utf8_lossy(&output.stderr));
    outcomes
}

/// Reads lines of the Test Anything Protocol: `ok 3 - name`, `not ok 4 - name # TODO why`.
fn read(said: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for line in said.lines() {
        let Some((outcome, name)) = line.split_once(" - ") else { continue };
        let (tests, number) = match (outcome.strip_prefix("ok "), outcome.strip_prefix("not ok ")) {
            (Some(number), _) => (&mut outcomes.passed, number),
            // A failure that its author expects is none.
            (_, Some(number)) if name.contains(" # TODO") => (&mut outcomes.passed, number),
            (_, Some(number)) => (&mut outcomes.failed, number),
            _ => continue,
        };
        tests.insert(number.parse().unwrap(), name.to_owned());
    }
    outcomes
}
