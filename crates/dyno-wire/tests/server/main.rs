//! The machines against a real PostgreSQL, and beside tokio-postgres: the same values, errors and bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cancel;
mod client;
mod copy;
mod libpq_text;
mod login;
mod postgres;
mod query;
mod tls;
