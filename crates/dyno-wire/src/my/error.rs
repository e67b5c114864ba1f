//! What can go wrong in a conversation with a server: it said no ([`MySqlError`]), or it did not speak the
//! protocol ([`ProtocolError`]).

use thiserror::Error;

pub use crate::pg::error::SqlState;

/// An error that the server reported, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} (error {number}, SQLSTATE {state})")]
pub struct MySqlError {
    /// The server's own number: 1045 access denied, 1062 duplicate key, 1213 deadlock, ….
    pub number: u16,
    /// [`SqlState::UNKNOWN`] where the server sent none, as it may before a login.
    pub state: SqlState,
    pub message: String,
}

impl MySqlError {
    /// Whether the server closes the connection after this error.
    pub fn ends_session(&self) -> bool {
        matches!(
            self.number,
            // Shutdown, aborted connection, packet too large, network errors, killed (MariaDB), killed (MySQL),
            // idle for too long.
            1053 | 1152 | 1153 | 1158..=1161 | 1184 | 1927 | 3169 | 4031
        )
    }
}

/// The other side did not speak the MySQL protocol as it is written; the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("{packet} of {bytes} bytes is malformed: {what}")]
    Malformed { packet: &'static str, bytes: usize, what: &'static str },
    #[error(
        "the server sent a packet of {bytes} bytes that begins with 0x{first:02x} during {during}, where it has no place"
    )]
    Unexpected { first: u8, bytes: usize, during: &'static str },
    #[error(
        "the server sent packet number {got} where {expected} was due; packets were lost, or it is not MySQL"
    )]
    Sequence { expected: u8, got: u8 },
    #[error(
        "the server sent {bytes} bytes as one packet during {during}, where at most {bytes_max} are reasonable"
    )]
    TooLarge { bytes: usize, bytes_max: usize, during: &'static str },
}
