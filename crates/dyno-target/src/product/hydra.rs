//! Hydra: PostgreSQL in whose first database tables are columnar unless they say otherwise.

use super::{Dialect, Mark, Product, Source, Views, postgresql};

pub(super) static HYDRA: Product = Product {
    name: "Hydra",
    mark: Mark::Extension("columnar"),
    // Columnar tables are for rows that stay as they are; transactions want the heap.
    dialect: Dialect { table_options: " USING heap", ..Dialect::POSTGRESQL },
    durability: postgresql::DURABILITY,
    views: Views::NONE,
    source: Source { documents: "Hydra documentation: Using Hydra Columnar", ran: None },
};
