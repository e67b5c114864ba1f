//! Sizes of the workload's tables on PostgreSQL, as statements of a row for each table.

use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::known;
use crate::inspect::postgres::sizes::of_tables;
use crate::inspect::statistics::numbers;

/// Where somebody has locked a table, this reading goes without sizes: the rest of it is not to wait.
pub(super) const LOCK_TIMEOUT: &str = "SET lock_timeout = '200ms'";

/// Reads them.
#[derive(Debug)]
pub(super) struct TableSizes {
    names: Vec<String>,
    /// What this server understands.
    statements: Vec<String>,
}

impl TableSizes {
    pub(super) fn prepare(connection: &mut Connection, tables: &[String]) -> Result<Self, QueryError> {
        let mut sizes = Self { names: tables.to_owned(), statements: Vec::new() };
        if tables.is_empty() {
            return Ok(sizes);
        }
        known(connection.execute(LOCK_TIMEOUT).map(Some))?;
        for sums in [
            "sum(pg_table_size(c.oid)) AS table_bytes, sum(pg_indexes_size(c.oid)) AS index_bytes",
            "sum(pg_stat_get_live_tuples(c.oid)) AS table_rows, sum(pg_stat_get_dead_tuples(c.oid)) AS dead_rows",
        ] {
            let sql = of_tables(tables, sums);
            if known(connection.query(&sql).map(Some))?.is_some() {
                sizes.statements.push(sql);
            }
        }
        Ok(sizes)
    }

    pub(super) fn read(&self, connection: &mut Connection) -> Result<Vec<(String, f64)>, QueryError> {
        let mut values = Vec::new();
        for sql in &self.statements {
            let rows = known(connection.query(sql).map(Some))?.unwrap_or_default();
            values.extend(self.names.iter().zip(&rows).flat_map(|(name, row)| labelled(name, row)));
        }
        Ok(values)
    }
}

fn labelled(table: &str, row: &TextRow) -> Vec<(String, f64)> {
    numbers(row).map(|(key, value)| (format!("{key}[{table}]"), value)).collect()
}
