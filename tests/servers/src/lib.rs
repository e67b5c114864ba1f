//! Real servers for the tests: found on this machine or fetched, started as an unprivileged user on a port of their
//! own, in a temporary directory, and stopped by process id. Nothing here fakes a database.
//!
//! These are tests' tools: what goes wrong panics, which fails the test. What this machine cannot have is told by a
//! line `skipped: why`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]

mod cache;
mod cap;
mod certificate;
mod clickhouse;
mod command;
mod debian;
mod duckdb;
mod lying;
mod mysql;
mod node_exporter;
mod patience;
mod peers;
mod pgbench;
mod port;
mod postgres;
mod python;
mod recorded;
mod shared;
mod spark;
mod sysbench;
mod user;

pub use cap::Cap;
pub use clickhouse::{ClickHouse, ClickHouseKind};
pub use command::{copy_program, succeed};
pub use duckdb::{duckdb_library, old_duckdb_library};
pub use lying::{Lie, LyingProxy};
pub use mysql::{Mysql, MysqlProduct, MysqlSetup, MysqlUser};
pub use node_exporter::NodeExporter;
pub use peers::{PostgresTests, SysbenchTests};
pub use pgbench::Pgbench;
pub use postgres::{Postgres, Setup, Starter, counts_statements, postgres_binaries};
pub use recorded::{Recorded, runs_references};
pub use spark::Spark;
pub use sysbench::Sysbench;
pub use user::{User, become_user, give_to_server, unprivileged_user};

/// Whether this is `./test all`, with the slow suites and every product.
#[must_use]
pub fn runs_all() -> bool {
    std::env::var_os("DYNO_TEST_ALL").is_some()
}
