//! A database of which nothing is known but that it has a driver of ADBC. Its SQL is taken to be the standard's, with the
//! standard's catalog; what it was not asked stays unknown.

use std::collections::BTreeMap;

use dyno_engine::driver::BatchForm;
use dyno_results::event;

use crate::catalog::Catalog;
use crate::connection::{Connection, QueryError};
use crate::inspect::{Identity, Inspector, Limits, ReadStatistics, Sizes, Statistics, known};
use crate::product::{
    Access, Analyze, AutoIncrement, Bulk, Comments, Dialect, ForeignKeys, Mark, Product, Recognised, Views,
};

pub(super) static PRODUCT: Product = Product {
    name: "Another database with a driver of ADBC",
    mark: Mark::Plain,
    dialect: Dialect {
        bulk: Bulk::Batches { form: BatchForm::Columns, bytes: 16 << 20 },
        vacuum: false,
        pads_char: false,
        analyze: Analyze::Never,
        auto_increment: AutoIncrement::Never,
        // Most databases with such a driver keep tables by column, and many have no indexes.
        key_for_scans: false,
        secondary_indexes: false,
        foreign_keys: ForeignKeys::Never,
        // The standard has none: a view beside the table says it.
        comments: Comments {
            create: "{create}{options}; DROP VIEW IF EXISTS dyno_comment_{table}; CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment",
            change: "DROP VIEW IF EXISTS dyno_comment_{table}; CREATE VIEW dyno_comment_{table} AS SELECT '{text}' AS comment",
            drop: Some("DROP VIEW IF EXISTS dyno_comment_{table}"),
        },
        sequence: None,
        fill: "",
        drops_many: false,
        empty: "DELETE FROM {table}",
        begin_snapshot: "BEGIN",
        unlimited_session: &[],
        lock_wait: [""; 2],
        sort_memory: None,
        sort_processes: None,
        by_table: Access { hint: "", off: &[] },
        by_index: Access { hint: "", off: &[] },
        catalog: &CATALOG,
        ..Dialect::POSTGRESQL
    },
    durability: &[],
    views: Views::NONE,
    ran: None,
};

/// The standard's views. Indexes are no part of it.
static CATALOG: Catalog = Catalog {
    tables: "SELECT t.table_name, CASE WHEN t.table_type = 'BASE TABLE' THEN 1 ELSE 0 END, \
                    substring(v.text FROM 1 FOR position('''' IN v.text) - 1) \
             FROM information_schema.tables t LEFT JOIN \
                  (SELECT table_schema, table_name, \
                          substring(view_definition FROM position('''' IN view_definition) + 1) AS text \
                   FROM information_schema.views) v \
                  ON v.table_schema = t.table_schema AND v.table_name = 'dyno_comment_' || t.table_name \
             WHERE t.table_name {names}",
    columns: "SELECT c.table_name, c.column_name, c.data_type, CASE WHEN k.column_name IS NULL THEN 0 ELSE 1 END \
              FROM information_schema.columns c LEFT JOIN \
                   (SELECT u.table_schema, u.table_name, u.column_name FROM information_schema.key_column_usage u \
                    JOIN information_schema.table_constraints t ON t.constraint_name = u.constraint_name \
                         AND t.table_schema = u.table_schema AND t.table_name = u.table_name \
                    WHERE t.constraint_type = 'PRIMARY KEY') k \
                   ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name \
              WHERE c.table_name {names} ORDER BY c.table_name, c.ordinal_position",
    described: None,
    indexes: "SELECT '', '', '' WHERE '' {names} AND 1 = 0",
    // The standard tells them, and a database may not keep them.
    unique_keys: None,
    foreign_keys: "SELECT '', '', '' WHERE '' {names} AND 1 = 0",
    found: None,
    routines: None,
    triggers: None,
    bytes: None,
};

pub(super) fn recognise(_: &mut Connection) -> Result<Recognised, QueryError> {
    Ok(Recognised::nothing(PRODUCT.dialect, &[], None))
}

pub(super) static INSPECTOR: Inspector = Inspector {
    identity: |connection| Identity::ask(connection, Vec::new(), None, ["SELECT ''"; 3]),
    isolation: |_| Ok(None),
    limits: |_| Ok(Limits::default()),
    same_host: |_, _| Ok(None),
    server_process: |_| Ok(None),
    settings: |_, _| Ok(Vec::new()),
    weightiest: &[],
    facts: |_| event::SettingFacts::default(),
    sizes,
    statistics: |_, _| Ok(Statistics::of(NoStatistics, Vec::new())),
};

fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let mut found = Vec::new();
    for &name in tables {
        let rows = known(connection.query_value(&format!("SELECT count(*) FROM {name}")))?;
        found.push(event::Table {
            name: name.to_owned(),
            rows,
            rows_counted: false,
            table_bytes: None,
            index_bytes: None,
            logged: None,
            indexed: None,
            analyzed: None,
        });
    }
    Ok(Sizes { tables: found, ..Sizes::default() })
}

#[derive(Debug)]
struct NoStatistics;

impl ReadStatistics for NoStatistics {
    fn read(&mut self, _: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        Ok(BTreeMap::new())
    }
}
