//! ClickHouse's SQL.

use dyno_engine::driver::BatchForm;

use crate::explain::{Answer, Explain, Form};
use crate::product::{Bulk, Catalog, Comments, Dialect, Mark, Product, Views};

/// Each batch becomes a part of its own on the disk, which are merged later: few large ones are less work.
const BATCH_BYTES: usize = 8 << 20;

pub(super) static CLICKHOUSE: Product = Product {
    name: "ClickHouse",
    mark: Mark::Plain,
    dialect: Dialect {
        bulk: Bulk::Batches { form: BatchForm::Lines, bytes: BATCH_BYTES },
        columnar: true,
        nullable: " NULL",
        table_options: " ENGINE = MergeTree",
        keyless_options: " ORDER BY tuple()",
        secondary_indexes: false,
        comments: Comments {
            create: "{create}{options} COMMENT '{text}'",
            change: "ALTER TABLE {table} MODIFY COMMENT '{text}'",
            drop: None,
        },
        // There are no transactions: each statement is done by itself.
        // An outer join has NULL where there is no row, and a sum over nothing is NULL, as in the standard.
        query_end: "\nsettings join_use_nulls = 1, aggregate_functions_null_for_empty = 1",
        begin: "",
        begin_write: "",
        begin_snapshot: "",
        prepares_begin: false,
        statement_bytes: Some("SELECT value FROM system.settings WHERE name = 'max_query_size'"),
        empty_cache: Some(&["SYSTEM DROP MARK CACHE", "SYSTEM DROP UNCOMPRESSED CACHE"]),
        explain: Explain {
            estimate: &[Form { words: "EXPLAIN json = 1, indexes = 1", answer: Answer::ClickHouseJson }],
            ..Explain::TEXT
        },
        catalog: &CATALOG,
        ..Dialect::STANDARD
    },
    durability: &["fsync_after_insert", "fsync_part_directory", "async_insert", "wait_for_async_insert"],
    views: Views::NONE,
    ran: Some("26.9"),
};

static CATALOG: Catalog = Catalog {
    tables: "SELECT name, if(engine LIKE '%MergeTree', 1, 0), comment FROM system.tables \
             WHERE database = currentDatabase() AND name {names}",
    // Strings and times have no other names here than these.
    columns: "SELECT table, name, multiIf(match(type, 'String'), concat(type, ' (char, varchar, text)'), \
                     match(type, 'DateTime'), concat(type, ' (timestamp)'), type), is_in_primary_key \
              FROM system.columns WHERE database = currentDatabase() AND table {names} ORDER BY table, position",
    // Those that leave parts of a table out find no row.
    indexes: "SELECT '', '', '' WHERE 0",
    // Its primary key is an order.
    foreign_keys: "SELECT '', '', '' WHERE 0",
    found: Some(
        "SELECT if(database = currentDatabase(), name, concat(database, '.', name)), if(engine LIKE '%MergeTree', 1, 0), \
                if(database = currentDatabase(), NULL, database), if(database = currentDatabase(), NULL, name) \
         FROM system.tables WHERE name {names} AND (database = currentDatabase() OR database {names}) \
                              AND database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')",
    ),
    bytes: Some(
        "SELECT sum(bytes_on_disk), 0 FROM system.parts \
         WHERE active AND database = currentDatabase() AND table {names}",
    ),
    ..Catalog::NONE
};
