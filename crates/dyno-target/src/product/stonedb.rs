//! StoneDB: MySQL with a columnar engine beside InnoDB. Its engine, Tianmu, has no log and no transactions, and knows no
//! secondary index; tables for transactions are InnoDB's, which a workload's `ENGINE` clause decides.

use super::{Dialect, Mark, Product, Source, Views, mysql};

pub(super) static STONEDB: Product = Product {
    name: "StoneDB",
    mark: Mark::Version { says: "-StoneDB-", version_after: "-StoneDB-v" },
    dialect: Dialect::MYSQL,
    durability: mysql::DURABILITY,
    // It is of MySQL 5.6 and 5.7, which do not tell what was changed.
    views: Views { cache: Some(mysql::CACHE), ..Views::NONE },
    source: Source { documents: "StoneDB documentation: Architecture; Limits", ran: None },
};
