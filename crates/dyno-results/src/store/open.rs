//! Opens the store's file: makes it where there is none, and refuses what is no store of this version.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::StoreError;

/// Version of the schema and of the events, kept in `PRAGMA user_version`.
pub(super) const VERSION: i64 = 5;
/// Says whose file it is, kept in `PRAGMA application_id`: `dyno` in ASCII.
const APPLICATION_ID: i64 = 0x6479_6e6f;
/// No event and no block comes near it: a larger value is not read.
const VALUE_BYTES_MAX: i32 = 64 << 20;
/// Pause between two tries to switch a new file to WAL.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Opens or makes the file at `path`, waiting at most `lock_timeout` where another process holds a lock.
pub(super) fn open(path: &Path, lock_timeout: Duration) -> Result<Connection, StoreError> {
    create_private(path)?;
    let fail = |source| StoreError::of(source, "open", path, lock_timeout.as_secs_f64());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.busy_timeout(lock_timeout).map_err(fail)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX).map_err(fail)?;
    check_owner(&connection, path).map_err(|error| error.or(fail))?;
    prepare(&mut connection, lock_timeout).map_err(fail)?;
    check_owner(&connection, path).map_err(|error| error.or(fail))?;
    Ok(connection)
}

/// Makes the directory and an empty file that only its owner may read: command lines and host names are stored.
fn create_private(path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|source| {
            StoreError::of_io(source, directory, |path, source| StoreError::Directory { path, source })
        })?;
    }
    // SQLite gives its -wal and -shm files the mode of the database.
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|source| {
            StoreError::of_io(source, path, |path, source| StoreError::Unreadable { path, source })
        })
}

/// Why a file is refused, or an error on the way to knowing.
enum OpenFailure {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl OpenFailure {
    fn or(self, fail: impl FnOnce(rusqlite::Error) -> StoreError) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(source) => fail(source),
        }
    }
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sqlite(source)
    }
}

/// Lets an empty database and a store of ours pass.
fn check_owner(connection: &Connection, path: &Path) -> Result<(), OpenFailure> {
    // One snapshot: another process may be making a store of the file at this moment.
    let snapshot = connection.unchecked_transaction()?;
    let application_id = pragma(&snapshot, "application_id")?;
    if application_id == APPLICATION_ID {
        let found = pragma(&snapshot, "user_version")?;
        let path = path.to_owned();
        if found > VERSION {
            return Err(OpenFailure::Store(StoreError::Newer { path, found, known: VERSION }));
        }
        if found < VERSION {
            return Err(OpenFailure::Store(StoreError::Older { path, found, known: VERSION }));
        }
        // A view of these names can have rows without end.
        let tables: bool = snapshot.query_row(
            "SELECT count(*) = 3 FROM sqlite_schema WHERE type = 'table' AND name IN ('run', 'event', 'block')",
            [],
            |row| row.get(0),
        )?;
        if !tables {
            return Err(OpenFailure::Store(StoreError::NotAStore { path }));
        }
        return Ok(());
    }
    let empty: bool = snapshot.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if empty && application_id == 0 {
        Ok(())
    } else {
        Err(OpenFailure::Store(StoreError::NotAStore { path: path.to_owned() }))
    }
}

/// WAL lets readers and a writer work at once, and an append is one sequential write. With `synchronous = NORMAL` a
/// commit does not wait for the disk: a killed process loses nothing, since the kernel holds what was written, and
/// no flush of ours gets in the way of the database under test, which may share the disk. Only a crash of the
/// machine can take the last moments, and even that leaves the file consistent.
fn prepare(connection: &mut Connection, lock_timeout: Duration) -> rusqlite::Result<()> {
    switch_to_wal(connection, lock_timeout)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if pragma(connection, "user_version")? == VERSION {
        return Ok(());
    }
    // Under the write lock, and looked at once more: two processes may have found the file as it was.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if pragma(&transaction, "user_version")? != 0 {
        return Ok(());
    }
    transaction.execute_batch(include_str!("tables.sql"))?;
    transaction.execute_batch(include_str!("views.sql"))?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// The switch needs the file for itself, and SQLite does not always wait for that by itself.
fn switch_to_wal(connection: &Connection, lock_timeout: Duration) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < lock_timeout =>
            {
                thread::sleep(RETRY_PAUSE);
                waited += RETRY_PAUSE;
            }
            result => return result,
        }
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
