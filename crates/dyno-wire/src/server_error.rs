//! An error that a server reported, in either protocol: for code that handles both alike. Code that needs
//! all the fields of one protocol uses the error of that protocol.

use std::fmt;

use crate::my;
use crate::pg;
use crate::pg::error::SqlState;

/// An error that a server reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerError {
    Postgres(Box<pg::error::PostgresError>),
    MySql(Box<my::error::MySqlError>),
}

impl ServerError {
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
    pub fn postgres(&self) -> Option<&pg::error::PostgresError> {
        match self {
            Self::Postgres(error) => Some(error),
            Self::MySql(_) => None,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(error) => error.fmt(f),
            Self::MySql(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServerError {}

impl From<Box<pg::error::PostgresError>> for ServerError {
    fn from(error: Box<pg::error::PostgresError>) -> Self {
        Self::Postgres(error)
    }
}

impl From<Box<my::error::MySqlError>> for ServerError {
    fn from(error: Box<my::error::MySqlError>) -> Self {
        Self::MySql(error)
    }
}
