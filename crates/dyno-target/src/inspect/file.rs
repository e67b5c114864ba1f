//! A database that is a file of this process: there is no server, and dyno itself is the process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Identity, Inspector, ReadStatistics, ServerProcess, Statistics};
use crate::connection::{Connection, QueryError};

pub(crate) const INSPECTOR: Inspector =
    Inspector { identity, same_host: |_, _| Ok(Some(true)), server_process, ..Inspector::UNKNOWN };

/// The file that was named, whatever its name: links lead to one file.
pub(crate) fn path(connection: &Connection) -> PathBuf {
    let file = PathBuf::from(connection.place());
    fs::canonicalize(&file).unwrap_or(file)
}

fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    let name = path(connection).display().to_string();
    Identity::ask(connection, vec![name], None, ["SELECT ''"; 3])
}

/// No process is to be watched beside dyno, but the disk under the file is.
fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    let directory = path(connection).parent().map(Path::to_owned);
    Ok(Some(ServerProcess { pid: None, data_directory: directory }))
}

/// Sizes of the file and of its write-ahead log, whose name ends so.
pub(crate) fn statistics(connection: &Connection, log_ending: &str) -> Statistics {
    let file = path(connection);
    let mut log = file.clone().into_os_string();
    log.push(log_ending);
    Statistics::of(FileStatistics { file, log: log.into() }, Vec::new())
}

#[derive(Debug)]
struct FileStatistics {
    file: PathBuf,
    log: PathBuf,
}

impl ReadStatistics for FileStatistics {
    fn read(&mut self, _: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        let bytes = |file: &Path| fs::metadata(file).ok().map(|it| it.len() as f64);
        let read = [("database_bytes", bytes(&self.file)), ("wal_file_bytes", bytes(&self.log))];
        Ok(read.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    }
}
