//! Who else may be listening on the port: told by the first bytes, so that the error can name it.

use super::error::LoginError;
use crate::my::backend::Greeting;
use crate::my::packet::Header;

/// A greeting is longer than an error's number and shorter than this; text reads as a length far beyond.
const GREETING_BYTES_MAX: usize = 4096;

/// Whether the first bytes from a server are MySQL's greeting, or its refusal to give one. At least seven bytes
/// are needed to tell. Also for who speaks another protocol and wonders at the answer.
pub fn is_greeting(bytes: &[u8]) -> bool {
    let Some(header) = Header::read(bytes) else { return false };
    if header.sequence != 0 || header.payload_bytes > GREETING_BYTES_MAX {
        return false;
    }
    match bytes.get(Header::BYTES..) {
        // A version number follows.
        Some([Greeting::PROTOCOL, digit, ..]) => digit.is_ascii_digit(),
        // A server error's number lies between 1000 and 5000; what PostgreSQL has in this place is a letter.
        Some([0xff, low, high, ..]) => (1000..5000).contains(&u16::from_le_bytes([*low, *high])),
        _ => false,
    }
}

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
