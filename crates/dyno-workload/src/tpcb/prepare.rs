//! Makes the tables and their rows: drop, tables, data, vacuum, keys, as `pgbench -i` does, each step timed.
//!
//! One connection does it all. Two that each load half of the accounts are slower in sum: COPY with FREEZE is open
//! only to the transaction that truncated the table, and without it VACUUM has to rewrite every page afterwards.

use dyno_target::connection::{Connection, QueryError};

use super::TERMS;
use super::rows::TpcbRows;
use super::scale::check_scale;
use super::schema::{ALL_TABLES, Table};
use super::state::state;
use crate::benchmark::{Progress, Site};
use crate::dataset::bulk::{copy, in_transaction};
use crate::dataset::{JobContext, JobError, News, PrepareError, Steps, WorkerPool, run_list};

/// Memory of an index build for each process that takes part; the server starts no process that has less.
const SORT_MB_PER_PROCESS: u64 = 32;
/// A build with more would start to matter to the server's other memory.
const SORT_MB_MAX: u64 = 1024;

/// Drops the tables that are there and makes new ones. Sets the session's `statement_timeout` to 0.
///
/// # Errors
/// The scale is absurd or does not fit, a table of the same name is not pgbench's, the server refuses a step, or
/// [`Site::stop`] was set; the data is then not usable, unless nothing was begun, and [`state`] says so.
/// The session stays usable unless the connection was lost.
pub fn prepare(
    connection: &mut Connection,
    site: &Site<'_>,
    scale: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    state(connection)?.ours()?;
    let scale = check_scale(scale, free_disk_bytes(connection, site)?)?;
    let pool = WorkerPool::of_one(connection, Some(site.stop));
    let mut steps = Steps { pool, terms: &TERMS, target: site.target, progress };
    // A role's time limit is meant for its queries; a large load would run into it.
    let mut drop = vec!["set statement_timeout = 0".to_owned()];
    drop.extend(Table::ALL.map(|table| format!("drop table if exists {}", table.name())));
    let create = Table::ALL.map(|table| table.create_sql(scale));
    // After a load of frozen rows this visits hardly a page: it is there for the statistics.
    let vacuum = Table::ALL.map(|table| format!("vacuum analyze {}", table.name()));
    let rows = Table::ALL.iter().map(|table| table.rows(scale)).sum();
    let cpus = site.same_host.then_some(site.cpus);
    steps.one("drop", None, |connection, context| run_list(connection, &drop, context))?;
    steps.one("tables", None, |connection, context| run_list(connection, &create, context))?;
    steps.one("data", Some(rows), |connection, context| load(connection, scale, context))?;
    steps.one("vacuum", None, |connection, context| run_list(connection, &vacuum, context))?;
    steps.one("keys", None, |connection, context| add_keys(connection, cpus, context))
}

/// Free space once the old tables are gone.
fn free_disk_bytes(connection: &mut Connection, site: &Site<'_>) -> Result<Option<u64>, PrepareError> {
    let Some(free) = site.free_disk_bytes else { return Ok(None) };
    let old = size(connection, "pg_total_relation_size")
        .map_err(|error| PrepareError::of(&TERMS, "drop", error.into()))?;
    Ok(Some(free.saturating_add(old)))
}

/// Sum of a size function over the tables that are there, bytes.
fn size(connection: &mut Connection, function: &str) -> Result<u64, QueryError> {
    let sql = format!(
        "select coalesce(sum({function}(to_regclass(trim(name)))), 0)::bigint \
         from unnest(string_to_array('{ALL_TABLES}', ',')) as name"
    );
    Ok(connection.query_value(&sql)?.unwrap_or(0))
}

/// Loads all tables in one transaction that truncates them first, for only that lets COPY write rows as already frozen:
/// nothing needs to be visited again.
fn load(connection: &mut Connection, scale: u32, context: &JobContext<'_>) -> Result<(), JobError> {
    in_transaction(connection, context, |connection| {
        context.execute(connection, &format!("truncate table {ALL_TABLES}"))?;
        for table in [Table::Branches, Table::Tellers, Table::Accounts] {
            let sql = format!("copy {} from stdin with (freeze on)", table.name());
            copy(connection, table.name(), &sql, TpcbRows::of(table, scale), context)?;
        }
        context.tell(News::Bytes(size(connection, "pg_table_size")?));
        Ok(())
    })
}

fn add_keys(
    connection: &mut Connection,
    cpus: Option<u32>,
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    in_transaction(connection, context, |connection| {
        set_sort_memory(connection, cpus, context)?;
        for sql in Table::ALL.into_iter().filter_map(Table::key_sql) {
            context.execute(connection, &sql)?;
        }
        context.tell(News::Bytes(size(connection, "pg_indexes_size")?));
        Ok(())
    })
}

/// Gives index builds just what lets a process run on each processor, as far as the server's
/// `max_parallel_maintenance_workers` goes. The accounts come sorted, so more memory gains nothing and costs page
/// faults, and more processes than processors wait for each other.
fn set_sort_memory(
    connection: &mut Connection,
    cpus: Option<u32>,
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    let workers: u64 = connection
        .query_value("select current_setting('max_parallel_maintenance_workers', true)")?
        .unwrap_or(0);
    let processes = (workers + 1).min(cpus.map_or(2, u64::from)).max(2);
    let megabytes = (processes * SORT_MB_PER_PROCESS).min(SORT_MB_MAX);
    context.execute(connection, &format!("set local maintenance_work_mem = '{megabytes}MB'"))?;
    Ok(())
}
