//! Words for the user's terminal, in pgbench's form.

use dyno_engine::error::SessionError;

/// Why a connection could not be opened, in words.
pub type WhyNotConnected = dyn Fn(&SessionError) -> String + Send + Sync;

/// Takes the words for the user's terminal.
pub struct Console {
    say: fn(&str),
    why_not_connected: Box<WhyNotConnected>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl Console {
    /// `say` writes whole lines.
    pub fn new(say: fn(&str), why_not_connected: Box<WhyNotConnected>) -> Self {
        Self { say, why_not_connected }
    }

    pub(super) fn error(&self, text: &str) {
        self.raw(&format!("pgbench: error: {}\n", text.trim_end()));
    }

    pub(super) fn info(&self, text: &str) {
        self.raw(&format!("pgbench: {}\n", text.trim_end()));
    }

    /// As it is.
    pub(super) fn raw(&self, text: &str) {
        (self.say)(text);
    }

    pub(super) fn connection_failed(&self, error: &SessionError) {
        self.error(&(self.why_not_connected)(error));
    }
}
