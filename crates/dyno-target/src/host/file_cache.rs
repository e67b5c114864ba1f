//! Drops what the kernel keeps of files: of the whole machine where this process may (root), else file by file. What disks and
//! hypervisors keep, nobody here can drop.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Where root has the kernel drop its caches; `1` for those of files.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// What was dropped, and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dropped {
    /// The kernel's cache of all files.
    All,
    /// The cache of the server's files, as far as the kernel takes advice.
    Files { count: u64, bytes: u64, refused: u64 },
}

impl Dropped {
    /// Why some of it is still there, as far as that can be seen.
    pub fn left(&self) -> Option<String> {
        match self {
            Self::Files { refused, .. } if *refused > 0 => {
                Some(format!("{refused} files could not be opened to have it dropped"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "the kernel's cache of all files"),
            Self::Files { count, bytes, .. } => write!(
                f,
                "the kernel's cache of {count} files of the server ({} MB), as far as it takes advice: dropping all of it \
                 takes root and a writable {DROP_CACHES}",
                bytes >> 20
            ),
        }
    }
}

/// Drops what the kernel keeps of the files in `directory`, and where they are all of one server in the directories below it.
/// Pages that a process has mapped or has changed meanwhile stay.
pub fn drop_file_cache(directory: &Path, with_below: bool) -> Dropped {
    // Only what is on the disk can be dropped.
    rustix::fs::sync();
    if fs::write(DROP_CACHES, "1").is_ok() {
        return Dropped::All;
    }
    let mut forgotten = Forgotten::default();
    forgotten.forget_in(directory, with_below);
    Dropped::Files { count: forgotten.count, bytes: forgotten.bytes, refused: forgotten.refused }
}

#[derive(Debug, Default)]
struct Forgotten {
    count: u64,
    bytes: u64,
    refused: u64,
}

impl Forgotten {
    fn forget_in(&mut self, directory: &Path, with_below: bool) {
        let Ok(entries) = fs::read_dir(directory) else {
            self.refused += 1;
            return;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && with_below => self.forget_in(&entry.path(), true),
                Ok(kind) if kind.is_file() => match forget(&entry.path()) {
                    Ok(bytes) => {
                        self.count += 1;
                        self.bytes += bytes;
                    }
                    Err(_) => self.refused += 1,
                },
                _ => {}
            }
        }
    }
}

/// Has the kernel forget a file; its size.
fn forget(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_forgotten_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("one"), [0; 4096]).unwrap();
        fs::create_dir(directory.path().join("below")).unwrap();
        fs::write(directory.path().join("below/other"), [0; 4096]).unwrap();
        for (with_below, count) in [(false, 1), (true, 2)] {
            let mut forgotten = Forgotten::default();
            forgotten.forget_in(directory.path(), with_below);
            assert_eq!((forgotten.count, forgotten.bytes, forgotten.refused), (count, count * 4096, 0));
        }
        let mut forgotten = Forgotten::default();
        forgotten.forget_in(&directory.path().join("missing"), true);
        assert_eq!(forgotten.refused, 1);
    }

    #[test]
    fn what_could_not_be_opened_is_left() {
        let files = |refused| Dropped::Files { count: 3, bytes: 5 << 20, refused };
        assert_eq!((files(0).left(), Dropped::All.left()), (None, None));
        assert!(files(2).left().is_some_and(|left| left.starts_with("2 files")));
        assert!(files(0).to_string().contains("3 files of the server (5 MB)"));
    }
}
