//! `dyno pgbench` and pgbench itself, given the same command lines: those that are refused, those that are answered
//! without a server, and those whose server does not let them in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
mod terminal;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dyno_test_servers::postgres_binaries;

/// The pgbench of PostgreSQL 18 that a variable names, and the newest that is installed, with their versions.
fn references() -> Vec<(u32, PathBuf)> {
    let named = std::env::var_os("DYNO_PGBENCH18").map(|path| (18, PathBuf::from(path)));
    let installed = postgres_binaries().and_then(|binaries| {
        let version = binaries.parent()?.file_name()?.to_str()?.parse().ok()?;
        Some((version, binaries.join("pgbench")))
    });
    let found: Vec<_> = named.into_iter().chain(installed).filter(|(version, _)| *version >= 15).collect();
    if found.is_empty() {
        println!("skipped: no pgbench");
    }
    found
}

fn finish(command: &mut Command, arguments: &[&str]) -> Output {
    // Port 1 is nobody's: what is accepted ends there.
    let environment =
        [("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("PGHOST", "127.0.0.1"), ("PGPORT", "1")];
    command.env_clear().envs(environment).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn dyno(arguments: &[&str]) -> Output {
    finish(Command::new(env!("CARGO_BIN_EXE_dyno")).arg("pgbench"), arguments)
}

/// Status, standard output and error; the C library's messages begin with the program's whole path.
fn read(output: &Output) -> (Option<i32>, String, String) {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().map(|line| match line.split_once("/pgbench: ") {
        Some((directory, rest)) if !directory.contains(' ') => format!("pgbench: {rest}\n"),
        _ => format!("{line}\n"),
    });
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    // It prints the byte that it stopped at, we the whole character.
    (output.status.code(), out, lines.collect::<String>().replace("-- '\u{FFFD}'", "-- 'é'"))
}

fn same_as(program: &Path, arguments: &[&str]) {
    let theirs = read(&finish(&mut Command::new(program), arguments));
    assert_eq!(read(&dyno(arguments)), theirs, "{}: {arguments:?}", program.display());
}

#[test]
fn refusals_and_answers_are_those_of_pgbench() {
    for (version, program) in references() {
        let only_18 = if version >= 18 { cases::REFUSED_BY_18 } else { &[] };
        for arguments in cases::REFUSED.iter().chain(only_18).chain(cases::ANSWERED) {
            same_as(&program, arguments);
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
        &["--random-seed=4", "--no-dyno"],
    ];
    for (_, program) in references() {
        for arguments in CASES.iter().filter(|case| !case.contains(&"--no-dyno")) {
            same_as(&program, arguments);
        }
    }
    for arguments in CASES {
        let (status, out, error) = read(&dyno(arguments));
        assert_eq!((status, out.as_str()), (Some(1), ""), "{arguments:?}: {error}");
    }
}

#[test]
fn too_many_clients_for_the_open_files_are_refused() {
    for (_, program) in references() {
        let limited = |program: &str| {
            let command = format!("ulimit -n 64; exec {program} -c 62");
            read(&finish(Command::new("sh").args(["-c", &command]), &[]))
        };
        let ours = limited(&format!("'{}' pgbench", env!("CARGO_BIN_EXE_dyno")));
        assert!(ours.2.contains("need at least 65 open files"), "{ours:?}");
        assert_eq!(ours, limited(&format!("'{}'", program.display())));
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for argument in ["-V", "--version"] {
        let (status, out, error) = read(&dyno(&[argument, "-x"]));
        assert_eq!((status, error.as_str()), (Some(0), ""));
        assert!(out.starts_with("pgbench (PostgreSQL) 18"), "{out}");
    }
    for argument in ["-?", "--help"] {
        let (status, out, error) = read(&dyno(&[argument]));
        assert_eq!((status, error.as_str()), (Some(0), ""));
        assert!(out.contains("--initialize") && out.contains("--dyno"), "{out}");
    }
}

#[test]
fn under_the_name_of_pgbench_it_is_pgbench() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("pgbench");
    symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let (status, out, _) = read(&finish(&mut Command::new(&link), &["-V"]));
    assert_eq!(status, Some(0));
    assert!(out.starts_with("pgbench (PostgreSQL) 18"), "{out}");
    assert_eq!(read(&finish(&mut Command::new(&link), &["-c", "x"])), read(&dyno(&["-c", "x"])));
}
