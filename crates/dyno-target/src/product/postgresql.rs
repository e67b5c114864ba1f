//! PostgreSQL itself, as its project and the packagers of distributions ship it.

use super::{Dialect, Mark, Product, Views};

/// All that bears on whether a commit survives; the last four decide nothing by themselves.
pub(crate) const DURABILITY: &[&str] = &[
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_sync_method",
    "data_checksums",
    "synchronous_standby_names",
];

pub(crate) static POSTGRESQL: Product = Product {
    name: "PostgreSQL",
    mark: Mark::Plain,
    dialect: Dialect::POSTGRESQL,
    durability: DURABILITY,
    views: Views::NONE,
    ran: Some("15 and 18"),
};
