//! What can go wrong in a conversation with a server: it said no ([`PostgresError`]), or it did not speak the
//! protocol ([`ProtocolError`]).

use std::fmt;
use std::ops::Deref;

use thiserror::Error;

use super::backend::NoticeFields;

/// An error that the server reported, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{severity}: {message} (SQLSTATE {code})")]
pub struct PostgresError {
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    pub severity: String,
    pub code: SqlState,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Where in [`internal_query`](Self::internal_query), in characters from 1.
    pub internal_position: Option<u32>,
    /// A statement that the server made itself, such as one within a function.
    pub internal_query: Option<String>,
    /// The call stack within the server, one entry a line.
    pub context: Option<String>,
    /// The function of the server's own source.
    pub routine: Option<String>,
}

impl PostgresError {
    /// Whether the server ends the session with this error (`FATAL` and `PANIC`).
    pub fn ends_session(&self) -> bool {
        self.severity != "ERROR"
    }
}

impl From<NoticeFields<'_>> for PostgresError {
    fn from(fields: NoticeFields<'_>) -> Self {
        let text = |code| fields.get(code).map(|value| String::from_utf8_lossy(value).into_owned());
        let number = |code| fields.get(code).and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
        Self {
            // 'V' is the severity untranslated, since 9.6; 'S' may be in the server's language.
            severity: text(b'V').or_else(|| text(b'S')).unwrap_or_else(|| "ERROR".to_owned()),
            code: SqlState::from_bytes(fields.get(b'C').unwrap_or_default()),
            message: text(b'M').unwrap_or_default(),
            detail: text(b'D'),
            hint: text(b'H'),
            position: number(b'P'),
            internal_position: number(b'p'),
            internal_query: text(b'q'),
            context: text(b'W'),
            routine: text(b'R'),
        }
    }
}

/// A five-character SQLSTATE. Reads as a `str`: `error.code == "40001"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// What stands for a code that the server left out or garbled; no server uses it.
    pub const UNKNOWN: Self = Self(*b"?????");

    pub fn from_bytes(bytes: &[u8]) -> Self {
        match <[u8; 5]>::try_from(bytes) {
            Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => Self(code),
            _ => Self::UNKNOWN,
        }
    }

    pub fn as_str(&self) -> &str {
        // Only ASCII gets in, so the alternative is never taken.
        std::str::from_utf8(&self.0).unwrap_or("?????")
    }
}

impl Deref for SqlState {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for SqlState {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SqlState {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The other side did not speak the PostgreSQL protocol as it is written; the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("the server sent a message of unknown type {tag} with length {length}; is it PostgreSQL?")]
    UnknownTag { tag: Tag, length: u32 },
    #[error("the server sent message {tag} with length {length}, which that message cannot have")]
    FrameLength { tag: Tag, length: u32 },
    #[error("message {tag} of length {length} is malformed: {what}")]
    Malformed { tag: Tag, length: u32, what: &'static str },
    #[error("the server sent message {tag} of length {length} during {during}, where it has no place")]
    Unexpected { tag: Tag, length: u32, during: &'static str },
}

/// A message's type byte; it shows itself as a letter where it is one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tag(pub u8);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_ascii_graphic() {
            write!(f, "'{}'", char::from(self.0))
        } else {
            write!(f, "0x{:02x}", self.0)
        }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
