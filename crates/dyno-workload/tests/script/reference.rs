//! The real pgbench, run where what it does is recorded or compared anew.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use dyno_test_servers::{Pgbench, Postgres, Recorded, Setup, runs_references};

use crate::pgbench::{lines, programs};

/// A server, only connected to.
pub(crate) fn server() -> Arc<Postgres> {
    Postgres::shared(&Setup::default()).expect("the real pgbench needs a server")
}

/// A pgbench that reaches the server and runs each of its clients' script once.
pub(crate) fn on_server(pgbench: &Pgbench) -> Command {
    let mut command = server().command(pgbench.program.to_str().unwrap(), "postgres");
    command.args(["-n", "-t", "1"]);
    command
}

/// What random cases are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Random {
    pub(crate) seed: u64,
    /// How many, as a multiple of those that are recorded.
    pub(crate) times: usize,
    recorded: bool,
}

impl Random {
    /// The cases that are recorded, which are always the same, and many more where the real program is run.
    pub(crate) fn all() -> Vec<Self> {
        let recorded = Self { seed: 20_261_122, times: 1, recorded: true };
        let seed = match std::env::var("DYNO_SCRIPT_SEED") {
            Ok(number) => number.parse().unwrap(),
            Err(_) => u64::from(rand::random::<u32>()),
        };
        let more = Self { seed, times: 4, recorded: false };
        std::iter::once(recorded).chain(runs_references().then_some(more)).collect()
    }

    /// What each version does.
    pub(crate) fn theirs(
        &self,
        recorded: &Recorded,
        key: &str,
        mut run: impl FnMut(&Pgbench) -> Vec<String>,
    ) -> Vec<(u32, Vec<String>)> {
        if self.recorded {
            return lines(recorded, key, run);
        }
        println!("DYNO_SCRIPT_SEED={}: {key}", self.seed);
        programs().iter().map(|pgbench| (pgbench.version, run(pgbench))).collect()
    }

    /// Fails at the first case in which ours and theirs differ.
    pub(crate) fn assert_same(&self, version: u32, ours: &[String], theirs: &[String]) {
        let what = format!("DYNO_SCRIPT_SEED={}, pgbench {version}", self.seed);
        for (our, their) in ours.iter().zip(theirs) {
            assert_eq!(our, their, "{what}");
        }
        assert_eq!(ours.len(), theirs.len(), "{what}: {:?}", theirs.last());
    }
}

/// One line of a recording of many short cases: what came of this one.
pub(crate) fn told(case: &str, lines: &[String]) -> String {
    format!("{case} → {}", lines.join(" ⏎ "))
}

/// As a text is recorded: in lines, with everything in them.
pub(crate) fn lines_of(text: &str) -> Vec<String> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_owned).collect()
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
pub(crate) fn refusal(pgbench: &Pgbench, arguments: &[&str], script: &[u8]) -> String {
    let mut command = Command::new(&pgbench.program);
    command.env_clear().env("LC_ALL", "C").env("PGUSER", "nobody").args(["-h", "127.0.0.1", "-p", "1", "-n"]);
    command.args(arguments);
    run(command, script)
}
