//! sysbench's ten tests against real servers of both protocols. Where a machine has no such server, a test says `skipped:`
//! and goes on with the next. What the real sysbench draws and makes is recorded; it runs where recordings are made or
//! compared.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../support/database.rs"]
mod database;
mod distributions;
mod failures;
mod loads;
mod preparation;
mod server;

/// What the real sysbench does.
fn recorded(part: &str) -> dyno_test_servers::Recorded {
    let directory = std::path::Path::new("tests/sysbench/recorded");
    dyno_test_servers::Recorded::open(&directory.join(part).with_extension("json"))
}
