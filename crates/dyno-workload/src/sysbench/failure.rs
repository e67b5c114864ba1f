//! Which errors of a server only restart an event, and what becomes of all others.

use std::sync::{Arc, OnceLock};

use dyno_wire::server_error::ServerError;
use thiserror::Error;

/// Errors that restart an event, as sysbench has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IgnoredErrors {
    all: bool,
    /// MySQL's numbers, also those of its client library for a lost connection.
    numbers: Vec<u16>,
    /// PostgreSQL's SQLSTATEs.
    states: Vec<String>,
}

/// Deadlock, unique violation, serialization failure.
const STATES: [&str; 3] = ["40P01", "23505", "40001"];
/// Deadlock, record changed since it was read, lock wait timeout.
const NUMBERS: [u16; 3] = [1213, 1020, 1205];
/// What MySQL's client library calls a lost connection.
const CONNECTION_LOST: [u16; 2] = [2006, 2013];

impl IgnoredErrors {
    /// What sysbench ignores where it is not told otherwise. An error has either a number or only a state.
    pub fn usual() -> Self {
        Self { numbers: NUMBERS.to_vec(), ..Self::of_states(&STATES) }
    }

    /// Every error of a statement, and a lost connection.
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// MySQL's errors with these numbers; 2006 or 2013 for a lost connection.
    pub fn of_numbers(numbers: &[u16]) -> Self {
        Self { numbers: numbers.to_vec(), ..Self::default() }
    }

    /// PostgreSQL's errors with these SQLSTATEs.
    pub fn of_states(states: &[&str]) -> Self {
        Self { states: states.iter().map(|&state| state.to_owned()).collect(), ..Self::default() }
    }

    /// Reads what `--mysql-ignore-errors` takes: `all`, or numbers with commas between them.
    ///
    /// # Errors
    /// A part that is no number of an error.
    pub fn parse(list: &str) -> Result<Self, BadErrorList> {
        if list.trim().eq_ignore_ascii_case("all") {
            return Ok(Self::all());
        }
        let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
        let number = |part: &str| part.parse().map_err(|_| BadErrorList { part: part.to_owned() });
        Ok(Self { numbers: parts.map(number).collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Whether `error` restarts the event.
    pub fn ignores(&self, error: &ServerError) -> bool {
        match error.number() {
            Some(number) => self.ignores_number(number),
            None => self.all || self.states.contains(&error.code().to_string()),
        }
    }

    /// The same of MySQL's error with this number.
    pub fn ignores_number(&self, number: u16) -> bool {
        self.all || self.numbers.contains(&number)
    }

    /// Whether a lost connection is opened again.
    pub fn reconnects(&self) -> bool {
        self.all || CONNECTION_LOST.iter().any(|number| self.numbers.contains(number))
    }
}

/// A list of errors that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{part}` is no number of a MySQL error: give numbers such as 1213,1205, or all")]
pub struct BadErrorList {
    part: String,
}

/// What becomes of an event that meets an error which is not ignored.
#[derive(Debug, Clone)]
pub enum OnError {
    /// The event has failed, and the client goes on with the next.
    Fail,
    /// The client gives up and says so here; whoever drives the run looks, and ends it.
    EndRun(Arc<FatalErrors>),
}

/// The error that ends a run: the first of all clients.
#[derive(Debug, Default)]
pub struct FatalErrors(OnceLock<FatalError>);

impl FatalErrors {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Notes an error, if it is the first.
    pub fn note(&self, error: FatalError) {
        // The others follow from the first, or would have come anyway.
        let _ = self.0.set(error);
    }

    pub fn first(&self) -> Option<&FatalError> {
        self.0.get()
    }
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatalError {
    /// The statement with `?` or `$1` for its parameters; empty where the connection was lost.
    pub query: String,
    /// The server's number, 1146; none on PostgreSQL, and where the connection was lost.
    pub number: Option<u16>,
    /// SQLSTATE, `42P01`; empty where the connection was lost.
    pub state: String,
    /// What the server said, without number and state, or how the connection was lost.
    pub message: String,
}

/// What was asked of the server when it refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    Query,
    Prepare,
    /// Of a statement that is prepared.
    Execute,
}

impl FatalError {
    /// What the server said to `query`.
    pub fn of_server(query: String, error: &ServerError) -> Self {
        let (number, state) = (error.number(), error.state().as_str().to_owned());
        Self { query, number, state, message: error.message().to_owned() }
    }

    /// The lines that sysbench's driver prints. libpq's words end with an end of line.
    pub fn driver_lines(&self, called: Called) -> Vec<String> {
        let Self { query, number, message, .. } = self;
        match (called, number) {
            (Called::Query, Some(number)) => {
                vec![format!("mysql_drv_query() returned error {number} ({message}) for query '{query}'")]
            }
            (Called::Execute, Some(number)) => {
                vec![format!("mysql_stmt_execute() returned error {number} ({message}) for query '{query}'")]
            }
            (Called::Prepare, Some(number)) => {
                vec!["mysql_stmt_prepare() failed".to_owned(), format!("MySQL error: {number} \"{message}\"")]
            }
            (Called::Query, None) => {
                vec![format!("PQexec() failed: 7 {message}"), format!("failed query was: {query}")]
            }
            (Called::Execute, None) => vec![format!("PQexecPrepared() failed: 7 {message}")],
            (Called::Prepare, None) => vec![format!("PQprepare() failed: ERROR:  {message}\n")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_function_of_the_driver_that_was_called() {
        let lines = |number, called| {
            let (query, message) = ("SELECT ?".to_owned(), "no".to_owned());
            FatalError { query, number, state: String::new(), message }.driver_lines(called).join("\n")
        };
        let mysql = [Called::Query, Called::Prepare, Called::Execute].map(|called| lines(Some(1064), called));
        assert_eq!(
            mysql,
            [
                "mysql_drv_query() returned error 1064 (no) for query 'SELECT ?'",
                "mysql_stmt_prepare() failed\nMySQL error: 1064 \"no\"",
                "mysql_stmt_execute() returned error 1064 (no) for query 'SELECT ?'",
            ]
        );
        let postgres = [Called::Query, Called::Prepare, Called::Execute].map(|called| lines(None, called));
        assert_eq!(
            postgres,
            [
                "PQexec() failed: 7 no\nfailed query was: SELECT ?",
                "PQprepare() failed: ERROR:  no\n",
                "PQexecPrepared() failed: 7 no",
            ]
        );
    }
}
