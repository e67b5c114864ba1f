//! Citus: PostgreSQL with tables that are spread over workers, once they are told to be.

use super::{Dialect, Mark, Product, Source, Views, postgresql};

pub(super) static CITUS: Product = Product {
    name: "Citus",
    mark: Mark::Extension("citus"),
    dialect: Dialect {
        // A COPY into shards is one for each of them, which did not make its table in the same transaction.
        freeze: false,
        distribute: Some("SELECT create_distributed_table('{table}', 'id')"),
        ..Dialect::POSTGRESQL
    },
    // As the coordinator has them; the workers are not asked.
    durability: postgresql::DURABILITY,
    views: Views::NONE,
    source: Source {
        documents: "Citus documentation: Creating and Modifying Distributed Objects (DDL); Ingesting Data",
        ran: None,
    },
};
