//! The server's statistics as readings of counters and levels. What is read is put together from what this server has
//! and this user may read: the views differ between versions, and more so between products. What could be read with
//! another right is told, with the statement that grants it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

use super::{inspector, known};
use crate::connection::{Connection, QueryError, TextRow};
use crate::interruption;

/// The size of the database needs a look at each of its files, so it is read only this often.
pub(super) const SIZE_EVERY: u64 = 10;
/// Until then a commit is counted, if at all: PostgreSQL's sessions report once a second.
const COUNTED_WITHIN: Duration = Duration::from_secs(3);
/// Tables whose sizes are read; more would be more series than anybody reads.
pub(super) const TABLES_MAX: usize = 24;

/// Reads the statistics of the session's database or its server. Keys and units are in `docs/telemetry.md`.
#[derive(Debug)]
pub struct Statistics {
    source: Box<dyn ReadStatistics>,
    missing: Vec<String>,
}

/// Those of one kind of database.
pub(crate) trait ReadStatistics: Debug + Send {
    fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError>;

    /// Makes a commit that the log has to hold, and has the server count it soon; false where that would take a table.
    fn commit(&mut self, _connection: &mut Connection) -> Result<bool, QueryError> {
        Ok(false)
    }
}

/// Of a server that has none.
impl ReadStatistics for () {
    fn read(&mut self, _: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        Ok(BTreeMap::new())
    }
}

impl Statistics {
    /// Finds out what this server has. `tables` are those of the workload, as SQL writes them, whose sizes are wanted.
    ///
    /// # Errors
    /// The session was lost.
    pub fn prepare(connection: &mut Connection, tables: &[String]) -> Result<Self, QueryError> {
        let tables = &tables[..tables.len().min(TABLES_MAX)];
        (inspector(connection).statistics)(connection, tables)
    }

    pub(crate) fn of(source: impl ReadStatistics + 'static, missing: Vec<String>) -> Self {
        Self { source: Box::new(source), missing }
    }

    /// What this user may not read, a sentence for each kind of it, and what helps.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Reads once. What is null or not there is left out.
    ///
    /// # Errors
    /// What the server said.
    pub fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        self.source.read(connection)
    }
}

/// How often the server has synced its log; `None` where it does not count that.
///
/// # Errors
/// The session was lost.
pub fn log_syncs(connection: &mut Connection) -> Result<Option<f64>, QueryError> {
    connection.briefly(|connection| LogSyncCounter::prepare(connection)?.read(connection))
}

/// The same behind what was committed since there were `before`, and where that is as many, behind a commit of its own.
///
/// # Errors
/// The session was lost.
pub fn log_syncs_later(connection: &mut Connection, before: f64) -> Result<Option<f64>, QueryError> {
    connection.briefly(|connection| {
        let mut counter = LogSyncCounter::prepare(connection)?;
        let mut now = counter.read(connection)?;
        if now != Some(before) || !counter.0.source.commit(connection)? {
            return Ok(now);
        }
        let given_up = Instant::now() + COUNTED_WITHIN;
        while now == Some(before) && Instant::now() < given_up && !interruption::is_requested() {
            thread::sleep(COUNTED_WITHIN / 30);
            now = counter.read(connection)?;
        }
        Ok(now)
    })
}

struct LogSyncCounter(Statistics);

impl LogSyncCounter {
    fn prepare(connection: &mut Connection) -> Result<Self, QueryError> {
        Statistics::prepare(connection, &[]).map(Self)
    }

    fn read(&mut self, connection: &mut Connection) -> Result<Option<f64>, QueryError> {
        let values = known(self.0.read(connection).map(Some))?;
        Ok(values.and_then(|values| values.get("wal_fsyncs_total").copied()))
    }
}

/// The columns of a row that are numbers.
pub(super) fn numbers(row: &TextRow) -> impl Iterator<Item = (String, f64)> {
    row.iter().filter_map(|(key, value)| Some((key.to_owned(), value?.parse().ok()?)))
}

/// One row that holds the columns of all parts, each of which is a statement of one row.
pub(super) fn together(parts: &[String]) -> String {
    let joined: Vec<String> =
        parts.iter().enumerate().map(|(index, part)| format!("({part}) AS part_{index}")).collect();
    format!("SELECT * FROM {}", joined.join(" CROSS JOIN "))
}
