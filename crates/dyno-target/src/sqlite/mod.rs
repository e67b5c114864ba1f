//! SQLite: a file, and the library in dyno's own process. There is no server, no login and no network; all sessions are
//! connections of this process to the same file.

mod dialect;
mod facts;
mod inspect;
mod session;
mod settings;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use dyno_engine::driver::{Driver, DriverSession, Statement};
use dyno_results::sql_text::Syntax;
use dyno_wire::server_error::DriverError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::connection::QueryError;
use crate::files::with_beside;
use crate::inspect::{DriverKind, DriverTarget};
use crate::product::Recognised;
use crate::{Capabilities, Feature};
use session::{SqliteSession, driver_error};
use settings::{OF_NEW_FILE, SCHEME, SqliteSettings, is_same};

pub(crate) static KIND: DriverKind = DriverKind {
    schemes: &[SCHEME],
    example: "sqlite:bank.db?journal_mode=wal",
    capabilities: Capabilities {
        features: &[Feature::Transactions, Feature::Keys, Feature::NumberedRows],
        ..Capabilities::new("SQLite", SCHEME, Syntax::SQLITE)
    },
    parse: |text, _| {
        let settings = SqliteSettings::parse(text)?;
        Some(settings.map(|settings| DriverTarget {
            url: settings.url(),
            database: settings.file().display().to_string(),
            passwords: Vec::new(),
            capabilities: Capabilities { read_only: settings.is_read_only(), ..KIND.capabilities },
            driver: Arc::new(settings),
        }))
    },
    product: &dialect::SQLITE,
    recognise,
    inspector: &inspect::INSPECTOR,
};

fn recognise(connection: &mut crate::Connection) -> Result<Recognised, QueryError> {
    let version: Option<String> = connection.query_value("SELECT sqlite_version()")?;
    let source: Option<String> = connection.query_value("SELECT sqlite_source_id()")?;
    Ok(Recognised::as_product(&dialect::SQLITE, version, source.unwrap_or_default()))
}

impl Driver for SqliteSettings {
    fn kind(&self) -> &'static (dyn Any + Sync) {
        &KIND
    }

    fn place(&self) -> String {
        self.file().display().to_string()
    }

    fn open(&self, statements: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError> {
        let access = match self.is_read_only() {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let connect = || {
            // One thread at a time uses a session, so the library needs no lock of its own.
            let connection =
                Connection::open_with_flags(self.file(), access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            // The settings may need the lock; afterwards the session waits in its own way.
            connection.busy_timeout(self.busy_timeout())?;
            for (name, value) in self.pragmas() {
                connection.pragma_update(None, name, value)?;
            }
            Ok(connection)
        };
        let connection = connect().map_err(|error| self.explained(driver_error(&error)))?;
        self.check_pragmas(&connection)?;
        Ok(Box::new(SqliteSession::new(connection, self.busy_timeout(), statements)?))
    }

    fn files(&self) -> Vec<PathBuf> {
        with_beside(self.file(), &["-wal", "-shm"])
    }

    /// The database, its write-ahead log and what the sessions share of that.
    fn files_per_session(&self) -> u32 {
        3
    }
}

impl SqliteSettings {
    /// The library says nothing of a setting that it does not take, so each is read back.
    fn check_pragmas(&self, connection: &Connection) -> Result<(), DriverError> {
        let failed = |error| self.explained(driver_error(&error));
        if self.pragmas().any(|(name, _)| OF_NEW_FILE.contains(&name)) {
            // What the file has is known once it has been read.
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        }
        for (name, asked) in self.pragmas() {
            let read = |row: &rusqlite::Row<'_>| row.get_ref(0).map(|value| text_of(value));
            let answered = match connection.pragma_query_value(None, name, read) {
                // Such as `mmap_size` where no file can be mapped.
                Err(rusqlite::Error::QueryReturnedNoRows) => "none".to_owned(),
                answered => answered.map_err(failed)?,
            };
            if !is_same(name, asked, &answered) {
                let advice = if OF_NEW_FILE.contains(&name) {
                    "only a new file takes another: name one, or leave the parameter out"
                } else {
                    "SQLite does not take this value on this file: name another, or leave the parameter out"
                };
                let message = format!("{name}={asked} has no effect, {name} is {answered}: {advice}");
                return Err(DriverError::new("SQLITE_MISMATCH", message));
            }
        }
        Ok(())
    }

    /// The library says no more than that it cannot open the file.
    fn explained(&self, mut error: DriverError) -> DriverError {
        let directory = self.file().parent().filter(|it| !it.as_os_str().is_empty());
        let why = match (error.code, directory) {
            ("SQLITE_CANTOPEN", Some(directory)) if !directory.is_dir() => {
                format!("; there is no directory {}", directory.display())
            }
            ("SQLITE_CANTOPEN", _) if self.is_read_only() && !self.file().exists() => {
                "; there is no such file, and mode=ro makes none".to_owned()
            }
            ("SQLITE_CANTOPEN", _) => "; this user may have no right to the file or its directory".to_owned(),
            _ => return error,
        };
        error.message += &why;
        error
    }
}

/// A setting as text: the library answers numbers or words.
fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => String::new(),
    }
}
