//! Makes tables and their rows in steps, each timed: drop, tables, data, keys, analyze.
//!
//! Work is dealt out to several connections: whole tables where rows are loaded best in one transaction (PostgreSQL's
//! COPY with FREEZE), else parts of tables, so that a single large table is loaded by all of them too.

use std::sync::atomic::AtomicBool;

use dyno_target::connection::Connection;
use dyno_target::product::Dialect;

use super::bulk::{Bulk, ROWS_PER_TRANSACTION};
use super::rows::{RowRange, Rows};
use super::steps::{Steps, run_list};
use super::worker_pool::{JobContext, News, OpenConnection, WorkerPool};
use super::{PrepareError, Terms};
use crate::benchmark::{LOCK_WAIT, Progress};
use crate::limits;

/// A table that is made.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub name: String,
    /// In the order in which rows are sent. The first, `id`, numbers the rows from 1 on.
    pub columns: &'static str,
    pub rows: u64,
    /// Makes it, empty.
    pub create: Vec<String>,
    /// Whether the server goes on with the numbers of the rows.
    pub numbered: bool,
    /// Makes its key, where that comes after the rows.
    pub key: Option<String>,
    /// Makes its index.
    pub index: Option<String>,
}

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
    pub sort_megabytes: Option<u32>,
    /// What drops the tables of before; `None` where they stay.
    pub drop: Option<Vec<String>>,
    pub tables: Vec<NewTable>,
    /// What is made of the keys of all tables.
    pub references: Vec<String>,
    /// Counts the rows that break these, where the server has not.
    pub unresolved: Option<String>,
    /// Said at the very end.
    pub finish: Vec<String>,
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

/// The primary key on `id`: what stands in CREATE TABLE, or the statement that makes it of the rows.
pub(crate) fn primary_key(table: &str, dialect: &Dialect) -> (String, Option<String>) {
    match dialect.key_after_load() {
        true => (String::new(), Some(format!("ALTER TABLE {table} ADD PRIMARY KEY (id)"))),
        false => (format!(", PRIMARY KEY (id{})", dialect.key_order), None),
    }
}

impl NewTable {
    /// Statements before the rows.
    pub(crate) fn before_load(&self, dialect: &Dialect) -> Vec<String> {
        let index = self.index.clone().filter(|_| !dialect.index_after_load);
        self.create.iter().cloned().chain(index).collect()
    }

    /// Statements after the rows: where the numbering goes on, the key, the index.
    pub(crate) fn after_load(&self, dialect: &Dialect) -> Vec<String> {
        // Rows with given numbers leave a sequence where it was.
        let moves = self.numbered && self.rows > 0;
        let sequence = moves.then(|| dialect.sequence(&self.name, "id", self.rows)).flatten();
        let index = self.index.clone().filter(|_| dialect.index_after_load);
        sequence.into_iter().chain(self.key.clone()).chain(index).collect()
    }
}

impl Preparation<'_> {
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
        let bulk = Bulk::new(self.dialect);
        let parts = parts(&self.tables, bulk.whole_tables());
        let threads = self.threads.min(self.dialect.writers_max.unwrap_or(u32::MAX)).max(1);
        let connections = parts.len().max(self.tables.len()).min(threads as usize);
        let pool = WorkerPool::new(first, open, connections, self.stop)
            .map_err(|source| PrepareError::Connect { terms: self.terms, source })?;
        let mut steps = Steps { pool, terms: self.terms, target: self.target, progress };
        self.ease_sessions(&mut steps);
        if let Some(statements) = &self.drop {
            self.drop_tables(&mut steps, statements)?;
        }
        self.each_table(&mut steps, "tables", |table| table.before_load(self.dialect), &[], None)?;
        let send = |connection: &mut Connection, part: &Part, context: &JobContext<'_>| {
            if part.first == 1 {
                context.tell(News::Table(part.table as u32 + 1));
            }
            let range = || RowRange { rows: rows(part), next: part.first, last: part.last };
            bulk.send(connection, &self.tables[part.table], range, context)
        };
        let total = self.tables.iter().map(|table| table.rows).sum();
        if let Some(why) = bulk.slower().filter(|_| total > 0) {
            (steps.progress)(Progress::Remark(why));
        }
        steps.run("data", Some(total), |pool, hear| pool.run(&parts, send, hear))?;
        let after_load = |table: &NewTable| table.after_load(self.dialect);
        self.each_table(&mut steps, "keys", after_load, &self.references, self.unresolved.as_deref())?;
        self.each_table(&mut steps, "analyze", |table| self.settle(table), &self.finish, None)
    }

    /// Takes limits away that are meant for queries, on these sessions only; a server that refuses is only slower.
    fn ease_sessions(&self, steps: &mut Steps<'_>) {
        let memory = self.dialect.sort_memory.zip(self.sort_megabytes);
        let memory = memory.map(|(sql, megabytes)| sql.replace("{megabytes}", &megabytes.to_string()));
        for connection in steps.pool.connections() {
            limits::lift(connection);
            for setting in self.dialect.load_session.iter().copied().chain(memory.as_deref()) {
                let _ = connection.execute(setting);
            }
        }
    }

    /// Whoever has the tables in use is waited for; not for ever, where the family says so.
    fn drop_tables(&self, steps: &mut Steps<'_>, statements: &[String]) -> Result<(), PrepareError> {
        let [limit, lift] = self.dialect.lock_wait(LOCK_WAIT);
        let limited = self.terms.locked.is_some();
        let drop_one = |connection: &mut Connection, sql: &String, context: &JobContext<'_>| {
            let _ = limited.then(|| connection.execute(&limit));
            let dropped = context.execute(connection, sql);
            let _ = limited.then(|| connection.execute(&lift));
            dropped.map(drop)
        };
        steps.run("drop", None, |pool, hear| pool.run(statements, drop_one, hear))
    }

    /// A step of a list of statements for each table, which may run at the same time, and then of those `behind`.
    fn each_table(
        &self,
        steps: &mut Steps<'_>,
        step: &'static str,
        statements: impl Fn(&NewTable) -> Vec<String>,
        behind: &[String],
        check: Option<&str>,
    ) -> Result<(), PrepareError> {
        let lists: Vec<(u32, Vec<String>)> = (1..).zip(self.tables.iter().map(statements)).collect();
        let mut broken = 0;
        steps.run(step, None, |pool, hear| {
            let list = |connection: &mut Connection, list: &(u32, Vec<String>), context: &JobContext<'_>| {
                context.tell(News::Table(list.0));
                run_list(connection, &list.1, context)
            };
            pool.run(&lists, list, hear)?;
            if !behind.is_empty() {
                pool.run(&[behind], |connection, list, context| run_list(connection, list, context), hear)?;
            }
            if let (Some(sql), Some(connection)) = (check, pool.connections().next()) {
                broken = connection.query_value(sql)?.unwrap_or(0);
            }
            Ok(())
        })?;
        if broken == 0 { Ok(()) } else { Err(PrepareError::Unresolved { count: broken }) }
    }

    /// What brings the statistics up to date, and makes PostgreSQL's index-only scans possible.
    fn settle(&self, table: &NewTable) -> Vec<String> {
        match self.dialect.vacuum {
            true => vec![format!("VACUUM (ANALYZE) {}", table.name)],
            false => self.dialect.analyze(&table.name).into_iter().collect(),
        }
    }
}

/// The parts that are sent, neighbours of different tables; of whole tables the largest first.
fn parts(tables: &[NewTable], whole: bool) -> Vec<Part> {
    let step = if whole { u64::MAX } else { ROWS_PER_TRANSACTION };
    let mut order: Vec<(usize, u64)> = tables.iter().map(|table| table.rows).enumerate().collect();
    order.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let most = order.first().map_or(0, |(_, rows)| *rows);
    let firsts = (0..most).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let ranges = firsts.flat_map(|before| {
        let there = order.iter().filter(move |(_, rows)| before < *rows);
        there.map(move |(table, rows)| (*table, before + 1, before.saturating_add(step).min(*rows)))
    });
    ranges.zip(0..).map(|((table, first, last), stream)| Part { table, first, last, stream }).collect()
}
