//! PostgreSQL's SQL.

use super::{
    Access, Analyze, AutoIncrement, Bulk, Catalog, Comments, Dialect, ForeignKeys, ISOLATION_LEVELS,
};
use crate::explain::{Answer, Explain, Form};

impl Dialect {
    pub(crate) const POSTGRESQL: Self = Self {
        bulk: Bulk::Copy { freeze: true },
        vacuum: true,
        pads_char: true,
        analyze: Analyze::Plain,
        auto_increment: AutoIncrement::Serial,
        fill: " WITH (fillfactor={percent})",
        // Where the column has no sequence, nothing happens.
        sequence: Some("SELECT setval(pg_get_serial_sequence('{table}', '{column}'), {rows})"),
        foreign_keys: ForeignKeys::AfterLoad,
        comments: Comments {
            // Statements that are sent together are done together or not at all.
            create: "{create}{options}; COMMENT ON TABLE {table} IS '{text}'",
            change: "COMMENT ON TABLE {table} IS '{text}'",
            drop: None,
        },
        drops_many: true,
        isolation: ("{begin} ISOLATION LEVEL {level}", &ISOLATION_LEVELS),
        begin_snapshot: "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        // The second since PostgreSQL 17.
        unlimited_session: &["SET statement_timeout = 0", "SET transaction_timeout = 0"],
        lock_wait: ["SET lock_timeout = '{seconds}s'", "RESET lock_timeout"],
        sort_memory: Some("SET maintenance_work_mem = '{megabytes}MB'"),
        explain: Explain {
            plain: "EXPLAIN",
            estimate: &[Form { words: "EXPLAIN (FORMAT JSON)", answer: Answer::PostgresJson }],
            analyze: &[Form {
                words: "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)",
                answer: Answer::PostgresJson,
            }],
        },
        by_table: Access {
            hint: "",
            off: &["enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"],
        },
        by_index: Access { hint: "", off: &["enable_seqscan", "enable_bitmapscan"] },
        catalog: &CATALOG,
        ..Self::STANDARD
    };
}

impl Bulk {
    pub(in crate::product) const WITHOUT_COPY: Self =
        Self::Inserts { because: Some("the server does not take COPY") };
}

/// A name stands for what it does on the search path, not for what this user's own schema holds: that is what statements
/// meet.
static CATALOG: Catalog = Catalog {
    tables: "SELECT c.relname, CASE WHEN c.relkind IN ('r', 'p') THEN 1 ELSE 0 END, obj_description(c.oid, 'pg_class') \
             FROM pg_class c WHERE c.relname {names} AND c.relkind NOT IN ('i', 'I') AND pg_table_is_visible(c.oid)",
    columns: "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), \
                     CASE WHEN i.indrelid IS NULL THEN 0 ELSE 1 END \
              FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
              LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indisvalid \
                                  AND a.attnum = ANY (i.indkey) \
              WHERE c.relname {names} AND c.relkind NOT IN ('i', 'I') AND pg_table_is_visible(c.oid) \
              ORDER BY c.relname, a.attnum",
    indexes: "SELECT c.relname, i.relname, a.attname FROM pg_index x \
              JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid \
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0] \
              WHERE c.relname {names} AND pg_table_is_visible(c.oid) AND x.indisvalid AND x.indpred IS NULL",
    // A table with others that inherit from it has their rows, too, which its index does not know.
    unique_keys: Some(
        "SELECT c.relname, x.indexrelid::text, a.attname FROM pg_index x \
         JOIN pg_class c ON c.oid = x.indrelid \
         CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k (attnum, place) \
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum \
         WHERE c.relname {names} AND pg_table_is_visible(c.oid) AND x.indisunique AND x.indisvalid \
               AND x.indpred IS NULL AND x.indexprs IS NULL AND (c.relkind = 'p' OR NOT c.relhassubclass) \
               AND k.place <= x.indnkeyatts \
               AND NOT EXISTS (SELECT FROM unnest(x.indkey::int2[]) WITH ORDINALITY o (attnum, place) \
                               JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum = o.attnum \
                               WHERE o.place <= x.indnkeyatts AND (NOT b.attnotnull OR b.attcollation <> 0))",
    ),
    foreign_keys: "SELECT c.relname, a.attname, r.relname FROM pg_constraint k \
                   JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class r ON r.oid = k.confrelid \
                   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1] \
                   WHERE k.contype = 'f' AND k.convalidated AND c.relname {names} AND pg_table_is_visible(c.oid)",
    found: Some(
        "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN quote_ident(c.relname) \
                     ELSE quote_ident(n.nspname) || '.' || quote_ident(c.relname) END, \
                CASE WHEN c.relkind IN ('r', 'p') THEN 1 ELSE 0 END, \
                CASE WHEN NOT pg_table_is_visible(c.oid) THEN n.nspname END, \
                CASE WHEN NOT pg_table_is_visible(c.oid) THEN c.relname END \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relname {names} AND (pg_table_is_visible(c.oid) OR n.nspname {names}) \
               AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
    ),
    // What is stable or immutable cannot write by itself. An aggregate does what its function of states does. Extensions put some of
    // theirs into `pg_catalog`.
    routines: Some(
        "SELECT DISTINCT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         LEFT JOIN pg_aggregate g ON g.aggfnoid = p.oid \
         JOIN pg_proc f ON f.oid = COALESCE(g.aggtransfn::oid, p.oid) \
         WHERE p.proname {names} AND f.provolatile = 'v' \
               AND (n.nspname NOT IN ('pg_catalog', 'information_schema') OR p.oid >= 16384)",
    ),
    triggers: Some(
        "SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE c.relname {names} AND NOT tgisinternal \
         UNION SELECT rulename FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class \
               WHERE c.relname {names} AND rulename <> '_RETURN'",
    ),
    bytes: Some(
        "SELECT COALESCE(SUM(pg_table_size(c.oid)), 0)::bigint, COALESCE(SUM(pg_indexes_size(c.oid)), 0)::bigint \
         FROM pg_class c WHERE c.relname {names} AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)",
    ),
    ..Catalog::NONE
};
