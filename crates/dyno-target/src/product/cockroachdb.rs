//! CockroachDB: PostgreSQL's protocol over a distributed store of its own.

use super::{AutoIncrement, Dialect, Mark, Product, Source, Views};

pub(super) static COCKROACHDB: Product = Product {
    name: "CockroachDB",
    mark: Mark::Version { says: "CockroachDB ", version_after: " v" },
    dialect: Dialect {
        vacuum: false,
        freeze: false,
        // SERIAL is unique_rowid(): large numbers that leave gaps.
        auto_increment: AutoIncrement::Identity,
        ..Dialect::POSTGRESQL
    },
    // It shows `fsync` and `synchronous_commit` for the sake of clients, and heeds neither.
    durability: &[],
    views: Views::NONE,
    source: Source {
        documents: "CockroachDB docs: Known Limitations (COPY); SERIAL; PostgreSQL Compatibility",
        ran: None,
    },
};
