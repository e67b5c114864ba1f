//! Spark's SQL.

use dyno_engine::driver::BatchForm;

use super::tables;
use crate::explain::Explain;
use crate::product::{Analyze, Bulk, Catalog, Comments, Dialect, Mark, Product, Views};

/// Each batch becomes files of its own: few large ones are less work.
const BATCH_BYTES: usize = 8 << 20;

pub(super) static SPARK: Product = Product {
    name: "Spark SQL",
    mark: Mark::Plain,
    dialect: Dialect {
        bulk: Bulk::Batches { form: BatchForm::Lines, bytes: BATCH_BYTES },
        analyze: Analyze::Compute,
        key_for_scans: false,
        columnar: true,
        table_options: " USING parquet",
        secondary_indexes: false,
        comments: Comments {
            create: "{create}{options} COMMENT '{text}'",
            change: "COMMENT ON TABLE {table} IS '{text}'",
            drop: None,
        },
        // Two that add to a table at the same time remove each other's files.
        writers_max: Some(1),
        begin: "",
        begin_write: "",
        begin_snapshot: "",
        prepares_begin: false,
        explain: Explain { plain: "EXPLAIN FORMATTED", ..Explain::TEXT },
        catalog: &CATALOG,
        ..Dialect::STANDARD
    },
    durability: &[],
    views: Views::NONE,
    ran: Some("4.0.1"),
};

static CATALOG: Catalog = Catalog {
    described: Some(tables::described),
    // There are none.
    indexes: "SELECT '', '', '' WHERE false",
    foreign_keys: "SELECT '', '', '' WHERE false",
    ..Catalog::NONE
};
