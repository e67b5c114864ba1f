//! The server's statistics as one reading of counters and levels, in one statement. The statement is put together
//! from what this server has and this user may read: the views differ from PostgreSQL 13 to 18, and more so in
//! its relatives.

use std::collections::{BTreeMap, BTreeSet};

use super::{known, mysql, speaks_mysql};
use crate::connection::{Connection, QueryError, Row};

/// The size of the database needs a look at each of its files, so it is read only this often.
pub(super) const SIZE_EVERY: u64 = 10;

/// Reads the statistics of the session's database or its server. Keys and units are in `docs/telemetry.md`.
#[derive(Debug)]
pub struct Statistics(Source);

#[derive(Debug)]
enum Source {
    Postgres(PostgresStatistics),
    MySql(mysql::Statistics),
}

#[derive(Debug)]
struct PostgresStatistics {
    sql: String,
    sql_with_size: String,
    readings: u64,
}

/// Columns of the statistics views that exist and may be read: `pg_stat_wal.wal_bytes`.
struct Existing(BTreeSet<String>);

/// A key and the column it is read from, with the factor that brings it to the key's unit.
type Column = (&'static str, &'static str, &'static str);

const DATABASE: &[Column] = &[
    ("transactions_committed_total", "xact_commit", ""),
    ("transactions_rolled_back_total", "xact_rollback", ""),
    ("tuples_returned_total", "tup_returned", ""),
    ("tuples_inserted_total", "tup_inserted", ""),
    ("tuples_updated_total", "tup_updated", ""),
    ("tuples_deleted_total", "tup_deleted", ""),
    ("blocks_hit_total", "blks_hit", ""),
    ("blocks_read_total", "blks_read", ""),
    ("deadlocks_total", "deadlocks", ""),
    ("conflicts_total", "conflicts", ""),
    ("temp_bytes_total", "temp_bytes", ""),
];

const WAL: &[Column] = &[
    ("wal_bytes_total", "wal_bytes", ""),
    ("wal_records_total", "wal_records", ""),
    ("wal_full_page_images_total", "wal_fpi", ""),
];

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

impl Statistics {
    /// Finds out what this server has.
    ///
    /// # Errors
    /// The session was lost.
    pub fn prepare(connection: &mut Connection) -> Result<Self, QueryError> {
        Ok(Self(if speaks_mysql(connection) {
            Source::MySql(mysql::Statistics::prepare(connection)?)
        } else {
            Source::Postgres(PostgresStatistics::prepare(connection)?)
        }))
    }

    /// Reads once. What is null or not there is left out.
    ///
    /// # Errors
    /// What the server said.
    pub fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        match &mut self.0 {
            Source::Postgres(statistics) => statistics.read(connection),
            Source::MySql(statistics) => statistics.read(connection),
        }
    }
}

impl PostgresStatistics {
    fn prepare(connection: &mut Connection) -> Result<Self, QueryError> {
        let existing = Existing::of(connection)?;
        let mut parts = Vec::new();
        for candidate in existing.candidates() {
            // Each part is tried by itself, so that one that this server refuses does not cost the others.
            if known(connection.query(&candidate).map(Some))?.is_some() {
                parts.push(candidate);
            }
        }
        let size = "SELECT pg_database_size(current_database()) AS database_bytes".to_owned();
        let sql = together(&parts);
        if known(connection.query(&size).map(Some))?.is_some() {
            parts.push(size);
        }
        Ok(Self { sql, sql_with_size: together(&parts), readings: 0 })
    }

    /// In one round trip.
    fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        let with_size = self.readings.is_multiple_of(SIZE_EVERY);
        self.readings += 1;
        let rows = connection.query(if with_size { &self.sql_with_size } else { &self.sql })?;
        Ok(rows.iter().flat_map(numbers).collect())
    }
}

/// The columns of a row that are numbers.
pub(super) fn numbers(row: &Row) -> impl Iterator<Item = (String, f64)> {
    row.iter().filter_map(|(key, value)| Some((key.to_owned(), value?.parse().ok()?)))
}

/// One row that holds the columns of all parts.
fn together(parts: &[String]) -> String {
    let joined: Vec<String> =
        parts.iter().enumerate().map(|(index, part)| format!("({part}) AS part_{index}")).collect();
    if joined.is_empty() {
        "SELECT".to_owned()
    } else {
        format!("SELECT * FROM {}", joined.join(" CROSS JOIN "))
    }
}

impl Existing {
    fn of(connection: &mut Connection) -> Result<Self, QueryError> {
        let sql = "SELECT c.relname || '.' || a.attname
                   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                   WHERE c.relname IN ('pg_stat_database', 'pg_stat_wal', 'pg_stat_bgwriter',
                                       'pg_stat_checkpointer', 'pg_stat_activity')
                     AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog')
                     AND a.attnum > 0 AND has_table_privilege(c.oid, 'SELECT')";
        let rows = known(connection.query(sql).map(Some))?.unwrap_or_default();
        Ok(Self(rows.iter().filter_map(|row| row.text(0)).map(str::to_owned).collect()))
    }

    fn has(&self, view: &str, column: &str) -> bool {
        self.0.contains(&format!("{view}.{column}"))
    }

    /// Statements of one row each.
    fn candidates(&self) -> Vec<String> {
        let here = "WHERE datname = current_database()";
        let mut candidates = vec![self.select("pg_stat_database", DATABASE, here)];
        candidates.push(self.select("pg_stat_wal", WAL, ""));
        if !self.has("pg_stat_wal", "wal_bytes") {
            // Before 14 the log's own position serves; a standby has none.
            let position = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal_bytes_total";
            candidates.push(Some(position.to_owned()));
        }
        candidates.push(self.select("pg_stat_checkpointer", CHECKPOINTER, ""));
        if !self.has("pg_stat_checkpointer", "num_timed") {
            candidates.push(self.select("pg_stat_bgwriter", WRITER_WITH_CHECKPOINTER, ""));
        }
        candidates.push(self.buffers_written());
        candidates.push(self.sessions());
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

    /// Sessions on this database but the one that asks. The state of another user's session may be hidden; then
    /// none is counted, since any number would be wrong.
    fn sessions(&self) -> Option<String> {
        if !self.has("pg_stat_activity", "backend_type") {
            return None;
        }
        let counted = |key: &str, states: &str| {
            format!(
                "CASE WHEN NOT hidden THEN (SELECT count(*) FROM seen WHERE state IN ({states})) END AS {key}"
            )
        };
        Some(format!(
            "WITH seen AS (
                SELECT state, backend_type IS NULL AS hidden FROM pg_stat_activity
                WHERE datname = current_database() AND usesysid IS NOT NULL AND pid <> pg_backend_pid()
                  AND coalesce(backend_type, 'client backend') = 'client backend'
             ), visible AS (SELECT coalesce(bool_or(hidden), false) AS hidden FROM seen)
             SELECT {}, {}, {} FROM visible",
            counted("connections_active", "'active', 'fastpath function call'"),
            counted("connections_idle", "'idle'"),
            counted("connections_in_transaction", "'idle in transaction', 'idle in transaction (aborted)'"),
        ))
    }
}
