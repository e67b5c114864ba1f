//! The state machines on their own: bytes in, bytes out, no server and no network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod decoder;
mod encoder;
mod login;
mod property;
mod reply;
mod script;
