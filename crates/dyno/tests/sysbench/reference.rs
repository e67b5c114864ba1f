//! What the real sysbench does, from recordings in the tree; it is run where they are made or compared.

use std::fmt::Debug;
use std::path::Path;

use dyno_test_servers::Recorded;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::program::{Program, Ran};
use crate::server::Database;

/// The recordings of a part of this suite.
pub(crate) fn recorded(part: &str) -> Recorded {
    let directory = Path::new("tests/sysbench/recorded");
    Recorded::open(&directory.join(part).with_extension("json"))
}

/// What a program said, without what may differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    code: Option<i32>,
    pub(crate) stdout: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<String>,
}

impl Said {
    /// With what `mask` leaves of the output.
    pub(crate) fn new(ran: &Ran, mask: impl FnOnce(&str) -> String) -> Self {
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Self { code: ran.code, stdout: lines(&mask(&ran.stdout)), stderr: lines(&ran.stderr) }
    }
}

/// What is the same on some of the servers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct On<T> {
    on: Vec<String>,
    did: T,
}

/// dyno does what the real sysbench does on each database; returns what that is on the last.
#[track_caller]
pub(crate) fn assert_alike<T>(
    recorded: &Recorded,
    case: &str,
    databases: &[Database],
    run: impl Fn(&Program, &Database) -> T,
) -> Option<T>
where
    T: Debug + PartialEq + Serialize + DeserializeOwned,
{
    let real = || {
        let mut groups: Vec<On<T>> = Vec::new();
        for database in databases {
            let did = run(&Program::real(), database);
            match groups.iter_mut().find(|group| group.did == did) {
                Some(group) => group.on.push(database.product()),
                None => groups.push(On { on: vec![database.product()], did }),
            }
        }
        groups
    };
    let mut last = None;
    if databases.is_empty() {
        return last;
    }
    let theirs: Vec<On<T>> = recorded.get(case, real);
    for database in databases {
        let product = database.product();
        let theirs = theirs.iter().find(|group| group.on.contains(&product));
        let theirs = theirs.unwrap_or_else(|| panic!("nothing is recorded of {case} on {product}"));
        let ours = run(&Program::Dyno, database);
        assert_eq!(ours, theirs.did, "dyno, left, and sysbench: {case} on {product}");
        last = Some(ours);
    }
    last
}
