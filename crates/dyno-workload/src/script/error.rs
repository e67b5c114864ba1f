//! What can be wrong with a script before it runs, and with an expression while it runs.

use std::fmt;

/// A script that cannot be run. Displays as the message that pgbench prints behind `pgbench: fatal: `.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The script's name as given to the parser.
    pub file: String,
    /// 1-based; 0 where the error is of the script as a whole.
    pub line: u32,
    /// 1-based, in bytes of the shown line; `None` where the error is of the whole command.
    pub column: Option<u32>,
    pub(super) message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

/// A value that cannot be computed. Displays as pgbench prints it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    #[error("undefined variable \"{0}\"")]
    Undefined(Box<str>),
    #[error("malformed variable \"{name}\" value: \"{value}\"")]
    Malformed { name: Box<str>, value: Box<str> },
    #[error("division by zero")]
    DivisionByZero,
}
