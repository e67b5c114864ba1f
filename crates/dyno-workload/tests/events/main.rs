//! `events` against real servers of both protocols, as a campaign drives it. Where a machine has no such server, a test
//! says `skipped:` and goes on with the next.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../support/database.rs"]
mod database;
mod faults;
mod loads;
mod owners;
mod preparation;
mod server;
