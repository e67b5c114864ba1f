//! Words for the user's terminal, in pgbench's form. Each is written whole, so that threads do not mix theirs.

use std::io::Write as _;

use dyno_engine::error::SessionError;
use dyno_workload::pgbench::load::Console;

use super::connect::PgbenchServer;

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
        raw(text);
    }

    fn connection_failed(&self, failure: &SessionError) {
        error(&self.server.failure(failure));
    }
}

pub(crate) fn error(text: &str) {
    raw(&format!("pgbench: error: {}\n", text.trim_end()));
}

pub(crate) fn info(text: &str) {
    raw(&format!("pgbench: {}\n", text.trim_end()));
}

pub(crate) fn raw(text: &str) {
    // If the terminal is gone there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
