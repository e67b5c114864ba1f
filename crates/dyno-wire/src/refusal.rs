//! What a server says when it refuses, in either protocol: for whoever drives both and treats them alike. Who needs
//! all that one protocol tells looks into its own error.

use std::fmt;

use crate::my;
use crate::pg;
use crate::pg::error::SqlState;

/// An error that a server reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Postgres(Box<pg::error::ServerError>),
    MySql(Box<my::error::ServerError>),
}

impl Refusal {
    /// The server's own words.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Postgres(error) => &error.message,
            Self::MySql(error) => &error.message,
        }
    }

    /// MySQL gives the same SQLSTATE to many errors; its [`number`](Self::number) tells them apart.
    #[must_use]
    pub fn state(&self) -> SqlState {
        match self {
            Self::Postgres(error) => error.code,
            Self::MySql(error) => error.state,
        }
    }

    /// MySQL's number of the error.
    #[must_use]
    pub fn number(&self) -> Option<u16> {
        match self {
            Self::Postgres(_) => None,
            Self::MySql(error) => Some(error.number),
        }
    }

    /// What people look an error up by: the SQLSTATE on PostgreSQL, the number on MySQL.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Postgres(error) => error.code.as_str().to_owned(),
            Self::MySql(error) => error.number.to_string(),
        }
    }

    /// Whether the server closes the connection after it.
    #[must_use]
    pub fn ends_session(&self) -> bool {
        match self {
            Self::Postgres(error) => error.ends_session(),
            Self::MySql(error) => error.ends_session(),
        }
    }

    /// All that PostgreSQL told, if it was PostgreSQL.
    #[must_use]
    pub fn postgres(&self) -> Option<&pg::error::ServerError> {
        match self {
            Self::Postgres(error) => Some(error),
            Self::MySql(_) => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(error) => error.fmt(f),
            Self::MySql(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Box<pg::error::ServerError>> for Refusal {
    fn from(error: Box<pg::error::ServerError>) -> Self {
        Self::Postgres(error)
    }
}

impl From<Box<my::error::ServerError>> for Refusal {
    fn from(error: Box<my::error::ServerError>) -> Self {
        Self::MySql(error)
    }
}
