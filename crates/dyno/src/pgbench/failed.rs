//! Why pgbench could not do what was asked: the lines for standard error, in its own words.

use dyno_engine::error::EngineError;
use dyno_workload::pgbench::before::BeforeError;
use dyno_workload::pgbench::initialize::InitializeError;
use dyno_workload::pgbench::log::LogError;
use dyno_workload::script::ScriptError;

/// What is printed before the program ends with status 1.
#[derive(Debug)]
pub(crate) struct PgbenchFailed(String);

impl PgbenchFailed {
    /// From a message that belongs behind `pgbench: error: `.
    pub(crate) fn new(message: impl std::fmt::Display) -> Self {
        Self(format!("pgbench: error: {}\n", message.to_string().trim_end()))
    }

    /// From lines that are whole.
    pub(crate) fn lines(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn stderr(&self) -> &str {
        &self.0
    }

    /// Adds an error that follows from the first.
    pub(crate) fn and(self, message: impl std::fmt::Display) -> Self {
        Self(format!("{}pgbench: error: {message}\n", self.0))
    }

    /// Adds a line of another kind, `hint` or `detail`.
    fn with(self, kind: &str, text: Option<String>) -> Self {
        match text {
            Some(text) => Self(format!("{}pgbench: {kind}: {text}\n", self.0)),
            None => self,
        }
    }
}

impl From<ScriptError> for PgbenchFailed {
    fn from(error: ScriptError) -> Self {
        Self::new(error)
    }
}

impl From<LogError> for PgbenchFailed {
    fn from(error: LogError) -> Self {
        Self::new(error)
    }
}

impl From<EngineError> for PgbenchFailed {
    fn from(error: EngineError) -> Self {
        Self::new(error)
    }
}

impl From<BeforeError> for PgbenchFailed {
    fn from(error: BeforeError) -> Self {
        let hint = error.hint();
        Self::new(error).with("hint", hint)
    }
}

impl From<InitializeError> for PgbenchFailed {
    fn from(error: InitializeError) -> Self {
        let detail = error.detail();
        Self::new(error).with("detail", detail)
    }
}
