//! The private directory of one run: data, socket, log, and the mark that says whose it is.
//!
//! The mark is a file that dyno holds locked as long as it lives; the kernel lets go of the lock however dyno
//! ends. It also names dyno's process, for filesystems that do not lock. The mark is put in place by a rename, so
//! that it is whole or not there; a directory without one is taken for ours only if there is nothing in it.
//!
//! Called by root, dyno gives the directory to an unprivileged user, who may then put links anywhere in it. So from
//! then on root opens nothing in it by its path, but from the directory itself and never through a link.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::error::EmbeddedError;
use super::user::RunAs;
use crate::host::process_start;

/// What the names of our directories begin with.
pub(super) const PREFIX: &str = "dyno-";
const OWNER_FILE: &str = "owner";
/// The mark before it is whole.
const UNFINISHED_FILE: &str = ".owner";
const DATA: &str = "data";
const LOG: &str = "log";
/// The end of the log that is read.
const LOG_TAIL_BYTES: u64 = 64 << 10;
/// The port only names the socket's file here.
pub(super) const SOCKET_PORT: u16 = 5432;
/// Bytes of `sockaddr_un.sun_path`, less the zero at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A private directory, removed when dropped.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    /// The directory itself, whatever has become of its path.
    directory: File,
    log: File,
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
        let begin = || {
            let owner = mark(&path)?;
            let log =
                File::options().read(true).append(true).create_new(true).mode(0o600).open(path.join(LOG))?;
            Ok((owner, log, open_directory(CWD, &path)?))
        };
        let (owner, log, directory) = begin().inspect_err(|_| discard(&path)).map_err(failed)?;
        let made = Self { path, directory, log, _owner: owner, removed: false };
        give_to(&made.directory, user)?;
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    /// The log, emptied, for the server to append to.
    pub(super) fn empty_log(&self) -> io::Result<File> {
        self.log.set_len(0)?;
        self.log.try_clone()
    }

    /// The last lines of the log, `lines` at most.
    pub(super) fn log_tail(&self, lines: usize) -> String {
        let length = self.log.metadata().map_or(0, |metadata| metadata.len());
        let start = length.saturating_sub(LOG_TAIL_BYTES);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or_default()];
        if self.log.read_exact_at(&mut bytes, start).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text.lines().collect();
        all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
    }

    /// A file that `initdb` made in the data directory, to append to.
    pub(super) fn data_file(&self, name: &str, user: &RunAs) -> io::Result<File> {
        let data = open_directory(&self.directory, DATA)?;
        open_file(&data, name, OFlags::WRONLY | OFlags::APPEND, user.uid)
    }

    pub(super) fn socket(&self) -> PathBuf {
        socket_path(&self.path)
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

/// Opens a directory, and none that a link leads to.
fn open_directory(at: impl AsFd, path: impl Arg) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(at, path, flags, Mode::empty())?))
}

/// Opens a file that is `owner`'s alone: neither a link nor another name of a file elsewhere.
pub(super) fn open_file(directory: &File, name: &str, access: OFlags, owner: u32) -> io::Result<File> {
    // Opening a pipe must not wait for its other end.
    let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != owner || metadata.nlink() != 1 {
        return Err(io::Error::other(format!("`{name}` is not a file of user {owner} alone")));
    }
    Ok(file)
}

/// Makes an open file the property of the user that the server runs as.
fn give_to(file: &File, user: &RunAs) -> Result<(), EmbeddedError> {
    if !user.switch {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(user.uid), Some(user.gid))
        .map_err(|source| EmbeddedError::SwitchUser { user: user.name.clone(), source })
}

/// A directory of a dyno that has ended.
#[derive(Debug)]
pub(super) struct Abandoned {
    pub(super) path: PathBuf,
    directory: File,
    /// The user whose directory it is, and as whom its server ran.
    pub(super) uid: u32,
    /// The mark, with the lock that keeps others from taking the directory at the same time. `None` where dyno
    /// ended before there was one.
    owner: Option<File>,
}

impl Abandoned {
    /// `path` if it is certainly one of ours and its dyno certainly is no more.
    pub(super) fn claim(path: &Path, user: &RunAs) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let directory = open_directory(CWD, path).ok()?;
        let metadata = directory.metadata().ok()?;
        // In a directory that all can write, a stranger can make anything: only what the server's user owns, or
        // dyno's own before it gives it away, and has closed to others is looked into.
        let dyno = rustix::process::geteuid().as_raw();
        let uid = metadata.uid();
        if !name.starts_with(PREFIX) || metadata.mode() & 0o077 != 0 || ![user.uid, dyno].contains(&uid) {
            return None;
        }
        let path = path.to_path_buf();
        // The mark stays dyno's own: the server's user may have made the directory for reasons of his own.
        let owner = match open_file(&directory, OWNER_FILE, OFlags::RDONLY, dyno) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let age = metadata.modified().ok()?.elapsed().ok()?;
                let unmarked =
                    age >= UNMARKED_AGE && process_start(pid_in(name)?).is_none() && is_bare(&path);
                return unmarked.then_some(Self { path, directory, uid, owner: None });
            }
            owner => owner.ok()?,
        };
        let process = OwnerProcess::parse(&io::read_to_string(&owner).ok()?)?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive).ok()?;
        let lives = process_start(process.pid).is_some_and(|ticks| ticks == process.started_ticks);
        (!lives).then_some(Self { path, directory, uid, owner: Some(owner) })
    }

    /// The data directory itself, never one that a link leads to.
    pub(super) fn data(&self) -> io::Result<File> {
        open_directory(&self.directory, DATA)
    }

    pub(super) fn remove(self) -> io::Result<()> {
        if self.owner.is_some() {
            return remove_all(&self.path);
        }
        // Should something have come into it, the directory stays.
        match unlinkat(&self.directory, UNFINISHED_FILE, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(error.into()),
            _ => fs::remove_dir(&self.path),
        }
    }
}

/// Between making a directory and marking it lie microseconds. A dyno in a container that shares the disk may be
/// just there, and its process cannot be seen from here.
const UNMARKED_AGE: Duration = Duration::from_secs(60);

/// The process in a name as [`RunDirectory::make`] chooses it.
fn pid_in(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let chosen = random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    if chosen { pid.parse().ok() } else { None }
}

/// Whether nothing is in a directory but, at most, the beginning of a mark.
fn is_bare(path: &Path) -> bool {
    fs::read_dir(path)
        .is_ok_and(|mut entries| entries.all(|it| it.is_ok_and(|it| it.file_name() == UNFINISHED_FILE)))
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
    let unfinished = directory.join(UNFINISHED_FILE);
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

    /// Larger than any pid of Linux.
    const NOBODYS_PID: u32 = 1 << 30;

    #[test]
    fn what_a_dyno_left_before_it_was_marked_or_given_away_is_claimed() {
        let base = base("early");
        let user = RunAs::choose();
        let make = |name: String, age: Duration| {
            let path = base.join(name);
            DirBuilder::new().mode(0o700).create(&path).unwrap();
            File::open(&path).unwrap().set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let old = UNMARKED_AGE * 2;
        let gone = |random: &str| format!("{PREFIX}{NOBODYS_PID}-{random}");
        let claimed = |path: &Path| Abandoned::claim(path, &user);

        let empty = make(gone("00000001"), old);
        claimed(&empty).unwrap().remove().unwrap();
        assert!(!empty.exists());
        let begun = make(gone("00000002"), old);
        fs::write(begun.join(UNFINISHED_FILE), "pid").unwrap();
        assert!(claimed(&begun).is_none(), "it is being marked just now");
        File::open(&begun).unwrap().set_modified(std::time::SystemTime::now() - old).unwrap();
        claimed(&begun).unwrap().remove().unwrap();
        assert!(!begun.exists());

        assert!(claimed(&make(gone("00000003"), Duration::ZERO)).is_none(), "it is too young");
        assert!(claimed(&make(gone("notes"), old)).is_none(), "dyno gives no such name");
        let mine = format!("{PREFIX}{}-00000004", std::process::id());
        assert!(claimed(&make(mine, old)).is_none(), "its process lives");
        let filled = make(gone("00000005"), old);
        let claim = claimed(&filled).unwrap();
        fs::write(filled.join("thesis"), "").unwrap();
        assert!(claim.remove().is_err() && filled.join("thesis").exists());
        File::open(&filled).unwrap().set_modified(std::time::SystemTime::now() - old).unwrap();
        assert!(claimed(&filled).is_none(), "something is in it");

        // Marked, and still dyno's own.
        let marked = make(gone("00000006"), Duration::ZERO);
        fs::write(marked.join(OWNER_FILE), format!("pid {NOBODYS_PID}\nstarted_ticks 1\n")).unwrap();
        claimed(&marked).unwrap().remove().unwrap();
        assert!(!marked.exists());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn links_in_the_directory_lead_nowhere() {
        use std::io::Write as _;
        use std::os::unix::fs::symlink;
        let base = base("links");
        let user = RunAs::choose();
        let directory = RunDirectory::make(&base, &user).unwrap();
        let elsewhere = base.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let treasure = elsewhere.join("pg_hba.conf");
        fs::write(&treasure, "treasure").unwrap();
        let own = |path: &Path| std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)).unwrap();
        own(&treasure);

        // The log.
        fs::remove_file(directory.path().join(LOG)).unwrap();
        symlink(&treasure, directory.path().join(LOG)).unwrap();
        directory.empty_log().unwrap().write_all(b"one\ntwo\nthree\n").unwrap();
        assert_eq!(directory.log_tail(2), "two\nthree");

        // The configuration: a link to a file, to the directory, and another name of the file.
        fs::create_dir(directory.data()).unwrap();
        let file = directory.data().join("pg_hba.conf");
        fs::write(&file, "").unwrap();
        own(&file);
        directory.data_file("pg_hba.conf", &user).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&treasure, &file).unwrap();
        assert!(directory.data_file("pg_hba.conf", &user).is_err());
        fs::remove_file(&file).unwrap();
        fs::hard_link(&treasure, &file).unwrap();
        assert!(directory.data_file("pg_hba.conf", &user).is_err());
        fs::remove_dir_all(directory.data()).unwrap();
        symlink(&elsewhere, directory.data()).unwrap();
        assert!(directory.data_file("pg_hba.conf", &user).is_err());

        drop(directory);
        assert_eq!(fs::read_to_string(&treasure).unwrap(), "treasure");
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
