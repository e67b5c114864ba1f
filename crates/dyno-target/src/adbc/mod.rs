//! Databases that have a driver of ADBC (Arrow Database Connectivity): a library that is loaded into dyno's own process when a
//! target names it, and that returns and takes columns of Arrow. DuckDB is the one that is run; what is known of it alone is
//! in `duckdb`. Nothing here names a column or a table of a workload.

mod any;
mod columns;
mod database;
mod duckdb;
mod error;
mod options;
mod rows;
mod session;
mod settings;
mod sql;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use dyno_engine::driver::{Driver, DriverSession, Statement};
use dyno_wire::server_error::DriverError;

use crate::files::with_beside;
use crate::inspect::{DriverKind, DriverTarget};
use crate::settings::TargetError;
use crate::{Capabilities, Feature};
use database::SharedDatabase;
use session::AdbcSession;
use settings::AdbcSettings;

/// `duckdb:FILE`
pub(crate) static DUCKDB: DriverKind = DriverKind {
    schemes: &[settings::DUCKDB],
    example: "duckdb:data.db?threads=4",
    capabilities: of("DuckDB"),
    parse: |text, _| Some(AdbcSettings::parse_duckdb(text)?.map(|settings| target(settings, &DUCKDB))),
    product: &duckdb::PRODUCT,
    recognise: duckdb::recognise,
    inspector: &duckdb::INSPECTOR,
};

/// `adbc:DRIVER`, whatever database that is of.
pub(crate) static ANY: DriverKind = DriverKind {
    schemes: &[settings::ANY],
    example: "adbc:DRIVER?option=value",
    capabilities: of("ADBC"),
    parse: |text, _| Some(AdbcSettings::parse_any(text)?.map(|settings| target(settings, &ANY))),
    product: &any::PRODUCT,
    recognise: any::recognise,
    inspector: &any::INSPECTOR,
    // The words of an error are those of a library that nobody knows.
};

const fn of(protocol: &'static str) -> Capabilities {
    Capabilities {
        features: &[Feature::Transactions, Feature::Keys, Feature::Dates],
        ..Capabilities::new(protocol, settings::ANY, sql::SYNTAX)
    }
}

fn target(settings: AdbcSettings, kind: &'static DriverKind) -> DriverTarget {
    DriverTarget {
        url: settings.url(),
        database: settings.place(),
        passwords: settings.passwords(),
        capabilities: Capabilities {
            read_only: settings.is_read_only(),
            short_name: settings.kind(),
            ..kind.capabilities
        },
        driver: Arc::new(AdbcDriver { kind, settings, kept: OnceLock::new() }),
    }
}

/// A database, and how it is opened.
#[derive(Debug)]
struct AdbcDriver {
    kind: &'static DriverKind,
    settings: AdbcSettings,
    /// The database stays open for as long as there is the target, and so keeps what it has in memory between two loads.
    kept: OnceLock<SharedDatabase>,
}

impl Driver for AdbcDriver {
    fn kind(&self) -> &'static (dyn Any + Sync) {
        self.kind
    }

    fn place(&self) -> String {
        self.settings.place()
    }

    fn open(&self, statements: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError> {
        let opened = SharedDatabase::open(&self.settings).and_then(|database| {
            let database = self.kept.get_or_init(|| database).clone();
            AdbcSession::new(database, &self.settings, statements)
        });
        match opened {
            Ok(session) => Ok(Box::new(session)),
            Err(error) => Err(self.settings.without_secrets(error)),
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.settings.file().map(|file| with_beside(&file, &[".wal"])).unwrap_or_default()
    }

    fn library(&self) -> Option<String> {
        Some(database::library(&self.settings).display().to_string())
    }

    /// The sessions share the database's own files.
    fn files_per_session(&self) -> u32 {
        0
    }
}

/// What is wrong with a target's name, as all that read one report it.
type Named = Result<AdbcSettings, TargetError>;
