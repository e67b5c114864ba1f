//! Makes sysbench's tables and their rows: drop, tables, data, keys, analyze, each step timed.
//!
//! Work is dealt out to several connections: whole tables where rows are loaded best in one transaction (PostgreSQL's
//! COPY with FREEZE), else parts of tables, so that a single large table is loaded by all of them too.

mod load;
mod rows;

use std::sync::atomic::AtomicBool;

use dyno_target::connection::Connection;
use dyno_target::product::Dialect;

use super::TERMS;
use super::options::Options;
use super::schema::Schema;
use super::state::state;
use crate::dataset::{PrepareError, State};
use crate::limits;

pub use crate::bulk::steps::Progress;
pub use crate::bulk::worker_pool::OpenConnection;

use crate::bulk::steps::Steps;
use crate::bulk::worker_pool::{JobContext, News, WorkerPool};
use load::TableLoader;

/// What to prepare, and how.
#[derive(Debug, Clone)]
pub struct PrepareOptions<'a> {
    /// The target's short name, for the steps that are reported.
    pub target: String,
    pub options: &'a Options,
    pub dialect: Dialect,
    /// Connections that work at the same time; at least 1.
    pub threads: u32,
    pub seed: u64,
    pub existing: Existing,
    /// Once it is set, the preparation ends before the next statement, and a load before the next piece.
    pub stop: Option<&'a AtomicBool>,
}

/// What becomes of tables of these names that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and the preparation fails, as sysbench's does.
    Keep,
    /// They are dropped, if they are sysbench's.
    Replace,
}

/// Makes the tables and fills them.
///
/// # Errors
/// No connection can be opened, a table of the same name is there and is to stay, the server refuses a step, or
/// [`PrepareOptions::stop`] was set; the tables are then not usable, unless nothing was begun, and [`state`] says so.
pub fn prepare(
    open: OpenConnection<'_>,
    options: &PrepareOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let connecting = PrepareError::connecting(&TERMS);
    let mut first = open().map_err(&connecting)?;
    if options.existing == Existing::Replace
        && let State::NotOurs { table, whose } = state(&mut first, options.options)?
    {
        return Err(PrepareError::NotOurs { terms: &TERMS, table, whose });
    }
    let schema = Schema { options: options.options, dialect: &options.dialect };
    let load = TableLoader::new(schema, options.seed);
    let parts = load.parts();
    let jobs = parts.len().max(options.options.tables as usize);
    let pool = WorkerPool::new(first, open, jobs.min(options.threads.max(1) as usize), options.stop)
        .map_err(&connecting)?;
    let steps = Steps { pool, terms: &TERMS, target: &options.target, progress };
    let mut preparation = Preparation { steps, options, schema };
    preparation.ease_sessions();
    if options.existing == Existing::Replace {
        preparation.each_table("drop", |table| vec![Schema::drop_table(table)])?;
    }
    preparation.each_table("tables", |table| schema.before_load(table))?;
    let total = options.options.table_size * u64::from(options.options.tables);
    let run =
        |connection: &mut Connection, part: &_, context: &JobContext<'_>| load.run(connection, part, context);
    preparation.steps.load(total, load.slower(), &parts, run)?;
    preparation.each_table("keys", |table| schema.after_load(table))?;
    preparation.each_table("analyze", |table| schema.settle(table).into_iter().collect())
}

impl Schema<'_> {
    fn before_load(&self, table: u32) -> Vec<String> {
        let distribute = self.dialect.distribute(&super::schema::table_name(table));
        let index = self.create_index(table).filter(|_| !self.dialect.index_after_load);
        std::iter::once(self.create(table)).chain(distribute).chain(index).collect()
    }

    fn after_load(&self, table: u32) -> Vec<String> {
        let index = self.create_index(table).filter(|_| self.dialect.index_after_load);
        self.set_sequence(table).into_iter().chain(self.add_key(table)).chain(index).collect()
    }
}

struct Preparation<'a> {
    steps: Steps<'a>,
    options: &'a PrepareOptions<'a>,
    schema: Schema<'a>,
}

impl Preparation<'_> {
    /// Takes limits away that are meant for queries, on these sessions only; a server that refuses is only slower. Each
    /// load is to commit by itself, whatever the server's default.
    ///
    /// `unique_checks` stays as it is: there is no second unique index to check, the rows come in the key's order, and
    /// without it MariaDB loads an empty table by way of temporary files, which takes half as long again.
    fn ease_sessions(&mut self) {
        for connection in self.steps.pool.connections() {
            limits::lift(connection);
            if self.schema.dialect.mysql {
                let _ = connection.execute("SET SESSION autocommit = 1");
            }
        }
    }

    /// A step of statements for each table.
    fn each_table(
        &mut self,
        step: &'static str,
        statements: impl Fn(u32) -> Vec<String> + Sync,
    ) -> Result<(), PrepareError> {
        let tables: Vec<u32> = (1..=self.options.options.tables).collect();
        self.steps.run(step, None, |pool, hear| {
            let job = |connection: &mut Connection, table: &u32, context: &JobContext<'_>| {
                context.tell(News::Table(*table));
                for sql in statements(*table) {
                    context.execute(connection, &sql)?;
                }
                Ok(())
            };
            pool.run(&tables, job, hear)
        })
    }
}
