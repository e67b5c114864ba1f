//! The machines against a real PostgreSQL, and beside tokio-postgres: the same values, errors and bytes.

mod cancel;
mod client;
mod copy;
mod login;
mod postgres;
mod query;
mod tls;
