//! Why tables could not be prepared.

use dyno_target::connection::{ConnectError, QueryError};
use thiserror::Error;

use crate::bulk::crew::JobError;
use crate::sysbench::state::StateError;

/// Why tables could not be prepared.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error("cannot open a connection to prepare sysbench's tables: {0}")]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(
        "{table} is there and is not sysbench's: {why}; it is left as it is: name another database, or rename the table"
    )]
    NotOurs { table: String, why: String },
    #[error("{source}; the tables are there already: drop them first with the command cleanup")]
    Exists { step: &'static str, source: QueryError },
    #[error(
        "no room left on the server while preparing sysbench (step {step}): {source}; \
         the tables are not complete: make room or take fewer rows (a million is about 250 MB)"
    )]
    DiskFull { step: &'static str, source: QueryError },
    #[error(
        "not allowed to prepare sysbench (step {step}): {source}; \
         connect as the tables' owner, or grant the right to make, fill and drop tables in this database"
    )]
    Denied { step: &'static str, source: QueryError },
    #[error(
        "the server took {taken} of {sent} rows that were sent to {table}{}; the tables are not complete",
        .why.as_ref().map(|why| format!(", and says: {why}")).unwrap_or_default()
    )]
    RowsMissing { table: String, sent: u64, taken: u64, why: Option<String> },
    #[error(
        "stopped while preparing sysbench (step {step}); the tables are not complete: drop them or prepare again"
    )]
    Stopped { step: &'static str },
    #[error("cannot prepare sysbench (step {step}): {source}")]
    Failed { step: &'static str, source: QueryError },
}

impl PrepareError {
    pub(super) fn of(step: &'static str, error: JobError) -> Self {
        let source = match error {
            JobError::Stopped => return Self::Stopped { step },
            JobError::RowsMissing { table, sent, taken, why } => {
                return Self::RowsMissing { table, sent, taken, why };
            }
            JobError::Query(source) => source,
        };
        match (source.number(), source.sqlstate()) {
            (Some(1050), _) | (None, Some("42P07")) => Self::Exists { step, source },
            // The disk is full, the table is full, the temporary file or the log cannot be written.
            (Some(1021 | 1114 | 3675), _) | (None, Some("53100")) => Self::DiskFull { step, source },
            // On the database, the table, the column; for want of a privilege; the server is read-only.
            (Some(1044 | 1142 | 1143 | 1227 | 1290 | 1836), _) | (None, Some("42501" | "25006")) => {
                Self::Denied { step, source }
            }
            _ => Self::Failed { step, source },
        }
    }
}
