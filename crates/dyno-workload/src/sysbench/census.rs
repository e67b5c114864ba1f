//! Counts the rows of a table in two ways that have to agree: by the table itself, and by its index on `k`. Each way
//! reads all of it once.

use dyno_target::connection::{Connection, TextRows};

use super::options::Options;
use super::schema::{index_name, table_name};
use crate::dataset::{TableError, numbers};

/// A table at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Census {
    pub rows: u64,
    /// Rows whose id is from 1 to the size that the table was made with.
    pub inside: u64,
    /// The lowest and the highest id; 0 where there is none.
    pub first: i64,
    pub last: i64,
    /// Sum of `k`.
    pub k: i128,
}

/// The rows and the sum of `k` that an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexCensus {
    pub rows: u64,
    pub k: i128,
}

/// Settings of PostgreSQL's planner that have it read the table itself, or nothing but an index. Servers that do not
/// know them plan as they please.
const BY_TABLE: [&str; 3] = ["enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"];
const BY_INDEX: [&str; 2] = ["enable_seqscan", "enable_bitmapscan"];

impl Census {
    pub(super) fn take(
        connection: &mut Connection,
        table: u32,
        options: &Options,
    ) -> Result<Self, TableError> {
        let name = table_name(table);
        let hint = if connection.is_mysql() && !options.secondary { " FORCE INDEX (PRIMARY)" } else { "" };
        let sql = format!(
            "SELECT COUNT(*), COALESCE(SUM(CASE WHEN id BETWEEN 1 AND {} THEN 1 ELSE 0 END), 0), \
             COALESCE(MIN(id), 0), COALESCE(MAX(id), 0), COALESCE(SUM(k), 0) FROM {name}{hint}",
            options.table_size
        );
        let read = steered(connection, &BY_TABLE, |connection| numbers::<i128, 5>(connection, &sql));
        let [rows, inside, first, last, k] = read.map_err(TableError::of(&name))?;
        Ok(Self { rows: rows as u64, inside: inside as u64, first: first as i64, last: last as i64, k })
    }
}

impl IndexCensus {
    /// `None` where the server would not count by the index.
    pub(super) fn take(connection: &mut Connection, table: u32) -> Result<Option<Self>, TableError> {
        let (name, index) = (table_name(table), index_name(table));
        let from = match connection.is_mysql() {
            true => format!("{name} FORCE INDEX ({index})"),
            // Something that only this index helps with, and that is true of every row.
            false => format!("{name} WHERE k >= {}", i32::MIN),
        };
        let sql = format!("SELECT COUNT(*), COALESCE(SUM(k), 0) FROM {from}");
        let read = steered(connection, &BY_INDEX, |connection| {
            if !uses(&connection.query(&format!("EXPLAIN {sql}"))?, &index) {
                return Ok(None);
            }
            let [rows, k] = numbers::<i128, 2>(connection, &sql)?;
            Ok(Some(Self { rows: rows as u64, k }))
        });
        read.map_err(TableError::of(&name))
    }
}

/// Whether a plan reads an index: MySQL says so in the column `key`, others somewhere in their text.
fn uses(plan: &TextRows, index: &str) -> bool {
    plan.iter().any(|row| {
        let told = row.iter().filter(|(column, _)| !column.eq_ignore_ascii_case("possible_keys"));
        told.filter_map(|(_, value)| value).any(|value| value.contains(index))
    })
}

/// Does something while the planner's `settings` are off.
fn steered<T>(connection: &mut Connection, settings: &[&str], run: impl FnOnce(&mut Connection) -> T) -> T {
    if connection.is_mysql() {
        return run(connection);
    }
    for setting in settings {
        // A relative of PostgreSQL that does not know it cannot be steered.
        let _ = connection.execute(&format!("SET {setting} = off"));
    }
    let outcome = run(connection);
    for setting in settings {
        let _ = connection.execute(&format!("RESET {setting}"));
    }
    outcome
}
