//! The words of `\sleep`, `\shell` and `\setshell`, some of which are variables.

use super::{EvaluateError, Names, Slot, Variables};

/// A word of a meta-command: as it stands, or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    Text(Box<[u8]>),
    Variable(Slot),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepUnit {
    Microseconds,
    Milliseconds,
    Seconds,
}

/// How long `\sleep` is to last, microseconds; not above 0 is no time at all.
///
/// # Errors
/// When the amount is a variable that is unset or no number.
pub fn sleep_us(
    amount: &Operand,
    unit: SleepUnit,
    variables: &Variables,
    names: &Names,
) -> Result<i64, EvaluateError> {
    let _ = (amount, unit, variables, names);
    Ok(0)
}

/// Appends the command line that `\shell` or `\setshell` hands to the shell: the words with a space between them.
///
/// # Errors
/// When a word is a variable that is unset.
pub fn shell_command(
    command: &str, /* `shell` or `setshell`, for the message */
    words: &[Operand],
    variables: &Variables,
    names: &Names,
    out: &mut Vec<u8>,
) -> Result<(), EvaluateError> {
    let _ = (command, words, variables, names, out);
    Ok(())
}
