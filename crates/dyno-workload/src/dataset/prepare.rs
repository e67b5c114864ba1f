//! Makes tables and their rows in steps, each timed: drop, tables, data, keys, indexes, analyze.
//!
//! Work is dealt out to several connections: whole tables where rows are loaded best in one transaction (PostgreSQL's
//! COPY with FREEZE), else parts of tables, so that a single large table is loaded by all of them too.

use std::sync::atomic::AtomicBool;

use dyno_target::catalog::{self, Names};
use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::{self, Dialect};

use super::bulk::Bulk;
use super::rows::{RowRange, Rows};
use super::steps::{Planned, StepStatement, Steps, Work, run_list};
use super::worker_pool::{JobContext, JobError, News, OpenConnection, WorkerPool};
use super::{Found, PrepareError, Table, Terms, mark};
use crate::limits;
use crate::site::{LOCK_WAIT, Progress, Site};

/// Tables that are dropped in one statement; each takes a lock of the server's.
const DROPPED_TOGETHER: usize = 16;

/// What is made, and how. Statements in one list run one after the other.
#[derive(Debug)]
pub(crate) struct Preparation<'a> {
    pub terms: &'static Terms,
    /// The target's short name, for the steps that are reported.
    pub target: &'a str,
    pub dialect: &'a Dialect,
    /// Connections that work at the same time; at least 1.
    pub threads: u32,
    /// Once it is set, the preparation ends before the next statement, and a load before the next piece.
    pub stop: Option<&'a AtomicBool>,
    /// What an index build may take of the server's memory; `None` where the server's default does.
    pub sort_megabytes: Option<u64>,
    /// Whether tables of these names are dropped before.
    pub replace: bool,
    pub tables: Vec<Table>,
    /// What the tables say of themselves while they are made, and afterwards.
    pub comments: [String; 2],
    /// Whether rows may come frozen, as if they had been vacuumed, where the server can do that.
    pub frozen: bool,
    /// Statements that each session begins with.
    pub settings: Vec<String>,
    /// Keys, indexes and statistics that the server refuses are told and left out.
    pub refusable: bool,
}

/// Some rows of one table, `first` to `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its place among the tables.
    pub table: usize,
    pub first: u64,
    pub last: u64,
    /// Its number among all parts: that of its random stream.
    pub stream: u32,
}

impl<'a> Preparation<'a> {
    /// Replaces tables at a site. They say `comment` of themselves once they are whole.
    pub(crate) fn new<F: Found>(
        site: &Site<'a>,
        dialect: &'a Dialect,
        tables: Vec<Table>,
        comment: String,
    ) -> Self {
        Self::of(site, dialect, tables, F::TERMS, [F::MARKS.unfinished(), comment])
    }

    /// The same of tables whose terms and comments are known only now.
    pub(crate) fn of(
        site: &Site<'a>,
        dialect: &'a Dialect,
        tables: Vec<Table>,
        terms: &'static Terms,
        comments: [String; 2],
    ) -> Self {
        Self {
            terms,
            target: site.target,
            dialect,
            threads: site.prepare_threads(),
            stop: Some(site.stop),
            sort_megabytes: None,
            replace: true,
            tables,
            comments,
            frozen: true,
            settings: Vec::new(),
            refusable: false,
        }
    }

    /// Runs the steps, `first` being one of the connections; `rows` are those of a part.
    ///
    /// # Errors
    /// No connection can be opened, the server refuses a step, or [`Self::stop`] was set; the tables are then not usable.
    pub(crate) fn run<R: Rows>(
        &self,
        first: &mut Connection,
        open: OpenConnection<'_>,
        rows: impl Fn(&Part) -> R + Sync,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), PrepareError> {
        let dialect = if self.frozen { *self.dialect } else { self.unfrozen() };
        let bulk = Bulk::new(&dialect);
        let mut steps = self.steps(&bulk, first, open, progress)?;
        let [unfinished, whole] = &self.comments;
        if self.replace {
            self.drop_tables(&mut steps)?;
        }
        let tables = self.lists(|table| table.before_load(self.dialect, unfinished));
        steps.run("tables", Planned::Unknown, |pool, hear| pool.run(&tables, run_numbered, hear))?;
        self.load(&mut steps, &bulk, rows)?;
        self.keys(&mut steps)?;
        self.indexes(&mut steps)?;
        let found = match steps.pool.connections().next() {
            Some(connection) => mark::indexes(connection, Names::These(&self.names()))
                .map_err(|error| PrepareError::of(self.terms, "indexes", error.into()))?,
            None => Vec::new(),
        };
        // One after the other: tables that refer to each other cannot be altered at the same time.
        let finish = |table: &Table| {
            let comment = mark::with_indexes(whole, &table.name, &found);
            StepStatement { sql: self.dialect.comments.change(&table.name, &comment), rows: 0 }
        };
        let finish = self.tables.iter().map(finish).collect();
        self.settle(&mut steps, |_| None, finish)
    }

    /// Adds rows behind those that are there; keys and indexes stand.
    ///
    /// # Errors
    /// As [`Self::run`]; what was added until then stays.
    pub(crate) fn append<R: Rows>(
        &self,
        first: &mut Connection,
        open: OpenConnection<'_>,
        rows: impl Fn(&Part) -> R + Sync,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), PrepareError> {
        // Only a table that was emptied in the same transaction takes frozen rows.
        let dialect = self.unfrozen();
        let bulk = Bulk::new(&dialect);
        let mut steps = self.steps(&bulk, first, open, progress)?;
        self.load(&mut steps, &bulk, rows)?;
        self.settle(&mut steps, |table| table.sequence(self.dialect), Vec::new())
    }

    /// Brings rows that are not frozen.
    fn unfrozen(&self) -> Dialect {
        let bulk = match self.dialect.bulk {
            product::Bulk::Copy { .. } => product::Bulk::Copy { freeze: false },
            bulk => bulk,
        };
        Dialect { bulk, ..*self.dialect }
    }

    /// Opens as many connections as can work, and takes limits away that are meant for queries, on these sessions only; a
    /// server that refuses is only slower.
    fn steps<'s>(
        &'s self,
        bulk: &Bulk<'_>,
        first: &'s mut Connection,
        open: OpenConnection<'_>,
        progress: &'s mut dyn FnMut(Progress),
    ) -> Result<Steps<'s>, PrepareError> {
        let jobs = parts(&self.tables, bulk.whole_tables()).len().max(self.tables.len());
        let threads = self.threads.min(self.dialect.writers_max.unwrap_or(u32::MAX)).max(1);
        let mut pool = WorkerPool::new(first, open, jobs.min(threads as usize), self.stop)
            .map_err(|source| PrepareError::Connect { terms: self.terms, source })?;
        let memory = self.dialect.sort_memory.zip(self.sort_megabytes);
        let memory = memory.map(|(sql, megabytes)| sql.replace("{megabytes}", &megabytes.to_string()));
        for connection in pool.connections() {
            limits::lift(connection);
            for setting in self.dialect.load_session.iter().copied().chain(memory.as_deref()) {
                let _ = connection.execute(setting);
            }
            for setting in &self.settings {
                let failed = |error: QueryError| PrepareError::of(self.terms, "settings", error.into());
                connection.execute(setting).map_err(failed)?;
            }
        }
        Ok(Steps { pool, terms: self.terms, target: self.target, progress })
    }

    /// Whoever has the tables in use is waited for; not for ever, where the family says so. Those that refer to others
    /// go first.
    fn drop_tables(&self, steps: &mut Steps<'_>) -> Result<(), PrepareError> {
        let names: Vec<&str> = self.names().into_iter().rev().collect();
        let together = if self.dialect.drops_many { DROPPED_TOGETHER } else { 1 };
        let drop = |names: &[&str]| format!("DROP TABLE IF EXISTS {}", names.join(", "));
        let mut statements: Vec<String> = names.chunks(together).map(drop).collect();
        statements.extend(names.iter().filter_map(|name| self.dialect.comments.drop(name)));
        let [limit, lift] = self.dialect.lock_wait(LOCK_WAIT);
        let limited = self.terms.locked.is_some();
        let drop_some = |connection: &mut Connection, sql: &String, context: &JobContext<'_>| {
            let _ = limited.then(|| connection.execute(&limit));
            let dropped = context.execute(connection, sql);
            let _ = limited.then(|| connection.execute(&lift));
            dropped.map(std::mem::drop)
        };
        steps.run("drop", Planned::Unknown, |pool, hear| pool.run(&statements, drop_some, hear))
    }

    fn load<R: Rows>(
        &self,
        steps: &mut Steps<'_>,
        bulk: &Bulk<'_>,
        rows: impl Fn(&Part) -> R + Sync,
    ) -> Result<(), PrepareError> {
        let send = |connection: &mut Connection, part: &Part, context: &JobContext<'_>| {
            let table = &self.tables[part.table];
            if part.first == table.loaded + 1 {
                context.tell(News::Table(part.table as u32 + 1));
            }
            let range = || RowRange { rows: rows(part), next: part.first, last: part.last };
            bulk.send(connection, table, range, context)
        };
        let total = self.tables.iter().map(|table| (table.rows - table.loaded) * table.rows_each).sum();
        if let Some(why) = bulk.slower().filter(|_| total > 0) {
            (steps.progress)(Progress::Remark(why));
        }
        let parts = parts(&self.tables, bulk.whole_tables());
        steps.run("data", Planned::Rows(total), |pool, hear| {
            pool.run(&parts, send, hear)?;
            self.tell_size(pool, hear, |bytes| bytes.tables)
        })
    }

    /// Keys, which may be made of several tables at the same time.
    fn keys(&self, steps: &mut Steps<'_>) -> Result<(), PrepareError> {
        let lists = self.lists(|table| table.keys(self.dialect));
        let work = Work::of(lists.iter().flat_map(|(_, list)| list));
        steps.run("keys", Planned::Statements(work), |pool, hear| {
            pool.run(&lists, |connection, list, context| self.make(connection, list, context), hear)?;
            self.tell_size(pool, hear, |bytes| bytes.indexes)
        })
    }

    /// Indexes, and then what refers to other tables, where there are such.
    fn indexes(&self, steps: &mut Steps<'_>) -> Result<(), PrepareError> {
        if self.tables.iter().all(|table| table.indexes.is_empty() && table.foreign_keys.is_empty()) {
            return Ok(());
        }
        let lists = self.lists(|table| table.indexes(self.dialect));
        let references = |table: &Table| statements_of(table, table.references(self.dialect));
        let references: Vec<StepStatement> = self.tables.iter().flat_map(references).collect();
        let unresolved: Vec<String> =
            self.tables.iter().flat_map(|table| table.unresolved(self.dialect)).collect();
        let mut broken: u64 = 0;
        let work = Work::of(lists.iter().flat_map(|(_, list)| list).chain(&references));
        steps.run("indexes", Planned::Statements(work), |pool, hear| {
            pool.run(&lists, |connection, list, context| self.make(connection, list, context), hear)?;
            pool.run(&[references], |connection, list, context| run_list(connection, list, context), hear)?;
            if let Some(connection) = pool.connections().next() {
                for sql in &unresolved {
                    broken += connection.query_value(sql)?.unwrap_or(0);
                }
            }
            self.tell_size(pool, hear, |bytes| bytes.indexes)
        })?;
        if broken == 0 { Ok(()) } else { Err(PrepareError::Unresolved { count: broken }) }
    }

    /// Runs statements for a table of which the server may refuse some.
    fn make(
        &self,
        connection: &mut Connection,
        (number, list): &(u32, Vec<StepStatement>),
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        context.tell(News::Table(*number));
        for StepStatement { sql, rows } in list {
            match context.execute(connection, sql) {
                Err(JobError::Query(error)) if self.refusable && error.is_refusal() => {
                    context.tell(News::Refused(error.to_string()));
                }
                made => made.map(std::mem::drop)?,
            }
            context.tell(News::Statement(*rows));
        }
        Ok(())
    }

    /// Says how large the tables or their indexes have become, where the server knows.
    fn tell_size(
        &self,
        pool: &mut WorkerPool<'_>,
        hear: &mut dyn FnMut(News),
        part: fn(catalog::Bytes) -> u64,
    ) -> Result<(), JobError> {
        if let Some(connection) = pool.connections().next()
            && let Some(bytes) = catalog::bytes(connection, Names::These(&self.names()))?
        {
            hear(News::Bytes(part(bytes)));
        }
        Ok(())
    }

    /// Statements for each table, by its number from 1.
    fn lists(&self, statements: impl Fn(&Table) -> Vec<String>) -> Vec<(u32, Vec<StepStatement>)> {
        (1..).zip(self.tables.iter().map(|table| statements_of(table, statements(table)))).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.tables.iter().map(|table| table.name.as_str()).collect()
    }

    /// Brings the statistics up to date, and makes PostgreSQL's index-only scans possible; `before` comes before that,
    /// and `finish` when all is done.
    fn settle(
        &self,
        steps: &mut Steps<'_>,
        before: impl Fn(&Table) -> Option<String>,
        finish: Vec<StepStatement>,
    ) -> Result<(), PrepareError> {
        let settle = |table: &Table| match self.dialect.vacuum {
            true => Some(format!("VACUUM (ANALYZE) {}", table.name)),
            false => self.dialect.analyze(&table.name),
        };
        let lists = self.lists(|table| before(table).into_iter().chain(settle(table)).collect());
        let work = Work::of(lists.iter().flat_map(|(_, list)| list).chain(&finish));
        steps.run("analyze", Planned::Statements(work), |pool, hear| {
            pool.run(&lists, |connection, list, context| self.make(connection, list, context), hear)?;
            pool.run(&[finish], |connection, list, context| run_list(connection, list, context), hear)
        })
    }
}

fn statements_of(table: &Table, statements: Vec<String>) -> Vec<StepStatement> {
    let rows = table.rows.saturating_mul(table.rows_each);
    statements.into_iter().map(|sql| StepStatement { sql, rows }).collect()
}

fn run_numbered(
    connection: &mut Connection,
    (number, list): &(u32, Vec<StepStatement>),
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    context.tell(News::Table(*number));
    run_list(connection, list, context)
}

/// The parts that are sent, neighbours of different tables; of whole tables the largest first.
fn parts(tables: &[Table], whole: bool) -> Vec<Part> {
    let left = |table: &Table| table.rows.saturating_sub(table.loaded);
    let step = |table: &Table| if whole { u64::MAX } else { table.part_rows };
    let mut order: Vec<(usize, &Table)> = tables.iter().enumerate().collect();
    order.sort_by_key(|(_, table)| std::cmp::Reverse(left(table)));
    let count = |table: &Table| left(table).div_ceil(step(table));
    let most = order.iter().map(|(_, table)| count(table)).max().unwrap_or(0);
    let ranges = (0..most).flat_map(|number| {
        let there = order.iter().filter(move |(_, table)| number < count(table));
        there.map(move |(at, table)| {
            let before = table.loaded + number * step(table);
            (*at, before + 1, before.saturating_add(step(table)).min(table.rows))
        })
    });
    ranges.zip(0..).map(|((table, first, last), stream)| Part { table, first, last, stream }).collect()
}
