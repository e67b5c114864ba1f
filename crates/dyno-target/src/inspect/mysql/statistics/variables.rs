//! Which status variables are read, and what they are called here.

use std::collections::BTreeMap;

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
    ("buffers_used_bytes", &["innodb_buffer_pool_bytes_data"], 1.0),
    ("buffer_waits_total", &["innodb_buffer_pool_wait_free"], 1.0),
    ("doublewrite_pages_total", &["innodb_dblwr_pages_written"], 1.0),
    ("io_read_bytes_total", &["innodb_data_read"], 1.0),
    ("io_write_bytes_total", &["innodb_data_written"], 1.0),
    ("io_read_operations_total", &["innodb_data_reads"], 1.0),
    ("io_write_operations_total", &["innodb_data_writes"], 1.0),
    ("wal_bytes_total", &["innodb_os_log_written"], 1.0),
    ("wal_write_operations_total", &["innodb_log_writes"], 1.0),
    ("wal_fsyncs_total", &["innodb_os_log_fsyncs"], 1.0),
    ("fsyncs_total", &["innodb_data_fsyncs"], 1.0),
    ("log_waits_total", &["innodb_log_waits"], 1.0),
    ("binlog_bytes_total", &["binlog_bytes_written"], 1.0),
    ("checkpoint_age_bytes", &["innodb_checkpoint_age"], 1.0),
    // MariaDB's is what the age may come to, MySQL's (8.0.30 and later) what the log may.
    ("checkpoint_age_limit_bytes", &["innodb_checkpoint_max_age", "innodb_redo_log_capacity_resized"], 1.0),
    ("undo_history_transactions", &["innodb_history_list_length"], 1.0),
    ("deadlocks_total", &["innodb_deadlocks"], 1.0),
    ("row_lock_waits_total", &["innodb_row_lock_waits"], 1.0),
    ("row_lock_wait_seconds_total", &["innodb_row_lock_time"], 0.001),
    ("lock_waiting_sessions", &["innodb_row_lock_current_waits"], 1.0),
    ("temp_tables_total", &["created_tmp_tables"], 1.0),
    ("temp_disk_tables_total", &["created_tmp_disk_tables"], 1.0),
    ("temp_files_total", &["created_tmp_files"], 1.0),
];

/// What keys are put together from.
const REQUESTS: &str = "innodb_buffer_pool_read_requests";
const READS: &str = "innodb_buffer_pool_reads";
const RUNNING: &str = "threads_running";
const CONNECTED: &str = "threads_connected";
const LOG_END: &str = "innodb_redo_log_current_lsn";
const CHECKPOINT: &str = "innodb_redo_log_checkpoint_lsn";

/// The variables that are asked for.
pub(super) fn wanted() -> Vec<&'static str> {
    let composed = [REQUESTS, READS, RUNNING, CONNECTED, LOG_END, CHECKPOINT];
    VARIABLES.iter().flat_map(|(_, names, _)| names.iter().copied()).chain(composed).collect()
}

/// Status variables by their names, in lower case.
pub(super) struct Status(pub(super) Vec<(String, String)>);

impl Status {
    fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name)?.1.parse().ok()
    }

    /// Under their keys; `always_running` threads run whatever clients do.
    pub(super) fn keyed(&self, always_running: f64) -> BTreeMap<String, f64> {
        let plain = VARIABLES.iter().filter_map(|(key, names, factor)| {
            Some((*key, names.iter().find_map(|name| self.get(name))? * factor))
        });
        let difference = |of: &str, less: &str| Some((self.get(of)? - self.get(less)?).max(0.0));
        let composed = [
            ("blocks_hit_total", difference(REQUESTS, READS)),
            ("checkpoint_age_bytes", difference(LOG_END, CHECKPOINT)),
            ("connections_active", self.get(RUNNING).map(|all| (all - always_running).max(0.0))),
            ("connections_open", self.get(CONNECTED).map(|all| (all - 1.0).max(0.0))),
        ];
        let composed = composed.into_iter().filter_map(|(key, value)| Some((key, value?)));
        plain.chain(composed).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: &[(&str, &str)]) -> BTreeMap<String, f64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Status(status.iter().map(owned).collect()).keyed(2.0)
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
