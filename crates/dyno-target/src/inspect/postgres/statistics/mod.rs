//! PostgreSQL and its relatives, read in one round trip.

mod activity;
mod tables;
mod views;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::known;
use crate::connection::{Connection, QueryError, TextRows};
use crate::inspect::statistics::{ReadStatistics, SIZE_EVERY, Statistics, numbers, together};
use tables::TableSizes;
use views::StatisticsViews;

const SIZE: &str = "SELECT pg_database_size(current_database()) AS database_bytes";
/// True for superusers too; null where there is no such role.
const MAY_SEE_OTHERS: &str = "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::text";

#[derive(Debug)]
pub(super) struct PostgresStatistics {
    /// `None` where the server has nothing that is known here.
    plain: Option<Statement>,
    with_size: Option<Statement>,
    tables: TableSizes,
    readings: u64,
}

impl PostgresStatistics {
    pub(super) fn prepare(connection: &mut Connection, tables: &[String]) -> Result<Statistics, QueryError> {
        let mut missing = Vec::new();
        let views = StatisticsViews::of(connection)?;
        let mut parts = Vec::new();
        for candidate in views.candidates() {
            if is_one_row(connection, &candidate)? {
                parts.push(candidate);
            }
        }
        let plain = Statement::of(connection, &parts)?;
        if is_one_row(connection, SIZE)? {
            parts.push(SIZE.to_owned());
        }
        let with_size = Statement::of(connection, &parts)?;
        tell_missing(connection, &views, &mut missing)?;
        let tables = TableSizes::prepare(connection, tables)?;
        Ok(Statistics::of(Self { plain, with_size, tables, readings: 0 }, missing))
    }
}

impl ReadStatistics for PostgresStatistics {
    fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        let with_size = self.readings.is_multiple_of(SIZE_EVERY);
        self.readings += 1;
        let mut values = BTreeMap::new();
        if let Some(statement) = if with_size { &mut self.with_size } else { &mut self.plain } {
            values.extend(statement.read(connection)?.iter().flat_map(numbers));
        }
        if with_size {
            values.extend(self.tables.read(connection)?);
        }
        Ok(values)
    }

    fn commit(&mut self, connection: &mut Connection) -> Result<bool, QueryError> {
        // A transaction of its own, because only one that has written to the log waits for it.
        let sql = "SELECT pg_logical_emit_message(true, 'dyno', '')";
        let committed = known(connection.query(sql).map(Some))?.is_some();
        // Since 15.
        known(connection.query("SELECT pg_stat_force_next_flush()").map(Some))?;
        Ok(committed)
    }
}

/// What is read each second. To understand and to plan it takes the server longer than to run it, so it is prepared.
#[derive(Debug)]
struct Statement {
    sql: String,
    /// Empty where the server or a pooler before it keeps no prepared statement for this session.
    execute: Option<String>,
}

impl Statement {
    fn of(connection: &mut Connection, parts: &[String]) -> Result<Option<Self>, QueryError> {
        if parts.is_empty() {
            return Ok(None);
        }
        // A session may be asked by several, each with statements of its own.
        static PREPARED: AtomicU64 = AtomicU64::new(0);
        let name = format!("dyno_probe_{}", PREPARED.fetch_add(1, Ordering::Relaxed));
        let sql = together(parts);
        let prepared = known(connection.execute(&format!("PREPARE {name} AS {sql}")).map(Some))?.is_some();
        Ok(Some(Self { sql, execute: prepared.then(|| format!("EXECUTE {name}")) }))
    }

    fn read(&mut self, connection: &mut Connection) -> Result<TextRows, QueryError> {
        const NO_SUCH_STATEMENT: &str = "26000";
        if let Some(execute) = &self.execute {
            match connection.query(execute) {
                Err(error) if error.sqlstate() == Some(NO_SUCH_STATEMENT) => self.execute = None,
                answer => return answer,
            }
        }
        connection.query(&self.sql)
    }
}

/// Each part is tried by itself, so that one that this server refuses does not cost the others.
fn is_one_row(connection: &mut Connection, sql: &str) -> Result<bool, QueryError> {
    Ok(known(connection.query(sql).map(Some))?.is_some_and(|rows| rows.len() == 1))
}

fn tell_missing(
    connection: &mut Connection,
    views: &StatisticsViews,
    missing: &mut Vec<String>,
) -> Result<(), QueryError> {
    let user: Option<String> = known(connection.query_value("SELECT quote_ident(current_user)"))?;
    let Some(user) = user else { return Ok(()) };
    let may_see: Option<String> = known(connection.query_value(MAY_SEE_OTHERS))?;
    if may_see.as_deref() == Some("false") {
        missing.push(format!(
            "the server hides from {user} what sessions of other users and its own workers are at (connections, waits, \
             transactions, autovacuum): GRANT pg_monitor TO {user}"
        ));
    }
    if !views.closed.is_empty() {
        let views: Vec<String> = views.closed.iter().map(|view| format!("pg_catalog.{view}")).collect();
        missing.push(format!(
            "{user} may not read all statistics of the server: GRANT SELECT ON {} TO {user}",
            views.join(", ")
        ));
    }
    Ok(())
}
