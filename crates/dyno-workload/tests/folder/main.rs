//! Folders with a `workload.toml` on servers of each kind, on SQLite and DuckDB, as a campaign drives them, and what is said of faulty ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../support/database.rs"]
mod database;
mod example;
mod mistakes;
mod orders;
mod parcels;
mod rows;
mod shop;
mod tpcc;
