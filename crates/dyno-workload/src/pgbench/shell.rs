//! The commands of `\shell` and `\setshell`. They run while their thread waits, as pgbench's do.

use std::process::{Command, Stdio};

/// Why a shell command is of no use. Displays as pgbench prints it; `program` is the command's first word.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    #[error("{program}: could not launch shell command")]
    Launch { program: String },
    #[error("{program}: could not read result of shell command")]
    Read { program: String },
    #[error("{program}: shell command must return an integer (not \"{output}\")")]
    NoInteger { program: String, output: String },
}

/// Runs `line` for what it does.
pub(super) fn run(program: &str, line: &[u8]) -> Result<(), ShellError> {
    let ended = shell(line).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        _ => Err(ShellError::Launch { program: program.to_owned() }),
    }
}

/// Runs `line` and reads the integer that it prints.
pub(super) fn read_integer(program: &str, line: &[u8]) -> Result<i32, ShellError> {
    let ended = shell(line).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
    let Ok(output) = ended else { return Err(ShellError::Launch { program: program.to_owned() }) };
    let first = output.stdout.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.is_empty() {
        return Err(ShellError::Read { program: program.to_owned() });
    }
    let text = String::from_utf8_lossy(first);
    integer(text.trim())
        .ok_or_else(|| ShellError::NoInteger { program: program.to_owned(), output: text.into_owned() })
}

/// As C's `strtol` reads it into an `int`: what is too large for 64 bits is their end, and 32 of the bits are kept.
fn integer(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let end = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(end) as i32)
}

fn shell(line: &[u8]) -> Command {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new("/bin/sh");
    command.arg0("sh").arg("-c").arg(std::ffi::OsStr::from_bytes(line));
    command
}
