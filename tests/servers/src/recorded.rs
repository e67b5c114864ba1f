//! What the real pgbench and sysbench print, recorded in the tree, so that dyno is compared with it where neither is
//! installed, and without running them each time.
//!
//! `DYNO_TEST_REFERENCES` says what becomes of a recording: without it, it is read; `compare` runs the real program and
//! fails where it does not do what was recorded; `record` runs it and writes the file anew.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Compare,
    Record,
}

impl Mode {
    fn of_environment() -> Self {
        match std::env::var("DYNO_TEST_REFERENCES").as_deref() {
            Err(_) => Self::Read,
            Ok("compare") => Self::Compare,
            Ok("record") => Self::Record,
            Ok(other) => panic!("DYNO_TEST_REFERENCES is {other:?}; it is `compare`, `record` or not set"),
        }
    }
}

/// Whether the real programs are run, and so must be there.
#[must_use]
pub fn runs_references() -> bool {
    Mode::of_environment() != Mode::Read
}

/// One file of recordings, by key: a command line, say, and the program's version. Every part of a test binary that uses
/// it names the file by [`Recorded::open`] once, in a `static`.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    mode: Mode,
    entries: Mutex<BTreeMap<String, Value>>,
}

impl Recorded {
    /// The recordings in a file, which need not be there to record.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let mode = Mode::of_environment();
        Self { path: path.to_owned(), mode, entries: Mutex::new(read(path)) }
    }

    /// What was recorded for `key`, and what `run` returns where the real programs are run.
    ///
    /// # Panics
    ///
    /// If nothing was recorded, or the real program now does something else.
    pub fn get<T>(&self, key: &str, run: impl FnOnce() -> T) -> T
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        match self.mode {
            Mode::Read => self.read(key),
            Mode::Compare => {
                let (now, recorded) = (run(), self.read(key));
                assert_eq!(now, recorded, "the real program, left, does not do what was recorded: {key}");
                now
            }
            Mode::Record => {
                let now = run();
                self.write(key, serde_json::to_value(&now).unwrap());
                now
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, key: &str) -> T {
        let entries = self.entries.lock().unwrap();
        let value = entries.get(key).unwrap_or_else(|| {
            panic!("{} has nothing of {key:?}: run `./test references record`", self.path.display())
        });
        serde_json::from_value(value.clone()).unwrap()
    }

    /// Other test binaries may have written to the same file meanwhile. What no test asks for any more stays, until the
    /// file is removed and recorded anew.
    fn write(&self, key: &str, value: Value) {
        let mut entries = self.entries.lock().unwrap();
        let directory = self.path.parent().unwrap();
        fs::create_dir_all(directory).unwrap();
        let lock = File::open(directory).unwrap();
        lock.lock().unwrap();
        entries.extend(read(&self.path));
        entries.insert(key.to_owned(), value);
        // Others read it without the lock.
        let whole = self.path.with_extension("new");
        fs::write(&whole, serde_json::to_string_pretty(&*entries).unwrap() + "\n").unwrap();
        fs::rename(&whole, &self.path).unwrap();
    }
}

fn read(path: &Path) -> BTreeMap<String, Value> {
    match fs::read_to_string(path) {
        Ok(text) if !text.is_empty() => serde_json::from_str(&text).unwrap(),
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_read_and_compared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recorded/some.json");
        let in_mode = |mode| Recorded { mode, ..Recorded::open(&path) };
        assert_eq!(in_mode(Mode::Record).get("-c 1", || "one".to_owned()), "one");
        assert_eq!(in_mode(Mode::Record).get("-c 2", || "two".to_owned()), "two");
        let never = || -> String { panic!("the real program is run") };
        assert_eq!(in_mode(Mode::Read).get("-c 1", never), "one");
        assert_eq!(in_mode(Mode::Compare).get("-c 2", || "two".to_owned()), "two");
        let fails = |check: &dyn Fn() -> String| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err()
        };
        assert!(fails(&|| in_mode(Mode::Compare).get("-c 2", || "three".to_owned())));
        assert!(fails(&|| in_mode(Mode::Read).get("-c 3", never)));
    }
}
