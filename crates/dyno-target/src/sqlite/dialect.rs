//! SQLite's SQL.

use crate::explain::{Answer, Explain, Form};
use crate::product::{
    Access, Analyze, AutoIncrement, Catalog, Comments, Dialect, ForeignKeys, Mark, Product, Views,
};

pub(super) static SQLITE: Product = Product {
    name: "SQLite",
    mark: Mark::Plain,
    dialect: Dialect {
        analyze: Analyze::Plain,
        auto_increment: AutoIncrement::RowId,
        foreign_keys: ForeignKeys::WithTable,
        // It has none: a view beside the table says it.
        comments: Comments {
            create: "BEGIN; {create}{options}; DROP VIEW IF EXISTS dyno_comment_{table}; \
                     CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment; COMMIT",
            change: "DROP VIEW IF EXISTS dyno_comment_{table}; \
                     CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment",
            drop: Some("DROP VIEW IF EXISTS dyno_comment_{table}"),
        },
        empty: "DELETE FROM {table}",
        writers_max: Some(1),
        // One that reads first and then writes would have to give up wherever another has written meanwhile.
        begin_write: "BEGIN IMMEDIATE",
        isolation: ("{begin}", &["serializable"]),
        question_marks: true,
        // A row may come before the one that it refers to, and each look-up would cost: the rows are checked afterwards.
        load_session: &["PRAGMA foreign_keys = OFF"],
        // SQLITE_MAX_SQL_LENGTH is 1,000,000 bytes.
        statement_bytes: Some("SELECT 1000000"),
        empty_cache: Some(&[]),
        explain: Explain {
            plain: "EXPLAIN QUERY PLAN",
            estimate: &[Form { words: "EXPLAIN QUERY PLAN", answer: Answer::SqliteRows }],
            ..Explain::TEXT
        },
        by_table: Access { hint: " NOT INDEXED", off: &[] },
        by_index: Access { hint: " INDEXED BY {index}", off: &[] },
        catalog: &CATALOG,
        // The target's `busy_timeout` limits the wait for a lock.
        ..Dialect::STANDARD
    },
    durability: &["journal_mode", "synchronous"],
    views: Views::NONE,
    ran: Some("3.54"),
};

/// Names of tables are the same in any case, and told in small letters, as dyno asks for them.
static CATALOG: Catalog = Catalog {
    tables: "SELECT lower(t.name), CASE WHEN t.type = 'table' THEN 1 ELSE 0 END, \
                    replace(replace(v.sql, 'CREATE VIEW dyno_comment_' || t.name || ' AS SELECT ''', ''), ''' AS comment', '') \
             FROM sqlite_schema t LEFT JOIN sqlite_schema v ON v.name = 'dyno_comment_' || t.name AND v.type = 'view' AND v.rowid > t.rowid \
             WHERE t.name COLLATE NOCASE {names} AND t.type IN ('table', 'view')",
    columns: "SELECT lower(t.name), c.name, c.type, CASE WHEN c.pk > 0 THEN 1 ELSE 0 END \
              FROM sqlite_schema t, pragma_table_info(t.name) c \
              WHERE t.name COLLATE NOCASE {names} AND t.type IN ('table', 'view') ORDER BY t.name, c.cid",
    indexes: "SELECT lower(t.name), i.name, c.name FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c \
              WHERE t.name COLLATE NOCASE {names} AND t.type = 'table' AND c.seqno = 0 AND NOT i.partial",
    // A column that is the number of the row has no index. One without a type may hold texts, too.
    unique_keys: Some(
        "SELECT lower(t.name), '', c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
         WHERE t.name COLLATE NOCASE {names} AND t.type = 'table' AND c.pk = 1 AND upper(c.type) = 'INTEGER' \
               AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) o WHERE o.pk > 1) \
               AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) i WHERE i.origin = 'pk') \
         UNION ALL SELECT lower(t.name), i.name, c.name FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c \
         WHERE t.name COLLATE NOCASE {names} AND t.type = 'table' AND i.\"unique\" AND NOT i.partial \
               AND NOT EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name) x LEFT JOIN pragma_table_info(t.name) o ON o.name = x.name \
                               WHERE x.key AND (o.\"notnull\" IS NOT 1 OR o.type = '' OR (o.type NOT LIKE '%int%' \
                                    AND (o.type LIKE '%char%' OR o.type LIKE '%clob%' OR o.type LIKE '%text%' OR o.type LIKE '%blob%'))))",
    ),
    foreign_keys: "SELECT lower(t.name), f.\"from\", lower(f.\"table\") FROM sqlite_schema t, pragma_foreign_key_list(t.name) f \
                   WHERE t.name COLLATE NOCASE {names} AND t.type = 'table'",
    // No bytes: each page would have to be read.
    ..Catalog::NONE
};
