//! The commands of `\shell` and `\setshell`. They run while their thread waits, as pgbench's do.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::c_numbers::leading_integer;

/// Longer lines are cut, as pgbench cuts them.
const LINE_BYTES_MAX: u64 = 255;

/// Why a shell command is of no use. Displays as pgbench prints it behind the command's first word.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    #[error("could not launch shell command")]
    Launch,
    #[error("could not read result of shell command")]
    Read,
    #[error("shell command must return an integer (not \"{output}\")")]
    NoInteger { output: String },
}

/// Runs `line` for what it does.
pub(super) fn run(line: &[u8]) -> Result<(), ShellError> {
    match shell(line).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(ShellError::Launch),
    }
}

/// Runs `line` and reads the integer that it prints.
pub(super) fn read_integer(line: &[u8]) -> Result<i32, ShellError> {
    let first = first_line(shell(line)).map_err(|_| ShellError::Launch)?;
    if first.is_empty() {
        return Err(ShellError::Read);
    }
    let text = String::from_utf8_lossy(&first);
    match leading_integer(text.trim()) {
        // As pgbench keeps what C's `strtol` gives: the lowest bits.
        (Some(number), "") => Ok(number as i32),
        _ => Err(ShellError::NoInteger { output: text.into_owned() }),
    }
}

/// The first line that a command prints, or its beginning. What more there is nobody reads: the command ends when it
/// notices.
fn first_line(mut command: Command) -> std::io::Result<Vec<u8>> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut line = Vec::new();
    let read = match child.stdout.take() {
        Some(output) => BufReader::new(output.take(LINE_BYTES_MAX)).read_until(b'\n', &mut line),
        None => Ok(0),
    };
    child.wait()?;
    read.map(|_| line)
}

fn shell(line: &[u8]) -> Command {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new("/bin/sh");
    command.arg0("sh").arg("-c").arg(std::ffi::OsStr::from_bytes(line));
    command
}
