//! What must hold after a load: money moved on an account, a teller and a branch is in the history, the history
//! holds every acknowledged commit, and nothing else changed. Reads one snapshot before and one after; the load
//! must stand still while either is taken.

use std::collections::BTreeMap;

use dyno_results::event::Check;
use dyno_target::connection::Connection;

use super::Script;
use super::schema::{BEGINNING, Table};
use super::verdict::judge;
use crate::benchmark::Done;
use crate::dataset::{TableError, checks, rows_of_numbers};

/// Rows of a table and the sum of their balances or deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Total {
    pub rows: u64,
    pub sum: i64,
}

/// The balances and the history at one instant, before a load or behind it. Of the order of 11 numbers for each unit of
/// scale; to take it scans all accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    pub(super) accounts: Total,
    pub(super) history: Total,
    /// Balance of each branch.
    pub(super) branches: BTreeMap<i64, i64>,
    /// Balance of each teller.
    pub(super) tellers: BTreeMap<i64, i64>,
    /// Sum of the history's deltas for each branch that it names.
    pub(super) history_branches: BTreeMap<i64, i64>,
    /// Sum of the history's deltas for each teller that it names.
    pub(super) history_tellers: BTreeMap<i64, i64>,
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
    done: Done,
) -> Result<Vec<Check>, TableError> {
    let after = Baseline::take(connection)?;
    Ok(checks(target, script.workload(), judge(before, &after, script, done)))
}

/// Rows of the history, which [`reset`] will remove. It reads all of them.
///
/// # Errors
/// The table is missing or may not be read.
pub fn history_rows(connection: &mut Connection) -> Result<u64, TableError> {
    let rows = connection.query_value("select count(*) from pgbench_history");
    Ok(rows.map_err(TableError::of(Table::History.name()))?.unwrap_or(0))
}

/// What pgbench does before each load: vacuums the two small tables and empties the history.
///
/// # Errors
/// The tables are missing or not this user's.
pub fn reset(connection: &mut Connection) -> Result<(), TableError> {
    let dialect = connection.dialect();
    for table in [Table::Branches, Table::Tellers].into_iter().filter(|_| dialect.vacuum) {
        let sql = format!("vacuum {}", table.name());
        connection.execute(&sql).map_err(TableError::of(table.name()))?;
    }
    let history = Table::History.name();
    connection.execute(&dialect.empty(history)).map_err(TableError::of(history))?;
    Ok(())
}

impl Baseline {
    /// Reads the balances as they are.
    ///
    /// # Errors
    /// The tables are missing or may not be read, or the connection is lost.
    pub fn take(connection: &mut Connection) -> Result<Self, TableError> {
        Self::take_of(connection, BEGINNING)
    }

    /// The same of tables whose names have another beginning.
    pub(crate) fn take_of(connection: &mut Connection, beginning: &str) -> Result<Self, TableError> {
        let begin = connection.dialect().begin_snapshot;
        let failed = TableError::of(Table::Accounts.name());
        connection.execute(begin).map_err(&failed)?;
        let snapshot = Self::read(connection, beginning);
        let ended = connection.execute(if snapshot.is_ok() { "commit" } else { "rollback" });
        let snapshot = snapshot?;
        ended.map_err(&failed)?;
        Ok(snapshot)
    }

    fn read(connection: &mut Connection, beginning: &str) -> Result<Self, TableError> {
        let mut snapshot = Self::default();
        let mut integers = |table: Table, sql: &str| -> Result<Vec<[i64; 2]>, TableError> {
            let name = table.name().replace(BEGINNING, beginning);
            rows_of_numbers(connection, &sql.replace(BEGINNING, beginning)).map_err(TableError::of(&name))
        };
        let accounts = "select count(*), coalesce(sum(abalance), 0) from pgbench_accounts";
        for [rows, sum] in integers(Table::Accounts, accounts)? {
            snapshot.accounts = Total { rows: rows as u64, sum };
        }
        let branches = "select bid, coalesce(bbalance, 0) from pgbench_branches";
        snapshot.branches = pairs(integers(Table::Branches, branches)?);
        let tellers = "select tid, coalesce(tbalance, 0) from pgbench_tellers";
        snapshot.tellers = pairs(integers(Table::Tellers, tellers)?);
        let history = "select count(*), coalesce(sum(delta), 0) from pgbench_history";
        for [rows, sum] in integers(Table::History, history)? {
            snapshot.history = Total { rows: rows as u64, sum };
        }
        let sums = |column| {
            format!(
                "select coalesce({column}, 0), coalesce(sum(delta), 0) from pgbench_history group by {column}"
            )
        };
        snapshot.history_tellers = pairs(integers(Table::History, &sums("tid"))?);
        snapshot.history_branches = pairs(integers(Table::History, &sums("bid"))?);
        Ok(snapshot)
    }
}

fn pairs(rows: Vec<[i64; 2]>) -> BTreeMap<i64, i64> {
    rows.into_iter().map(|[key, value]| (key, value)).collect()
}
