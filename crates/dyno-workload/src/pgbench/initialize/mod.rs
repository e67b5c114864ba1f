//! `pgbench -i`: makes the four tables and their rows, step by step, with pgbench's own statements and messages.
//!
//! What it says is the raw text that standard error gets. After an error a transaction may be open: as pgbench does,
//! the caller ends the connection, which undoes it.

mod progress;
mod statements;
mod steps;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_target::connection::{Connection, QueryError};
use thiserror::Error;

use crate::dataset::JobError;
use crate::dataset::bulk::pieces;
use crate::pgbench::tables::{Table, TpcbRows};

use super::failure_text::failure_text;
use progress::ProgressLines;
pub use steps::{Step, StepsError};

/// How the accounts are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PartitionMethod {
    #[default]
    Range,
    Hash,
}

impl PartitionMethod {
    /// As `--partition-method` and the report have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
        }
    }
}

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialization {
    /// In their order.
    pub steps: Vec<Step>,
    /// At least 1.
    pub scale: u32,
    /// Percent of a page that is filled, of all tables but the history; 10 to 100.
    pub fillfactor: u8,
    /// A line of progress each five seconds, not each 100,000 rows.
    pub quiet: bool,
    pub tablespace: Option<String>,
    pub index_tablespace: Option<String>,
    /// Of the accounts; 0 for one plain table.
    pub partitions: u32,
    /// Of no meaning without partitions.
    pub partition_method: PartitionMethod,
    pub unlogged: bool,
}

impl Default for Initialization {
    /// What `pgbench -i` makes.
    fn default() -> Self {
        Self {
            steps: Step::USUAL.to_vec(),
            scale: 1,
            fillfactor: 100,
            quiet: false,
            tablespace: None,
            index_tablespace: None,
            partitions: 0,
            partition_method: PartitionMethod::default(),
            unlogged: false,
        }
    }
}

impl Initialization {
    /// Goes through the steps. `terminal` says whether standard error is one: lines of progress then cover each other.
    /// `stop` is looked at before each statement and between blocks of rows; a statement that runs is ended by the
    /// connection's [`CancelHandle`](dyno_target::connection::CancelHandle) alone.
    ///
    /// # Errors
    /// The server refuses a statement, the connection is lost, or `stop` was set.
    pub fn run(
        &self,
        connection: &mut Connection,
        terminal: bool,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), InitializeError> {
        let mut execution = Execution { options: self, connection, terminal, stop, say };
        let mut total = Duration::ZERO;
        let mut times = Vec::new();
        for &step in &self.steps {
            let started = Instant::now();
            execution.step(step)?;
            let elapsed = started.elapsed();
            total += elapsed;
            times.push(format!("{} {:.2} s", step.name(), elapsed.as_secs_f64()));
        }
        say(&format!("done in {:.2} s ({}).\n", total.as_secs_f64(), times.join(", ")));
        Ok(())
    }
}

/// An initialisation under way.
struct Execution<'a> {
    options: &'a Initialization,
    connection: &'a mut Connection,
    terminal: bool,
    stop: &'a AtomicBool,
    say: &'a mut dyn FnMut(&str),
}

impl Execution<'_> {
    fn step(&mut self, step: Step) -> Result<(), InitializeError> {
        (self.say)(step.announcement());
        match step {
            Step::DropTables => self.execute(&Initialization::drop_sql()),
            Step::CreateTables => self.create_tables(),
            Step::ClientSideGenerate => self.generate_here(),
            Step::ServerSideGenerate => self.generate_there(),
            Step::Vacuum => self.execute_all(Initialization::vacuum_sql()),
            Step::PrimaryKeys => self.execute_all(self.options.primary_keys_sql()),
            Step::ForeignKeys => self.execute_all(Initialization::foreign_keys_sql()),
        }
    }

    fn create_tables(&mut self) -> Result<(), InitializeError> {
        self.execute_all(self.options.create_sql())?;
        if self.options.partitions > 0 {
            (self.say)(&format!("creating {} partitions...\n", self.options.partitions));
        }
        self.execute_all(self.options.partitions_sql())
    }

    /// In one transaction that truncates the tables first, for only that lets COPY write rows as already frozen.
    fn generate_here(&mut self) -> Result<(), InitializeError> {
        self.execute("begin")?;
        self.execute(&Initialization::truncate_sql())?;
        for table in [Table::Branches, Table::Tellers, Table::Accounts] {
            self.copy(table)?;
        }
        self.execute("commit")
    }

    fn generate_there(&mut self) -> Result<(), InitializeError> {
        self.execute("begin")?;
        self.execute(&Initialization::truncate_sql())?;
        self.execute_all(self.options.generate_sql())?;
        self.execute("commit")
    }

    fn copy(&mut self, table: Table) -> Result<(), InitializeError> {
        let freeze = if self.takes_frozen_rows(table)? { " with (freeze on)" } else { "" };
        let sql = format!("copy {} from stdin{freeze}", table.name());
        self.go_on()?;
        let options = self.options;
        let mut lines =
            ProgressLines::new(table.name(), table.rows(options.scale), options.quiet, self.terminal);
        let (mut done, started) = (0, Instant::now());
        let mut copy = self
            .connection
            .copy_in(&sql)
            .map_err(|source| InitializeError::CopyRefused { text: failure_text(&source, &sql), source })?;
        let sent = pieces(TpcbRows::of(table, options.scale), |piece, added| {
            copy.send(piece)?;
            done += added;
            lines.advance(done, started.elapsed(), self.say);
            // Dropped unfinished, the copy is given up.
            if self.stop.load(Ordering::Relaxed) { Err(JobError::Stopped) } else { Ok(()) }
        });
        match sent.and_then(|_| Ok(copy.finish()?)) {
            Ok(_) => {
                lines.end(self.say);
                Ok(())
            }
            Err(JobError::Query(source)) => {
                // libpq prints what the server objected to by itself.
                (self.say)(&format!("{}\n", failure_text(&source, &sql)));
                Err(InitializeError::CopyFailed { source })
            }
            Err(_) => Err(InitializeError::Stopped),
        }
    }

    /// Whether COPY may write rows as frozen: a partitioned table does not take them, and before server 14 that gained
    /// nothing, as VACUUM had to visit the pages again.
    fn takes_frozen_rows(&mut self, table: Table) -> Result<bool, InitializeError> {
        let version = self.connection.server_version().unwrap_or_default();
        let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse().ok());
        if major.is_none_or(|major: u32| major < 14) {
            return Ok(false);
        }
        let sql = format!(
            "SELECT relkind FROM pg_catalog.pg_class WHERE oid='{}'::pg_catalog.regclass",
            table.name()
        );
        let kind: Option<String> =
            self.connection.query_value(&sql).map_err(|source| InitializeError::query(source, &sql))?;
        Ok(kind.as_deref() != Some("p"))
    }

    fn execute_all(&mut self, statements: impl IntoIterator<Item = String>) -> Result<(), InitializeError> {
        statements.into_iter().try_for_each(|sql| self.execute(&sql))
    }

    fn execute(&mut self, sql: &str) -> Result<(), InitializeError> {
        self.go_on()?;
        let outcome = self.connection.execute(sql);
        self.connection.take_notices().iter().for_each(|notice| (self.say)(notice));
        outcome.map(drop).map_err(|source| InitializeError::query(source, sql))
    }

    fn go_on(&self) -> Result<(), InitializeError> {
        if self.stop.load(Ordering::Relaxed) { Err(InitializeError::Stopped) } else { Ok(()) }
    }
}

/// Why the tables were not made. Shows itself as pgbench does behind `pgbench: error: `.
#[derive(Debug, Error)]
pub enum InitializeError {
    #[error("query failed: {text}")]
    Query { text: String, sql: String, source: QueryError },
    #[error("unexpected copy in result: {text}")]
    CopyRefused { text: String, source: QueryError },
    /// What the server objected to has been said.
    #[error("PQendcopy failed")]
    CopyFailed { source: QueryError },
    #[error("initialization was stopped before its end; the tables are not complete")]
    Stopped,
}

impl InitializeError {
    fn query(source: QueryError, sql: &str) -> Self {
        Self::Query { text: failure_text(&source, sql), sql: sql.to_owned(), source }
    }

    /// What pgbench prints behind `pgbench: detail: `.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Query { sql, .. } => Some(format!("Query was: {sql}")),
            _ => None,
        }
    }
}
