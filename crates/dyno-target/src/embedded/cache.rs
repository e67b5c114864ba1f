//! The fetched PostgreSQL servers that are kept on disk. A cached one is used as it is, without any network: who
//! wants a later minor of a major names it, or removes the old one's directory.

use std::fs;
use std::path::{Path, PathBuf};

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
            let binaries = Binaries::inspect(&home.join("bin"), user).ok()?;
            let artifact = fs::read_to_string(home.join(SOURCE_FILE)).ok()?;
            Some(Binaries { source: artifact.trim().to_owned(), ..binaries })
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_does_not_cache_in_its_home() {
        let user = RunAs { uid: 1, gid: 1, name: "postgres".to_owned(), switch: true };
        assert_eq!(Cache::of_user(&user), Some(Cache::at(Path::new("/var/cache/dyno"))));
    }
}
