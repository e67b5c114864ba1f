//! Amazon Aurora PostgreSQL: PostgreSQL over a log that storage nodes keep, so that no page is written by the server.

use super::{Dialect, Mark, Product, Source, Views};

pub(super) static AURORA: Product = Product {
    name: "Amazon Aurora PostgreSQL",
    mark: Mark::Function("aurora_version"),
    dialect: Dialect::POSTGRESQL,
    // `fsync` and `full_page_writes` are about files that it has not.
    durability: &["synchronous_commit"],
    views: Views::NONE,
    source: Source {
        documents: "Amazon Aurora User Guide: Amazon Aurora PostgreSQL parameters; Aurora PostgreSQL functions reference",
        ran: None,
    },
};
