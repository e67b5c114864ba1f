//! The private directory of one run: data, socket, log, and the mark that says whose it is.
//!
//! The mark is a file that dyno holds locked as long as it lives; the kernel lets go of the lock however dyno
//! ends. It also names dyno's process, for filesystems that do not lock. Only a directory whose mark is whole is
//! ever taken for one of ours, so the mark is put in place by a rename.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::error::EmbeddedError;
use super::user::RunAs;
use crate::host::process_start;

/// What the names of our directories begin with.
pub(super) const PREFIX: &str = "dyno-";
const OWNER_FILE: &str = "owner";
/// The port only names the socket's file here.
pub(super) const SOCKET_PORT: u16 = 5432;
/// Bytes of `sockaddr_un.sun_path`, less the zero at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A private directory, removed when dropped.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    /// Held for its lock.
    _owner: File,
    removed: bool,
}

impl RunDirectory {
    /// Makes a directory in `base` that only `user` (and root) can enter.
    pub(super) fn make(base: &Path, user: &RunAs) -> Result<Self, EmbeddedError> {
        let base = base
            .canonicalize()
            .map_err(|source| EmbeddedError::Directory { directory: base.to_path_buf(), source })?;
        let path = base.join(format!("{PREFIX}{}-{:08x}", std::process::id(), rand::random::<u32>()));
        let socket = socket_path(&path);
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(EmbeddedError::SocketPath { path: socket, max_bytes: SOCKET_PATH_BYTES_MAX });
        }
        let failed = |source| EmbeddedError::Directory { directory: base.clone(), source };
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let owner = mark(&path).inspect_err(|_| discard(&path)).map_err(failed)?;
        let directory = Self { path, _owner: owner, removed: false };
        directory.give_to(&directory.path, user)?;
        Ok(directory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub(super) fn socket(&self) -> PathBuf {
        socket_path(&self.path)
    }

    /// Makes `path` the property of the user that the server runs as.
    pub(super) fn give_to(&self, path: &Path, user: &RunAs) -> Result<(), EmbeddedError> {
        if !user.switch {
            return Ok(());
        }
        std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid))
            .map_err(|source| EmbeddedError::SwitchUser { user: user.name.clone(), source })
    }

    /// Removes the directory with all that is in it.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.removed = true;
        remove_all(&self.path)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if !self.removed {
            discard(&self.path);
        }
    }
}

/// A directory of a dyno that has ended, with the lock that keeps others from taking it at the same time.
#[derive(Debug)]
pub(super) struct Abandoned {
    pub(super) path: PathBuf,
    _owner: File,
}

impl Abandoned {
    /// `path` if it is certainly one of ours and its dyno certainly is no more.
    pub(super) fn claim(path: &Path, user: &RunAs) -> Option<Self> {
        let named = path.file_name()?.to_str()?.starts_with(PREFIX);
        let metadata = path.symlink_metadata().ok()?;
        // In a directory that all can write, a stranger can make anything: only what the server's user owns and
        // has closed to others is looked into.
        let private = metadata.is_dir() && metadata.mode() & 0o077 == 0 && metadata.uid() == user.uid;
        if !named || !private {
            return None;
        }
        let no_follow = OFlags::NOFOLLOW.bits().cast_signed();
        let owner = File::options().read(true).custom_flags(no_follow).open(path.join(OWNER_FILE)).ok()?;
        let process = OwnerProcess::parse(&io::read_to_string(&owner).ok()?)?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive).ok()?;
        let lives = process_start(process.pid).is_some_and(|ticks| ticks == process.started_ticks);
        (!lives).then(|| Self { path: path.to_path_buf(), _owner: owner })
    }

    pub(super) fn remove(self) -> io::Result<()> {
        remove_all(&self.path)
    }
}

/// The process that made a directory. With its start a pid is not mistaken for a later process of that number.
#[derive(Debug, PartialEq, Eq)]
struct OwnerProcess {
    pid: u32,
    started_ticks: u64,
}

impl OwnerProcess {
    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self { pid: value("pid")?.parse().ok()?, started_ticks: value("started_ticks")?.parse().ok()? })
    }
}

/// Writes the mark and locks it; the lock belongs to the file, so the rename keeps it.
fn mark(directory: &Path) -> io::Result<File> {
    let pid = std::process::id();
    let started_ticks = process_start(pid).ok_or_else(|| io::Error::other("/proc cannot be read"))?;
    let unfinished = directory.join(".owner");
    let mut file = File::create_new(&unfinished)?;
    // Without locks the process alone decides.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    writeln!(file, "pid {pid}\nstarted_ticks {started_ticks}")?;
    fs::rename(&unfinished, directory.join(OWNER_FILE))?;
    Ok(file)
}

fn socket_path(directory: &Path) -> PathBuf {
    directory.join(format!(".s.PGSQL.{SOCKET_PORT}"))
}

/// A process that is just ending may still add a file; so it is tried again for a moment.
fn remove_all(path: &Path) -> io::Result<()> {
    const TRIES: u32 = 20;
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        };
        if result.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    result
}

/// Removes on a way out that already has an error to report; the next start sweeps what stays.
fn discard(path: &Path) {
    let _ = remove_all(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn base(name: &str) -> PathBuf {
        let base = PathBuf::from("/var/tmp").join(format!("dynotest-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir(&base).unwrap();
        base
    }

    #[test]
    fn a_directory_is_private_and_goes_with_its_owner() {
        let base = base("private");
        let user = RunAs::choose();
        let directory = RunDirectory::make(&base, &user).unwrap();
        let path = directory.path().to_path_buf();
        let metadata = path.metadata().unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.uid()), (0o700, user.uid));
        assert!(Abandoned::claim(&path, &user).is_none(), "its owner lives: this process");
        drop(directory);
        assert!(!path.exists());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn only_what_is_certainly_ours_and_abandoned_is_claimed() {
        let base = base("claim");
        let user = RunAs::choose();
        let make = |name: &str, owner: Option<&str>, mode: u32| {
            let path = base.join(name);
            fs::create_dir(&path).unwrap();
            if let Some(owner) = owner {
                fs::write(path.join(OWNER_FILE), owner).unwrap();
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            if user.switch {
                std::os::unix::fs::chown(&path, Some(user.uid), Some(user.gid)).unwrap();
            }
            path
        };
        // No process can have started at tick 0 of the machine but its first.
        let gone = format!("pid {}\nstarted_ticks 0\n", std::process::id());
        let alive = format!(
            "pid {}\nstarted_ticks {}\n",
            std::process::id(),
            process_start(std::process::id()).unwrap()
        );
        let claimed = |path: PathBuf| Abandoned::claim(&path, &user).is_some();
        assert!(claimed(make("dyno-1-gone", Some(&gone), 0o700)));
        assert!(!claimed(make("dyno-1-alive", Some(&alive), 0o700)));
        assert!(!claimed(make("dyno-1-unmarked", None, 0o700)));
        assert!(!claimed(make("dyno-1-half", Some("pid "), 0o700)));
        assert!(!claimed(make("dyno-1-open", Some(&gone), 0o755)));
        assert!(!claimed(make("mine", Some(&gone), 0o700)));
        let link = base.join("dyno-1-link");
        std::os::unix::fs::symlink(base.join("dyno-1-gone"), &link).unwrap();
        assert!(!claimed(link));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_socket_path_that_is_too_long_is_told_before_anything_is_made() {
        let base = base("long").join("x".repeat(80));
        fs::create_dir(&base).unwrap();
        let error = RunDirectory::make(&base, &RunAs::choose()).unwrap_err();
        assert!(matches!(error, EmbeddedError::SocketPath { .. }), "{error}");
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        fs::remove_dir_all(base.parent().unwrap()).unwrap();
    }
}
