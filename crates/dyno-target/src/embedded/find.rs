//! Finds installed PostgreSQL servers, and decides between them, the cache and fetching. A server is a directory
//! that holds `postgres` and `initdb`; its version is what `postgres --version` says, not what its path says.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::error::EmbeddedError;
use super::spec::{OLDEST_MAJOR, ServerSpec, SpecError, Version, VersionSpec};
use super::user::RunAs;

/// The major version that is fetched when none is asked for and none is installed.
const FETCHED_MAJOR: u32 = 18;

/// The programs of one PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    /// Holds `postgres` and `initdb`.
    pub(super) directory: PathBuf,
    pub(super) version: Version,
    /// Where they came from: the directory, or the registry's artifact and version.
    pub(super) source: String,
}

impl Binaries {
    /// Looks at a directory and asks its `postgres` for the version; the error says what is missing.
    pub(super) fn inspect(directory: &Path, user: &RunAs) -> Result<Self, String> {
        for program in ["postgres", "initdb"] {
            if !directory.join(program).is_file() {
                return Err(format!("there is no `{program}` in it"));
            }
        }
        let program = directory.join("postgres");
        let output = user.command(&program).arg("--version").output();
        let output =
            output.map_err(|error| format!("user {} cannot run its `postgres`: {error}", user.name))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.trim().strip_prefix("postgres (PostgreSQL) ").and_then(Version::parse);
        let Some(version) = version else {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "its `postgres --version` says `{}`",
                [said.trim(), complaint.trim()].concat()
            ));
        };
        Ok(Self { directory: directory.to_path_buf(), version, source: directory.display().to_string() })
    }
}

/// The binaries for what was asked: installed ones first, then cached ones, then fetched ones.
pub(super) fn resolve(
    spec: &ServerSpec,
    places: &Places,
    cache: Option<&Cache>,
    user: &RunAs,
    progress: &mut dyn FnMut(&str),
) -> Result<Binaries, EmbeddedError> {
    if let ServerSpec::Directory(directory) = spec {
        return named(directory, user);
    }
    if let Some(found) = present(spec, places, cache, user) {
        return Ok(found);
    }
    let fetched = match cache {
        Some(cache) => cache.fetch(to_fetch(spec), user, progress),
        None => Err("none is installed, and without HOME there is no place to keep a fetched one".to_owned()),
    };
    fetched.map_err(|why| EmbeddedError::NoBinaries { wanted: spec.clone(), why })
}

/// The binaries for what was asked, as far as they are on this machine.
pub(super) fn present(
    spec: &ServerSpec,
    places: &Places,
    cache: Option<&Cache>,
    user: &RunAs,
) -> Option<Binaries> {
    let fits = |binaries: &Binaries| match spec {
        ServerSpec::Version(wanted) => wanted.matches(&binaries.version),
        _ => binaries.version.major >= OLDEST_MAJOR,
    };
    if let ServerSpec::Directory(directory) = spec {
        return named(directory, user).ok();
    }
    installed(places, user).into_iter().find(fits).or_else(|| cache?.cached(to_fetch(spec), user))
}

fn to_fetch(spec: &ServerSpec) -> VersionSpec {
    match spec {
        ServerSpec::Version(version) => *version,
        _ => VersionSpec { major: FETCHED_MAJOR, minor: None },
    }
}

fn named(directory: &Path, user: &RunAs) -> Result<Binaries, EmbeddedError> {
    let bad = |why: String| EmbeddedError::BadDirectory { directory: directory.to_path_buf(), why };
    let absolute = directory.canonicalize().map_err(|error| bad(error.to_string()))?;
    let binaries = Binaries::inspect(&absolute, user).or_else(|why| {
        // The directory above `bin` is what many would name.
        Binaries::inspect(&absolute.join("bin"), user).map_err(|_| bad(why))
    })?;
    let major = binaries.version.major;
    if major < OLDEST_MAJOR {
        return Err(bad(SpecError::TooOld { major }.to_string()));
    }
    Ok(binaries)
}

/// All installed servers that can be run, the newest first; of one version the first place counts.
pub(super) fn installed(places: &Places, user: &RunAs) -> Vec<Binaries> {
    let mut found: Vec<Binaries> = Vec::new();
    for directory in places.directories() {
        if found.iter().all(|known| known.directory != directory)
            && let Ok(binaries) = Binaries::inspect(&directory, user)
        {
            found.push(binaries);
        }
    }
    found.sort_by_key(|binaries| Reverse(binaries.version));
    found
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Places {
    /// The directories of `PATH`.
    pub(super) path: Vec<PathBuf>,
    /// Patterns of which one component may hold one `*`.
    pub(super) patterns: Vec<PathBuf>,
}

impl Places {
    /// `PATH`, and where the packages of the distributions, of PostgreSQL itself and of Homebrew put servers.
    pub(super) fn of_this_machine() -> Self {
        const PATTERNS: [&str; 8] = [
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/usr/libexec/postgresql*",
            "/usr/lib/postgresql*/bin",
            "/opt/postgresql*/bin",
            "/usr/local/pgsql/bin",
            "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
            "/usr/local/opt/postgresql@*/bin",
        ];
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            path: std::env::split_paths(&path).filter(|path| path.is_absolute()).collect(),
            patterns: PATTERNS.iter().map(PathBuf::from).collect(),
        }
    }

    /// Directories that hold a `postgres` beside an `initdb`, links followed. Debian links `postgres` from
    /// elsewhere; the server needs the rest of its tree, which is where the link leads.
    fn directories(&self) -> Vec<PathBuf> {
        let expanded = self.patterns.iter().flat_map(|pattern| expand(pattern));
        let candidates = self.path.iter().cloned().chain(expanded);
        let homes = candidates.filter_map(|candidate| {
            let program = candidate.join("postgres").canonicalize().ok()?;
            let home = program.parent()?;
            let complete =
                [home, &candidate].into_iter().find(|directory| directory.join("initdb").exists())?;
            complete.canonicalize().ok()
        });
        homes.collect()
    }
}

/// The existing paths that a pattern with one `*` stands for.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let part = component.as_os_str().to_string_lossy();
        paths = match part.split_once('*') {
            None => paths.into_iter().map(|path| path.join(component)).collect(),
            Some((start, end)) => paths.iter().flat_map(|path| matching(path, start, end)).collect(),
        };
    }
    paths.retain(|path| path.is_dir());
    paths
}

fn matching(directory: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
    });
    named.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A tree of programs that say a version; not a database, only something to be found.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("dyno-find-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).unwrap();
            fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
            Self(root.canonicalize().unwrap())
        }

        fn server(&self, place: &str, says: &str) -> PathBuf {
            let bin = self.0.join(place);
            fs::create_dir_all(&bin).unwrap();
            for (program, text) in [("postgres", says), ("initdb", "initdb")] {
                let written = bin.join(format!("{program}.written"));
                fs::write(&written, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
                dyno_test_servers::copy_program(&written, &bin.join(program));
                fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
            }
            bin
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_newest_is_first_and_links_are_followed() {
        let tree = Tree::new("newest");
        let old = tree.server("lib/9/bin", "postgres (PostgreSQL) 9.6.24");
        let new = tree.server("lib/16/bin", "postgres (PostgreSQL) 16.4 (Debian 16.4-1)");
        tree.server("lib/other/bin", "postgres (EnterpriseDB) 17.0");
        let linked = tree.0.join("local");
        fs::create_dir_all(&linked).unwrap();
        symlink(new.join("postgres"), linked.join("postgres")).unwrap();
        let places = Places { path: vec![linked], patterns: vec![tree.0.join("lib/*/bin")] };
        let found = installed(&places, &RunAs::choose());
        let found: Vec<_> = found.iter().map(|b| (b.directory.clone(), b.version.to_string())).collect();
        assert_eq!(found, [(new, "16.4".to_owned()), (old, "9.6".to_owned())]);
    }

    #[test]
    fn a_directory_without_a_server_is_refused_with_the_reason() {
        let tree = Tree::new("refused");
        let empty = ServerSpec::Directory(tree.0.clone());
        let resolve = |spec: &ServerSpec| {
            let cache = Cache::at(&tree.0.join("cache"));
            resolve(spec, &Places::default(), Some(&cache), &RunAs::choose(), &mut |_| ())
        };
        let error = resolve(&empty).unwrap_err().to_string();
        assert!(error.contains("there is no `postgres` in it"), "{error}");
        tree.server("old/bin", "postgres (PostgreSQL) 9.6.24");
        let error = resolve(&ServerSpec::Directory(tree.0.join("old"))).unwrap_err().to_string();
        assert!(error.contains("PostgreSQL 9 is too old"), "{error}");
        let bin = tree.server("odd/bin", "something else");
        let error = resolve(&ServerSpec::Directory(bin)).unwrap_err().to_string();
        assert!(error.contains("says `something else`"), "{error}");
    }
}
