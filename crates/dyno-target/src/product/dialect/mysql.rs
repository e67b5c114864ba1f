//! MySQL's SQL.

use super::{
    Access, Analyze, AutoIncrement, Bulk, Catalog, Comments, Dialect, ForeignKeys, ISOLATION_LEVELS,
};
use crate::explain::{Answer, Explain, Form};

impl Dialect {
    pub(crate) const MYSQL: Self = Self {
        bulk: Bulk::LoadLocal,
        analyze: Analyze::Table,
        auto_increment: AutoIncrement::AutoIncrement,
        // Where `explicit_defaults_for_timestamp` is off, a timestamp of others takes the current time in the place of NULL.
        nullable: " NULL",
        // A TIMESTAMP depends on the session's time zone and ends in 2038.
        timestamp: "DATETIME",
        all_letters: " /*! DEFAULT CHARACTER SET = utf8mb4 */",
        // Relatives that have no engines take theirs for a comment.
        engine: " /*! ENGINE = {engine} */",
        stored_as: "ENGINE = {name}",
        index_of_table: true,
        foreign_key_index: true,
        // With its checks on, InnoDB would copy the whole table row by row to add the key.
        foreign_keys: ForeignKeys::Unchecked {
            off: "SET SESSION foreign_key_checks = 0",
            on: "SET SESSION foreign_key_checks = 1",
        },
        comments: Comments {
            create: "{create} COMMENT = '{text}'{options}",
            change: "ALTER TABLE {table} COMMENT = '{text}'",
            drop: None,
        },
        // `BEGIN` begins a block with `sql_mode=ORACLE`.
        begin: "START TRANSACTION",
        begin_write: "START TRANSACTION",
        isolation: ("SET TRANSACTION ISOLATION LEVEL {level}; {begin}", &ISOLATION_LEVELS),
        begin_snapshot: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        prepares_begin: false,
        question_marks: true,
        backslashes: true,
        // Each load is to commit by itself, whatever the server's default. `unique_checks` stays as it is: there is no
        // second unique index to check, the rows come in the key's order, and without it MariaDB loads an empty table by
        // way of temporary files, which takes half as long again.
        // An engine that is not there is to be refused, and not replaced by another.
        load_session: &[
            "SET SESSION autocommit = 1",
            "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_ENGINE_SUBSTITUTION')",
        ],
        // MySQL's (of SELECT), MariaDB's, and those of OceanBase, which are 10 s and 24 h by default; microseconds.
        unlimited_session: &[
            "SET SESSION max_execution_time = 0",
            "SET SESSION max_statement_time = 0",
            "SET SESSION ob_query_timeout = 86400000000",
            "SET SESSION ob_trx_timeout = 86400000000",
        ],
        lock_wait: ["SET SESSION lock_wait_timeout = {seconds}", "SET SESSION lock_wait_timeout = DEFAULT"],
        statement_bytes: Some("SELECT @@max_allowed_packet"),
        // Since 8.0.16 and 8.0.18.
        explain: Explain {
            plain: "EXPLAIN",
            estimate: &[Form { words: "EXPLAIN FORMAT=TREE", answer: Answer::MySqlTree }],
            analyze: &[
                Form { words: "EXPLAIN ANALYZE FORMAT=TREE", answer: Answer::MySqlTree },
                Form { words: "EXPLAIN ANALYZE", answer: Answer::MySqlTree },
            ],
        },
        by_table: Access { hint: " FORCE INDEX (PRIMARY)", off: &[] },
        by_index: Access { hint: " FORCE INDEX ({index})", off: &[] },
        catalog: &CATALOG,
        pads_char: true,
        drops_many: true,
        ..Self::STANDARD
    };
}

impl Bulk {
    pub(crate) const WITHOUT_LOAD_LOCAL: Self = Self::Inserts {
        because: Some(
            "the server does not take LOAD DATA LOCAL (SET GLOBAL local_infile = ON would allow it)",
        ),
    };
}

static CATALOG: Catalog = Catalog {
    tables: "SELECT table_name, CASE WHEN table_type = 'BASE TABLE' THEN 1 ELSE 0 END, table_comment \
             FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name {names}",
    columns: "SELECT table_name, column_name, column_type, CASE WHEN column_key = 'PRI' THEN 1 ELSE 0 END \
              FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name {names} \
              ORDER BY table_name, ordinal_position",
    indexes: "SELECT table_name, index_name, column_name FROM information_schema.statistics \
              WHERE table_schema = DATABASE() AND table_name {names} AND seq_in_index = 1",
    unique_keys: Some(
        "SELECT table_name, index_name, column_name FROM information_schema.statistics s \
         WHERE table_schema = DATABASE() AND table_name {names} AND non_unique = 0 \
               AND NOT EXISTS (SELECT 1 FROM information_schema.statistics o \
                               WHERE o.table_schema = s.table_schema AND o.table_name = s.table_name \
                                     AND o.index_name = s.index_name AND (o.nullable = 'YES' OR o.column_name IS NULL)) \
               AND NOT EXISTS (SELECT 1 FROM information_schema.statistics o JOIN information_schema.columns c \
                                    ON c.table_schema = o.table_schema AND c.table_name = o.table_name AND c.column_name = o.column_name \
                               WHERE o.table_schema = s.table_schema AND o.table_name = s.table_name \
                                     AND o.index_name = s.index_name AND c.collation_name IS NOT NULL)",
    ),
    foreign_keys: "SELECT table_name, column_name, referenced_table_name FROM information_schema.key_column_usage \
                   WHERE table_schema = DATABASE() AND table_name {names} AND referenced_table_name IS NOT NULL",
    // A name that stands with its schema is looked for in the schemas that are named.
    found: Some(
        "SELECT table_name, CASE table_type WHEN 'BASE TABLE' THEN 1 ELSE 0 END, NULL, NULL \
         FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name {names} \
         UNION ALL SELECT CONCAT(table_schema, '.', table_name), CASE table_type WHEN 'BASE TABLE' THEN 1 ELSE 0 END, \
                          table_schema, table_name \
         FROM information_schema.tables WHERE table_schema {names} AND table_schema <> COALESCE(DATABASE(), '') \
              AND table_name {names} \
              AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')",
    ),
    routines: Some(
        "SELECT routine_name FROM information_schema.routines \
         WHERE routine_name {names} AND (routine_schema = DATABASE() OR routine_schema {names})",
    ),
    triggers: Some(
        "SELECT trigger_name FROM information_schema.triggers \
         WHERE event_object_table {names} AND (event_object_schema = DATABASE() OR event_object_schema {names})",
    ),
    // No bytes: they are estimated, and long out of date.
    ..Catalog::NONE
};
