//! The server's counters and levels: `SHOW GLOBAL STATUS`, and what the product counts elsewhere. All are the whole
//! server's; MySQL counts nothing by database.

use std::collections::BTreeMap;

use super::super::statistics::{SIZE_EVERY, numbers};
use super::sizes::{DATABASE_BYTES, refresh};
use super::{known, named_values};
use crate::connection::{Connection, QueryError};
use crate::product;

/// A key of `docs/telemetry.md`, the status variables of which the first that is there is read, and the factor that
/// brings it to the key's unit.
type Variable = (&'static str, &'static [&'static str], f64);

/// What stands there as it is. MariaDB dropped InnoDB's row counters; its handlers leave temporary tables out of theirs,
/// which MySQL's do not.
const VARIABLES: &[Variable] = &[
    ("commit_statements_total", &["com_commit"], 1.0),
    ("rollback_statements_total", &["com_rollback"], 1.0),
    ("handler_commits_total", &["handler_commit"], 1.0),
    ("queries_total", &["questions"], 1.0),
    ("tuples_returned_total", &["innodb_rows_read", "rows_read"], 1.0),
    ("tuples_inserted_total", &["innodb_rows_inserted", "handler_write"], 1.0),
    ("tuples_updated_total", &["innodb_rows_updated", "handler_update"], 1.0),
    ("tuples_deleted_total", &["innodb_rows_deleted", "handler_delete"], 1.0),
    ("blocks_read_total", &["innodb_buffer_pool_reads"], 1.0),
    ("buffers_written_total", &["innodb_buffer_pool_pages_flushed"], 1.0),
    ("buffers_dirty_bytes", &["innodb_buffer_pool_bytes_dirty"], 1.0),
    ("wal_bytes_total", &["innodb_os_log_written"], 1.0),
    ("fsyncs_total", &["innodb_data_fsyncs"], 1.0),
    ("log_waits_total", &["innodb_log_waits"], 1.0),
    ("checkpoint_age_bytes", &["innodb_checkpoint_age"], 1.0),
    ("deadlocks_total", &["innodb_deadlocks"], 1.0),
    ("row_lock_waits_total", &["innodb_row_lock_waits"], 1.0),
    ("row_lock_wait_seconds_total", &["innodb_row_lock_time"], 0.001),
    ("temp_disk_tables_total", &["created_tmp_disk_tables"], 1.0),
];

/// What keys are put together from.
const REQUESTS: &str = "innodb_buffer_pool_read_requests";
const READS: &str = "innodb_buffer_pool_reads";
const RUNNING: &str = "threads_running";
const CONNECTED: &str = "threads_connected";
const LOG_END: &str = "innodb_redo_log_current_lsn";
const CHECKPOINT: &str = "innodb_redo_log_checkpoint_lsn";

/// Reads them.
#[derive(Debug)]
pub(in crate::inspect) struct Statistics {
    /// The status variables that the server has.
    names: Vec<String>,
    /// Further statements that it understands.
    further: Vec<&'static str>,
    /// Threads that always run: the one that asks, and the event scheduler.
    always_running: f64,
    sizes: bool,
    readings: u64,
}

impl Statistics {
    /// Finds out what this server has.
    pub(in crate::inspect) fn prepare(connection: &mut Connection) -> Result<Self, QueryError> {
        let composed = [REQUESTS, READS, RUNNING, CONNECTED, LOG_END, CHECKPOINT];
        let wanted: Vec<&str> =
            VARIABLES.iter().flat_map(|(_, names, _)| names.iter().copied()).chain(composed).collect();
        let status =
            known(named_values(connection, "SHOW GLOBAL STATUS", &wanted).map(Some))?.unwrap_or_default();
        let mut further = Vec::new();
        for sql in product::recognise(connection)?.product.map_or(&[][..], |product| product.views.counters) {
            if known(connection.query(sql).map(Some))?.is_some() {
                further.push(*sql);
            }
        }
        refresh(connection)?;
        Ok(Self {
            names: status.into_iter().map(|(name, _)| name).collect(),
            further,
            always_running: 1.0 + running_scheduler(connection)?,
            sizes: known(connection.query(DATABASE_BYTES).map(Some))?.is_some(),
            readings: 0,
        })
    }

    /// Reads once. What is null or not there is left out.
    pub(in crate::inspect) fn read(
        &mut self,
        connection: &mut Connection,
    ) -> Result<BTreeMap<String, f64>, QueryError> {
        let mut values = BTreeMap::new();
        if !self.names.is_empty() {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let status = named_values(connection, "SHOW GLOBAL STATUS", &names)?;
            values = self.keyed(&Status(status));
        }
        for sql in &self.further {
            values.extend(connection.query(sql)?.iter().flat_map(numbers));
        }
        let with_size = self.sizes && self.readings.is_multiple_of(SIZE_EVERY);
        self.readings += 1;
        if with_size {
            values.extend(connection.query(DATABASE_BYTES)?.iter().flat_map(numbers));
        }
        Ok(values)
    }

    fn keyed(&self, status: &Status) -> BTreeMap<String, f64> {
        let plain = VARIABLES.iter().filter_map(|(key, names, factor)| {
            Some((*key, names.iter().find_map(|name| status.get(name))? * factor))
        });
        let difference = |of: &str, less: &str| Some((status.get(of)? - status.get(less)?).max(0.0));
        let composed = [
            ("blocks_hit_total", difference(REQUESTS, READS)),
            ("checkpoint_age_bytes", difference(LOG_END, CHECKPOINT)),
            ("connections_active", status.get(RUNNING).map(|all| (all - self.always_running).max(0.0))),
            ("connections_open", status.get(CONNECTED).map(|all| (all - 1.0).max(0.0))),
        ];
        let composed = composed.into_iter().filter_map(|(key, value)| Some((key, value?)));
        plain.chain(composed).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Status variables by their names, in lower case.
struct Status(Vec<(String, String)>);

impl Status {
    fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name)?.1.parse().ok()
    }
}

/// The event scheduler counts as a running thread for as long as it is on.
fn running_scheduler(connection: &mut Connection) -> Result<f64, QueryError> {
    let state = known(connection.query_value::<String>("SELECT @@global.event_scheduler"))?;
    Ok(if state.as_deref() == Some("ON") { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: &[(&str, &str)]) -> BTreeMap<String, f64> {
        let statistics = Statistics {
            names: Vec::new(),
            further: Vec::new(),
            always_running: 2.0,
            sizes: false,
            readings: 0,
        };
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        statistics.keyed(&Status(status.iter().map(owned).collect()))
    }

    #[test]
    fn status_variables_become_the_keys_of_all_products() {
        let values = read(&[
            ("innodb_buffer_pool_read_requests", "1000"),
            ("innodb_buffer_pool_reads", "100"),
            ("innodb_row_lock_time", "2500"),
            ("threads_running", "5"),
            ("threads_connected", "9"),
            ("innodb_rows_inserted", "7"),
            ("handler_write", "700"),
        ]);
        let expected = [
            ("blocks_hit_total", 900.0),
            ("blocks_read_total", 100.0),
            ("connections_active", 3.0),
            ("connections_open", 8.0),
            ("row_lock_wait_seconds_total", 2.5),
            ("tuples_inserted_total", 7.0),
        ];
        assert_eq!(values, expected.map(|(key, value)| (key.to_owned(), value)).into());
    }

    #[test]
    fn where_innodb_counts_no_rows_the_handlers_do() {
        let values = read(&[("handler_write", "7"), ("rows_read", "9")]);
        assert_eq!((values["tuples_inserted_total"], values["tuples_returned_total"]), (7.0, 9.0));
        assert_eq!(values.len(), 2);
    }
}
