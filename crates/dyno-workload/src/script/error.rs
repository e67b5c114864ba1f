//! What can be wrong with a script before it runs, and with an expression while it runs.

use super::value::Fixed;

/// A script that cannot be run. Displays as the message that pgbench prints behind `pgbench: error: `; where the
/// error is in a meta-command, the command and a caret under the place follow on lines of their own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub(super) String);

/// A value that cannot be computed. Displays as pgbench prints it behind `pgbench: error: `.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    #[error("undefined variable \"{0}\"")]
    Undefined(Box<str>),
    /// pgbench prints no line for this one; the text is empty.
    #[error("")]
    EmptyVariable,
    #[error("malformed variable \"{name}\" value: \"{value}\"")]
    Malformed { name: Box<str>, value: Box<str> },
    #[error("value \"{0}\" is out of range for type bigint")]
    OutOfRange(Box<str>),
    #[error("invalid input syntax for type bigint: \"{0}\"")]
    NoInteger(Box<str>),
    #[error("{command}: invalid variable name: \"{name}\"")]
    VariableName { command: Box<str>, name: Box<str> },
    #[error("cannot coerce {from} to {to}")]
    Coerce { from: &'static str, to: &'static str },
    #[error("double to int overflow for {}", Fixed(*.0))]
    DoubleToInteger(f64),
    /// `add`, `sub`, `mul` or `div`.
    #[error("bigint {0} out of range")]
    Overflow(&'static str),
    #[error("a decimal of more than {0} digits")]
    Digits(u32),
    #[error("division by zero")]
    DivisionByZero,
    #[error("too many function arguments, maximum is {0}")]
    TooManyArguments(usize),
    #[error("empty range given to random")]
    EmptyRange,
    #[error("random range is too large")]
    LargeRange,
    #[error("gaussian parameter must be at least 2.000000 (not {})", Fixed(*.0))]
    GaussianParameter(f64),
    #[error("exponential parameter must be greater than zero (not {})", Fixed(*.0))]
    ExponentialParameter(f64),
    #[error("zipfian parameter must be in range [1.001, 1000] (not {})", Fixed(*.0))]
    ZipfianParameter(f64),
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    #[error("a text of {count} where 0 to {most} can be")]
    TextLength { count: i64, most: i64 },
    #[error("an array has elements 1 to {most}, and none {index}")]
    Element { index: i64, most: i64 },
    #[error("more than {0} turns of \\for in a transaction")]
    Turns(u32),
    #[error("choose is given {index}, and has 1 to {count}")]
    Choice { index: i64, count: u16 },
    #[error("\"{0}\" is no date such as 2024-02-29, and no time such as 2024-02-29 12:00:00")]
    NoDate(Box<str>),
    #[error("a date beyond the years -9999 to 9999")]
    DateRange,
    #[error("{command}: undefined variable \"{name}\"")]
    UndefinedOperand { command: Box<str>, name: Box<str> },
    #[error("sleep: invalid sleep time \"{value}\" for variable \"{name}\"")]
    SleepTime { value: Box<str>, name: Box<str> },
    #[error("{0}: shell command is too long")]
    LongCommand(Box<str>),
}
