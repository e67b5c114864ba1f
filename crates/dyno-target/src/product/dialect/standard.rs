//! SQL of the standard, on which the dialects of the products stand: nothing that a product has beyond it is taken to be there.

use super::{Access, Analyze, AutoIncrement, Bulk, Catalog, Comments, Dialect, ForeignKeys};
use crate::explain::Explain;

impl Dialect {
    pub(crate) const STANDARD: Self = Self {
        bulk: Bulk::Inserts { because: None },
        vacuum: false,
        pads_char: false,
        analyze: Analyze::Never,
        auto_increment: AutoIncrement::Never,
        nullable: "",
        timestamp: "TIMESTAMP",
        all_letters: "",
        key_for_scans: true,
        columnar: false,
        key_order: "",
        table_options: "",
        keyless_options: "",
        engine: "",
        stored_as: "USING {name}",
        fill: "",
        distribute: None,
        sequence: None,
        secondary_indexes: true,
        index_after_load: true,
        index_of_table: false,
        foreign_key_index: false,
        foreign_keys: ForeignKeys::Never,
        // The standard has none: a view beside the table says it.
        comments: Comments {
            create: "{create}{options}; DROP VIEW IF EXISTS dyno_comment_{table}; CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment",
            change: "DROP VIEW IF EXISTS dyno_comment_{table}; CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment",
            drop: Some("DROP VIEW IF EXISTS dyno_comment_{table}"),
        },
        drops_many: false,
        empty: "TRUNCATE TABLE {table}",
        writers_max: None,
        begin: "BEGIN",
        begin_write: "BEGIN",
        isolation: ("", &[]),
        begin_snapshot: "BEGIN",
        prepares_begin: true,
        backslashes: false,
        question_marks: false,
        load_session: &[],
        unlimited_session: &[],
        lock_wait: [""; 2],
        sort_memory: None,
        statement_bytes: None,
        query_end: "",
        correlates_since: None,
        empty_cache: None,
        explain: Explain::TEXT,
        by_table: Access { hint: "", off: &[] },
        by_index: Access { hint: "", off: &[] },
        catalog: &CATALOG,
    };
}

/// The standard's views. Indexes are no part of it. A name without quotes is the same in any case; which case it is kept in is the
/// product's.
static CATALOG: Catalog = Catalog {
    tables: "SELECT lower(t.table_name), CASE WHEN t.table_type = 'BASE TABLE' THEN 1 ELSE 0 END, \
                    substring(v.text FROM 1 FOR position('''' IN v.text) - 1) \
             FROM information_schema.tables t LEFT JOIN \
                  (SELECT table_schema, table_name, \
                          substring(view_definition FROM position('''' IN view_definition) + 1) AS text \
                   FROM information_schema.views) v \
                  ON v.table_schema = t.table_schema AND lower(v.table_name) = 'dyno_comment_' || lower(t.table_name) \
             WHERE lower(t.table_name) {names}",
    columns: "SELECT lower(c.table_name), c.column_name, c.data_type, CASE WHEN k.column_name IS NULL THEN 0 ELSE 1 END \
              FROM information_schema.columns c LEFT JOIN \
                   (SELECT u.table_schema, u.table_name, u.column_name FROM information_schema.key_column_usage u \
                    JOIN information_schema.table_constraints t ON t.constraint_name = u.constraint_name \
                         AND t.table_schema = u.table_schema AND t.table_name = u.table_name \
                    WHERE t.constraint_type = 'PRIMARY KEY') k \
                   ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name \
              WHERE lower(c.table_name) {names} ORDER BY c.table_name, c.ordinal_position",
    indexes: "SELECT '', '', '' WHERE '' {names} AND 1 = 0",
    // The standard tells them, and a database may not keep them.
    foreign_keys: "SELECT '', '', '' WHERE '' {names} AND 1 = 0",
    ..Catalog::NONE
};
