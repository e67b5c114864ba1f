//! `dyno pgbench`: what is pgbench's alone — its initialisation, what it does before a run, its scripts' clients.
//! Everything that users parse (messages, SQL, rows) is as pgbench 18 has it.

pub mod before;
pub mod bound;
mod client;
pub mod console;
mod counts;
mod debug;
pub mod effects;
mod failure_text;
pub mod initialize;
pub mod load;
pub mod log;
mod messages;
pub mod mix;
mod outcome;
mod row_sink;
mod sending;
mod shell;
pub mod tables;
pub mod tally;

pub(crate) use client::TURNS_MAX;
