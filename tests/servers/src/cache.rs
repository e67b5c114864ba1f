//! What the tests fetch is kept here, outside the tree: fetched once, whoever asks first, and never seen half done.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::user::unprivileged_user;

/// The directory `name` in the cache. `make` fills it if it is not there yet; others that ask meanwhile, in whatever
/// process, wait.
pub(crate) fn keep(name: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    keep_in(&place()?, name, make)
}

fn keep_in(
    place: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let kept = place.join(name);
    if kept.is_dir() {
        return Ok(kept);
    }
    let lock_path = place.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(|why| told(&lock_path, &why))?;
    lock.lock().map_err(|why| told(&lock_path, &why))?;
    if kept.is_dir() {
        return Ok(kept);
    }
    let partial = place.join(format!("{name}.part"));
    // Only somebody who was ended in the midst of it can have left one, as the lock is ours.
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir(&partial).map_err(|why| told(&partial, &why))?;
    if let Err(why) = make(&partial) {
        let _ = fs::remove_dir_all(&partial);
        return Err(why);
    }
    fs::rename(&partial, &kept).map_err(|why| told(&kept, &why))?;
    Ok(kept)
}

fn told(path: &Path, why: &io::Error) -> String {
    format!("{}: {why}", path.display())
}

/// Where servers are kept: below what `DYNO_TEST_CACHE` names, else below the user's cache. A cache of root's that the
/// user whom servers run as cannot enter (/root is closed to others) is no use to them: then it is /var/cache.
fn place() -> Result<PathBuf, String> {
    let named = std::env::var_os("DYNO_TEST_CACHE").filter(|it| !it.is_empty()).map(PathBuf::from);
    let users = || std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = named.or_else(|| Some(users().or_else(home)?.join("dyno-test")));
    let cache = cache.ok_or("neither DYNO_TEST_CACHE nor HOME says where to keep servers")?;
    let mut place = std::path::absolute(cache.join("servers")).unwrap();
    if unprivileged_user().is_some() && !is_open(&place) {
        place = PathBuf::from("/var/cache/dyno-test/servers");
    }
    fs::create_dir_all(&place).map_err(|why| told(&place, &why))?;
    Ok(place)
}

/// Whether everybody may enter the directories on the way that are there already.
fn is_open(path: &Path) -> bool {
    path.ancestors().filter_map(|it| it.metadata().ok()).all(|it| it.permissions().mode() & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn what_many_ask_for_at_once_is_made_once_and_whole() {
        let place = tempfile::tempdir().unwrap();
        // What somebody left who was ended in the midst of it.
        fs::create_dir(place.path().join("thing.part")).unwrap();
        fs::write(place.path().join("thing.part/half"), "").unwrap();
        let made = AtomicUsize::new(0);
        let ask = || {
            let kept = keep_in(place.path(), "thing", |directory| {
                made.fetch_add(1, Ordering::Relaxed);
                fs::write(directory.join("first"), "").unwrap();
                thread::yield_now();
                fs::write(directory.join("second"), "").unwrap();
                Ok(())
            });
            let mut names: Vec<_> =
                fs::read_dir(kept.unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["first", "second"]);
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(ask);
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn what_could_not_be_made_is_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let failed = keep_in(place.path(), "thing", |_| Err("no network".to_owned()));
        assert_eq!(failed, Err("no network".to_owned()));
        assert!(!place.path().join("thing").exists() && !place.path().join("thing.part").exists());
        let kept = keep_in(place.path(), "thing", |_| Ok(())).unwrap();
        assert!(kept.is_dir());
    }

    #[test]
    fn a_directory_in_one_closed_to_others_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("not/there/yet");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_open(&inner));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!is_open(&inner));
    }
}
