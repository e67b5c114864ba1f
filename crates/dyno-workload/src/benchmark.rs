//! What a campaign asks of a family of workloads, whichever it is: what is there, make it, load it, check it.
//!
//! Three steps, each knowing more than the one before: a [`Benchmark`] is what the user wants, a [`Dataset`] is the data
//! of it that a server holds, a [`SeriesLoad`] is one series on that data. Nothing here knows a campaign or a report.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use dyno_engine::workload::Workload;
use dyno_results::event::{Check, Figure, OwnCount, ResponseLimit};
use dyno_results::spec::{Protocol, Segment};
use dyno_target::connection::{Connection, QueryError};
use dyno_target::inspect;
use dyno_target::product::Dialect;
use dyno_target::statements::UserStatement;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

pub use crate::dataset::ExpectedRows;
use crate::dataset::{NotReady, PrepareError, SizeError, StateError, TableError, count_rows};
use crate::limits;
pub use crate::site::{LOCK_WAIT, Progress, Site};

/// A family of workloads as the user wants it: which of its workloads, on how much data. It knows no server yet.
pub trait Benchmark: Debug + Send + Sync {
    /// `tpcb`: in events and on the command line.
    fn name(&self) -> &'static str;

    /// The series in the order in which they run; never empty.
    fn series(&self) -> Vec<Series>;

    /// What the user says of a workload that its name leaves open, for its headline.
    fn detail(&self, _workload: &str) -> Option<String> {
        None
    }

    /// How large the data is, on each product on which that was measured, PostgreSQL first, or on the target; empty where the user
    /// leaves open how much it is.
    fn sizes_wanted(&self) -> Vec<DataSize>;

    /// Which of several ways it is to keep the same data in one database, each in tables of its own; `None` where there is one.
    fn variant(&self) -> Option<&str> {
        None
    }

    /// Looks whether the target has what one of the [`series`](Self::series) requires, by its place, before any data is made.
    ///
    /// # Errors
    /// A user's own statements cannot be sent so.
    fn check(&self, _series: usize, _sending: &Sending) -> Result<(), BenchmarkError> {
        Ok(())
    }

    /// Looks what stands on the server. Reads only, and little; `None` where nothing does.
    ///
    /// # Errors
    /// What stands there cannot be used, or is not what was asked for.
    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError>;

    /// The error of a user who wants no data made where there is none.
    fn missing(&self) -> BenchmarkError;

    /// Drops what is there and makes it anew, as large as the user says or else as suits the site: over `connection`, or
    /// over others that it opens. Where that ends early, the data is not usable, and [`find`](Self::find) says so.
    ///
    /// # Errors
    /// The size is absurd or does not fit, the server refuses a step, or [`Site::stop`] was set.
    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError>;

    /// Adds rows until each of [`Dataset::tables`] has as many as `rows` says, in their order; tables that have more stay.
    /// Where that ends early, what was added until then stays.
    ///
    /// # Errors
    /// The family's rows cannot be added to, they do not fit, the server refuses a step, or [`Site::stop`] was set.
    fn top_up(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        rows: &[u64],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let _ = (connection, site, rows, progress);
        Err(BenchmarkError::NoTopUp { family: self.name() })
    }
}

/// How large data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSize {
    /// Of tables, keys and indexes as they are loaded.
    pub bytes: u64,
    /// [`Capabilities::protocol`](dyno_target::Capabilities::protocol) of the targets for which it holds.
    pub protocol: &'static str,
    /// On which it was measured, `PostgreSQL 15`; `None` where it is reckoned from the rows.
    pub product: Option<&'static str>,
}

/// The data of a benchmark on a server, whole and usable.
pub struct Dataset {
    /// The scale, where the family has one.
    pub scale: Option<f64>,
    /// Names of the tables, on the connection's search path.
    pub tables: Vec<String>,
    /// Rows of each table where they were looked up; servers only estimate them.
    pub table_rows: Option<u64>,
    /// What decides over its rows to the byte: data of the same recipe was made the same on every server, and differs
    /// only by what was written since. `None` where that cannot be said.
    pub recipe: Option<String>,
    /// Whether its rows are counted again after a load; a family may do that in its checks alone.
    pub counts: bool,
    /// How many rows each of the tables must have before a load, in their order; empty where nothing is known of them.
    pub expected: Vec<ExpectedRows>,
    pub(crate) loads: Box<dyn Fn() -> Vec<Box<dyn SeriesLoad>> + Send>,
}

impl Dataset {
    /// On these tables, each test with a load.
    pub(crate) fn new<T: Copy + Send + 'static, L: SeriesLoad + 'static>(
        tables: Vec<String>,
        tests: &[T],
        load: impl Fn(T) -> L + Send + 'static,
    ) -> Self {
        let tests = tests.to_vec();
        let boxed = move |test| Box::new(load(test)) as Box<dyn SeriesLoad>;
        let loads = Box::new(move || tests.iter().copied().map(&boxed).collect());
        Self {
            scale: None,
            tables,
            table_rows: None,
            recipe: None,
            counts: false,
            expected: Vec::new(),
            loads,
        }
    }

    /// Counts the rows of each table, in their order, by reading all of them. Nothing may move meanwhile.
    ///
    /// # Errors
    /// The tables cannot be read.
    pub fn count(&self, connection: &mut Connection) -> Result<Vec<u64>, BenchmarkError> {
        limits::lift(connection);
        Ok(count_rows(connection, &self.tables)?)
    }

    /// The loads, one for each of [`Benchmark::series`] and in its order.
    #[must_use]
    pub fn loads(&self) -> Vec<Box<dyn SeriesLoad>> {
        (self.loads)()
    }
}

impl Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset").field("tables", &self.tables).finish_non_exhaustive()
    }
}

/// One workload on the data that is there.
pub trait SeriesLoad: Send + Sync {
    fn series(&self) -> Series;

    /// What the engine drives.
    ///
    /// # Errors
    /// A user's own statements cannot be sent so.
    fn workload(&self, sending: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError>;

    /// Why its clients cannot be of several generators; `None` where they can.
    fn undivided(&self) -> Option<&'static str> {
        None
    }

    /// What must stand beside its figures; `None` where nothing must.
    fn caveat(&self) -> Option<&'static str> {
        None
    }

    /// What so many clients of it count beside transactions; `None` where nothing.
    ///
    /// # Errors
    /// What a user has written of it cannot be computed.
    fn figure(&self, clients: u32) -> Result<Option<Figure>, BenchmarkError> {
        let _ = clients;
        Ok(None)
    }

    /// The limits of its transactions' response times.
    fn response_limits(&self) -> Vec<ResponseLimit> {
        Vec::new()
    }

    /// What it counts within its transactions; of each type in the order of its slots.
    fn counts(&self) -> Vec<OwnCount> {
        Vec::new()
    }

    /// From how many clients on they wait for each other's rows; `None` where they do not.
    fn contention(&self) -> Option<Contention> {
        None
    }

    /// How many clients run it where nobody says how many; `None` where a ladder finds that.
    fn terminals(&self) -> Option<u32> {
        None
    }

    /// Brings the data into the state in which a load begins; for one that goes on from whatever is there, nothing. `tell` hears of rows that somebody may miss afterwards;
    /// `None` where nobody can.
    ///
    /// # Errors
    /// The tables are missing, not this user's, or in use by somebody for longer than [`LOCK_WAIT`].
    fn reset(
        &self,
        connection: &mut Connection,
        tell: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        let _ = (connection, tell);
        Ok(())
    }

    /// What its clients may send, where it is a user's own.
    fn user_statements(&self) -> Vec<UserStatement> {
        Vec::new()
    }

    /// What the first client of a pass sends, with the name of each query, by the seed of the run; empty where there are no passes.
    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        let _ = seed;
        Vec::new()
    }

    /// What its clients were told since the baseline, beyond what is counted of every load: [`Baseline::verify`] takes it. They must be gone.
    fn acknowledged(&self) -> Value {
        Value::Null
    }

    /// Reads what [`Baseline::verify`] compares with; `None` where nothing is known of the tables. Nothing may move
    /// meanwhile.
    ///
    /// # Errors
    /// The tables cannot be read.
    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError>;
}

/// How the statements of scripts are sent, and by whom. Other loads leave that to the engine.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    pub protocol: Protocol,
    /// Of the target; `None` where it is sent what pgbench sends.
    pub dialect: Option<Dialect>,
    /// Load threads.
    pub threads: u32,
    pub tries_max: u32,
    pub seed: u64,
    /// Whose of all load generators the clients are.
    pub segment: Segment,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            protocol: Protocol::Prepared,
            dialect: None,
            threads: 1,
            tries_max: 1,
            seed: 0,
            segment: Segment::default(),
        }
    }
}

/// A query of a query set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedQuery {
    pub name: String,
    /// With which its session runs it.
    pub settings: Vec<String>,
    pub sql: String,
    /// It has several statements.
    pub several: bool,
    /// As far as its words tell.
    pub only_reads: bool,
    /// With what the names of this variant's tables begin, where those of other variants begin otherwise.
    pub table_prefix: Option<String>,
}

/// Compares the data before a load with what is there afterwards.
type Verify = dyn Fn(&mut Connection, &str, Done, &[Value]) -> Result<Vec<Check>, BenchmarkError> + Send;

/// The data before a load.
pub struct Baseline {
    verify: Box<Verify>,
    /// What is wrong with it already.
    pub told: Vec<String>,
}

impl Debug for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Baseline")
    }
}

impl Baseline {
    pub(crate) fn new<E: Into<BenchmarkError>>(
        verify: impl Fn(&mut Connection, &str, Done, &[Value]) -> Result<Vec<Check>, E> + Send + 'static,
    ) -> Self {
        let verify =
            Box::new(move |connection: &mut Connection, target: &str, done, acknowledged: &[Value]| {
                verify(connection, target, done, acknowledged).map_err(E::into)
            });
        Self { verify, told: Vec::new() }
    }

    pub(crate) fn telling(self, told: Vec<String>) -> Self {
        Self { told, ..self }
    }

    /// Compares what is there now, after a load that `done` says, and of each generator what was
    /// [acknowledged](SeriesLoad::acknowledged); `target` is the short name for the checks. Nothing may move meanwhile.
    ///
    /// # Errors
    /// The tables cannot be read. A check that fails is no error: it is among those returned.
    pub fn verify(
        &self,
        connection: &mut Connection,
        target: &str,
        done: Done,
        acknowledged: &[Value],
    ) -> Result<Vec<Check>, BenchmarkError> {
        (self.verify)(connection, target, done, acknowledged)
    }
}

/// What each generator's clients were told, as a family writes it.
pub(crate) fn read_acknowledged<'v, T: Deserialize<'v>>(
    acknowledged: &'v [Value],
) -> impl Iterator<Item = T> {
    acknowledged.iter().filter_map(|told| T::deserialize(told).ok())
}

/// Stages that make one curve and one hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// `read` or `write`; [`dyno_results::event::Stage::series`].
    pub name: &'static str,
    /// `tpcb/select-only`
    pub workload: &'static str,
    /// Whether it may change the data.
    pub writes: bool,
    /// Transactions of a pass, where its stages are passes over queries and not load for a time.
    pub pass: Option<u64>,
    /// Transactions of fixed work, which one client does, whatever load is asked for: that is for the other series of its family.
    pub fixed: Option<u64>,
    /// How long its clients pause from one transaction to the next, on average, as the workload says; of a mix before and behind the
    /// transaction where that is longest.
    pub pauses: Duration,
}

impl Series {
    /// That reads or writes, which is its name.
    pub(crate) fn of(workload: &'static str, writes: bool) -> Self {
        let name = if writes { "write" } else { "read" };
        Self { name, workload, writes, pass: None, fixed: None, pauses: Duration::ZERO }
    }
}

/// The SQL of the server, which is asked what it is.
pub(crate) fn dialect(connection: &mut Connection) -> Result<Dialect, BenchmarkError> {
    let failed = |source| BenchmarkError::Query { doing: "ask the server what it is", source };
    Ok(inspect::recognise(connection).map_err(failed)?.dialect)
}

/// Clients beyond these wait for each other's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contention {
    pub clients: u32,
    /// What more of them would do, and how to go further; without its full stop.
    pub why: &'static str,
}

/// What a load did, by what its clients were told; the drain included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Transactions whose commit was acknowledged.
    pub acknowledged: u64,
    /// Of these, those that undid what they did, by design.
    pub rolled_back: u64,
    /// Transactions whose connection was lost with the commit under way.
    pub unknown: u64,
    /// Transactions that failed for good.
    pub failed: u64,
    /// Further tries.
    pub retries: u64,
    /// Statements that changed at least one row, where the workload tells.
    pub writes: u64,
}

impl Done {
    pub fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.rolled_back += other.rolled_back;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.retries += other.retries;
        self.writes += other.writes;
    }
}

/// Why a benchmark cannot be had on a server.
#[derive(Debug, Error)]
pub enum BenchmarkError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error(transparent)]
    Table(#[from] TableError),
    /// What a family does not take.
    #[error(transparent)]
    Wrong(Box<dyn std::error::Error + Send + Sync>),
    #[error("the options of the data are wrong: {0}")]
    WrongOptions(serde_json::Error),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error(
        "the data of {family} cannot be topped up: its loads change rows that are there; run with --prepare to make it anew"
    )]
    NoTopUp { family: &'static str },
    #[error(transparent)]
    Preparation(Box<PrepareError>),
    #[error("another session has kept {table} locked for {seconds} s: {source}")]
    Locked { table: String, seconds: u64, source: QueryError },
    #[error("cannot {doing}: {source}")]
    Query { doing: &'static str, source: QueryError },
    /// By a variant ([`Benchmark::variant`]), which is not made for it.
    #[error("cannot be done: {said}")]
    Refused { said: String },
}

impl BenchmarkError {
    /// What the server has said to something that a variant cannot do, and in which step of the preparation, if it was in one;
    /// `None` where something else is wrong.
    #[must_use]
    pub fn refusal(&self) -> Option<(Option<&'static str>, String)> {
        match self {
            Self::Refused { said } => Some((None, said.clone())),
            Self::Preparation(error) => error.refusal().map(|(step, said)| (Some(step), said)),
            _ => None,
        }
    }
}

impl From<PrepareError> for BenchmarkError {
    fn from(error: PrepareError) -> Self {
        Self::Preparation(Box::new(error))
    }
}
