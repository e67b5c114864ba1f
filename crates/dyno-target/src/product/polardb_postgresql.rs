//! PolarDB for PostgreSQL: PostgreSQL whose nodes share one storage. It says `PostgreSQL 11.9 (POLARDB 11.9)` up to 11,
//! and `PostgreSQL 15.8 (PolarDB 15.8.2.0 build …) on …` since 15.

use super::{Dialect, Mark, Product, Source, Views};

pub(super) static POLARDB: Product = Product {
    name: "PolarDB for PostgreSQL",
    mark: Mark::Version { says: " (PolarDB ", version_after: " (PolarDB " },
    dialect: Dialect::POSTGRESQL,
    // Over shared storage it may do without whole pages in the log.
    durability: &["fsync", "synchronous_commit"],
    views: Views::NONE,
    source: Source { documents: "PolarDB for PostgreSQL documentation: Deployment; Quick Start", ran: None },
};
