//! Commands run to their end.

use std::path::Path;
use std::process::Command;

/// Runs a command to its end and returns what it printed; the test fails with what it said if it fails.
pub fn succeed(command: &mut Command) -> String {
    attempt(command).unwrap_or_else(|why| panic!("{command:?}: {why}"))
}

/// Copies a program that is run afterwards. Another process writes it: one that this one started meanwhile would hold a file open
/// that is written here, and what is open for writing cannot be run ("Text file busy").
pub fn copy_program(from: &Path, to: &Path) {
    succeed(Command::new("/bin/cp").arg(from).arg(to));
}

/// The same, but what went wrong is for the caller: the last lines of what the command said.
pub(crate) fn attempt(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|why| format!("{program}: {why}"))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    let said =
        String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let end = lines[lines.len().saturating_sub(5)..].join("; ");
    Err(format!("{program} ended with {}: {end}", output.status))
}
