//! `dyno pgbench`: what is pgbench's alone — its initialisation, what it does before a run, its scripts' clients.
//! Everything that users parse (messages, SQL, rows) is as pgbench 18 has it.

pub mod before;
mod failure_text;
pub mod initialize;
