//! The MySQL machines in memory: byte-exact exchanges, and properties.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod encoder;
mod login;
mod property;
mod reply;
mod script;
