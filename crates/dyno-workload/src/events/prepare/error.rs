//! Why the tables could not be prepared.

use dyno_target::connection::{ConnectError, QueryError};
use thiserror::Error;

use crate::benchmark::LOCK_WAIT;
use crate::bulk::crew::JobError;
use crate::events::size::SizeError;
use crate::events::state::StateError;

/// Why the tables could not be prepared.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error("cannot open a connection to prepare events: {0}")]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error(
        "{table} is there and dyno has not made it ({what}); it is left as it is: name another database, made for this"
    )]
    NotOurs { table: &'static str, what: String },
    #[error(
        "another session has kept customer or event locked for {} s: {source}; end it, and prepare again",
        LOCK_WAIT.as_secs()
    )]
    Locked { source: QueryError },
    #[error(
        "no room left on the server while preparing events (step {step}): {source}; \
         the tables are not complete: make room or take fewer rows (a million is about 80 MB)"
    )]
    DiskFull { step: &'static str, source: QueryError },
    #[error(
        "not allowed to prepare events (step {step}): {source}; \
         connect as a user who may make, fill, alter and drop tables in this database, and refer to them"
    )]
    Denied { step: &'static str, source: QueryError },
    #[error(
        "the server took {taken} of {sent} rows that were sent to {table}{}; the tables are not complete",
        .why.as_ref().map(|why| format!(", and says: {why}")).unwrap_or_default()
    )]
    RowsMissing { table: String, sent: u64, taken: u64, why: Option<String> },
    #[error(
        "of the rows that were loaded {count} do not resolve the foreign key; the server has changed or lost rows: \
         look into its log"
    )]
    Unresolved { count: u64 },
    #[error(
        "stopped while preparing events (step {step}); the tables are not complete, and are made anew next time"
    )]
    Stopped { step: &'static str },
    #[error("cannot prepare events (step {step}): {source}")]
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
            (Some(1205), _) | (None, Some("55P03")) => Self::Locked { source },
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
