//! The MySQL machines against real servers, and beside mysql_async: the same values, counts and errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod commands;
mod login;
mod query;
mod servers;
mod strangers;
mod tls;
