//! Why a statement of an administrative connection failed, in libpq's words.

use dyno_target::connection::QueryError;
use dyno_wire::libpq_text::{self, CLOSED};

/// The whole message, without a newline at its end. `sql` is the statement that failed.
pub(super) fn failure_text(error: &QueryError, sql: &str) -> String {
    match error {
        QueryError::Server { error, .. } => {
            let text = libpq_text::server_error(error, Some(sql));
            if error.ends_session() { text + CLOSED } else { text.trim_end_matches('\n').to_owned() }
        }
        QueryError::Lost { .. } => CLOSED.to_owned(),
        QueryError::Broken => "no connection to the server".to_owned(),
        other => other.to_string(),
    }
}
