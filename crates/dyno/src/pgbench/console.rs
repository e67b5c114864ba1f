//! Words for the user's terminal, in pgbench's form.

use dyno_engine::error::SessionError;
use dyno_workload::pgbench::load::Console;

use super::connect::PgbenchServer;
use crate::front_end::say;

/// Standard error.
pub(crate) struct StandardError {
    /// Where the run connects to, for what is said of connections.
    pub(crate) server: PgbenchServer,
}

impl Console for StandardError {
    fn error(&self, text: &str) {
        error(text);
    }

    fn info(&self, text: &str) {
        info(text);
    }

    fn raw(&self, text: &str) {
        say(text);
    }

    fn connection_failed(&self, failure: &SessionError) {
        error(&self.server.failure(failure));
    }
}

pub(crate) fn error(text: &str) {
    say(&format!("pgbench: error: {}\n", text.trim_end()));
}

pub(crate) fn info(text: &str) {
    say(&format!("pgbench: {}\n", text.trim_end()));
}
