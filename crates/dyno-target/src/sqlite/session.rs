//! A session: one connection of SQLite's library to the file. The library blocks, and so does this.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::driver::{self, CancelSession, DriverSession, Executed, Operation, RowSink, Value, Values};
use dyno_results::answer::Kind;
use dyno_wire::server_error::{DriverError, DriverErrorKind};
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::types::{Null, ValueRef};
use rusqlite::{Batch, Connection, ErrorCode, InterruptHandle, Rows, Statement, ffi};

use super::facts;

/// Statements that are kept prepared beside the workload's own.
const OWN_STATEMENTS: usize = 16;
/// How long a session waits before it tries again to lock the file, milliseconds; then always the last. As the library
/// does by itself.
const LOCK_DELAYS_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// The file is no longer where it was opened.
pub(super) const MOVED: &str = "SQLITE_READONLY_DBMOVED";

pub(super) struct SqliteSession {
    connection: Connection,
    /// The workload's statements by their numbers, as the library numbers parameters. It finds what is prepared by its text.
    statements: Vec<String>,
    /// The operation under way has been asked to stop.
    cancelled: Arc<AtomicBool>,
}

/// Stops what a session is doing. The library itself does not stop a wait for a lock.
struct Interrupt {
    handle: InterruptHandle,
    cancelled: Arc<AtomicBool>,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

impl CancelSession for Interrupt {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.handle.interrupt();
    }
}

impl SqliteSession {
    /// Waits for locks up to `busy_timeout`. Prepares the statements, so that what is wrong with one shows before the load.
    pub(super) fn new(
        mut connection: Connection,
        busy_timeout: Duration,
        statements: &[driver::Statement],
    ) -> Result<Self, DriverError> {
        let cancelled = Arc::<AtomicBool>::default();
        let waiting = wait_for_lock(busy_timeout, Arc::clone(&cancelled));
        connection.busy_handler(Some(waiting)).map_err(|error| driver_error(&error))?;
        connection.set_prepared_statement_cache_capacity(statements.len() + OWN_STATEMENTS);
        let numbered = |statement: &driver::Statement| {
            statement.with_placeholders(|sql, index| {
                sql.push('?');
                sql.push_str(&(index + 1).to_string());
            })
        };
        let places = statements.iter().map(driver::Statement::place);
        let statements: Vec<String> = statements.iter().map(numbered).collect();
        for (sql, place) in statements.iter().zip(places) {
            connection.prepare_cached(sql).map_err(|error| driver_error(&error).at(place))?;
        }
        Ok(Self { connection, statements, cancelled })
    }

    fn execute_statement(
        &self,
        sql: &str,
        values: Values<'_>,
        rows: &mut dyn RowSink,
    ) -> Result<Executed, rusqlite::Error> {
        let mut statement = self.connection.prepare_cached(sql)?;
        // A parameter that the statement does not have is not bound.
        let parameters = statement.parameter_count();
        for (place, value) in (1..=parameters).zip(values.iter()) {
            match value {
                Value::Null => statement.raw_bind_parameter(place, Null)?,
                Value::Integer(value) => statement.raw_bind_parameter(place, value)?,
                Value::Double(value) => statement.raw_bind_parameter(place, value)?,
                // It keeps no more digits of a number.
                Value::Decimal(digits) => statement.raw_bind_parameter(place, digits.parse::<f64>().ok())?,
                Value::Text(text) => statement.raw_bind_parameter(place, std::str::from_utf8(text)?)?,
            }
        }
        self.run(&mut statement, rows)
    }

    fn execute_text(&self, sql: &str, rows: &mut dyn RowSink) -> Result<Executed, rusqlite::Error> {
        let mut all = Executed::default();
        let mut batch = Batch::new(&self.connection, sql);
        while let Some(mut statement) = batch.next()? {
            all.add(self.run(&mut statement, rows)?);
        }
        Ok(all)
    }

    /// Runs a statement whose parameters are bound.
    fn run(
        &self,
        statement: &mut Statement<'_>,
        rows: &mut dyn RowSink,
    ) -> Result<Executed, rusqlite::Error> {
        if rows.wants_rows() && statement.column_count() > 0 {
            rows.columns(&statement.column_names().collect::<Vec<_>>());
        }
        let before = self.connection.total_changes();
        let returned = take_rows(statement.raw_query(), rows)?;
        // `changes` keeps its value over statements that change nothing, so it counts only where the sum of all has moved.
        let moved = self.connection.total_changes() != before;
        let affected = if moved { self.connection.changes() } else { 0 };
        Ok(Executed { statements: 1, rows: returned, affected })
    }
}

/// Steps through a statement to its end; how many rows there were.
fn take_rows(mut found: Rows<'_>, rows: &mut dyn RowSink) -> Result<u64, rusqlite::Error> {
    let mut count = 0;
    let wants_rows = rows.wants_rows();
    let mut kinds = Vec::new();
    while let Some(row) = found.next()? {
        if count == 0 {
            rows.arrived();
        }
        count += 1;
        if wants_rows {
            let columns = row.as_ref().column_count();
            let found: Vec<ValueRef<'_>> =
                (0..columns).map(|at| row.get_ref(at)).collect::<Result<_, _>>()?;
            if settle(&mut kinds, &found) {
                rows.kinds(&kinds);
            }
            let values: Vec<Value<'_>> = found.into_iter().map(value).collect();
            rows.row(&values);
        }
    }
    Ok(count)
}

/// Takes the kinds of columns from the first values that are not NULL; whether any is new.
fn settle(kinds: &mut Vec<Kind>, values: &[ValueRef<'_>]) -> bool {
    let is_first = kinds.is_empty();
    kinds.resize(values.len(), Kind::Unknown);
    let unknown = kinds.iter_mut().zip(values).filter(|(known, _)| **known == Kind::Unknown);
    let mut is_new = is_first;
    for (known, value) in unknown {
        *known = kind(value);
        is_new |= *known != Kind::Unknown;
    }
    is_new
}

/// Columns have no types: a value tells. Decimals are kept as floats, so that no number is taken for exact.
fn kind(value: &ValueRef<'_>) -> Kind {
    match value {
        ValueRef::Null => Kind::Unknown,
        ValueRef::Integer(_) | ValueRef::Real(_) => Kind::Float,
        ValueRef::Text(_) => Kind::Text,
        ValueRef::Blob(_) => Kind::Binary,
    }
}

fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Double(value),
        ValueRef::Text(text) | ValueRef::Blob(text) => Value::Text(text),
    }
}

impl DriverSession for SqliteSession {
    fn execute(&mut self, operation: Operation<'_>, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        self.cancelled.store(false, Ordering::Relaxed);
        let executed = match operation {
            Operation::Sql(sql) => self.execute_text(sql, rows),
            Operation::Statement { id, values } => match self.statements.get(usize::from(id.0)) {
                Some(sql) => self.execute_statement(sql, values, rows),
                None => Ok(Executed::default()),
            },
        };
        executed.map_err(|error| {
            let mut error = driver_error(&error);
            if error.kind == DriverErrorKind::Conflict && self.cancelled.load(Ordering::Relaxed) {
                error.kind = DriverErrorKind::Cancelled;
            }
            error
        })
    }

    fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn canceller(&self) -> Arc<dyn CancelSession> {
        let handle = self.connection.get_interrupt_handle();
        Arc::new(Interrupt { handle, cancelled: Arc::clone(&self.cancelled) })
    }
}

/// What the library calls with the number of tries so far when a lock is not free: whether it is to try again.
fn wait_for_lock(busy_timeout: Duration, cancelled: Arc<AtomicBool>) -> impl FnMut(i32) -> bool + Send {
    let mut began = Instant::now();
    move |tries| {
        let now = Instant::now();
        if tries == 0 {
            began = now;
        }
        let left = busy_timeout.saturating_sub(now - began);
        if left.is_zero() || cancelled.load(Ordering::Relaxed) {
            return false;
        }
        let [.., longest] = LOCK_DELAYS_MS;
        let delay = usize::try_from(tries).ok().and_then(|tries| LOCK_DELAYS_MS.get(tries));
        std::thread::sleep(left.min(Duration::from_millis(*delay.unwrap_or(&longest))));
        true
    }
}

/// The library's error with its name, `SQLITE_BUSY`.
pub(super) fn driver_error(error: &rusqlite::Error) -> DriverError {
    let (failure, message) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            (*failure, message.clone().unwrap_or_else(|| failure.to_string()))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => (*error, msg.clone()),
        other => (ffi::Error::new(ffi::SQLITE_MISUSE), other.to_string()),
    };
    let kind = match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DriverErrorKind::Conflict,
        ErrorCode::OperationInterrupted => DriverErrorKind::Cancelled,
        // A commit that ends so may have been done: SQLite then rolls back what it can, and says the same whether it could. Only
        // another session sees what is in the file.
        ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            DriverErrorKind::SessionLost
        }
        _ => DriverErrorKind::Other,
    };
    let code = name(failure);
    let cause = facts::cause(code, &message);
    DriverError { code, message, kind, cause }
}

fn name(failure: ffi::Error) -> &'static str {
    match failure.code {
        // What was read meanwhile is no longer the newest: waiting would not help.
        ErrorCode::DatabaseBusy if failure.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            "SQLITE_BUSY_SNAPSHOT"
        }
        ErrorCode::ReadOnly if failure.extended_code == ffi::SQLITE_READONLY_DBMOVED => MOVED,
        ErrorCode::InternalMalfunction => "SQLITE_INTERNAL",
        ErrorCode::PermissionDenied => "SQLITE_PERM",
        ErrorCode::OperationAborted => "SQLITE_ABORT",
        ErrorCode::DatabaseBusy => "SQLITE_BUSY",
        ErrorCode::DatabaseLocked => "SQLITE_LOCKED",
        ErrorCode::OutOfMemory => "SQLITE_NOMEM",
        ErrorCode::ReadOnly => "SQLITE_READONLY",
        ErrorCode::OperationInterrupted => "SQLITE_INTERRUPT",
        ErrorCode::SystemIoFailure => "SQLITE_IOERR",
        ErrorCode::DatabaseCorrupt => "SQLITE_CORRUPT",
        ErrorCode::DiskFull => "SQLITE_FULL",
        ErrorCode::CannotOpen => "SQLITE_CANTOPEN",
        ErrorCode::FileLockingProtocolFailed => "SQLITE_PROTOCOL",
        ErrorCode::SchemaChanged => "SQLITE_SCHEMA",
        ErrorCode::TooBig => "SQLITE_TOOBIG",
        ErrorCode::ConstraintViolation => "SQLITE_CONSTRAINT",
        ErrorCode::TypeMismatch => "SQLITE_MISMATCH",
        ErrorCode::ApiMisuse => "SQLITE_MISUSE",
        ErrorCode::AuthorizationForStatementDenied => "SQLITE_AUTH",
        ErrorCode::NotADatabase => "SQLITE_NOTADB",
        _ => "SQLITE_ERROR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_that_is_not_null_tells_the_kind() {
        let mut kinds = Vec::new();
        let text = ValueRef::Text(b"a");
        assert!(settle(&mut kinds, &[ValueRef::Null, ValueRef::Integer(1)]));
        assert_eq!(kinds, [Kind::Unknown, Kind::Float]);
        assert!(!settle(&mut kinds, &[ValueRef::Null, text]));
        assert!(settle(&mut kinds, &[text, text]));
        assert_eq!(kinds, [Kind::Text, Kind::Float]);
        assert!(!settle(&mut kinds, &[ValueRef::Integer(1), ValueRef::Null]));
    }
}
