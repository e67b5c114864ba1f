//! What must hold after a load: rows, ids and index agree, and the table has changed by as much as was acknowledged.
//! Reads the tables once before and once after; the load must stand still meanwhile.

use dyno_results::event::Check;
use dyno_target::connection::Connection;

use super::census::{Census, IndexCensus};
use super::options::Options;
use super::test::Test;
use super::verdict::{Found, judge};
use crate::benchmark::Done;
use crate::dataset::{TableError, checks};
use crate::limits;

/// The tables before a load, against which [`verify`] compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    tables: Vec<Census>,
}

impl Baseline {
    /// Counts the tables as they are.
    ///
    /// # Errors
    /// A table is missing or may not be read, or the connection is lost.
    pub fn take(connection: &mut Connection, options: &Options) -> Result<Self, TableError> {
        limits::lift(connection);
        let tables = (1..=options.tables).map(|table| Census::take(connection, table, options));
        Ok(Self { tables: tables.collect::<Result<_, _>>()? })
    }
}

/// Compares what is there now with `before`, after a load of one test. `target` is the short name for the checks.
///
/// # Errors
/// The tables cannot be read. A check that fails is no error: it is among those returned.
pub fn verify(
    connection: &mut Connection,
    target: &str,
    before: &Baseline,
    test: Test,
    options: &Options,
    done: Done,
) -> Result<Vec<Check>, TableError> {
    limits::lift(connection);
    let mut tables = Vec::new();
    for (table, before) in (1..=options.tables).zip(&before.tables) {
        let after = Census::take(connection, table, options)?;
        let index = match options.create_secondary {
            true => IndexCensus::take(connection, table)?,
            false => None,
        };
        tables.push(Found { table, before: *before, after, index });
    }
    Ok(checks(target, test.workload(), judge(&tables, test, options, done)))
}
