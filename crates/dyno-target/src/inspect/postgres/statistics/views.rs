//! What PostgreSQL's views of statistics have, as statements of one row each.

use std::collections::BTreeSet;

use super::activity;
use crate::connection::{Connection, QueryError};
use crate::inspect::known;

/// Columns of the views that exist and may be read: `pg_stat_wal.wal_bytes`.
#[derive(Debug)]
pub(super) struct StatisticsViews {
    columns: BTreeSet<String>,
    /// Views that exist and may not be read.
    pub(super) closed: Vec<String>,
}

/// A key and the column it is read from, with the factor that brings it to the key's unit.
type Column = (&'static str, &'static str, &'static str);

const DATABASE: &[Column] = &[
    ("transactions_committed_total", "xact_commit", ""),
    ("transactions_rolled_back_total", "xact_rollback", ""),
    ("tuples_returned_total", "tup_returned", ""),
    ("tuples_fetched_total", "tup_fetched", ""),
    ("tuples_inserted_total", "tup_inserted", ""),
    ("tuples_updated_total", "tup_updated", ""),
    ("tuples_deleted_total", "tup_deleted", ""),
    ("blocks_hit_total", "blks_hit", ""),
    ("blocks_read_total", "blks_read", ""),
    ("deadlocks_total", "deadlocks", ""),
    ("conflicts_total", "conflicts", ""),
    ("temp_files_total", "temp_files", ""),
    ("temp_bytes_total", "temp_bytes", ""),
];

const WAL: &[Column] = &[
    ("wal_bytes_total", "wal_bytes", ""),
    ("wal_records_total", "wal_records", ""),
    ("wal_full_page_images_total", "wal_fpi", ""),
    ("log_waits_total", "wal_buffers_full", ""),
    // Since 18 these two stand in pg_stat_io.
    ("wal_write_operations_total", "wal_write", ""),
    ("wal_fsyncs_total", "wal_sync", ""),
];

const BUFFERS: &[Column] = &[("buffers_allocated_total", "buffers_alloc", "")];

/// Since 17. The server counts milliseconds.
const CHECKPOINTER: &[Column] = &[
    ("checkpoints_timed_total", "num_timed", ""),
    ("checkpoints_requested_total", "num_requested", ""),
    ("checkpoint_write_seconds_total", "write_time", " / 1000"),
    ("checkpoint_sync_seconds_total", "sync_time", " / 1000"),
];

/// Up to 16 the checkpointer's counters stand with the background writer's.
const WRITER_WITH_CHECKPOINTER: &[Column] = &[
    ("checkpoints_timed_total", "checkpoints_timed", ""),
    ("checkpoints_requested_total", "checkpoints_req", ""),
    ("checkpoint_write_seconds_total", "checkpoint_write_time", " / 1000"),
    ("checkpoint_sync_seconds_total", "checkpoint_sync_time", " / 1000"),
];

/// Since 16: what was asked of the operating system, by who asked. Before 18 an operation was always one block.
const IO: &[(&str, &str, &str)] = &[
    ("io_read_bytes_total", "read_bytes", "reads * op_bytes"),
    ("io_write_bytes_total", "write_bytes", "writes * op_bytes"),
    ("io_extend_bytes_total", "extend_bytes", "extends * op_bytes"),
    ("io_fsyncs_total", "fsyncs", "fsyncs"),
];
/// Kinds of processes, few enough to read: sessions with their parallel workers, who writes for all, and the rest.
const IO_CLASSES: &str = "CASE
    WHEN backend_type IN ('client backend', 'background worker') THEN 'client'
    WHEN backend_type IN ('checkpointer', 'background writer') THEN 'writer'
    WHEN backend_type LIKE 'autovacuum%' THEN 'autovacuum'
    ELSE 'other' END";
const IO_CLASS_NAMES: [&str; 4] = ["client", "writer", "autovacuum", "other"];

impl StatisticsViews {
    pub(super) fn of(connection: &mut Connection) -> Result<Self, QueryError> {
        let sql = "SELECT c.relname, a.attname, has_table_privilege(c.oid, 'SELECT')
                   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                   WHERE c.relname IN ('pg_stat_database', 'pg_stat_wal', 'pg_stat_bgwriter', 'pg_stat_io',
                                       'pg_stat_checkpointer', 'pg_stat_activity')
                     AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog')
                     AND a.attnum > 0
                   ORDER BY 1, 2";
        let rows = known(connection.query(sql).map(Some))?.unwrap_or_default();
        let mut views = Self { columns: BTreeSet::new(), closed: Vec::new() };
        for row in &rows {
            let (Some(view), Some(column)) = (row.text(0), row.text(1)) else { continue };
            if row.text(2) == Some("t") {
                views.columns.insert(format!("{view}.{column}"));
            } else if views.closed.last().is_none_or(|last| last != view) {
                views.closed.push(view.to_owned());
            }
        }
        Ok(views)
    }

    fn has(&self, view: &str, column: &str) -> bool {
        self.columns.contains(&format!("{view}.{column}"))
    }

    /// Statements of one row each, of which the server may refuse some.
    pub(super) fn candidates(&self) -> Vec<String> {
        let here = "WHERE datname = current_database()";
        let mut candidates = vec![self.select("pg_stat_database", DATABASE, here)];
        candidates.push(self.select("pg_stat_wal", WAL, ""));
        // Sessions report to the view about once a second, so that short work would seem to have made none. The log's own position
        // does not lag. A standby refuses to tell it, and has the view's bytes.
        let position = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS wal_bytes_total";
        candidates.push(Some(position.to_owned()));
        candidates.push(self.select("pg_stat_checkpointer", CHECKPOINTER, ""));
        if !self.has("pg_stat_checkpointer", "num_timed") {
            candidates.push(self.select("pg_stat_bgwriter", WRITER_WITH_CHECKPOINTER, ""));
        }
        candidates.push(self.select("pg_stat_bgwriter", BUFFERS, ""));
        candidates.push(self.buffers_written());
        candidates.push(self.io());
        candidates.push(self.log_io());
        candidates.push(self.has("pg_stat_activity", "backend_type").then(activity::sql));
        candidates.into_iter().flatten().collect()
    }

    /// Those of the columns that exist; `None` for none.
    fn select(&self, view: &str, columns: &[Column], condition: &str) -> Option<String> {
        let columns: Vec<String> = columns
            .iter()
            .filter(|(_, column, _)| self.has(view, column))
            .map(|(key, column, factor)| format!("{column}{factor} AS {key}"))
            .collect();
        (!columns.is_empty()).then(|| format!("SELECT {} FROM {view} {condition}", columns.join(", ")))
    }

    /// By the checkpointer and the background writer: what backends write themselves is counted in different ways
    /// by different versions, and would not compare.
    fn buffers_written(&self) -> Option<String> {
        if !self.has("pg_stat_bgwriter", "buffers_clean") {
            return None;
        }
        if self.has("pg_stat_checkpointer", "buffers_written") {
            return Some(
                "SELECT w.buffers_clean + c.buffers_written AS buffers_written_total
                 FROM pg_stat_bgwriter w CROSS JOIN pg_stat_checkpointer c"
                    .to_owned(),
            );
        }
        let together =
            "SELECT buffers_clean + buffers_checkpoint AS buffers_written_total FROM pg_stat_bgwriter";
        self.has("pg_stat_bgwriter", "buffers_checkpoint").then(|| together.to_owned())
    }

    /// Of tables and indexes. What a kind of process never does is null, and so left out.
    fn io(&self) -> Option<String> {
        if !self.has("pg_stat_io", "backend_type") {
            return None;
        }
        let bytes_by_operation = self.has("pg_stat_io", "read_bytes");
        let expression =
            |since_18: &'static str, before: &'static str| if bytes_by_operation { since_18 } else { before };
        let columns: Vec<String> = IO
            .iter()
            .map(|(key, since_18, before)| format!("{} AS {key}", expression(since_18, before)))
            .collect();
        let sums = IO.iter().flat_map(|(key, ..)| {
            IO_CLASS_NAMES
                .map(|class| format!("sum({key}) FILTER (WHERE class = '{class}') AS \"{key}[{class}]\""))
        });
        Some(format!(
            "SELECT {} FROM (SELECT {IO_CLASSES} AS class, {} FROM pg_stat_io
                             WHERE object IN ('relation', 'temp relation')) io",
            sums.collect::<Vec<_>>().join(", "),
            columns.join(", ")
        ))
    }

    /// Of the log, where `pg_stat_wal` no longer has it.
    fn log_io(&self) -> Option<String> {
        let moved = self.has("pg_stat_io", "read_bytes") && !self.has("pg_stat_wal", "wal_write");
        // New files of the log are made in another context.
        moved.then(|| {
            "SELECT sum(writes) AS wal_write_operations_total, sum(fsyncs) AS wal_fsyncs_total FROM pg_stat_io
             WHERE object = 'wal' AND context = 'normal'"
                .to_owned()
        })
    }
}
