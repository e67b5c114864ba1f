//! Why pgbench could not do what was asked: the lines for standard error, in its own words, which wrappers look for.

use std::fmt::Display;

const TRY_HELP: &str = "Try \"pgbench --help\" for more information.";

/// What is printed before the program ends with status 1: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PgbenchFailed(String);

impl PgbenchFailed {
    /// From a message that belongs behind `pgbench: error: `.
    pub(crate) fn new(message: impl Display) -> Self {
        Self(String::new()).and(message)
    }

    /// As `getopt` says it of an option that it does not know, or not so.
    pub(crate) fn of_getopt(message: impl Display) -> Self {
        Self(format!("pgbench: {message}\n")).try_help()
    }

    pub(crate) fn stderr(&self) -> &str {
        &self.0
    }

    /// Adds an error that follows from the first.
    pub(crate) fn and(self, message: impl Display) -> Self {
        self.with("error", Some(message))
    }

    /// Adds a line of another kind, `hint` or `detail`, if there is one.
    pub(crate) fn with(self, kind: &str, text: Option<impl Display>) -> Self {
        match text {
            Some(text) => Self(format!("{}pgbench: {kind}: {}\n", self.0, text.to_string().trim_end())),
            None => self,
        }
    }

    pub(crate) fn try_help(self) -> Self {
        self.with("hint", Some(TRY_HELP))
    }

    /// Adds text that stands for itself.
    pub(crate) fn followed_by(self, text: &str) -> Self {
        Self(self.0 + text)
    }
}

impl<E: std::error::Error> From<E> for PgbenchFailed {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
