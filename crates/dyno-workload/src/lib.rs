//! What is run: the workloads, each with its schema, its data, its statements and its own invariants.
//!
//! A workload prepares and verifies over an administrative [`dyno_target::Connection`] and drives the load as a
//! [`dyno_engine::workload::Workload`]. It opens no socket of its own and measures nothing under load.

pub mod benchmark;
pub mod c_numbers;
pub mod dataset;
mod durable;
pub mod family;
pub mod folder;
mod limits;
pub mod pgbench;
pub mod query_set;
pub mod random;
pub mod registry;
pub mod script;
pub mod scripts;
mod single_writer;
mod site;
mod statements;
pub mod sysbench;
pub mod tpch;
pub mod ycsb;
