//! `dyno pgbench`, given command lines that are refused, those that are answered without a server, and those whose server
//! does not let them in, and what pgbench was recorded to say to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
mod passwords;
mod recorded;
mod terminal;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use recorded::{finish, read};

fn dyno(arguments: &[&str]) -> String {
    read(&finish(Command::new(env!("CARGO_BIN_EXE_dyno")).arg("pgbench"), arguments, &[]))
}

#[test]
fn refusals_and_answers_are_those_of_pgbench() {
    let file = recorded::open("refusals");
    for (arguments, since) in cases::all() {
        let run = |program: &Path| Some(read(&finish(&mut Command::new(program), arguments, &[])));
        if let Some(theirs) = recorded::get(&file, &format!("{arguments:?}"), since, run) {
            assert_eq!(dyno(arguments), theirs, "{arguments:?}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_told_as_by_pgbench() {
    const CASES: &[&[&str]] = &[
        &[],
        &["-S", "-c2", "-j2"],
        &["-i"],
        &["-h", "/nonexistent"],
        &["-h", "nope.invalid"],
        &["-p", "x"],
        &["-p", "99999", "-i"],
        &["postgres://127.0.0.1:1/x"],
        &["foo=1"],
        &["-h", "127.0.0.1,/nonexistent"],
    ];
    let file = recorded::open("no_server");
    for arguments in CASES {
        let ours = dyno(arguments);
        assert!(ours.starts_with("1: pgbench: error: "), "{arguments:?}: {ours}");
        let run = |program: &Path| Some(read(&finish(&mut Command::new(program), arguments, &[])));
        if let Some(theirs) = recorded::get(&file, &format!("{arguments:?}"), 15, run) {
            recorded::assert_same_failure(&ours, &theirs, &format!("{arguments:?}"));
        }
    }
    let ours = dyno(&["--random-seed=4", "--no-dyno"]);
    assert!(ours.starts_with("1: pgbench: setting random seed to 4\npgbench: error: "), "{ours}");
}

#[test]
fn too_many_clients_for_the_open_files_are_refused() {
    let limited = |program: &str| {
        let command = format!("ulimit -n 64; exec {program} -c 62");
        read(&finish(Command::new("sh").args(["-c", &command]), &[], &[]))
    };
    let ours = limited(&format!("'{}' pgbench", env!("CARGO_BIN_EXE_dyno")));
    assert!(ours.contains("need at least 65 open files"), "{ours}");
    let run = |program: &Path| Some(limited(&format!("'{}'", program.display())));
    if let Some(theirs) = recorded::get(&recorded::open("no_server"), "62 clients, 64 files", 15, run) {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for argument in ["-V", "--version"] {
        let said = dyno(&[argument, "-x"]);
        assert!(said.starts_with("0: standard output: pgbench (PostgreSQL) 18"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for argument in ["-?", "--help"] {
        let output = finish(Command::new(env!("CARGO_BIN_EXE_dyno")).arg("pgbench"), &[argument], &[]);
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]));
        assert!(out.contains("--initialize") && out.contains("--dyno"), "{out}");
    }
}

#[test]
fn under_the_name_of_pgbench_it_is_pgbench() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("pgbench");
    symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let linked = |arguments: &[&str]| read(&finish(&mut Command::new(&link), arguments, &[]));
    let version = linked(&["-V"]);
    assert!(version.starts_with("0: standard output: pgbench (PostgreSQL) 18"), "{version}");
    assert_eq!(linked(&["-c", "x"]), dyno(&["-c", "x"]));
}
