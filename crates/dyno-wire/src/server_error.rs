//! An error that a database reported, in either protocol or through a driver: for code that handles all alike. Code that
//! needs all the fields of one protocol uses the error of that protocol.

pub mod cause;

use std::fmt;

use thiserror::Error;

use self::cause::Cause;
use crate::my;
use crate::pg;
use crate::pg::error::SqlState;

/// Serialization failure and deadlock: the server asks for another try.
const RETRIED: [&str; 2] = ["40001", "40P01"];
/// The same of MySQL: deadlock, a lock not had in time, a record that has changed since it was read.
const RETRIED_NUMBERS: [u16; 3] = [MYSQL_DEADLOCK, 1205, 1020];
/// OceanBase's and seekdb's "Schema try again".
const SCHEMA_TRY_AGAIN: u16 = 5627;
/// `query_canceled`, and the same of MySQL and MariaDB: the statement was interrupted.
const CANCELLED: &str = "57014";
const CANCELLED_NUMBER: u16 = 1317;
/// `statement_completion_unknown` and `transaction_resolution_unknown`: the server does not know what became of the commit.
const UNKNOWN: [&str; 2] = ["40003", "08007"];
/// A transaction that meets a deadlock is rolled back by MySQL itself, which says so with no status.
const MYSQL_DEADLOCK: u16 = 1213;

/// An error that a database reported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerError {
    #[error(transparent)]
    Postgres(#[from] Box<pg::error::PostgresError>),
    #[error(transparent)]
    MySql(#[from] Box<my::error::MySqlError>),
    #[error(transparent)]
    Driver(Box<DriverError>),
}

/// What people look an error up by: the SQLSTATE on PostgreSQL, the number on MySQL, a driver's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerErrorCode {
    SqlState(SqlState),
    Number(u16),
    Name(&'static str),
}

impl fmt::Display for ServerErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SqlState(state) => state.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.pad(name),
        }
    }
}

/// An error that a database reported through its driver.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} ({code})")]
pub struct DriverError {
    /// What people look it up by: `SQLITE_BUSY`.
    pub code: &'static str,
    pub message: String,
    pub kind: DriverErrorKind,
    /// `None` where nothing further is known.
    pub cause: Option<Cause>,
}

impl DriverError {
    /// The session can be used further.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), kind: DriverErrorKind::Other, cause: None }
    }

    /// The same of a statement that a user has written there.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        if place.is_empty() {
            return self;
        }
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// The session is over.
    pub fn lost(code: &'static str, message: impl Into<String>) -> Self {
        Self { kind: DriverErrorKind::SessionLost, ..Self::new(code, message) }
    }
}

/// What follows from an error, whatever the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverErrorKind {
    /// Another session was in the way: the same transaction may be tried again.
    Conflict,
    /// The operation was stopped because somebody asked for that.
    Cancelled,
    /// The session is over.
    SessionLost,
    Other,
}

impl ServerError {
    /// The server's own words.
    pub fn message(&self) -> &str {
        match self {
            Self::Postgres(error) => &error.message,
            Self::MySql(error) => &error.message,
            Self::Driver(error) => &error.message,
        }
    }

    /// MySQL gives the same SQLSTATE to many errors; its [`number`](Self::number) tells them apart. Drivers have none.
    pub fn state(&self) -> SqlState {
        match self {
            Self::Postgres(error) => error.code,
            Self::MySql(error) => error.state,
            Self::Driver(_) => SqlState::UNKNOWN,
        }
    }

    /// MySQL's number of the error.
    pub fn number(&self) -> Option<u16> {
        match self {
            Self::MySql(error) => Some(error.number),
            Self::Postgres(_) | Self::Driver(_) => None,
        }
    }

    /// What people look an error up by.
    pub fn code(&self) -> ServerErrorCode {
        match self {
            Self::Postgres(error) => ServerErrorCode::SqlState(error.code),
            Self::MySql(error) => ServerErrorCode::Number(error.number),
            Self::Driver(error) => ServerErrorCode::Name(error.code),
        }
    }

    /// Whether the server closes the connection after it.
    pub fn ends_session(&self) -> bool {
        match self {
            Self::Postgres(error) => error.ends_session(),
            Self::MySql(error) => error.ends_session(),
            Self::Driver(error) => error.kind == DriverErrorKind::SessionLost,
        }
    }

    /// Whether another try of the same transaction may succeed, as after a deadlock.
    pub fn asks_for_retry(&self) -> bool {
        match self {
            Self::Postgres(error) => RETRIED.contains(&error.code.as_str()),
            Self::MySql(error) => RETRIED_NUMBERS.contains(&error.number),
            Self::Driver(error) => error.kind == DriverErrorKind::Conflict,
        }
    }

    /// Whether a change of the schema was not begun because another session was changing it, and may be sent again.
    pub fn is_schema_busy(&self) -> bool {
        matches!(self, Self::MySql(error) if error.number == SCHEMA_TRY_AGAIN)
    }

    /// Whether the statement was stopped because somebody asked for that.
    pub fn is_cancellation(&self) -> bool {
        match self {
            Self::Postgres(error) => error.code == CANCELLED,
            Self::MySql(error) => error.number == CANCELLED_NUMBER,
            Self::Driver(error) => error.kind == DriverErrorKind::Cancelled,
        }
    }

    /// Whether a commit that it answers may have been done. What ends the session always leaves that open.
    pub fn leaves_commit_unknown(&self) -> bool {
        self.postgres().is_some_and(|error| UNKNOWN.contains(&error.code.as_str()))
    }

    /// Whether the server has rolled the whole transaction back with it, and its status does not say so.
    pub fn rolls_back(&self) -> bool {
        self.number() == Some(MYSQL_DEADLOCK)
    }

    /// All that PostgreSQL told, if it was PostgreSQL.
    pub fn postgres(&self) -> Option<&pg::error::PostgresError> {
        match self {
            Self::Postgres(error) => Some(error),
            Self::MySql(_) | Self::Driver(_) => None,
        }
    }
}

impl From<DriverError> for ServerError {
    fn from(error: DriverError) -> Self {
        Self::Driver(Box::new(error))
    }
}
