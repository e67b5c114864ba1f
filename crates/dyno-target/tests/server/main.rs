//! dyno-target against a PostgreSQL of the tests' own.

mod inspection;
mod probe;
mod refusals;
mod sessions;
mod support;
mod tls;
