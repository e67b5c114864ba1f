//! dyno-target against a PostgreSQL of the tests' own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod inspection;
mod probe;
mod refusals;
mod sessions;
mod support;
mod telemetry;
mod tls;
