//! Where dyno keeps what it has measured.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use dyno_results::store::Store;

use crate::cli::StoreArguments;
use crate::failure::Failure;

const STORE_FILE: &str = "dyno.sqlite";
/// Who may read a file: the owner alone, where nothing else is known.
const OWNER_ONLY: u32 = 0o600;

/// The store's file: as named, or in the user's data directory.
pub(crate) fn store_path(arguments: &StoreArguments) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.store {
        return Ok(path.clone());
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("dyno").join(STORE_FILE))
        .ok_or_else(|| {
            Failure::advised(
                "no directory for dyno's data: neither XDG_DATA_HOME nor HOME is set",
                "name the store with --store FILE",
            )
        })
}

/// Opens the store for a run, and makes it where there is none.
pub(crate) fn open_store(arguments: &StoreArguments) -> Result<Store, Failure> {
    Ok(Store::open(store_path(arguments)?)?)
}

/// Opens the store to read what is in it.
pub(crate) fn open_stored(arguments: &StoreArguments) -> Result<Store, Failure> {
    Ok(Store::open(stored_path(arguments)?)?)
}

/// The store's file, for who reads it, who makes none: one that is named and not there is more likely mistyped than
/// wanted. Where nothing is named, no run has been stored yet.
pub(crate) fn stored_path(arguments: &StoreArguments) -> Result<PathBuf, Failure> {
    let path = store_path(arguments)?;
    match (path.exists(), &arguments.store) {
        (true, _) => Ok(path),
        (false, Some(_)) => Err(Failure::advised(
            format!("there is no store {}", path.display()),
            format!(
                "check --store (or DYNO_STORE) for a typing error; `dyno run --store {}` creates a store there",
                path.display()
            ),
        )),
        (false, None) => Err(Failure::NothingStored { path }),
    }
}

/// The directory of a run's files, beside the store.
pub(crate) fn run_directory(store: &Path, run: &str) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("runs").join(run)
}

/// Sees to it before a run that the page can be written where the user wants it. What is there stays.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let existed = path.symlink_metadata().is_ok();
    check_file(path)?;
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|_| if existed { Ok(()) } else { fs::remove_file(path) })
        .map_err(|source| Failure::Write { path: path.to_owned(), source })
}

/// Writes the page where the user wants it. A directory that is missing is more likely mistyped than wanted.
pub(crate) fn write_named(path: &Path, text: &str) -> Result<(), Failure> {
    check_file(path)?;
    fs::write(path, text).map_err(|source| Failure::Write { path: path.to_owned(), source })
}

fn check_file(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::wrong(
            "--html and --record write to a file and not to standard output: name one, such as report.html",
        ));
    }
    match path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        Some(directory) if !directory.exists() => {
            let (path, directory) = (path.display(), directory.display());
            Err(Failure::wrong(format!("cannot write {path}: the directory {directory} does not exist")))
        }
        _ => Ok(()),
    }
}

/// Writes a file of a run beside the store, making its directory. Whoever may read the store may read it, and nobody
/// else: it says the same.
pub(crate) fn write_beside(store: &Path, path: &Path, text: &str) -> Result<(), Failure> {
    let mode = fs::metadata(store).map_or(OWNER_ONLY, |store| store.permissions().mode() & 0o666);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(OWNER_ONLY).open(path)?;
        // Not as the umask has it, and also where the file was there.
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())
    };
    make_directory_of(path)
        .and_then(|()| write())
        .map_err(|source| Failure::Write { path: path.to_owned(), source })
}

fn make_directory_of(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        Some(directory) => fs::create_dir_all(directory),
        None => Ok(()),
    }
}
