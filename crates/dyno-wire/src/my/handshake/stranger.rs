//! Who else may be listening on the port: told by the first bytes, so that the error can name it.

use super::error::LoginError;
use crate::my::packet::Header;

/// A greeting is longer than an error's number and shorter than this; text reads as a length far beyond.
const GREETING_BYTES_MAX: usize = 4096;

/// Refuses what cannot become a greeting.
pub(super) fn check(input: &[u8]) -> Result<(), LoginError> {
    let Some(header) = Header::read(input) else { return Ok(()) };
    // MySQL's error in place of a greeting has number 0 too; some relatives count from 1.
    if header.payload_bytes <= GREETING_BYTES_MAX && header.sequence <= 1 {
        return Ok(());
    }
    Err(LoginError::NotMySql(beginning(input)))
}

/// What the answer to a question in PostgreSQL's words says about the server.
pub(super) fn after_silence(input: &[u8]) -> LoginError {
    match input {
        [b'S' | b'N'] | [b'E', ..] => LoginError::PostgreSql,
        _ if check(input).is_ok() => LoginError::LateGreeting,
        _ => LoginError::NotMySql(beginning(input)),
    }
}

fn beginning(input: &[u8]) -> String {
    let shown = &input[..input.len().min(24)];
    format!("\"{}\"", shown.escape_ascii())
}
