//! DuckDB's SQL.

use dyno_engine::driver::BatchForm;

use crate::explain::{Answer, Explain, Form};
use crate::product::{Analyze, Bulk, Catalog, Comments, Dialect, Mark, Product, Views};

pub(in crate::adbc) static PRODUCT: Product = Product {
    name: "DuckDB",
    mark: Mark::Plain,
    dialect: Dialect {
        bulk: Bulk::Batches { form: BatchForm::Columns, bytes: 16 << 20 },
        analyze: Analyze::Plain,
        // An index of DuckDB's for each, which has to fit in memory.
        key_for_scans: false,
        columnar: true,
        comments: Comments {
            create: "BEGIN; {create}{options}; COMMENT ON TABLE {table} IS '{text}'; COMMIT",
            change: "COMMENT ON TABLE {table} IS '{text}'",
            drop: None,
        },
        explain: Explain {
            plain: "EXPLAIN",
            estimate: &[Form { words: "EXPLAIN (FORMAT JSON)", answer: Answer::DuckDbJson }],
            analyze: &[Form { words: "EXPLAIN (ANALYZE, FORMAT JSON)", answer: Answer::DuckDbJson }],
        },
        catalog: &CATALOG,
        // Foreign keys would be part of CREATE TABLE, and an index each. Every transaction sees one instant. Nobody waits for a lock:
        // who comes second gets an error.
        ..Dialect::STANDARD
    },
    // No setting decides it: each commit syncs the write-ahead log.
    durability: &[],
    views: Views::NONE,
    ran: Some("1.5"),
};

/// A name stands for what it does in the database and the schema that a session begins in. It is the same in any case, and asked for
/// and told in small letters.
static CATALOG: Catalog = Catalog {
    tables: "SELECT lower(table_name), 1, comment FROM duckdb_tables() \
             WHERE lower(table_name) {names} AND database_name = current_database() AND schema_name = current_schema() \
             UNION ALL SELECT lower(view_name), 0, comment FROM duckdb_views() \
             WHERE lower(view_name) {names} AND database_name = current_database() AND schema_name = current_schema()",
    // TEXT is VARCHAR here.
    columns: "SELECT lower(c.table_name), c.column_name, \
                     CASE c.data_type WHEN 'VARCHAR' THEN 'VARCHAR (TEXT)' ELSE c.data_type END, \
                     CASE WHEN list_contains(k.constraint_column_names, c.column_name) THEN 1 ELSE 0 END \
              FROM duckdb_columns() c LEFT JOIN duckdb_constraints() k \
                   ON k.table_oid = c.table_oid AND k.database_oid = c.database_oid AND k.constraint_type = 'PRIMARY KEY' \
              WHERE lower(c.table_name) {names} AND c.database_name = current_database() AND c.schema_name = current_schema() \
              ORDER BY c.table_name, c.column_index",
    indexes: "SELECT lower(table_name), index_name, \
                     trim(split_part(trim(expressions, '[]'), ',', 1), ' \"''') \
              FROM duckdb_indexes() \
              WHERE lower(table_name) {names} AND database_name = current_database() AND schema_name = current_schema() \
              UNION ALL SELECT lower(table_name), constraint_name, constraint_column_names[1] FROM duckdb_constraints() \
              WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND lower(table_name) {names} \
                    AND database_name = current_database() AND schema_name = current_schema()",
    unique_keys: Some(
        "SELECT lower(table_name), constraint_index::VARCHAR, unnest(constraint_column_names) FROM duckdb_constraints() k \
         WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND lower(table_name) {names} \
               AND database_name = current_database() AND schema_name = current_schema() \
               AND NOT EXISTS (SELECT 1 FROM duckdb_columns() c \
                               WHERE c.table_oid = k.table_oid AND c.database_oid = k.database_oid \
                                     AND list_contains(k.constraint_column_names, c.column_name) \
                                     AND (c.is_nullable OR c.data_type = 'VARCHAR'))",
    ),
    foreign_keys: "SELECT lower(table_name), constraint_column_names[1], lower(referenced_table) FROM duckdb_constraints() \
                   WHERE constraint_type = 'FOREIGN KEY' AND lower(table_name) {names} \
                         AND database_name = current_database() AND schema_name = current_schema()",
    // No bytes: blocks are shared between columns, and an index's are not told.
    ..Catalog::NONE
};
