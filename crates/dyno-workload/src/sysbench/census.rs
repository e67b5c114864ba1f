//! Counts the rows of a table in two ways that have to agree: by the table itself, and by its index on `k`. Each way
//! reads all of it once.

use dyno_target::connection::{Connection, TextRows};
use dyno_target::product::Access;

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

impl Census {
    pub(super) fn take(
        connection: &mut Connection,
        table: u32,
        options: &Options,
    ) -> Result<Self, TableError> {
        let name = table_name(table);
        let access = connection.dialect().by_table;
        let from = if options.secondary { name.clone() } else { access.of(&name, "") };
        let sql = format!(
            "SELECT COUNT(*), COALESCE(SUM(CASE WHEN id BETWEEN 1 AND {} THEN 1 ELSE 0 END), 0), \
             COALESCE(MIN(id), 0), COALESCE(MAX(id), 0), COALESCE(SUM(k), 0) FROM {from}",
            options.table_size
        );
        let read = steered(connection, access, |connection| numbers::<i128, 5>(connection, &sql));
        let [rows, inside, first, last, k] = read.map_err(TableError::of(&name))?;
        Ok(Self { rows: rows as u64, inside: inside as u64, first: first as i64, last: last as i64, k })
    }
}

impl IndexCensus {
    /// `None` where the server would not count by the index.
    pub(super) fn take(connection: &mut Connection, table: u32) -> Result<Option<Self>, TableError> {
        let (name, index) = (table_name(table), index_name(table));
        let dialect = connection.dialect();
        // With something that only this index helps with, and that is true of every row.
        let (from, least) = (dialect.by_index.of(&name, &index), i32::MIN);
        let sql = format!("SELECT COUNT(*), COALESCE(SUM(k), 0) FROM {from} WHERE k >= {least}");
        let read = steered(connection, dialect.by_index, |connection| {
            if !uses(&connection.query(&format!("{} {sql}", dialect.explain.plain))?, &index) {
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

/// Does something while the planner's settings are off.
fn steered<T>(connection: &mut Connection, access: Access, run: impl FnOnce(&mut Connection) -> T) -> T {
    for setting in access.off {
        // A server that does not know it cannot be steered.
        let _ = connection.execute(&format!("SET {setting} = off"));
    }
    let outcome = run(connection);
    for setting in access.off {
        let _ = connection.execute(&format!("RESET {setting}"));
    }
    outcome
}
