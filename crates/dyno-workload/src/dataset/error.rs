//! Why tables cannot be looked at, read or prepared: the same for every family of workloads, each in its own terms.

use dyno_target::cause::Cause;
use dyno_target::connection::{ConnectError, QueryError};
use thiserror::Error;

use super::DoesNotFit;
use super::worker_pool::JobError;
use crate::site::LOCK_WAIT;

/// How a family speaks of its tables.
#[derive(Debug, PartialEq, Eq)]
pub struct Terms {
    /// `events`
    pub(crate) family: &'static str,
    /// Which rights a load needs.
    pub(crate) grants: &'static str,
    /// What to do about somebody else's table.
    pub(crate) instead: &'static str,
    /// Which tables are waited for, where that has an end.
    pub(crate) locked: Option<&'static str>,
    /// What to do about tables that are there, where that is an error of its own.
    pub(crate) exists: Option<&'static str>,
    /// What to do about a full disk.
    pub(crate) room: &'static str,
    /// Who may prepare.
    pub(crate) rights: &'static str,
}

/// Why data of a size cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizeError {
    /// It is more or less than the family can have, in its words.
    #[error("{0}")]
    OutOfRange(String),
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
}

/// Why tables could not be looked at.
#[derive(Debug, Error)]
pub enum StateError {
    #[error(
        "the tables of {} are there and may not be read: {source}; grant {}, or connect as their owner",
        terms.family, terms.grants
    )]
    Denied { terms: &'static Terms, source: QueryError },
    #[error("cannot look at the tables of {}: {source}", terms.family)]
    Failed { terms: &'static Terms, source: QueryError },
}

impl StateError {
    pub(crate) fn of(terms: &'static Terms) -> impl Fn(QueryError) -> Self {
        move |source| match source.cause() {
            Some(Cause::Denied) => Self::Denied { terms, source },
            _ => Self::Failed { terms, source },
        }
    }
}

/// Why a table could not be counted or emptied.
#[derive(Debug, Error)]
pub enum TableError {
    #[error("{table} is missing: {source}; run again with --prepare")]
    Missing { table: String, source: QueryError },
    #[error("{table} may not be used: {source}; connect as its owner, or grant the rights on it")]
    Denied { table: String, source: QueryError },
    #[error("cannot use {table}: {source}")]
    Failed { table: String, source: QueryError },
    /// The query of a user's own check.
    #[error("the query of the check `{check}` cannot be asked: {source}")]
    Check { check: String, source: QueryError },
}

impl TableError {
    pub(crate) fn of(table: &str) -> impl Fn(QueryError) -> Self {
        move |source| {
            let table = table.to_owned();
            match source.cause() {
                Some(Cause::NoSuchTable) => Self::Missing { table, source },
                Some(Cause::Denied) => Self::Denied { table, source },
                _ => Self::Failed { table, source },
            }
        }
    }
}

/// Why tables could not be prepared.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error("cannot open a connection to prepare {}: {source}", terms.family)]
    Connect { terms: &'static Terms, source: ConnectError },
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Size(#[from] SizeError),
    /// `whose` says what it is instead.
    #[error("{table} is there and {whose}; it is left as it is: {}", terms.instead)]
    NotOurs { terms: &'static Terms, table: String, whose: String },
    #[error(
        "another session has kept {tables} locked for {} s: {source}; end it, and prepare again", LOCK_WAIT.as_secs()
    )]
    Locked { tables: &'static str, source: QueryError },
    #[error("{source}; the tables are there already: {advice}")]
    Exists { advice: &'static str, source: QueryError },
    #[error(
        "no room left on the server while preparing {} (step {step}): {source}; the tables are not complete: {}",
        terms.family, terms.room
    )]
    DiskFull { terms: &'static Terms, step: &'static str, source: QueryError },
    #[error(
        "the server takes no changes, so {} cannot be prepared (step {step}): {source}; \
         it was set read-only, or is a replica: name the one that takes them",
        terms.family
    )]
    ReadOnly { terms: &'static Terms, step: &'static str, source: QueryError },
    #[error(
        "cannot start a thread (step {step}): {source}; allow more: `ulimit -u`, or pids.max of the control group"
    )]
    Thread { step: &'static str, source: std::io::Error },
    #[error("not allowed to prepare {} (step {step}): {source}; {}", terms.family, terms.rights)]
    Denied { terms: &'static Terms, step: &'static str, source: QueryError },
    #[error(
        "the server took {taken} of {sent} rows that were sent to {table}{}; the tables are not complete",
        why.as_ref().map(|why| format!(", and says: {why}")).unwrap_or_default()
    )]
    RowsMissing { table: String, sent: u64, taken: u64, why: Option<String> },
    #[error(
        "the server did not take all rows of {table} as they were sent, and says: {why}; the tables are not complete"
    )]
    RowsChanged { table: String, why: String },
    #[error(
        "of the rows that were loaded {count} do not resolve the foreign key; the server has changed or lost rows: \
         look into its log"
    )]
    Unresolved { count: u64 },
    #[error(
        "stopped while preparing {} (step {step}); the tables are not complete: the next `dyno run` makes them anew",
        terms.family
    )]
    Stopped { terms: &'static Terms, step: &'static str },
    #[error("cannot prepare {} (step {step}): {source}", terms.family)]
    Failed { terms: &'static Terms, step: &'static str, source: QueryError },
}

impl PrepareError {
    /// The step that the server has refused, and what it has said.
    pub(crate) fn refusal(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Failed { step, source, .. } if source.is_refusal() => Some((*step, source.to_string())),
            Self::RowsMissing { .. } | Self::RowsChanged { .. } => Some(("data", self.to_string())),
            _ => None,
        }
    }

    /// Why a step ended.
    pub(crate) fn of(terms: &'static Terms, step: &'static str, error: JobError) -> Self {
        let source = match error {
            JobError::Stopped => return Self::Stopped { terms, step },
            JobError::Thread(source) => return Self::Thread { step, source },
            JobError::RowsMissing { table, sent, taken, why } => {
                return Self::RowsMissing { table, sent, taken, why };
            }
            JobError::RowsChanged { table, why } => return Self::RowsChanged { table, why },
            JobError::Query(source) => source,
        };
        match (source.cause(), terms.locked, terms.exists) {
            (Some(Cause::Locked), Some(tables), _) => Self::Locked { tables, source },
            (Some(Cause::TableExists), _, Some(advice)) => Self::Exists { advice, source },
            (Some(Cause::DiskFull), ..) => Self::DiskFull { terms, step, source },
            (Some(Cause::ReadOnly), ..) => Self::ReadOnly { terms, step, source },
            (Some(Cause::Denied), ..) => Self::Denied { terms, step, source },
            _ => Self::Failed { terms, step, source },
        }
    }
}
