//! `tpch`: eight tables and 22 queries that are derived from TPC-H. What comes of them is not comparable to published TPC-H
//! results. Opens no socket.

mod answers;
mod benchmark;
mod family;
mod load;
mod orders;
mod parameters;
mod queries;
mod rows;
mod schema;

pub use family::{Indexes, TpchFamily};

use crate::dataset::Terms;

/// The workloads' family in events and on the command line.
pub const NAME: &str = "tpch";
/// Queries of a pass.
const QUERIES: usize = 22;

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT on its eight tables (region, nation, supplier, customer, part, partsupp, orders, lineitem)",
    instead: "name another database, made for this",
    locked: Some("the tables of tpch"),
    exists: None,
    room: "make room or take a smaller --scale",
    rights: "connect as a user who may make, fill, alter and drop tables in this database",
};
