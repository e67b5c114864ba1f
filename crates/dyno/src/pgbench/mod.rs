//! `dyno pgbench`: a drop-in for pgbench 18 — its command line, its scripts, its output — on dyno's engine.

pub(crate) mod connect;
pub(crate) mod help;
pub(crate) mod options;
