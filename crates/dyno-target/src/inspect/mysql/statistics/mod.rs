//! The server's counters and levels: `SHOW GLOBAL STATUS`, and what the product counts elsewhere. All are the whole
//! server's; MySQL counts nothing by database.

mod variables;
mod views;

use std::collections::BTreeMap;

use dyno_results::event::Table;

use super::files::{NoFiles, is_denied};
use super::sizes::{TableNames, refresh};
use super::{known, literal, named_values};
use crate::connection::{Connection, QueryError};
use crate::inspect::statistics::{ReadStatistics, SIZE_EVERY, Statistics, numbers, together};
use variables::Status;
use views::Right;

/// Where somebody changes the definition of a table, this reading is not to wait for long.
const LOCK_TIMEOUT: &str = "SET SESSION lock_wait_timeout = 1";

/// Reads them.
#[derive(Debug)]
pub(super) struct MySqlStatistics {
    /// The status variables that the server has.
    names: Vec<String>,
    /// What of the views it understands and this user may read, in one statement.
    views: Option<String>,
    /// Threads that always run: the one that asks, and the event scheduler.
    always_running: f64,
    table_names: TableNames,
    readings: u64,
}

impl MySqlStatistics {
    /// Finds out what this server has.
    pub(super) fn prepare(connection: &mut Connection, tables: &[String]) -> Result<Statistics, QueryError> {
        let mut missing = Vec::new();
        refresh(connection)?;
        known(connection.execute(LOCK_TIMEOUT).map(Some))?;
        let wanted = named_values(connection, "SHOW GLOBAL STATUS", &variables::wanted());
        let status = known(wanted.map(Some))?.unwrap_or_default();
        let mut refused = Vec::new();
        let views = readable_views(connection, &mut refused, &mut missing)?;
        let table_names = TableNames::of(connection, tables.iter().map(String::as_str))?;
        if matches!(table_names.files(connection)?, Err(NoFiles::Denied)) {
            refused.push((Right::Process, "sizes of files"));
        }
        tell_missing(connection, &refused, &mut missing)?;
        let statistics = Self {
            names: status.into_iter().map(|(name, _)| name).collect(),
            views,
            always_running: 1.0 + running_scheduler(connection)?,
            table_names,
            readings: 0,
        };
        Ok(Statistics::of(statistics, missing))
    }
}

impl ReadStatistics for MySqlStatistics {
    fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        let mut values = BTreeMap::new();
        if !self.names.is_empty() {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let status = named_values(connection, "SHOW GLOBAL STATUS", &names)?;
            values = Status(status).keyed(self.always_running);
        }
        if let Some(sql) = &self.views {
            values.extend(connection.query(sql)?.iter().flat_map(numbers));
            views::with_row_locks(&mut values);
        }
        let with_sizes = self.readings.is_multiple_of(SIZE_EVERY);
        self.readings += 1;
        if with_sizes {
            let sizes = self.table_names.sizes(connection)?;
            let database = sizes.database_bytes.map(|bytes| ("database_bytes".to_owned(), bytes as f64));
            values.extend(database.into_iter().chain(sizes.tables.iter().flat_map(labelled)));
        }
        Ok(values)
    }
}

/// Those of the views that the server has and lets this user read, each tried by itself.
fn readable_views(
    connection: &mut Connection,
    refused: &mut Vec<(Right, &'static str)>,
    missing: &mut Vec<String>,
) -> Result<Option<String>, QueryError> {
    let mut parts = Vec::new();
    for view in views::candidates(connection, missing)? {
        // Who lacks a right is shown half of what other views tell, which would be wrong.
        if refused.iter().any(|(right, _)| *right == view.right) {
            refused.push((view.right, view.about));
            continue;
        }
        match connection.query(&view.sql) {
            Ok(rows) if rows.len() == 1 => parts.push(view.sql),
            Ok(_) => {}
            Err(error) if is_denied(&error) => refused.push((view.right, view.about)),
            Err(error) => drop(known::<()>(Err(error))?),
        }
    }
    Ok((!parts.is_empty()).then(|| together(&parts)))
}

fn tell_missing(
    connection: &mut Connection,
    refused: &[(Right, &'static str)],
    missing: &mut Vec<String>,
) -> Result<(), QueryError> {
    let user: Option<String> = known(connection.query_value("SELECT current_user()"))?;
    let user = user.as_deref().and_then(|user| user.rsplit_once('@'));
    let Some((name, host)) = user else { return Ok(()) };
    let user = format!("{}@{}", literal(name), literal(host));
    for right in [Right::Process, Right::PerformanceSchema] {
        let about: Vec<&str> =
            refused.iter().filter(|(of, _)| *of == right).map(|(_, about)| *about).collect();
        if !about.is_empty() {
            missing.push(format!(
                "the server hides {} from {user}: {}",
                about.join(", "),
                right.grant(&user)
            ));
        }
    }
    Ok(())
}

fn labelled(table: &Table) -> Vec<(String, f64)> {
    let values =
        [("table_bytes", table.table_bytes), ("index_bytes", table.index_bytes), ("table_rows", table.rows)];
    let known = values.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known.map(|(key, value)| (format!("{key}[{}]", table.name), value as f64)).collect()
}

/// The event scheduler counts as a running thread for as long as it is on.
fn running_scheduler(connection: &mut Connection) -> Result<f64, QueryError> {
    let state = known(connection.query_value::<String>("SELECT @@global.event_scheduler"))?;
    Ok(if state.as_deref() == Some("ON") { 1.0 } else { 0.0 })
}
