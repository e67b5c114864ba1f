//! The fetched PostgreSQL servers that are kept on disk. A cached one is used as it is, without any network: who
//! wants a later minor of a major names it, or removes the old one's directory. Nothing is run that another user can
//! have put there, or that is not as it was fetched.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::Crc;

use super::find::Binaries;
use super::spec::{Version, VersionSpec};
use super::user::RunAs;

/// Fetched servers on disk, one directory per version and architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cache {
    pub(super) directory: PathBuf,
}

/// In a cached server's directory: the artifact that it came from.
pub(super) const SOURCE_FILE: &str = "source";
/// In a cached server's directory: the sum of all else in it.
pub(super) const SUM_FILE: &str = "sum";

impl Cache {
    pub(super) fn at(directory: &Path) -> Self {
        Self { directory: directory.join("postgresql") }
    }

    /// `$XDG_CACHE_HOME/dyno` or `~/.cache/dyno`. Root's home is closed to the user that the server runs as, so
    /// root caches in `/var/cache/dyno`. `None` where there is no home.
    pub(super) fn of_user(user: &RunAs) -> Option<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = if user.switch {
            Some(PathBuf::from("/var/cache"))
        } else {
            variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
        };
        base.map(|base| Self::at(&base.join("dyno")))
    }

    /// The newest cached server that fits and runs.
    pub(super) fn cached(&self, wanted: VersionSpec, user: &RunAs) -> Option<Binaries> {
        self.check_owner().ok()?;
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut fitting: Vec<(Version, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let version = Version::parse(name.strip_suffix(&format!("-{}", std::env::consts::ARCH))?)?;
                wanted.matches(&version).then(|| (version, entry.path()))
            })
            .collect();
        fitting.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        fitting.iter().find_map(|(_, home)| {
            let kept = fs::read_to_string(home.join(SUM_FILE)).ok()?;
            sum(home).ok().filter(|sum| sum == kept.trim())?;
            let binaries = Binaries::inspect(&home.join("bin"), user).ok()?;
            let artifact = fs::read_to_string(home.join(SOURCE_FILE)).ok()?;
            Some(Binaries { source: artifact.trim().to_owned(), ..binaries })
        })
    }

    /// Whether nobody else can put servers here.
    pub(super) fn check_owner(&self) -> io::Result<()> {
        let above = self.directory.parent();
        [Some(&*self.directory), above]
            .into_iter()
            .flatten()
            .try_for_each(|path| check(path, &path.metadata()?))
    }

    /// The error is a reason for a reader.
    #[cfg(not(feature = "fetch"))]
    pub(super) fn fetch(
        &self,
        _: VersionSpec,
        _: &RunAs,
        _: &mut dyn FnMut(&str),
    ) -> Result<Binaries, String> {
        Err("none is installed, and this dyno was built without the feature that fetches one".to_owned())
    }
}

/// A sum over names, kinds and contents of all that is in a server's directory but the sum itself: another where anything is
/// damaged. An error where another user can have changed anything.
pub(super) fn sum(home: &Path) -> io::Result<String> {
    let mut sum = Crc::new();
    add(home, home, &mut sum)?;
    Ok(format!("{:08x}-{:08x}", sum.sum(), sum.amount()))
}

fn add(home: &Path, path: &Path, sum: &mut Crc) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    let name = path.strip_prefix(home).unwrap_or(path);
    if name == Path::new(SUM_FILE) {
        return Ok(());
    }
    sum.update(format!("{}\0{:o}\0", name.display(), metadata.mode()).as_bytes());
    if metadata.is_symlink() {
        sum.update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
        return Ok(());
    }
    check(path, &metadata)?;
    if metadata.is_dir() {
        let mut inside: Vec<_> =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        inside.sort();
        return inside.iter().try_for_each(|path| add(home, path, sum));
    }
    let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
    loop {
        let piece = file.fill_buf()?;
        let length = piece.len();
        if length == 0 {
            return Ok(());
        }
        sum.update(piece);
        file.consume(length);
    }
}

/// Whether only root and the present user can change it.
fn check(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let ours = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
    if ours && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} can be changed by other users, and what is in it would be run: give it to yourself with mode 755, or remove it",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_server_that_is_as_it_was_fetched_is_used() {
        let root = std::env::temp_dir().join(format!("dyno-cache-{}", std::process::id()));
        let cache = Cache::at(&root);
        let home = cache.directory.join(format!("18.1-{}", std::env::consts::ARCH));
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir_all(home.join("bin")).unwrap();
        let library = home.join("library");
        fs::write(&library, "whole").unwrap();
        fs::write(home.join(SOURCE_FILE), "an artifact\n").unwrap();
        symlink("library", home.join("link")).unwrap();
        for program in ["postgres", "initdb"] {
            let path = home.join("bin").join(program);
            fs::write(&path, "#!/bin/sh\necho 'postgres (PostgreSQL) 18.1'\n").unwrap();
            mode(&path, 0o755);
        }
        for directory in [&root, &cache.directory, &home, &home.join("bin")] {
            mode(directory, 0o755);
        }
        mode(&library, 0o644);
        let used = || cache.cached(VersionSpec { major: 18, minor: None }, &RunAs::choose()).is_some();
        assert!(!used(), "it has no sum");
        fs::write(home.join(SUM_FILE), sum(&home).unwrap()).unwrap();
        assert!(used());

        fs::write(&library, "wholE").unwrap();
        assert!(!used(), "a file is damaged");
        fs::write(&library, "whole").unwrap();
        fs::rename(&library, home.join("other")).unwrap();
        assert!(!used(), "a file is missing");
        fs::rename(home.join("other"), &library).unwrap();
        assert!(used());
        for path in [&root, &cache.directory, &home, &home.join("bin")] {
            mode(path, 0o777);
            assert!(!used(), "{} can be written by others", path.display());
            mode(path, 0o755);
        }
        assert!(used());
        if RunAs::choose().switch {
            std::os::unix::fs::chown(&home, Some(65534), None).unwrap();
            assert!(!used(), "it is another user's");
        }
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn root_does_not_cache_in_its_home() {
        let user = RunAs { uid: 1, gid: 1, name: "postgres".to_owned(), switch: true };
        assert_eq!(Cache::of_user(&user), Some(Cache::at(Path::new("/var/cache/dyno"))));
    }
}
