//! The pgbench programs to compare with.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use dyno_test_servers::{Pgbench, Postgres, Setup, Shared};

static SERVER: Shared<Postgres> = Shared::new();

/// A server, only connected to.
pub(crate) fn server() -> Option<Arc<Postgres>> {
    // Sessions of a pgbench that has ended may still be there when the next comes with as many.
    SERVER.get(|| Postgres::start(&Setup::default().with("max_connections=500")))
}

/// The programs; none, after saying so, where there is none.
pub(crate) fn programs() -> Vec<PathBuf> {
    let programs = programs_since(0);
    if programs.is_empty() {
        println!("skipped: no pgbench in /usr/lib/postgresql");
    }
    programs
}

/// Those of this major version and newer.
pub(crate) fn programs_since(major: u32) -> Vec<PathBuf> {
    let new_enough = Pgbench::all().into_iter().filter(|pgbench| pgbench.version >= major);
    new_enough.map(|pgbench| pgbench.program).collect()
}

/// The seed of random scripts: always the same, so that the same sources have the same outcome, or what the environment
/// says, which may be `random`.
pub(crate) fn seed() -> u64 {
    match std::env::var("DYNO_SCRIPT_SEED") {
        Err(_) => 20_261_122,
        Ok(word) if word == "random" => u64::from(rand::random::<u32>()),
        Ok(number) => number.parse().unwrap(),
    }
}

/// Runs a script that is given on standard input; what the program says on standard error.
pub(crate) fn run(command: Command, script: &[u8]) -> String {
    output(command, script).1
}

/// Runs a script that is given on standard input; what the program prints, and what it says on standard error.
pub(crate) fn output(mut command: Command, script: &[u8]) -> (String, String) {
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // What is refused early is not read to its end.
    let _ = input.write_all(script);
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What a program says on standard error.
pub(crate) fn said(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
}

/// What a program says about a script that it does not get as far as to run: nothing listens where it is to connect to.
pub(crate) fn refusal(program: &PathBuf, arguments: &[&str], script: &[u8]) -> String {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").env("PGUSER", "nobody").args(["-h", "127.0.0.1", "-p", "1", "-n"]);
    command.args(arguments);
    run(command, script)
}
