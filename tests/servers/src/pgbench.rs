//! The real pgbench, to compare dyno's with.

use std::path::PathBuf;
use std::process::Command;

use crate::command::succeed;
use crate::postgres::postgres_binaries;

/// A pgbench on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pgbench {
    pub program: PathBuf,
    /// Its major version.
    pub version: u32,
}

impl Pgbench {
    /// The installed one, and the pgbench 18 that `DYNO_PGBENCH18` names, if it is set; the newest comes first, and
    /// none twice.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let named = std::env::var_os("DYNO_PGBENCH18").map(PathBuf::from);
        let installed = postgres_binaries().map(|binaries| binaries.join("pgbench"));
        let mut all: Vec<_> = named.into_iter().chain(installed).map(Self::new).collect();
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
