//! The programs that are compared: the real sysbench, and dyno.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use dyno_test_servers::Sysbench;

/// A program that has sysbench's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    Real(Sysbench),
    Dyno,
}

/// What a program left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    /// Only where recordings are made or compared.
    pub(crate) fn real() -> Self {
        Self::Real(Sysbench::find().unwrap_or_else(|| panic!("there is no sysbench to record")))
    }

    /// A command that runs it in `directory`, without what dyno adds.
    pub(crate) fn command(&self, directory: &Path, arguments: &[String]) -> Command {
        let mut command = match self {
            Self::Real(sysbench) => Command::new(&sysbench.program),
            Self::Dyno => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_dyno"));
                command.arg("sysbench");
                command
            }
        };
        command.current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
        command.env("DYNO_SYSBENCH", "off").env("DYNO_STORE", directory.join("store.db")).args(arguments);
        command
    }

    /// Runs it to its end in a directory of its own, in which there are these files.
    pub(crate) fn run(&self, files: &[(&str, &str)], arguments: &[String]) -> Ran {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let output = self.command(directory.path(), arguments).stdin(Stdio::null()).output().unwrap();
        Ran::new(&output)
    }

    /// Starts it, to be waited for.
    pub(crate) fn start(&self, directory: &Path, arguments: &[String]) -> Child {
        let mut command = self.command(directory, arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Ran {
    pub(crate) fn new(output: &std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    #[track_caller]
    pub(crate) fn well(self, about: &str) -> Self {
        assert_eq!(self.code, Some(0), "{about}: {}{}", self.stdout, self.stderr);
        self
    }
}

/// Words that are separated by spaces.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
