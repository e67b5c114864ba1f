//! Real servers for the tests: found on this machine or fetched, started as an unprivileged user on a port of their
//! own, in a temporary directory, and stopped by process id. Nothing here fakes a database.
//!
//! These are tests' tools: what goes wrong panics, which fails the test. What this machine cannot have is told by a
//! line `skipped: why`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]

mod attempts;
mod cache;
mod cap;
mod certificate;
mod command;
mod debian;
mod mysql;
mod node_exporter;
mod patience;
mod pgbench;
mod port;
mod postgres;
mod shared;
mod sysbench;
mod user;

pub use attempts::in_some_attempt;
pub use cap::Cap;
pub use command::succeed;
pub use mysql::{Mysql, MysqlProduct, MysqlSetup, MysqlUser};
pub use node_exporter::NodeExporter;
pub use pgbench::Pgbench;
pub use postgres::{Postgres, Setup, Starter, postgres_binaries};
pub use shared::{Ending, Shared};
pub use sysbench::Sysbench;
pub use user::{User, become_user, give_to_server, unprivileged_user};
