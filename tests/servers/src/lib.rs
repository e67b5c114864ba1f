//! Real servers for the tests: found on this machine, started as an unprivileged user on 127.0.0.1 and a port of
//! their own, in a temporary directory, and stopped by process id. Nothing here fakes a database.
//!
//! These are tests' tools: what goes wrong panics, which fails the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]

mod pgbench;
mod postgres;
mod shared;
mod user;

pub use pgbench::Pgbench;
pub use postgres::{Postgres, Setup, Starter, postgres_binaries, succeed};
pub use shared::Shared;
pub use user::{User, become_user, give_to_server, unprivileged_user};
