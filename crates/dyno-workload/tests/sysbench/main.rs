//! sysbench's ten tests against real servers of both protocols, and beside the real sysbench. Where a machine has no
//! such server, a test says `skipped:` and goes on with the next.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../support/database.rs"]
mod database;
mod digests;
mod distributions;
mod failures;
mod loads;
mod preparation;
mod server;
