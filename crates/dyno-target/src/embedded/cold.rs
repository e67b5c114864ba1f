//! Cold caches for a server of dyno's own: while it is stopped, what the kernel keeps of its files is dropped. Of the whole
//! machine where this process may (root), else file by file; what disks and hypervisors keep, nobody here can drop.

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
    /// True where nothing is left of what the kernel keeps.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::All
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BEYOND: &str = "What the disk and a hypervisor keep cannot be dropped from here";
        match self {
            Self::All => write!(f, "the kernel's cache of files was dropped. {BEYOND}"),
            Self::Files { count, bytes, refused } => {
                write!(
                    f,
                    "the kernel was asked to forget {count} files of the server ({} MB), which it need not do in full: \
                     dropping its whole cache takes root and a writable {DROP_CACHES}",
                    bytes >> 20
                )?;
                if *refused > 0 {
                    write!(f, "; {refused} files could not be opened for that")?;
                }
                write!(f, ". {BEYOND}")
            }
        }
    }
}

/// Drops what the kernel keeps of the files under `directory`, which nobody has open.
pub(super) fn drop_caches(directory: &Path) -> Dropped {
    // Only what is on the disk can be dropped.
    rustix::fs::sync();
    if fs::write(DROP_CACHES, "1").is_ok() {
        return Dropped::All;
    }
    let mut forgotten = Forgotten::default();
    forgotten.forget_under(directory);
    Dropped::Files { count: forgotten.count, bytes: forgotten.bytes, refused: forgotten.refused }
}

#[derive(Debug, Default)]
struct Forgotten {
    count: u64,
    bytes: u64,
    refused: u64,
}

impl Forgotten {
    fn forget_under(&mut self, directory: &Path) {
        let Ok(entries) = fs::read_dir(directory) else {
            self.refused += 1;
            return;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.forget_under(&entry.path()),
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
