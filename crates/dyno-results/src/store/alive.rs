//! Tells a run under way from one that was killed: its writer holds a lock on a file beside the store, and the kernel lets
//! go of the lock when the writer's process is gone, however it ended. No clock decides anything, so that a long step of a
//! preparation never looks dead, and no number of a process does, which another may have been given since.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Stands between the names of the store's file and of the run.
const INFIX: &str = "-live-";

/// The lock of a run under way. The file goes with it.
#[derive(Debug)]
pub(super) struct Alive {
    path: PathBuf,
    _locked: File,
}

impl Alive {
    /// Takes the lock of a run that begins, and removes the files of runs that were killed. To be called under the store's
    /// write lock, so that no other run begins meanwhile.
    pub(super) fn begin(store: &Path, run: &str) -> io::Result<Self> {
        sweep(store);
        let path = path(store, run);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        file.lock()?;
        Ok(Self { path, _locked: file })
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // What stays is taken for the file of a killed run, and removed when the next one begins.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// True while the run's writer lives.
pub(super) fn is_alive(store: &Path, run: &str) -> bool {
    File::open(path(store, run))
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn path(store: &Path, run: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(INFIX);
    path.push(run);
    path.into()
}

fn sweep(store: &Path) {
    let Some(name) = store.file_name().and_then(|name| name.to_str()) else { return };
    let prefix = format!("{name}{INFIX}");
    let directory = store.parent().filter(|directory| !directory.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(directory.unwrap_or(Path::new("."))) else { return };
    for entry in entries.filter_map(Result::ok) {
        let left = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix));
        if left && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // Nobody's any more; if it cannot be removed it does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
