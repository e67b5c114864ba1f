//! What the real pgbench says to command lines that need no server, as recorded in `recorded/`. Shared by the tests of
//! the options, of the connections and of the whole program.
//!
//! One recording holds for each version since 15, or since that which the case is about: all that are there are run
//! where the recordings are made or compared, and must say the same.

#![allow(dead_code, reason = "each of those that share it needs a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use dyno_test_servers::{Pgbench, Recorded, runs_references};

/// The recordings in a file of these tests.
pub(crate) fn open(name: &str) -> Recorded {
    let path = format!("tests/pgbench_options/recorded/{name}.json");
    Recorded::open(Path::new(&path))
}

/// The recording of `key`; `None`, and a line that says so, where the program must be run and is not there. `run`
/// returns `None` where the program at hand was built without what it takes.
pub(crate) fn get(
    file: &Recorded,
    key: &str,
    since: u32,
    run: impl Fn(&Path) -> Option<String>,
) -> Option<String> {
    if !runs_references() {
        return Some(file.get(key, || unreachable!("recordings are read")));
    }
    let programs = Pgbench::all().into_iter().filter(|pgbench| pgbench.version >= since.max(15));
    let said: Vec<_> =
        programs.filter_map(|pgbench| Some((pgbench.version, run(&pgbench.program)?))).collect();
    let Some((version, newest)) = said.first() else {
        println!("skipped: no pgbench since {since} for {key}");
        return None;
    };
    for (other, text) in &said {
        assert_eq!(text, newest, "left, version {other}, right, {version}: {key}");
    }
    Some(file.get(key, || newest.clone()))
}

/// Runs a program that needs no server, and should it look for one, finds none.
pub(crate) fn finish(command: &mut Command, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    // Port 1 is nobody's: what is accepted ends there.
    let environment =
        [("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("PGHOST", "127.0.0.1"), ("PGPORT", "1")];
    command.env_clear().envs(environment).envs(variables.iter().copied());
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// All that a program said, as one text: status, standard output, standard error.
pub(crate) fn read(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    told(output.status.code(), &out, &String::from_utf8_lossy(&output.stderr))
}

/// The C library's messages begin with the program's whole path, and name the byte at which it stopped, where we have
/// the whole character. Why a name is nobody's depends on the network.
pub(crate) fn told(status: Option<i32>, stdout: &str, stderr: &str) -> String {
    let stderr: String = stderr.split_inclusive('\n').map(without_directory).collect();
    let stderr = stderr.replace("-- '\u{FFFD}'", "-- 'é'");
    let status = status.map_or("by signal".to_owned(), |status| status.to_string());
    let of_stdout = if stdout.is_empty() { String::new() } else { format!("standard output: {stdout}") };
    format!("{status}: {of_stdout}{}", without_reason(&stderr))
}

fn without_directory(line: &str) -> String {
    match line.split_once("/pgbench: ") {
        Some((directory, rest)) if !directory.contains(' ') => format!("pgbench: {rest}"),
        _ => line.to_owned(),
    }
}

/// Without the words of the resolver, which depend on the network.
pub(crate) fn without_reason(text: &str) -> String {
    const REASONS: [&str; 3] = [
        "Name or service not known",
        "Temporary failure in name resolution",
        "No address associated with hostname",
    ];
    REASONS.into_iter().fold(text.to_owned(), |text, reason| text.replace(reason, "(no address)"))
}

/// Where an address was tried, all is told as by pgbench. Where none was, the command line or what it names is to
/// blame; that is told in dyno's words, before what follows from it.
#[track_caller]
pub(crate) fn assert_same_failure(ours: &str, theirs: &str, case: &str) {
    const TRIED: [&str; 2] = ["connection to server ", "could not translate host name "];
    if TRIED.iter().any(|tried| theirs.contains(tried)) {
        assert_eq!(ours, theirs, "{case}");
        return;
    }
    let ends = |text: &str| {
        let lines: Vec<_> = text.lines().collect();
        let begin = text.split_once("error: ").map(|(begin, _)| begin.to_owned());
        (begin, lines.len(), lines.last().map(|line| (*line).to_owned()))
    };
    assert_eq!(ends(ours), ends(theirs), "{case}: {ours}");
}
