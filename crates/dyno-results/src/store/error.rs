//! What can go wrong with the store, in words that say what to do.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// An operation on the store that failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "cannot create the directory {} for the store: {source}\n  choose another place for the store, or make this \
         one writable",
        path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    #[error(
        "cannot open the store {}: {source}{}\n  choose another place for the store, or give yourself the right to \
         read and write this file",
        path.display(),
        whose(path)
    )]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a store of dyno: it is no SQLite database\n  choose another file; this one was left as it is",
        path.display()
    )]
    NotADatabase { path: PathBuf },
    #[error(
        "{} is not a store of dyno: it is another program's SQLite database\n  choose another file; this one was \
         left as it is",
        path.display()
    )]
    NotAStore { path: PathBuf },
    #[error(
        "the store {} is of version {found}, and this dyno reads no version before {known}\n  move it away, or name another file with \
         --store; the dyno that made it still reads it",
        path.display()
    )]
    Older { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the store {} was written by a newer dyno (its version is {found}, this dyno knows {known})\n  use the \
         newer dyno, or choose another file for this one",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the store {} is locked by another process, still after {waited_s} s\n  end what holds it (`fuser {}` \
         names it) or choose another file",
        path.display(),
        path.display()
    )]
    Locked { path: PathBuf, waited_s: f64 },
    #[error(
        "the store {} cannot be written\n  give yourself the right to write the file and its directory, or choose \
         another file",
        path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error(
        "no room on the disk for the store {}\n  free some, or choose a file on another disk; what was stored \
         before is kept",
        path.display()
    )]
    DiskFull { path: PathBuf },
    #[error(
        "the store {} is damaged: {source}\n  `sqlite3 {} .recover` saves what can be read; then choose a new file",
        path.display(),
        path.display()
    )]
    Damaged { path: PathBuf, source: rusqlite::Error },
    #[error(
        "event {seq} of run {run} in the store {} is not as it was written, or the event before it is gone: its checksum \
         does not match\n  no figure of this run can be trusted: put a copy of the store in its place; other runs can \
         still be read",
        path.display()
    )]
    EventChanged { path: PathBuf, run: String, seq: i64 },
    #[error(
        "the block of run {run} that ends with event {seq} in the store {} is not as it was written, or a row before it is \
         gone: its checksum does not match\n  put a copy of the store in its place, or have dyno read the run's events, \
         which have checksums of their own, by removing all blocks: `sqlite3 {} 'DELETE FROM block'`",
        path.display(),
        path.display()
    )]
    BlockChanged { path: PathBuf, run: String, seq: i64 },
    #[error("event {seq} of run {run} cannot be read: {source}\n  it may have been written by a newer dyno")]
    Event { run: String, seq: i64, source: serde_json::Error },
    #[error("event {seq} of run {run} cannot be written: {source}")]
    Unwritable { run: String, seq: u64, source: serde_json::Error },
    #[error("there is no store {}\n  the first `dyno run` makes it; one that was there was removed", path.display())]
    Missing { path: PathBuf },
    #[error("the store {} holds no run yet\n  `dyno run` makes one", path.display())]
    NoRuns { path: PathBuf },
    #[error("no run is named {wanted:?}; the nearest are {}\n  `dyno runs` lists all", near.join(", "))]
    NoSuchRun { wanted: String, near: Vec<String> },
    #[error("{wanted:?} is too far back: the store holds {}", match stored {
        1 => "1 run".to_owned(),
        stored => format!("{stored} runs"),
    })]
    TooFarBack { wanted: String, stored: usize },
    #[error("{wanted:?} is the beginning of several runs: {}\n  write more of the name", names(candidates))]
    Ambiguous { wanted: String, candidates: Vec<String> },
    #[error("cannot {doing} the store {}: {source}", path.display())]
    Sqlite { doing: &'static str, path: PathBuf, source: rusqlite::Error },
}

impl StoreError {
    /// What failed in opening or making it, where the disk has room for it.
    pub(super) fn of_io(source: io::Error, path: &Path, failed: fn(PathBuf, io::Error) -> Self) -> Self {
        let is_full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if is_full { Self::DiskFull { path: path.to_owned() } } else { failed(path.to_owned(), source) }
    }

    /// Sorts SQLite's error codes by what the reader can do about them.
    pub(super) fn of(source: rusqlite::Error, doing: &'static str, path: &Path, waited_s: f64) -> Self {
        let path = path.to_owned();
        let extended = source.sqlite_error().map(|error| error.extended_code);
        match source.sqlite_error_code() {
            // The file that readers and writers share has no room to begin in.
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::DiskFull { path },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path, waited_s },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
            _ => Self::Sqlite { doing, path, source },
        }
    }
}

/// The user to whom a file belongs, or the directory that hides it; nothing where that cannot be seen.
fn whose(path: &Path) -> String {
    let seen = path.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    let Some((path, metadata)) = seen else { return String::new() };
    let uid = metadata.uid().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut accounts = accounts.lines().map(|line| line.split(':'));
    let name = accounts.find_map(|mut fields| fields.next().filter(|_| fields.nth(1) == Some(&uid)));
    let user = name.map_or_else(|| format!("user {uid}"), str::to_owned);
    format!(" ({} belongs to {user}, mode {:o})", path.display(), metadata.mode() & 0o7777)
}

fn names(candidates: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = candidates.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if candidates.len() > SHOWN {
        text.push_str(&format!(" and {} more", candidates.len() - SHOWN));
    }
    text
}
