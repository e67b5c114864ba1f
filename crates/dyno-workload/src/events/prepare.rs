//! Makes the two tables and their rows: drop, tables, data, keys, analyze, each step timed.
//!
//! Rows are dealt out to several connections in parts (LOAD DATA LOCAL); where only a whole table in one transaction may
//! come frozen (PostgreSQL), each table is one connection's, and PostgreSQL writes its pages once and in order.

use std::sync::atomic::AtomicBool;

use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::Dialect;

use crate::benchmark::LOCK_WAIT;
use crate::bulk::steps::{Progress, Steps};
use crate::bulk::worker_pool::{JobContext, JobError, News, OpenConnection, WorkerPool};
use crate::bulk::{Bulk, ROWS_PER_TRANSACTION};
use crate::dataset::{PrepareError, State};
use crate::limits;

use super::TERMS;
use super::mark::Recipe;
use super::rows::EventsRows;
use super::schema::{Schema, Table};
use super::size::Size;
use super::state::state;

/// Memory for an index build on PostgreSQL: enough that four processes may take part.
const SORT_MEMORY: &str = "SET maintenance_work_mem = '128MB'";

/// What to prepare, and how.
#[derive(Debug, Clone)]
pub struct PrepareOptions<'a> {
    /// The target's short name, for the steps that are reported.
    pub target: String,
    pub size: Size,
    /// An index on `event.customer_id` on every product.
    pub customer_index: bool,
    pub dialect: Dialect,
    /// Connections that work at the same time; at least 1.
    pub threads: u32,
    /// Free space on the server's disk, where it is known.
    pub free_disk_bytes: Option<u64>,
    /// Once it is set, the preparation ends before the next statement, and a load before the next piece.
    pub stop: Option<&'a AtomicBool>,
}

/// Drops dyno's tables, where they are there, and makes new ones.
///
/// # Errors
/// No connection can be opened, a table of the same name is not dyno's, the rows do not fit, the server refuses a step,
/// or [`PrepareOptions::stop`] was set; the tables are then marked as unfinished, and [`state`] says so.
pub fn prepare(
    open: OpenConnection<'_>,
    options: &PrepareOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let connecting = PrepareError::connecting(&TERMS);
    let mut first = open().map_err(&connecting)?;
    let found = state(&mut first)?;
    if let State::NotOurs { table, whose } = found {
        return Err(PrepareError::NotOurs { terms: &TERMS, table, whose });
    }
    options.size.check_disk(free_disk_bytes(&mut first, options))?;
    let recipe = Recipe { size: options.size, customer_index: options.customer_index };
    let schema = Schema { dialect: &options.dialect, recipe };
    let load = EventTableLoader { schema, bulk: Bulk::new(&options.dialect) };
    let parts = load.parts();
    let connections = parts.len().clamp(2, options.threads.max(2) as usize);
    let pool = WorkerPool::new(first, open, connections, options.stop).map_err(&connecting)?;
    let steps = Steps { pool, terms: &TERMS, target: &options.target, progress };
    let mut preparation = Preparation { steps, options };
    preparation.ease_sessions();
    preparation.drop_tables(found == State::Missing)?;
    preparation.statements("tables", &[schema.before_load()])?;
    let total = options.size.rows + options.size.customers;
    let run =
        |connection: &mut Connection, part: &_, context: &JobContext<'_>| load.run(connection, part, context);
    preparation.steps.load(total, load.bulk.slower(), &parts, run)?;
    preparation.keys(&schema)?;
    preparation.settle(&schema)
}

/// Free space once the tables of before are gone; how large these are is asked only where it matters.
fn free_disk_bytes(connection: &mut Connection, options: &PrepareOptions<'_>) -> Option<u64> {
    let free = options.free_disk_bytes?;
    let old = "SELECT COALESCE(SUM(pg_total_relation_size(to_regclass(name))), 0)::bigint \
               FROM unnest(ARRAY['customer', 'event']) AS name";
    let old = if connection.is_mysql() { None } else { connection.query_value(old).ok().flatten() };
    Some(free.saturating_add(old.unwrap_or(0)))
}

/// Some rows of one table, `first` to `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    table: Table,
    first: u64,
    last: u64,
}

/// How rows travel.
struct EventTableLoader<'a> {
    schema: Schema<'a>,
    bulk: Bulk<'a>,
}

impl EventTableLoader<'_> {
    fn parts(&self) -> Vec<Part> {
        let size = self.schema.recipe.size;
        let of = |table: Table, rows: u64| {
            let step = if self.bulk.whole_tables() { rows } else { ROWS_PER_TRANSACTION };
            let firsts = (0..rows).step_by(usize::try_from(step.max(1)).unwrap_or(usize::MAX));
            firsts.map(move |before| Part { table, first: before + 1, last: (before + step).min(rows) })
        };
        // The larger table first, where each is one connection's.
        of(Table::Event, size.rows).chain(of(Table::Customer, size.customers)).collect()
    }

    fn run(
        &self,
        connection: &mut Connection,
        part: &Part,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        let batch = self.schema.batch(part.table, part.last + 1 - part.first);
        let customers = self.schema.recipe.size.customers;
        let rows = || EventsRows::new(part.table, part.first, part.last, customers);
        self.bulk.send(connection, &batch, rows, context)
    }
}

struct Preparation<'a> {
    steps: Steps<'a>,
    options: &'a PrepareOptions<'a>,
}

impl Preparation<'_> {
    /// Takes limits away that are meant for queries, on these sessions only; a server that refuses is only slower. Each
    /// load is to commit by itself, whatever the server's default.
    fn ease_sessions(&mut self) {
        let mysql = self.options.dialect.mysql;
        for connection in self.steps.pool.connections() {
            limits::lift(connection);
            let _ = connection.execute(if mysql { "SET SESSION autocommit = 1" } else { SORT_MEMORY });
        }
    }

    /// In one statement, so that no half of them is left. Whoever has them in use is waited for, but not for ever.
    fn drop_tables(&mut self, missing: bool) -> Result<(), PrepareError> {
        let (mysql, seconds) = (self.options.dialect.mysql, LOCK_WAIT.as_secs());
        let [limit, lift] = match mysql {
            true => [
                format!("SET SESSION lock_wait_timeout = {seconds}"),
                "SET SESSION lock_wait_timeout = DEFAULT".to_owned(),
            ],
            false => [format!("SET lock_timeout = '{seconds}s'"), "RESET lock_timeout".to_owned()],
        };
        self.steps.run("drop", None, |pool, hear| {
            if missing {
                return Ok(());
            }
            let drop = |connection: &mut Connection, _: &(), context: &JobContext<'_>| {
                let _ = connection.execute(&limit);
                context.execute(connection, "DROP TABLE IF EXISTS event, customer")?;
                let _ = connection.execute(&lift);
                Ok(())
            };
            pool.run(&[()], drop, hear)
        })
    }

    /// A step of lists of statements; the lists may run at the same time.
    fn statements(&mut self, step: &'static str, lists: &[Vec<String>]) -> Result<(), PrepareError> {
        self.steps.run(step, None, |pool, hear| run_lists(pool, lists, hear))
    }

    /// The keys; then the foreign key, and what the server has not checked of it itself.
    fn keys(&mut self, schema: &Schema<'_>) -> Result<(), PrepareError> {
        let customers = schema.recipe.size.customers;
        let mut unresolved = 0;
        self.steps.run("keys", None, |pool, hear| {
            run_lists(pool, &schema.keys(), hear)?;
            run_lists(pool, &[schema.foreign_key()], hear)?;
            if let (true, Some(connection)) = (schema.dialect.mysql, pool.connections().first_mut()) {
                unresolved = count_unresolved(connection, customers)?;
            }
            Ok(())
        })?;
        if unresolved == 0 { Ok(()) } else { Err(PrepareError::Unresolved { count: unresolved }) }
    }

    /// Statistics, and the mark of tables that are whole.
    fn settle(&mut self, schema: &Schema<'_>) -> Result<(), PrepareError> {
        let settle = Table::ALL.map(|table| schema.settle(table).into_iter().collect());
        self.steps.run("analyze", None, |pool, hear| {
            run_lists(pool, &settle, hear)?;
            run_lists(pool, &[schema.finish()], hear)
        })
    }
}

fn run_lists(
    pool: &mut WorkerPool<'_>,
    lists: &[Vec<String>],
    hear: &mut dyn FnMut(News),
) -> Result<(), JobError> {
    let list = |connection: &mut Connection, list: &Vec<String>, context: &JobContext<'_>| {
        list.iter().try_for_each(|sql| context.execute(connection, sql).map(drop))
    };
    pool.run(lists, list, hear)
}

/// Events of customers that are not there: none, if every customer from 1 to the last is, and no event is of another one.
fn count_unresolved(connection: &mut Connection, customers: u64) -> Result<u64, QueryError> {
    let sql = format!(
        "SELECT ({customers} - (SELECT COUNT(*) FROM customer WHERE id BETWEEN 1 AND {customers})) \
              + (SELECT COUNT(*) FROM event WHERE customer_id < 1 OR customer_id > {customers})"
    );
    Ok(connection.query_value(&sql)?.unwrap_or(0))
}
