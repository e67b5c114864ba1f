//! `sysbench`: the ten OLTP tests of sysbench, on PostgreSQL's protocol and on MySQL's.
//!
//! Tables, options, statements, random numbers and what counts as a read, a write or other are those of sysbench
//! 1.0.20, so that figures of one can be laid beside those of the other. Nothing here opens a socket.

mod benchmark;
mod census;
mod client;
pub mod counters;
pub mod distribution;
mod failure;
mod family;
mod load;
pub mod lua;
pub mod options;
mod plan;
pub mod prepare;
mod rows;
mod schema;
mod state;
mod test;
pub mod text;
mod unique;
mod upkeep;
mod verdict;
mod verify;

pub use crate::dataset::PrepareError;
use crate::dataset::{Marks, Terms};
pub use benchmark::SysbenchBenchmark;
pub use counters::{ClientCounters, Counted, Counters, Latencies, Snapshot};
pub use distribution::{Distribution, Sampler};
pub use failure::{Called, FatalError, FatalErrors, IgnoredErrors, OnError};
pub use family::SysbenchFamily;
pub use load::Sysbench;
pub use options::{Options, OptionsError};
pub use prepare::{Existing, PrepareOptions, prepare};
pub use schema::{index_name, table_name};
pub use state::{Found, Wanted, state};
pub use test::Test;
pub use unique::{Unique, UniqueNumbers};
pub use upkeep::{cleanup, prewarm};
pub use verify::{Baseline, verify};

/// The workloads' family in events and on the command line.
pub const NAME: &str = "sysbench";

/// Of tables that are being made.
pub(crate) const MARKS: Marks = Marks { beginning: "dyno sysbench/", format: 1 };

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT, INSERT, UPDATE and DELETE on them",
    instead: "name another database, or rename the table",
    locked: None,
    exists: Some("drop them first with the command cleanup"),
    room: "make room or take fewer rows (a million is about 250 MB)",
    rights: "connect as the tables' owner, or grant the right to make, fill and drop tables in this database",
};
