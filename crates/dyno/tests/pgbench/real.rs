//! What the real pgbench does: recorded in `recorded/`, a file for each module, and run only where the recordings are
//! made or compared.
//!
//! One recording holds for every version since 15 that has what the case is about: all that are there are run, and must
//! do the same. The words of the server's own messages are those of one version of it. With another, the real program
//! is run here and now.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dyno_test_servers::{Recorded, runs_references};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::program::Program;

/// The version of the server that answered when the recordings were made.
const SERVER: u32 = 15;

/// What the real pgbench does, as `run` reduces it; `None`, and a line that says so, where it must be run and is not
/// there. The recording is in the file of the module that asks.
#[track_caller]
pub(crate) fn does<T>(server: u32, key: &str, since: u32, run: impl Fn(&Program) -> T) -> Option<T>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    of_file(&file(Location::caller()), server, key, since, run)
}

/// The same for who knows the file.
pub(crate) fn of_file<T>(
    file: &Recorded,
    server: u32,
    key: &str,
    since: u32,
    run: impl Fn(&Program) -> T,
) -> Option<T>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    asserts_once(key);
    if !runs_references() && server == SERVER {
        return Some(file.get(key, || -> T { unreachable!("recordings are read") }));
    }
    assert!(
        !runs_references() || server == SERVER,
        "what is recorded is of PostgreSQL {SERVER}, and this is {server}"
    );
    let programs = Program::real(since);
    let Some((newest, others)) = programs.split_first() else {
        println!("skipped: no pgbench since {}: {key}", since.max(15));
        return None;
    };
    let run = || {
        let does = run(newest);
        for other in others {
            assert_eq!(run(other), does, "left, version {}, right, {}: {key}", other.version, newest.version);
        }
        does
    };
    Some(if server == SERVER { file.get(key, run) } else { run() })
}

/// Two cases of one key would get one recording.
fn asserts_once(key: &str) {
    static ASKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(ASKED.lock().unwrap().insert(key.to_owned()), "twice: {key}");
}

/// The recordings of a module of these tests.
pub(crate) fn file(module: &Location<'_>) -> Arc<Recorded> {
    static FILES: Mutex<BTreeMap<String, Arc<Recorded>>> = Mutex::new(BTreeMap::new());
    let name = Path::new(module.file()).file_stem().unwrap().to_str().unwrap().to_owned();
    let path = format!("tests/pgbench/recorded/{name}.json");
    let open = || Arc::new(Recorded::open(Path::new(&path)));
    FILES.lock().unwrap().entry(name).or_insert_with(open).clone()
}
