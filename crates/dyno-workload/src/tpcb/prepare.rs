//! Makes the tables and their rows, as `pgbench -i` leaves them, each step timed.
//!
//! Where a table has to come in one transaction, one connection does it all. Two that each load half of the accounts are
//! slower in sum: COPY with FREEZE is open only to the transaction that truncated the table, and without it VACUUM has
//! to rewrite every page afterwards.

use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::Dialect;

use super::rows::TpcbRows;
use super::scale::check_scale;
use super::schema::Table;
use super::state::{Found, state};
use super::{NAMES, TERMS};
use crate::benchmark::{Progress, Site};
use crate::dataset::{Preparation, PrepareError};

/// Memory of an index build for each process that takes part; the server starts no process that has less.
const SORT_MB_PER_PROCESS: u64 = 32;
/// A build with more would start to matter to the server's other memory.
const SORT_MB_MAX: u64 = 1024;

/// Drops the tables that are there and makes new ones. Takes limits on the time of statements off the session.
///
/// # Errors
/// The scale is absurd or does not fit, a table of the same name is not pgbench's, the server refuses a step, or
/// [`Site::stop`] was set; the data is then not usable, unless nothing was begun, and [`state`] says so.
/// The session stays usable unless the connection was lost.
pub fn prepare(
    connection: &mut Connection,
    site: &Site<'_>,
    dialect: &Dialect,
    scale: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    state(connection)?.ours(&TERMS)?;
    let failed = |error: QueryError| PrepareError::of(&TERMS, "drop", error.into());
    let scale = check_scale(scale, site.free_disk_bytes_without(connection, NAMES).map_err(failed)?)?;
    let tables = Table::ALL.map(|table| table.describe(scale)).into();
    let mut preparation = Preparation {
        sort_megabytes: sort_megabytes(connection, dialect, site).map_err(failed)?,
        // Once they are whole they are as pgbench leaves them.
        ..Preparation::new::<Found>(site, dialect, tables, String::new())
    };
    if dialect.key_after_load() {
        preparation.threads = 1;
    }
    preparation.run(connection, site.open, |part| TpcbRows::padded(Table::ALL[part.table], dialect), progress)
}

/// Gives index builds just what lets a process run on each processor, as far as the server's settings go. The accounts
/// come sorted, so more memory gains nothing and costs page faults, and more processes than processors wait for each
/// other.
fn sort_megabytes(
    connection: &mut Connection,
    dialect: &Dialect,
    site: &Site<'_>,
) -> Result<Option<u64>, QueryError> {
    let Some(sql) = dialect.sort_processes else { return Ok(None) };
    let allowed: u64 = connection.query_value(sql)?.unwrap_or(1);
    let processes = allowed.min(if site.same_host { site.cpus.into() } else { 2 }).max(2);
    Ok(Some((processes * SORT_MB_PER_PROCESS).min(SORT_MB_MAX)))
}
