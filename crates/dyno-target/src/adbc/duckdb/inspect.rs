//! What DuckDB says of itself. There is no server: its settings are those of the database that is open in this process, and its
//! sizes are those of its file.

use std::fs;

use dyno_results::event;

use crate::adbc::database::named_settings;
use crate::connection::{Connection, QueryError};
use crate::inspect::{Inspector, SettingValues, Sizes, file, known, shown_value};
use crate::product::Recognised;

pub(in crate::adbc) static INSPECTOR: Inspector = Inspector {
    isolation: |_| Ok(Some("snapshot".to_owned())),
    settings,
    weightiest: &["threads", "memory_limit"],
    facts,
    sizes,
    statistics: |connection, _| Ok(file::statistics(connection, ".wal")),
    ..file::INSPECTOR
};

/// Settings that bear on a benchmark, with the library's defaults; `None` where the machine decides. The limit of temporary files
/// has another value as soon as a query writes one: it is shown where the target names it.
const SETTINGS: [(&str, Option<&str>); 8] = [
    ("threads", None),
    ("memory_limit", None),
    ("access_mode", Some("automatic")),
    ("checkpoint_threshold", Some("16.0 MiB")),
    ("preserve_insertion_order", Some("true")),
    ("enable_external_file_cache", Some("true")),
    ("immediate_transaction_mode", Some("false")),
    ("disabled_optimizers", Some("")),
];

fn settings(connection: &mut Connection, _: &Recognised) -> Result<Vec<event::Setting>, QueryError> {
    let named = named_settings(&file::path(connection));
    let is_named = |name: &str| named.iter().any(|it| it.eq_ignore_ascii_case(name));
    let mut settings = Vec::new();
    for row in connection.query("SELECT name, value FROM duckdb_settings()")? {
        let (Some(name), Some(value)) = (row.text(0), row.text(1)) else { continue };
        let known = SETTINGS.into_iter().find(|(it, _)| *it == name);
        let default = known.and_then(|(_, default)| default);
        let changed = is_named(name) || default.is_some_and(|default| default != value);
        // What the machine decides is shown always: a figure without it says little.
        if changed || known.is_some_and(|(_, default)| default.is_none()) {
            settings.push(event::Setting {
                name: name.to_owned(),
                value: shown_value(name, value),
                default: default.map(str::to_owned),
                source: is_named(name).then(|| "target".to_owned()),
                changed,
                ..event::Setting::default()
            });
        }
    }
    Ok(settings)
}

/// No setting bears on it. A commit syncs the write-ahead log, which a trace of the library's system calls confirms.
fn facts(_: &SettingValues<'_>) -> event::SettingFacts {
    event::SettingFacts {
        durable_by: Some("each commit syncs the write-ahead log, which no setting changes".to_owned()),
        ..event::SettingFacts::default()
    }
}

/// The library keeps blocks of the file in what memory it may use.
fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let number = |connection: &mut Connection, sql: &str| known(connection.query_value::<u64>(sql));
    let memory = "SELECT parse_formatted_bytes(value) FROM duckdb_settings() WHERE name = 'memory_limit'";
    let cache_bytes = number(connection, memory)?;
    // What stands in the log alone has no size. It fails on a file that is only read, and while another transaction is open.
    let _ = connection.execute("CHECKPOINT");
    let database_bytes = fs::metadata(file::path(connection)).ok().map(|file| file.len());
    let mut found = Vec::new();
    for &name in tables {
        let of = |what: &str| {
            format!(
                "{what} WHERE table_name = '{name}' AND database_name = current_database() \
                 AND schema_name = current_schema()"
            )
        };
        // A block is counted for each table that has a part in it. What has not been checkpointed has none.
        let blocks = format!(
            "SELECT count(DISTINCT block) * (SELECT any_value(block_size) FROM pragma_database_size()) FROM \
             (SELECT unnest([block_id] || additional_block_ids) AS block FROM pragma_storage_info('{name}') WHERE persistent) \
             WHERE block >= 0"
        );
        let table_bytes = number(connection, &blocks)?;
        // What an index takes is not told; a key has one too.
        let indexes = of(
            "SELECT (SELECT count(*) FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', \
                          'FOREIGN KEY') AND table_name = t.table_name AND schema_name = t.schema_name \
                          AND database_name = t.database_name) + index_count FROM duckdb_tables() t",
        );
        let indexes = number(connection, &indexes)?;
        let indexed = of(
            "SELECT DISTINCT trim(split_part(trim(expressions, '[]'), ',', 1), ' \"''') FROM duckdb_indexes()",
        );
        let indexed = known(connection.query(&indexed).map(Some))?.unwrap_or_default();
        found.push(event::Table {
            name: name.to_owned(),
            rows: number(connection, &of("SELECT estimated_size FROM duckdb_tables()"))?,
            table_bytes,
            index_bytes: table_bytes.filter(|_| indexes == Some(0)).map(|_| 0),
            // All that is in the file goes through its journal or log.
            logged: Some(true),
            indexed: table_bytes
                .map(|_| indexed.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect()),
            ..event::Table::default()
        });
    }
    Ok(Sizes { database_bytes, cache_bytes, tables: found, ..Sizes::default() })
}
