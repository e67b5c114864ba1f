//! The engine against real servers: what it counts is what the server did.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod bank;
mod closed;
mod failing;
mod mysql;
mod open;
mod poller;
mod pool;
mod segments;
mod stages;
mod told;
