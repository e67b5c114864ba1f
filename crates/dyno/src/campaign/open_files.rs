//! Whether the files of a database in dyno's own process are still where its sessions opened them. A file that is renamed,
//! replaced or removed stays open: it takes commits, and answers what it was told, but nobody finds it again.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The check of a load that says so.
pub(super) const SAME_FILE: &str = "same-file";
/// What the system puts behind the name of an open file that was removed, or replaced by another.
const DELETED: &str = " (deleted)";

/// Device and inode: what a file is, whatever it is called.
type FileId = (u64, u64);
/// A file that this process has open, with the name that the system knows.
type HeldFile = (PathBuf, FileId);

/// The files of a database, by the names that its sessions know.
pub(super) struct OpenFiles {
    /// The database's own first. Without an id are the database where this process does not have it open, and what is not there
    /// yet.
    files: Vec<(PathBuf, Option<FileId>)>,
    /// What [`compare`] has found.
    moved: Option<String>,
}

/// Looks what has become of the files of these databases. What this process has open is read once for all of them: it grows
/// with their number.
pub(super) fn compare<'f>(databases: impl Iterator<Item = &'f mut OpenFiles>) {
    let mut held = None;
    for files in databases {
        files.moved = files.first_moved(|| held.get_or_insert_with(held_files));
    }
}

impl OpenFiles {
    /// Looks which files these are now: `paths` names the database first, and what belongs to it behind. Where there is none by
    /// that name, the library has another notion of it, and nothing is known.
    pub(super) fn of(paths: Vec<PathBuf>) -> Self {
        let mut files: Vec<_> = paths.into_iter().map(|path| (path, None)).collect();
        match files.first_mut().map(|(path, id)| (id_of(fs::metadata(path)), id)) {
            Some((Some(found), id)) => {
                *id = held_files().into_iter().map(|(_, held)| held).find(|held| *held == found);
            }
            _ => files.clear(),
        }
        let mut opened = Self { files, moved: None };
        opened.look_again();
        opened
    }

    /// Looks again for those that belong to the database: it creates and removes them by itself.
    pub(super) fn look_again(&mut self) {
        for (path, id) in self.files.iter_mut().skip(1) {
            *id = id_of(fs::metadata(path));
        }
    }

    /// What had become of the first that was no longer in its place at the last [`compare`]; `None` where all were.
    pub(super) fn moved(&self) -> Option<&str> {
        self.moved.as_deref()
    }

    fn first_moved<'h>(&self, held: impl FnOnce() -> &'h mut Vec<HeldFile>) -> Option<String> {
        let ((path, id), beside) = self.files.split_first()?;
        let now = id_of(fs::metadata(path));
        let path = path.display();
        match (now, id) {
            (None, _) => return Some(format!("{path} was removed or renamed while it was open")),
            (now, id) if now != *id => {
                return Some(format!("{path} is another file than the one that was opened"));
            }
            _ => {}
        }
        let held = held();
        let moved = beside.iter().find(|(path, id)| is_elsewhere(path, *id, held));
        moved
            .map(|(path, _)| format!("{} was removed, renamed or replaced while it was open", path.display()))
    }
}

/// Whether a file is open that was at `path` and is no longer. The database itself closes what it removes.
fn is_elsewhere(path: &Path, id: Option<FileId>, held: &[HeldFile]) -> bool {
    let mut deleted = path.as_os_str().to_owned();
    deleted.push(OsString::from(DELETED));
    let now = id_of(fs::metadata(path));
    held.iter().any(|(link, held)| link.as_os_str() == deleted || now != id && Some(*held) == id)
}

fn held_files() -> Vec<HeldFile> {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    open.filter_map(|entry| {
        let path = entry.path();
        Some((fs::read_link(&path).ok()?, id_of(fs::metadata(&path))?))
    })
    .collect()
}

fn id_of(file: io::Result<Metadata>) -> Option<FileId> {
    file.ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A directory with an open database and its log.
    fn opened() -> (tempfile::TempDir, [PathBuf; 2], [File; 2], OpenFiles) {
        let directory = tempfile::tempdir().unwrap();
        // The system names what is open by its real path.
        let at = fs::canonicalize(directory.path()).unwrap();
        let paths = ["a.db", "a.db-wal"].map(|name| at.join(name));
        let held = paths.clone().map(|path| File::create(path).unwrap());
        let files = OpenFiles::of(paths.to_vec());
        (directory, paths, held, files)
    }

    fn moved(files: &mut OpenFiles) -> Option<String> {
        compare(std::iter::once(&mut *files));
        files.moved().map(str::to_owned)
    }

    #[test]
    fn a_file_that_is_renamed_replaced_or_removed_is_no_longer_in_its_place() {
        for (which, said) in [(0, "a.db "), (1, "a.db-wal ")] {
            let renamed = |path: &Path| fs::rename(path, path.with_extension("away")).unwrap();
            let removed = |path: &Path| fs::remove_file(path).unwrap();
            let replaced = |path: &Path| {
                let other = path.with_extension("other");
                File::create(&other).unwrap();
                fs::rename(other, path).unwrap();
            };
            let ways: [&dyn Fn(&Path); 3] = [&renamed, &removed, &replaced];
            for (at, way) in ways.into_iter().enumerate() {
                let (_directory, paths, _held, mut files) = opened();
                assert_eq!(moved(&mut files), None);
                way(&paths[which]);
                let moved = moved(&mut files);
                assert!(moved.as_ref().is_some_and(|moved| moved.contains(said)), "{which} {at}: {moved:?}");
            }
        }
    }

    #[test]
    fn a_log_that_was_made_later_is_missed_and_one_that_the_database_removed_is_not() {
        let (_directory, paths, [_held, log], mut files) = opened();
        drop(log);
        fs::remove_file(&paths[1]).unwrap();
        assert_eq!(moved(&mut files), None, "nobody has it open");
        files.look_again();
        let later = File::create(&paths[1]).unwrap();
        assert_eq!(moved(&mut files), None);
        fs::remove_file(&paths[1]).unwrap();
        assert!(moved(&mut files).is_some());
        drop(later);
        assert_eq!(moved(&mut files), None);
    }

    #[test]
    fn a_database_without_files_has_none_to_lose() {
        assert_eq!(moved(&mut OpenFiles::of(Vec::new())), None);
    }
}
