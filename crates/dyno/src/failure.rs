//! What ends a command early: what failed, on what, what the server said, what to do next.

use std::path::PathBuf;

use dyno_results::spec::VERSION;

use dyno_engine::error::{EngineError, SessionError};
use dyno_report::json::JsonError;
use dyno_report::page::PageError;
use dyno_results::comparison::CompareError;
use dyno_results::store::StoreError;
use dyno_target::TargetError;
use dyno_target::cause::Cause;
use dyno_target::connection::{ConnectError, QueryError};
use dyno_target::embedded::{EmbeddedError, ProfileError, SpecError};
use dyno_target::probe::NodeExporterError;
use dyno_workload::benchmark::BenchmarkError;
use dyno_workload::registry::UnknownWorkload;
use dyno_workload::sysbench::OptionsError;
use dyno_workload::tpcb::ScaleError;

use crate::secrets::hidden_in_lines;

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read the scenario {}: {source}", path.display())]
    ScenarioRead { path: PathBuf, source: std::io::Error },
    #[error("cannot read the workload {}: {source}", path.display())]
    WorkloadRead { path: PathBuf, source: std::io::Error },
    #[error("cannot read targets from {}: {source}", path.display())]
    TargetFile { path: PathBuf, source: std::io::Error },
    #[error("there is no scenario `{named}`")]
    ScenarioUnknown { named: String },
    #[error(
        "`{named}` is neither a scenario nor a workload{}",
        nearest.map(|name| format!(", did you mean {name}?")).unwrap_or_default()
    )]
    NameUnknown { named: String, nearest: Option<&'static str> },
    #[error("`{named}` could be a scenario or a workload")]
    NameAmbiguous { named: String },
    /// `named` is without any password.
    #[error("`{named}` is no scenario")]
    ScenarioIsTarget { named: String },
    // Not its source: the message holds all of it.
    #[error(
        "the scenario {named} is wrong: {}{}", hidden_in_lines(error.to_string().trim_end()),
        nearest.as_ref().map(|field| format!("\ndid you mean `{field}`?")).unwrap_or_default()
    )]
    ScenarioWrong { named: String, nearest: Option<String>, is_old: bool, error: Box<toml::de::Error> },
    #[error(
        "the scenario {named} is of version {version} of the format, and this dyno reads version {VERSION}"
    )]
    ScenarioVersion { named: String, version: u32 },
    #[error("a run of `dyno {program}` is run again as it was, by its own command line")]
    OptionsOfFrontEnd { program: String },
    #[error("cannot start dyno again: {0}")]
    NotStartedAgain(std::io::Error),
    #[error("a scenario with what only `dyno {program}` knows is run by `dyno {program}`")]
    OfFrontEnd { program: String },
    #[error("a word of the stored command line held a secret, which is not stored: {word}")]
    HiddenWord { word: String },
    #[error("a hook held what looks like a secret, which is not kept: {action}")]
    HiddenHook { action: String },
    #[error("cannot write the specification as TOML: {0}")]
    Toml(#[from] toml::ser::Error),
    #[error("{what}")]
    Absurd { what: String },
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    #[error("{url} names no database")]
    NoDatabase { url: String },
    #[error("{workload} runs on PostgreSQL's protocol only")]
    NotOnMysql { workload: String },
    #[error("--scale: {0}")]
    Scale(#[from] ScaleError),
    #[error(transparent)]
    Sysbench(#[from] OptionsError),
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
    #[error("another session of {url} has kept {table} locked for {seconds} s: {source}")]
    Locked { table: String, url: String, seconds: u64, source: Box<QueryError> },
    /// The server does not allow as many connections as the load needs.
    #[error(
        "the load asks for {wanted} clients, and {url} has room for {free} more connections{}",
        of_each(sharing)
    )]
    TooFewConnections { url: String, wanted: u32, free: u32, sharing: Vec<String>, fits: Vec<u32> },
    /// MySQL counts prepared statements over all sessions.
    #[error(
        "{wanted} clients with {each} prepared statements each need {}, and max_prepared_stmt_count of {url} leaves \
         room for {free}{}",
        u64::from(*.wanted) * .each, of_each(sharing)
    )]
    TooFewStatements { url: String, wanted: u32, each: u64, free: u64, sharing: Vec<String>, fits: Vec<u32> },
    /// Several targets of which a load would read, each something else.
    #[error("{detail}: {expected} against {found}")]
    DataDiffer { detail: String, expected: String, found: String },
    #[error(
        "sessions on {url} begin with autocommit off: nothing that a single statement writes would ever be committed"
    )]
    NoAutocommit { url: String },
    #[error("the load could not be started on {url}: {source}")]
    Engine { url: String, source: Box<EngineError> },
    #[error("{workload} with {clients} clients on {url} broke off: {source}")]
    LoadBroken { workload: String, clients: u32, url: String, source: Box<EngineError> },
    #[error("{workload} with {clients} clients on {url} ended early: {why}")]
    StageCut { workload: String, clients: u32, url: String, why: String, advice: Option<&'static str> },
    /// Of which stage, and what it said last.
    #[error("the server {url} went away during {during}: {said}")]
    ServerGone { url: String, during: String, said: String },
    #[error("two targets are called {name}")]
    SameName { name: String },
    #[error("{option}: no target is called {name}")]
    NoSuchTarget { option: &'static str, name: String, known: Vec<String> },
    #[error("{option}: there is no stage or series `{stage}`")]
    NoSuchStage { option: &'static str, stage: String, known: String },
    /// `url` is without any password.
    #[error("--host-metrics {url} does not say of which target")]
    WhoseHost { url: String },
    #[error(transparent)]
    NodeExporter(#[from] NodeExporterError),
    #[error("--host-metrics of {name}: {source}")]
    HostMetrics { name: String, source: NodeExporterError },
    #[error(
        "the clients are to share {wanted} connections, and {url} has room for {free} more{}",
        of_each(sharing)
    )]
    TooFewToShare { url: String, wanted: u32, free: u32, sharing: Vec<String> },
    /// `said` are the last lines of it, if it said anything.
    #[error(
        "a hook failed on {target} with {status}: {action}{}",
        said.as_ref().map(|said| format!("\n{said}")).unwrap_or_default()
    )]
    Hook { target: String, action: String, status: String, said: Option<String> },
    #[error("{url} took no session for {seconds} s: {source}")]
    NotBack { url: String, seconds: u64, source: Box<ConnectError> },
    #[error("cannot start a thread: {0}")]
    NoThread(#[source] std::io::Error),
    #[error("the thread that loaded a target ended unexpectedly")]
    SystemBroken,
    #[error("{}", lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    TargetsLost { lost: Vec<LostTarget> },
    /// A load that had to end because the run does. What it comes from is told by who ends it.
    #[error("the run ends with a failure on another target")]
    Cancelled,
    /// Never of one alone.
    #[error("{}", failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nand "))]
    Several { failures: Vec<Failure> },
    /// The run is stored, with what the server said.
    #[error("nothing was measured: no transaction of {run} ended well")]
    NothingDone { run: String },
    #[error("interrupted")]
    Interrupted,
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: the directory {} does not exist", path.display(), directory.display())]
    NoDirectory { path: PathBuf, directory: PathBuf },
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] dyno_report::serve::ServeError),
    #[cfg(feature = "serve")]
    #[error("cannot read the token from {}: {source}", path.display())]
    TokenFile { path: PathBuf, source: std::io::Error },
    #[cfg(not(feature = "serve"))]
    #[error("this dyno was built without its server (cargo feature `serve`)")]
    NotServed,
    #[error("there is no store {}", path.display())]
    NoStore { path: PathBuf },
    #[error("no run is stored yet: there is no {}", path.display())]
    NothingStored { path: PathBuf },
    #[error("the result must not be used (--strict): {}", evidence.join("; "))]
    Strict { evidence: Vec<String> },
    #[error("no directory for dyno's data: neither XDG_DATA_HOME nor HOME is set")]
    NoHome,
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

/// Targets between which a server's room is divided; nothing where there is one.
fn of_each(sharing: &[String]) -> String {
    if sharing.is_empty() {
        String::new()
    } else {
        format!(" for each of its targets {}", sharing.join(", "))
    }
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
        Self::Absurd {
            what: format!(
                "{one} and {other} are the same database, and what is written to the one would be found in the other: give \
                 each a database of its own"
            ),
        }
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
            Self::ScenarioUnknown { .. } => Some(
                "`dyno scenarios` lists those that come with dyno; a file of your own is named with its path"
                    .to_owned(),
            ),
            Self::NameUnknown { .. } => Some(
                "`dyno scenarios` and `dyno workloads` list those that come with dyno; a file of your own is named with \
                 its path"
                    .to_owned(),
            ),
            Self::NameAmbiguous { .. } => {
                Some("type more of its name, or write --workload before a workload's".to_owned())
            }
            Self::NoDatabase { .. } => {
                Some("name the one that the tables are to be made in: mysql://user@host/DATABASE".to_owned())
            }
            Self::NotOnMysql { .. } => Some(
                "sysbench's tests run on both, such as sysbench/oltp_read_write (`dyno workloads` lists them)".to_owned(),
            ),
            Self::ScenarioIsTarget { .. } => {
                Some("did you mean --target? It stands before a database's URL".to_owned())
            }
            Self::OfFrontEnd { .. } => Some("leave out its table `front-end`".to_owned()),
            Self::OptionsOfFrontEnd { .. } => {
                Some("leave out the other options; `dyno report RUN` shows the command line".to_owned())
            }
            Self::HiddenWord { .. } => Some("type the command line again".to_owned()),
            Self::HiddenHook { .. } => {
                Some("name it again: --before or --after replaces the stored ones of its kind".to_owned())
            }
            Self::ScenarioVersion { .. } => {
                Some("`dyno plan` with the options writes one of this version".to_owned())
            }
            Self::ScenarioWrong { is_old: true, named, .. } if !named.ends_with(".lua") => {
                Some("a scenario is what `dyno plan` writes: `dyno plan OPTIONS > FILE.toml` (docs/scenario.md)".to_owned())
            }
            Self::ScenarioWrong { named, .. } if named.ends_with(".lua") => {
                Some(format!("a Lua script is for `dyno sysbench {named} run`"))
            }
            Self::DataDiffer { .. } => Some(
                "run with --prepare, which makes the data of all targets anew, or with --no-verify, which takes them as \
                 they are"
                    .to_owned(),
            ),
            Self::TooFewConnections { fits, free, .. } => {
                let list = fits.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                Some(if fits.is_empty() {
                    "end other sessions, or raise max_connections on the server".to_owned()
                } else {
                    format!(
                        "use --clients {list} (at most {free}) or a ramp up to {free}, let them share connections \
                         (--connections {free}), \
                         end other sessions, or raise max_connections"
                    )
                })
            }
            Self::TooFewStatements { fits, wanted, each, .. } => {
                let list = fits.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                let fewer =
                    if fits.is_empty() { String::new() } else { format!("use --clients {list}, ") };
                let needed = u64::from(*wanted) * each;
                Some(format!(
                    "{fewer}take fewer --tables or --protocol simple, or raise it on the server: SET GLOBAL \
                     max_prepared_stmt_count = {needed} or more"
                ))
            }
            Self::NoAutocommit { .. } => {
                Some("turn it on for new sessions: SET GLOBAL autocommit = 1".to_owned())
            }
            Self::StageCut { advice, .. } => advice.map(str::to_owned),
            Self::Locked { .. } => Some(
                "end that session, or wait until it is done (pg_locks and pg_stat_activity show it)"
                    .to_owned(),
            ),
            Self::Engine { source, .. } => engine_help(source),
            Self::ServerGone { .. } => Some("look into the server's log".to_owned()),
            Self::SameName { .. } => {
                Some("give each a name of its own: --target old=URL --target new=URL".to_owned())
            }
            Self::NoSuchTarget { known, .. } => {
                Some(format!("the targets of this run are {}", known.join(", ")))
            }
            Self::NoSuchStage { known, .. } => Some(format!("there are {known}")),
            Self::WhoseHost { .. } => Some("write its name before it: --host-metrics NAME=URL".to_owned()),
            Self::TooFewToShare { free, .. } => Some(format!(
                "use --connections {free} or fewer, end other sessions, or raise max_connections"
            )),
            Self::TargetsLost { lost } => lost.iter().find_map(|lost| lost.failure.help()),
            Self::Several { failures } => failures.iter().find_map(Self::help),
            Self::NoStore { path } => Some(format!(
                "look for a mistyped --store (or DYNO_STORE); `dyno run --store {}` makes one there",
                path.display()
            )),
            Self::NoThread(_) => Some("allow more: `ulimit -u`, or pids.max of the control group".to_owned()),
            Self::NothingStored { .. } => {
                Some("`dyno run` stores one there; --store FILE (or DYNO_STORE) names another store".to_owned())
            }
            Self::NothingDone { run } => {
                Some(format!("`dyno report {run}` shows what the server said of them"))
            }
            Self::Strict { .. } => Some("`dyno findings` shows what to do".to_owned()),
            Self::NoHome => Some("name the store with --store FILE".to_owned()),
            _ => None,
        }
    }
}

fn engine_help(error: &EngineError) -> Option<String> {
    let (source, connected) = match error {
        EngineError::Connect { source, connected, .. } => (source, connected),
        EngineError::Poll(_) => return Some("the load needs epoll_pwait2: Linux 5.11 or newer".to_owned()),
        _ => return None,
    };
    match source.server_error().and_then(Cause::of) {
        Some(Cause::TooManyConnections) => Some(format!(
            "the server took {connected} connections: use fewer clients, or raise max_connections"
        )),
        Some(Cause::TooManyStatements) => Some(
            "others prepare statements there too: use fewer clients or --protocol simple, or raise max_prepared_stmt_count"
                .to_owned(),
        ),
        Some(Cause::NoSuchTable) => Some("the tables are missing: run again with --prepare".to_owned()),
        Some(cause) if of_statement(cause).is_some() => of_statement(cause).map(str::to_owned),
        _ if matches!(source, SessionError::Prepare(_)) => None,
        _ if *connected > 0 => Some("use fewer clients, or look into the server's log".to_owned()),
        _ => None,
    }
}

/// What helps against what a server says of a workload's statement. To make the data anew deletes what is there, and is
/// said only where it helps.
pub(crate) fn of_statement(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::SessionShared => {
            "is it a pooler in transaction mode, which lends one session to several clients? Run with --protocol simple or \
             extended, or have the pooler track prepared statements (PgBouncer: max_prepared_statements)"
        }
        Cause::Denied => {
            "the user lacks a right on the table that is named: GRANT SELECT, INSERT, UPDATE, DELETE on the workload's \
             tables to it, or name another user"
        }
        Cause::OtherColumns => {
            "the tables are others than the workload's: name another database, or run again with --prepare, which drops \
             them and makes them anew"
        }
        Cause::NotPreparable => "the server does not prepare this statement: run with --protocol simple",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use dyno_wire::endpoint::Address;
    use dyno_wire::my::error::{MySqlError, SqlState};

    use super::*;

    #[test]
    fn only_what_helps_is_advised_where_a_statement_cannot_be_prepared() {
        let help = |number| {
            let error = MySqlError { number, state: SqlState::UNKNOWN, message: String::new() };
            let source = SessionError::Prepare(Box::new(error).into());
            let address = Address::Tcp(([127, 0, 0, 1], 3306).into());
            engine_help(&EngineError::Connect { address, connected: 1, wanted: 2, source })
        };
        for (number, word) in [
            (1243, "pooler in transaction mode"),
            (1142, "GRANT"),
            (1295, "--protocol simple"),
            (1146, "--prepare"),
            (1054, "--prepare, which drops"),
        ] {
            let advice = help(number).unwrap();
            assert!(advice.contains(word), "{number}: {advice}");
            assert_eq!(advice.contains("--prepare"), word.contains("--prepare"), "{advice}");
        }
        assert_eq!(help(1064), None, "a statement that is not understood");
    }
}
