//! What ends a command early: what failed, on what, what the server said, what to do next.

use std::path::{Path, PathBuf};

use dyno_engine::error::{EngineError, SessionError};
use dyno_report::json::JsonError;
use dyno_report::page::PageError;
use dyno_results::comparison::CompareError;
use dyno_results::store::StoreError;
use dyno_target::TargetError;
use dyno_target::cause::{self, Cause};
use dyno_target::connection::{ConnectError, QueryError};
use dyno_target::embedded::{EmbeddedError, ProfileError, SpecError};
use dyno_target::probe::NodeExporterError;
use dyno_workload::benchmark::BenchmarkError;
use dyno_workload::registry::{CannotRun, UnknownWorkload};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What nobody but its reader has to tell from others, with what to do next where the message does not say so.
    #[error("{what}")]
    Told { what: String, advice: Option<String> },
    #[error("cannot write the specification as TOML: {0}")]
    Toml(#[from] toml::ser::Error),
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    #[error(transparent)]
    CannotRun(#[from] CannotRun),
    #[error("--server: {0}")]
    Server(#[from] SpecError),
    #[error("--profile: {0}")]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error("--target: {0}")]
    Target(#[source] TargetError),
    #[error("cannot connect to {url}: {source}")]
    Connect { url: String, source: Box<ConnectError> },
    #[error("{doing} on {url}: {source}")]
    Query { doing: &'static str, url: String, source: QueryError },
    #[error(transparent)]
    Benchmark(#[from] BenchmarkError),
    #[error("the load could not be started on {url}: {source}")]
    Generator { url: String, source: Box<GeneratorError> },
    #[error("{workload} with {clients} clients on {url} ended early: {why}")]
    StageCut { workload: String, clients: u32, url: String, why: String, advice: Option<String> },
    #[error(transparent)]
    NodeExporter(#[from] NodeExporterError),
    /// `said` are the last lines of it, if it said anything.
    #[error(
        "a hook failed on {target} with {status}: {action}{}",
        said.as_ref().map(|said| format!("\n{said}")).unwrap_or_default()
    )]
    Hook { target: String, action: String, status: String, said: Option<String> },
    #[error("cannot start a thread: {0}")]
    NoThread(#[source] std::io::Error),
    #[error("the thread that loaded a target ended unexpectedly")]
    SystemBroken,
    #[error("{}", lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    TargetsLost { lost: Vec<LostTarget> },
    /// The run came to its end without them.
    #[error("{queries}")]
    QueriesNotRun { queries: String },
    /// A load that had to end because the run does. What it comes from is told by who ends it.
    #[error("the run ended because another target failed")]
    Cancelled,
    /// Never of one alone.
    #[error("{}", failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nand "))]
    Several { failures: Vec<Failure> },
    #[error("interrupted")]
    Interrupted,
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] dyno_report::serve::ServeError),
    #[cfg(not(feature = "serve"))]
    #[error("this dyno was built without its server (cargo feature `serve`)")]
    NotServed,
    #[error("no run is stored yet: there is no {}", path.display())]
    NothingStored { path: PathBuf },
    #[error("cannot write to standard output: {0}")]
    Output(#[source] std::io::Error),
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Interrupted => Self::Interrupted,
            TargetError::NoThread(source) => Self::NoThread(source),
            error => Self::Target(error),
        }
    }
}

/// Whose the tables are that a load names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOwner {
    /// It makes them with --prepare.
    Dyno,
    /// So it does, and scripts of the user's name them.
    Folder,
    /// A script or a folder of queries of the user's names them.
    User,
}

/// A target that was given up while others went on.
#[derive(Debug, thiserror::Error)]
#[error("{name} was given up after {at_s:.0} s: {failure}")]
pub(crate) struct LostTarget {
    pub(crate) name: String,
    /// Seconds since the run began.
    pub(crate) at_s: f64,
    pub(crate) failure: Box<Failure>,
}

impl Failure {
    pub(crate) fn wrong(what: impl Into<String>) -> Self {
        Self::Told { what: what.into(), advice: None }
    }

    /// `advice` is what to do next.
    pub(crate) fn advised(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Told { what: what.into(), advice: Some(advice.into()) }
    }

    /// A file could not be read. `what` it is stands before its name.
    pub(crate) fn read(what: &str, path: &Path, source: &std::io::Error) -> Self {
        Self::wrong(format!("cannot read {what} {}: {source}", path.display()))
    }

    /// No target has the name that an option has; `known` are those that there are.
    pub(crate) fn no_target<'a>(option: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        Self::advised(
            format!("{option}: there is no target {name}"),
            format!("the targets of this run are {}", known.collect::<Vec<_>>().join(", ")),
        )
    }

    /// A statement of dyno's own that did not succeed.
    pub(crate) fn query(doing: &'static str, url: &str, source: QueryError) -> Self {
        match source {
            QueryError::Interrupted => Self::Interrupted,
            source => Self::Query { doing, url: url.to_owned(), source },
        }
    }

    /// True for what is not one target's own: then the others do not go on either.
    pub(crate) fn ends_run(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Hook { .. } | Self::NoThread(_) | Self::SystemBroken)
    }

    /// Two targets are the same tables, and the load writes.
    pub(crate) fn same_database(one: &str, other: &str) -> Self {
        Self::wrong(format!(
            "{one} and {other} are the same database, so each would change the other's data: give each its own \
             database"
        ))
    }

    /// What failed, all of it. That it was interrupted is said once, whoever noticed.
    pub(crate) fn of_all(mut failures: Vec<Self>) -> Result<(), Self> {
        let mut interrupted = false;
        failures.retain(|failure| {
            !(matches!(failure, Self::Interrupted) && std::mem::replace(&mut interrupted, true))
        });
        match failures.pop() {
            None => Ok(()),
            Some(only) if failures.is_empty() => Err(only),
            Some(last) => {
                failures.push(last);
                Err(Self::Several { failures })
            }
        }
    }

    /// What to do next, where the message does not say so itself.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Told { advice, .. } => advice.clone(),
            Self::CannotRun(why) => why.help(),
            Self::StageCut { advice, .. } => advice.clone(),
            Self::Generator { source, .. } => source.help.clone(),
            Self::TargetsLost { lost } => lost.iter().find_map(|lost| lost.failure.help()),
            Self::Several { failures } => failures.iter().find_map(Self::help),
            Self::NoThread(_) => {
                Some("raise the limit on threads: `ulimit -u`, or pids.max of the control group".to_owned())
            }
            Self::QueriesNotRun { .. } => {
                Some("the notices say why; times and totals of the others are as they are shown".to_owned())
            }
            Self::NothingStored { .. } => Some(
                "`dyno run` stores one there; --store FILE (or DYNO_STORE) names another store".to_owned(),
            ),
            _ => None,
        }
    }
}

/// Why a generator cannot be prepared, or cannot connect its clients, as far as others have to know it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{said}")]
pub struct GeneratorError {
    pub said: String,
    pub help: Option<String>,
    /// A client could not be connected.
    pub is_connecting: bool,
    /// What was said where nobody took a connection.
    pub nobody: Option<String>,
}

impl GeneratorError {
    pub(crate) fn of(error: &EngineError, tables: TableOwner) -> Self {
        let source = if let EngineError::Connect { source, .. } = error { Some(source) } else { None };
        Self {
            said: error.to_string(),
            help: engine_help(error, tables),
            is_connecting: source.is_some(),
            nobody: source.filter(|source| is_nobody_there(source)).map(ToString::to_string),
        }
    }

    pub(crate) fn other(why: &dyn std::fmt::Display) -> Self {
        Self { said: why.to_string(), help: None, is_connecting: false, nobody: None }
    }
}

/// Whether nobody took a connection.
fn is_nobody_there(error: &SessionError) -> bool {
    match error {
        SessionError::Io { source, .. } => {
            [Errno::CONNREFUSED, Errno::CONNRESET, Errno::NOENT].contains(source)
        }
        SessionError::Closed => true,
        _ => false,
    }
}

fn engine_help(error: &EngineError, tables: TableOwner) -> Option<String> {
    match error {
        EngineError::Connect { source, connected, .. } => connect_help(source, *connected, tables),
        EngineError::Poll(_) => Some("the load needs epoll_pwait2: Linux 5.11 or newer".to_owned()),
        _ => None,
    }
}

/// What helps where not all clients could be connected.
fn connect_help(source: &SessionError, connected: u32, tables: TableOwner) -> Option<String> {
    match source.server_error().and_then(Cause::of) {
        Some(Cause::TooManyConnections) => Some(format!(
            "the server accepted {connected} connections: use fewer clients, or raise max_connections"
        )),
        Some(Cause::TooManyStatements) => Some(
            "other sessions have prepared statements there too: use fewer clients or --protocol simple, or \
            raise max_prepared_stmt_count"
                .to_owned(),
        ),
        Some(cause) if of_statement(cause, tables).is_some() => {
            of_statement(cause, tables).map(str::to_owned)
        }
        _ if matches!(source, SessionError::Prepare(_) | SessionError::At { .. }) => None,
        _ if connected > 0 => Some("use fewer clients, or check the server's log".to_owned()),
        _ => None,
    }
}

/// What helps against what a server says of a workload's statement. To make the data anew deletes what is there, and is
/// said only where it helps.
pub(crate) fn of_statement(cause: Cause, tables: TableOwner) -> Option<&'static str> {
    Some(match cause {
        Cause::NoSuchTable => match tables {
            TableOwner::Dyno => "a table is missing: run again with --prepare",
            TableOwner::Folder => {
                "the tables of the folder are there, and this is none of them: look at its name in the script"
            }
            TableOwner::User => {
                "a table that the statements name is missing: create it, or name another database"
            }
        },
        Cause::SessionShared => {
            "this looks like a pooler in transaction mode, where clients share sessions: run with \
             --protocol simple or extended, or let the pooler track prepared statements (PgBouncer: \
             max_prepared_statements)"
        }
        Cause::Denied => {
            "the user lacks a privilege on this table: GRANT SELECT, INSERT, UPDATE, DELETE on the \
             workload's tables to it, or name another user"
        }
        Cause::OtherColumns => match tables {
            TableOwner::Dyno => {
                "the tables are not those of the workload: name another database, or run again with --prepare, \
                 which drops and creates them"
            }
            TableOwner::Folder => {
                "the tables of the folder have no such column: look at its name in the script, or run again with --prepare where \
                 somebody else has changed them"
            }
            TableOwner::User => {
                "the tables are not those that the statements are for: name another database, or change the statements"
            }
        },
        Cause::NotPreparable => "the server does not prepare this statement: run with --protocol simple",
        Cause::FileMoved => cause::FILE_MOVED,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use dyno_wire::my::error::{MySqlError, SqlState};

    use super::*;

    #[test]
    fn only_what_helps_is_advised_where_a_statement_cannot_be_prepared() {
        let help = |number, tables| {
            let error = MySqlError { number, state: SqlState::UNKNOWN, message: String::new() };
            let source = SessionError::Prepare(Box::new(error).into());
            connect_help(&source, 1, tables)
        };
        for (number, word) in [
            (1243, "pooler in transaction mode"),
            (1142, "GRANT"),
            (1295, "--protocol simple"),
            (1146, "--prepare"),
            (1054, "--prepare, which drops"),
        ] {
            let advice = help(number, TableOwner::Dyno).unwrap();
            assert!(advice.contains(word), "{number}: {advice}");
            assert_eq!(advice.contains("--prepare"), word.contains("--prepare"), "{advice}");
            // Nothing is prepared for the user's own statements.
            let advice = help(number, TableOwner::User).unwrap();
            assert!(!advice.contains("--prepare"), "{advice}");
        }
        assert_eq!(help(1064, TableOwner::Dyno), None, "a statement that is not understood");
    }
}
