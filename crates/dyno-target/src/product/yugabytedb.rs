//! YugabyteDB: PostgreSQL's upper half over DocDB. Whether a node's log is synced with each commit (`durable_wal_write`)
//! is a flag of its tablet servers that no SQL shows, and by default it is not: replicas stand in for the disk.

use super::{Dialect, Mark, Product, Source, Views};

pub(super) static YUGABYTEDB: Product = Product {
    name: "YugabyteDB",
    mark: Mark::Version { says: "-YB-", version_after: "-YB-" },
    dialect: Dialect {
        vacuum: false,
        freeze: false,
        // The first column of a primary key is hashed unless it says otherwise, and ranges would ask every tablet.
        key_order: " ASC",
        ..Dialect::POSTGRESQL
    },
    durability: &[],
    views: Views::NONE,
    source: Source {
        documents: "YugabyteDB docs: yb-tserver configuration flags; CREATE TABLE (primary key); VACUUM",
        ran: None,
    },
};
