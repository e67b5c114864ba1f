//! The programs that are compared: the real pgbench of one version or two, and dyno.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dyno_test_servers::{Pgbench, runs_references};

/// A program that has pgbench's command line.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// What stands before pgbench's own arguments.
    first: &'static [&'static str],
    /// Version of PostgreSQL that it is or is like.
    pub(crate) version: u32,
}

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The files in the directory it ran in, by name; `PID` for its process id in the name.
    pub(crate) files: BTreeMap<String, String>,
}

/// How a program is called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) stdin: Vec<u8>,
}

impl Program {
    /// The real ones that are there, of this version or later, and of 15 at least; the newest comes first.
    pub(crate) fn real(since: u32) -> Vec<Self> {
        let real = |Pgbench { program: path, version }| Self { path, first: &[], version };
        Pgbench::all().into_iter().map(real).filter(|program| program.version >= since.max(15)).collect()
    }

    /// dyno, and the real ones where those are to be run: for what must hold for each alone.
    pub(crate) fn each() -> Vec<Self> {
        let mut programs = if runs_references() { Self::real(0) } else { Vec::new() };
        programs.push(Self::dyno());
        programs
    }

    /// `dyno pgbench`
    pub(crate) fn dyno() -> Self {
        Self { path: PathBuf::from(env!("CARGO_BIN_EXE_dyno")), first: &["pgbench"], version: 18 }
    }

    /// The same without what dyno adds, which takes longer than pgbench's part of a short run.
    pub(crate) fn dyno_alone() -> Self {
        Self { first: &["pgbench", "--no-dyno"], ..Self::dyno() }
    }

    /// dyno under another name, which must be in a directory that outlives the program.
    pub(crate) fn dyno_at(path: PathBuf) -> Self {
        Self { path, first: &[], version: 18 }
    }

    /// A command that runs it in `directory`.
    pub(crate) fn command(&self, directory: &Path, call: &Call) -> Command {
        for (name, contents) in &call.files {
            std::fs::write(directory.join(name), contents).unwrap();
        }
        let mut command = Command::new(&self.path);
        command.current_dir(directory).env_clear().envs(call.environment.iter().cloned());
        if self.first.is_empty() {
            // Some messages have the program's name as it was called.
            command.arg0("pgbench");
        }
        command.args(self.first).args(&call.arguments);
        command
    }

    /// Runs it to its end in a directory of its own; what dyno stores is thrown away.
    pub(crate) fn run(&self, call: &Call) -> Ran {
        self.run_with_store(call, tempfile::tempdir().unwrap().path())
    }

    /// The same with a directory for dyno's store.
    pub(crate) fn run_with_store(&self, call: &Call, store: &Path) -> Ran {
        let directory = tempfile::tempdir().unwrap();
        let mut command = self.command(directory.path(), call);
        command.env("DYNO_STORE", store.join("store.db"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = piped.spawn().unwrap();
        let pid = process.id();
        // A program that refuses its command line does not read; that is for its output to say.
        let _ = process.stdin.take().unwrap().write_all(&call.stdin);
        let output = process.wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            // As it stands in names of logs.
            stderr: String::from_utf8_lossy(&output.stderr).replace(&format!(".{pid}"), ".PID"),
            files: files(directory.path(), call, pid),
        }
    }
}

/// The files that a program left, without those that it was given.
fn files(directory: &Path, call: &Call, pid: u32) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file() && !call.files.iter().any(|(given, _)| *given == name) {
            let name = name.replace(&format!(".{pid}"), ".PID");
            found.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
        }
    }
    found
}
