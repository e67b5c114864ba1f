//! The tests that the authors of pgbench and sysbench wrote for them, from Debian's source packages.

use std::path::PathBuf;

use crate::cache::keep;
use crate::debian::{Packages, unpack_source};
use crate::python::unpack_wheel;

/// The release whose sources are taken.
const SUITE: &str = "bookworm";

/// PostgreSQL's test programs in Perl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresTests {
    /// Where its programs for pgbench are.
    pub programs: PathBuf,
    /// Where the modules are that they use.
    pub modules: [PathBuf; 2],
}

impl PostgresTests {
    /// Those of a major version; `None`, and a line that says why, where they cannot be had.
    #[must_use]
    pub fn get(major: u32) -> Option<Self> {
        let package = format!("postgresql-{major}");
        let members = ["*/src/test/perl", "*/src/bin/pgbench/t"];
        let modules = Packages { suite: SUITE, whole: &[], alone: &["libipc-run-perl"] };
        let kept = keep(&format!("{package}-tests"), |into| {
            unpack_source(SUITE, &package, &members, into)?;
            modules.unpack(into)
        });
        let tree = told(&package, kept)?;
        let modules = [tree.join("src/test/perl"), tree.join("usr/share/perl5")];
        Some(Self { programs: tree.join("src/bin/pgbench/t"), modules })
    }
}

/// sysbench's tests, which are shell sessions, and the program that compares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysbenchTests {
    /// With `t`, the tests, and `include`.
    pub tests: PathBuf,
    /// The Lua scripts of the same version.
    pub scripts: PathBuf,
    /// Where Python finds cram.
    pub cram: PathBuf,
}

impl SysbenchTests {
    /// `None`, and a line that says why, where they cannot be had.
    #[must_use]
    pub fn get() -> Option<Self> {
        let kept = keep("sysbench-tests", |into| {
            unpack_source(SUITE, "sysbench", &["*/tests", "*/src/lua"], into)?;
            unpack_wheel("cram==0.7", into)
        });
        let tree = told("sysbench", kept)?;
        let path = |name: &str| tree.join(name);
        Some(Self { tests: path("tests"), scripts: path("src/lua"), cram: path("tree") })
    }
}

fn told(package: &str, kept: Result<PathBuf, String>) -> Option<PathBuf> {
    kept.inspect_err(|why| println!("skipped: no tests of {package}: {why}")).ok()
}
