//! What must hold after a load: money moved on an account, a teller and a branch is in the history, the history
//! holds every acknowledged commit, and nothing else changed. Reads one snapshot before and one after; the load
//! must stand still while either is taken.

use std::collections::BTreeMap;

use dyno_results::event::Check;
use dyno_target::cause::Cause;
use dyno_target::connection::{Connection, QueryError};
use thiserror::Error;

use super::Script;
use super::schema::Table;
use super::verdict::judge;

/// The balances and the history before a load, against which [`verify`] compares. Of the order of 11 numbers for
/// each unit of scale; to take it scans all accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline(pub(super) Snapshot);

/// Transactions of a load, by what the client was told of their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Commits {
    /// The commit was acknowledged.
    pub acknowledged: u64,
    /// The connection was lost with the commit under way.
    pub unknown: u64,
}

/// Rows of a table and the sum of their balances or deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Total {
    pub rows: u64,
    pub sum: i64,
}

/// The balances at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Snapshot {
    pub accounts: Total,
    pub history: Total,
    /// Balance of each branch.
    pub branches: BTreeMap<i64, i64>,
    /// Balance of each teller.
    pub tellers: BTreeMap<i64, i64>,
    /// Sum of the history's deltas for each branch that it names.
    pub history_branches: BTreeMap<i64, i64>,
    /// Sum of the history's deltas for each teller that it names.
    pub history_tellers: BTreeMap<i64, i64>,
}

impl Baseline {
    /// Reads the balances as they are.
    ///
    /// # Errors
    /// The tables are missing or may not be read, or the connection is lost.
    pub fn take(connection: &mut Connection) -> Result<Self, VerifyError> {
        Snapshot::take(connection).map(Self)
    }
}

/// Compares what is there now with `before`, after a load of one script. `target` is the short name for the checks.
///
/// # Errors
/// The tables cannot be read. A check that fails is no error: it is among those returned.
pub fn verify(
    connection: &mut Connection,
    target: &str,
    before: &Baseline,
    script: Script,
    commits: Commits,
) -> Result<Vec<Check>, VerifyError> {
    let after = Snapshot::take(connection)?;
    Ok(judge(target, &before.0, &after, script, commits))
}

/// Rows of the history, which [`reset`] will remove. It reads all of them.
///
/// # Errors
/// The table is missing or may not be read.
pub fn history_rows(connection: &mut Connection) -> Result<u64, VerifyError> {
    let rows = connection.query_value("select count(*) from pgbench_history");
    Ok(rows.map_err(|error| VerifyError::of(Table::History, error))?.unwrap_or(0))
}

/// What pgbench does before each load: vacuums the two small tables and empties the history.
///
/// # Errors
/// The tables are missing or not this user's.
pub fn reset(connection: &mut Connection) -> Result<(), VerifyError> {
    for (sql, table) in [
        ("vacuum pgbench_branches", Table::Branches),
        ("vacuum pgbench_tellers", Table::Tellers),
        ("truncate pgbench_history", Table::History),
    ] {
        connection.execute(sql).map_err(|error| VerifyError::of(table, error))?;
    }
    Ok(())
}

impl Snapshot {
    fn take(connection: &mut Connection) -> Result<Self, VerifyError> {
        let begin = "begin transaction isolation level repeatable read, read only";
        connection.execute(begin).map_err(|error| VerifyError::of(Table::Accounts, error))?;
        let snapshot = Self::read(connection);
        let ended = connection.execute(if snapshot.is_ok() { "commit" } else { "rollback" });
        let snapshot = snapshot?;
        ended.map_err(|error| VerifyError::of(Table::Accounts, error))?;
        Ok(snapshot)
    }

    fn read(connection: &mut Connection) -> Result<Self, VerifyError> {
        let mut snapshot = Self::default();
        let accounts = "select count(*), coalesce(sum(abalance), 0) from pgbench_accounts";
        for [rows, sum] in integers(connection, Table::Accounts, accounts)? {
            snapshot.accounts = Total { rows: rows as u64, sum };
        }
        let branches = "select bid, coalesce(bbalance, 0) from pgbench_branches";
        snapshot.branches = pairs(integers(connection, Table::Branches, branches)?);
        let tellers = "select tid, coalesce(tbalance, 0) from pgbench_tellers";
        snapshot.tellers = pairs(integers(connection, Table::Tellers, tellers)?);
        // One scan for all: the second column says what a row sums up, 3 everything, 1 a teller, 2 a branch.
        let history = "select count(*), grouping(tid, bid), coalesce(tid, bid, 0), coalesce(sum(delta), 0) \
                       from pgbench_history group by grouping sets ((), (tid), (bid))";
        for [rows, grouping, number, sum] in integers(connection, Table::History, history)? {
            match grouping {
                3 => snapshot.history = Total { rows: rows as u64, sum },
                1 => drop(snapshot.history_tellers.insert(number, sum)),
                _ => drop(snapshot.history_branches.insert(number, sum)),
            }
        }
        Ok(snapshot)
    }
}

/// The rows of a query of `N` integers.
fn integers<const N: usize>(
    connection: &mut Connection,
    table: Table,
    sql: &str,
) -> Result<Vec<[i64; N]>, VerifyError> {
    let rows = connection.query(sql).map_err(|error| VerifyError::of(table, error))?;
    rows.iter()
        .map(|row| {
            let mut values = [0; N];
            for (column, value) in values.iter_mut().enumerate() {
                let text = row.text(column).unwrap_or_default();
                *value = text
                    .parse()
                    .map_err(|_| VerifyError::NotANumber { table: table.name(), text: text.to_owned() })?;
            }
            Ok(values)
        })
        .collect()
}

fn pairs(rows: Vec<[i64; 2]>) -> BTreeMap<i64, i64> {
    rows.into_iter().map(|[key, value]| (key, value)).collect()
}

/// Why the balances could not be read.
#[derive(Debug, Error)]
pub enum VerifyError {
    #[error("{table} is missing: {source}; run again with --prepare, or make the tables with `pgbench -i`")]
    Missing { table: &'static str, source: QueryError },
    #[error(
        "{table} may not be used: {source}; connect as the owner of the pgbench tables, or grant the rights on them"
    )]
    Denied { table: &'static str, source: QueryError },
    #[error("cannot use {table}: {source}")]
    Failed { table: &'static str, source: QueryError },
    #[error("{table} holds a sum that is no 64-bit integer: {text:?}; the data is not pgbench's")]
    NotANumber { table: &'static str, text: String },
}

impl VerifyError {
    fn of(table: Table, source: QueryError) -> Self {
        let table = table.name();
        match source.cause() {
            Some(Cause::NoSuchTable) => Self::Missing { table, source },
            Some(Cause::Denied) => Self::Denied { table, source },
            _ => Self::Failed { table, source },
        }
    }
}
