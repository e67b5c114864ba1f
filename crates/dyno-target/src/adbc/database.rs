//! The library and the database in it. All sessions of a process share one database for each file: the library itself would
//! open it a second time, and write to it from two places.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, LOAD_FLAG_DEFAULT, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase, ManagedDriver};
use arrow_array::cast::AsArray as _;
use dyno_wire::server_error::DriverError;

use super::error::of_library;
use super::options::DatabaseOption;
use super::settings::{AdbcSettings, LIBRARY_VARIABLE};

/// What the system looks for where nobody names DuckDB's library.
const DUCKDB_LIBRARY: &str = "libduckdb.so";
/// What DuckDB is told unless the target says otherwise: a file of another product would have it fetch an extension, and so would
/// a function, in the middle of a run.
///
/// And types that Arrow does not have come as they are: a `TIMETZ` would lose its zone.
const DEFAULTS: [(&str, &str); 2] =
    [("autoinstall_known_extensions", "false"), ("arrow_lossless_conversion", "true")];
const NO_LIBRARY: &str = "no library";
const OLD_LIBRARY: &str = "old library";
/// Libraries before it go on with a statement that they are asked to stop.
const STOPS_SINCE: [u32; 2] = [1, 5];
/// Where there is one, and how it is named.
const WHERE_TO_GET: &str = "in libduckdb-linux-amd64.zip of DuckDB's releases and in the npm package @duckdb/node-bindings-linux-x64; \
                            name it with ?driver=/path/to/libduckdb.so behind the file, or with DYNO_DUCKDB_LIBRARY";

/// The databases that are open, by what they are known by. It stays locked while one is opened or closed.
static OPEN: Mutex<BTreeMap<String, Open>> = Mutex::new(BTreeMap::new());

struct Open {
    database: ManagedDatabase,
    settings: AdbcSettings,
    users: usize,
}

/// A user of an open database; with the last one it is closed.
pub(super) struct SharedDatabase {
    key: String,
}

/// The key of one that has no file holds what it was told.
impl fmt::Debug for SharedDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedDatabase")
    }
}

impl SharedDatabase {
    /// Opens the database, or joins those who have it open.
    pub(super) fn open(settings: &AdbcSettings) -> Result<Self, DriverError> {
        let key = key(settings);
        let mut open = open_ones();
        match open.get_mut(&key) {
            Some(found) if found.settings.options() != settings.options() => {
                let message =
                    format!("it is open in this run already, as {}: name it the same", found.settings.url());
                return Err(DriverError::new("other settings", message));
            }
            Some(found) => found.users += 1,
            None => {
                let database = open_database(settings)?;
                open.insert(key.clone(), Open { database, settings: settings.clone(), users: 1 });
            }
        }
        Ok(Self { key })
    }

    /// Whether rows that cannot be appended to a table are an error: DuckDB may lose them without one.
    pub(super) fn reports_appends(&self) -> bool {
        open_ones().get(&self.key).is_some_and(|open| open.settings.file().is_none())
    }

    pub(super) fn connect(&self) -> Result<ManagedConnection, DriverError> {
        // Opening a connection waits for nobody, but closing the database does.
        let database = open_ones().get(&self.key).map(|open| open.database.clone());
        let database = database.ok_or_else(|| DriverError::new("closed", "the database has been closed"))?;
        database.new_connection().map_err(|error| of_library(&error))
    }
}

impl Clone for SharedDatabase {
    fn clone(&self) -> Self {
        if let Some(open) = open_ones().get_mut(&self.key) {
            open.users += 1;
        }
        Self { key: self.key.clone() }
    }
}

impl Drop for SharedDatabase {
    fn drop(&mut self) {
        let mut open = open_ones();
        let Some(found) = open.get_mut(&self.key) else { return };
        found.users -= 1;
        if found.users == 0 {
            open.remove(&self.key);
        }
    }
}

/// The names of the settings with which an open file of DuckDB was named.
pub(super) fn named_settings(file: &Path) -> Vec<String> {
    let open = open_ones();
    let options = open.get(&key_of_file(file)).map(|open| open.settings.options());
    options.unwrap_or_default().iter().map(|option| option.name().to_owned()).collect()
}

fn open_ones() -> MutexGuard<'static, BTreeMap<String, Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(settings: &AdbcSettings) -> String {
    match settings.file() {
        Some(file) => key_of_file(&file),
        None => {
            let options = settings.options().iter().map(|option| (option.name(), option.value()));
            format!("{:?}", (settings.library(), settings.entrypoint(), options.collect::<Vec<_>>()))
        }
    }
}

/// One for each file, whatever links lead to it.
fn key_of_file(file: &Path) -> String {
    let found = fs::canonicalize(file)
        .ok()
        .or_else(|| Some(fs::canonicalize(file.parent()?).ok()?.join(file.file_name()?)));
    found.unwrap_or_else(|| file.to_owned()).display().to_string()
}

fn open_database(settings: &AdbcSettings) -> Result<ManagedDatabase, DriverError> {
    let mut driver = match settings.file() {
        Some(_) => load_duckdb(settings)?,
        None => load_any(settings)?,
    };
    let path = settings.file().map(|file| file.display().to_string());
    let of_file = path.iter().flat_map(|path| std::iter::once(("path", path.as_str())).chain(DEFAULTS));
    let named = settings.options().iter().map(|option| (option.name(), option.value()));
    let options =
        of_file.chain(named).map(|(name, value)| (OptionDatabase::from(name), OptionValue::from(value)));
    driver.new_database_with_opts(options).map_err(|error| explained(of_library(&error), settings))
}

/// Some libraries know the first version of ADBC alone.
fn in_either_version(
    load: impl Fn(AdbcVersion) -> Result<ManagedDriver, adbc_core::error::Error>,
) -> Result<ManagedDriver, adbc_core::error::Error> {
    load(AdbcVersion::V110).or_else(|error| load(AdbcVersion::V100).map_err(|_| error))
}

/// The library, as a file or as a name that is looked for.
pub(super) fn library(settings: &AdbcSettings) -> PathBuf {
    named_library(settings).0
}

/// The same, and who names it.
fn named_library(settings: &AdbcSettings) -> (PathBuf, &'static str) {
    let variable = std::env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    match (settings.library(), variable) {
        (Some(library), _) => (PathBuf::from(library), "the target's `driver`"),
        (None, Some(library)) => (library, LIBRARY_VARIABLE),
        (None, None) => (PathBuf::from(DUCKDB_LIBRARY), ""),
    }
}

fn load_duckdb(settings: &AdbcSettings) -> Result<ManagedDriver, DriverError> {
    let (library, named_by) = named_library(settings);
    let load = |version| ManagedDriver::load_dynamic_from_filename(&library, settings.entrypoint(), version);
    let mut driver = in_either_version(load).map_err(|error| {
        let looked = match named_by {
            "" => {
                format!("in LD_LIBRARY_PATH and where the system keeps its libraries, for {DUCKDB_LIBRARY}")
            }
            named_by => format!("where {named_by} says, at {}", library.display()),
        };
        let message = format!(
            "DuckDB's library could not be loaded ({}). dyno looked {looked}. It is {WHERE_TO_GET}",
            of_library(&error).message
        );
        DriverError::new(NO_LIBRARY, message)
    })?;
    let version = version(&mut driver).map_err(|error| of_library(&error))?;
    match version.filter(|version| is_old(version)) {
        Some(version) => {
            let message = format!(
                "DuckDB's library {} is version {version}: dyno needs 1.5 or newer, because older ones do not stop a query \
                 that outlasts its limit. A newer one is {WHERE_TO_GET}",
                library.display()
            );
            Err(DriverError::new(OLD_LIBRARY, message))
        }
        None => Ok(driver),
    }
}

/// The version of DuckDB's library, `1.5.6`; `None` where it says none. It is asked in memory, and the target's file left alone.
fn version(driver: &mut ManagedDriver) -> Result<Option<String>, adbc_core::error::Error> {
    let mut statement = driver.new_database()?.new_connection()?.new_statement()?;
    statement.set_sql_query("SELECT version()")?;
    let Some(rows) = statement.execute()?.next().transpose()? else { return Ok(None) };
    let texts = rows.column(0).as_string_opt::<i32>();
    let said = texts.and_then(|texts| texts.iter().next().flatten());
    Ok(said.map(|version| version.trim_start_matches('v').to_owned()))
}

/// A version that says no number is taken for a new one.
fn is_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    let number = numbers.next().flatten().zip(numbers.next().flatten());
    number.is_some_and(|(major, minor): (u32, u32)| [major, minor] < STOPS_SINCE)
}

fn load_any(settings: &AdbcSettings) -> Result<ManagedDriver, DriverError> {
    let name = settings.library().unwrap_or_default();
    let load = |version| {
        ManagedDriver::load_from_name(name, settings.entrypoint(), version, LOAD_FLAG_DEFAULT, None)
    };
    in_either_version(load).map_err(|error| {
        let entrypoint = settings.entrypoint().map(String::from_utf8_lossy);
        let entrypoint = entrypoint.map_or_else(String::new, |it| format!(" with the entrypoint {it}"));
        let message = format!(
            "the driver `{name}`{entrypoint} could not be loaded ({}). It is the file of a library, or the name of a manifest or a library \
             that the driver manager of ADBC finds (ADBC_DRIVER_PATH, LD_LIBRARY_PATH)",
            of_library(&error).message
        );
        DriverError::new(NO_LIBRARY, message)
    })
}

/// What the library leaves out.
fn explained(mut error: DriverError, settings: &AdbcSettings) -> DriverError {
    if error.message.contains("Failed to set configuration option")
        || error.message.contains("not recognized")
    {
        let names: Vec<&str> = settings.options().iter().map(DatabaseOption::name).collect();
        error.message += &format!(
            "; the target names {}: `SELECT name FROM duckdb_settings()` lists what there is",
            names.join(", ")
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        for (version, old) in [
            ("1.4.5", true),
            ("0.10.2", true),
            ("1.5.0-dev3", false),
            ("1.10.0", false),
            ("2.0", false),
            ("x", false),
        ] {
            assert_eq!(is_old(version), old, "{version}");
        }
    }
}
