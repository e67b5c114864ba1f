//! Greenplum: PostgreSQL on many segments. Rows belong to a segment by their distribution key.

use super::{Dialect, Mark, Product, Source, Views, postgresql};

pub(super) static GREENPLUM: Product = Product {
    name: "Greenplum",
    mark: Mark::Version { says: "Greenplum Database ", version_after: "Greenplum Database " },
    dialect: Dialect { freeze: false, table_options: " DISTRIBUTED BY (id)", ..Dialect::POSTGRESQL },
    // As the coordinator has them; the segments are not asked.
    durability: postgresql::DURABILITY,
    views: Views::NONE,
    source: Source {
        documents: "Greenplum Database Reference Guide: CREATE TABLE; VACUUM; Server Configuration Parameters",
        ran: None,
    },
};
