//! How large the data is, against the server's cache.

use dyno_results::event;

use super::literal;
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::{Sizes, known, mark_indexed};

pub(super) fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let database = connection.query_value("SELECT pg_database_size(current_database())");
    let cache = "SELECT setting::int8 * current_setting('block_size')::int8 FROM pg_settings WHERE name = 'shared_buffers'";
    let database_bytes = known(database)?;
    let cache_bytes = known(connection.query_value(cache))?;
    let mut sizes = table_sizes(connection, tables)?;
    add_of_extensions(connection, tables, &mut sizes)?;
    add_indexes(connection, tables, &mut sizes)?;
    add_analyzed(connection, tables, &mut sizes)?;
    Ok(Sizes { database_bytes, cache_bytes, tables: sizes, ..Sizes::default() })
}

/// How an extension that keeps a table in others tells its bytes, of the table and of its indexes, as its documentation has it. Neither
/// was run here: what it refuses or does not know changes nothing. Chunks that TimescaleDB has compressed are no children of their table,
/// and Citus' shards may lie on other servers.
const OF_EXTENSIONS: [(&str, &str); 2] = [
    (
        "timescaledb",
        "SELECT sum(table_bytes + COALESCE(toast_bytes, 0))::int8 AS table_bytes, sum(index_bytes)::int8 AS index_bytes
         FROM hypertable_detailed_size(to_regclass({name}))",
    ),
    (
        "citus",
        "SELECT citus_table_size(logicalrelid) AS table_bytes,
                citus_total_relation_size(logicalrelid) - citus_table_size(logicalrelid) AS index_bytes
         FROM pg_dist_partition WHERE logicalrelid = to_regclass({name})",
    ),
];

fn add_of_extensions(
    connection: &mut Connection,
    names: &[&str],
    tables: &mut [event::Table],
) -> Result<(), QueryError> {
    let installed = connection.query("SELECT extname FROM pg_extension");
    let installed = known(installed.map(Some))?.unwrap_or_default();
    let is_there = |extension| installed.iter().any(|row| row.text(0) == Some(extension));
    for (_, sql) in OF_EXTENSIONS.iter().filter(|(extension, _)| is_there(*extension)) {
        for (name, table) in names.iter().zip(&mut *tables) {
            let sql = sql.replace("{name}", &literal(name));
            let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
            let bytes = |column| rows.first().and_then(|row| row.get(column)?.parse().ok());
            if let Some(both) = bytes("table_bytes").zip(bytes("index_bytes")) {
                (table.table_bytes, table.index_bytes) = (Some(both.0), Some(both.1));
            }
        }
    }
    Ok(())
}

/// Says of each table that is there what it is indexed by.
fn add_indexes(
    connection: &mut Connection,
    names: &[&str],
    tables: &mut [event::Table],
) -> Result<(), QueryError> {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let sql = format!(
        "SELECT (place - 1)::text AS place, attname AS column
         FROM unnest(ARRAY[{}]::text[]) WITH ORDINALITY AS wanted(name, place)
         JOIN pg_index ON indrelid = to_regclass(name) AND NOT indisprimary
         JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
         ORDER BY attname",
        names.join(", ")
    );
    mark_indexed(tables, known(connection.query(&sql).map(Some))?.as_deref());
    Ok(())
}

/// Says of each table with rows whether the planner has statistics of its columns. Relatives whose view is empty have theirs
/// elsewhere; PostgreSQL's has its own catalog in it from the beginning.
fn add_analyzed(
    connection: &mut Connection,
    names: &[&str],
    tables: &mut [event::Table],
) -> Result<(), QueryError> {
    let sql = of_tables(
        names,
        "bool_and(EXISTS (SELECT FROM pg_stats s WHERE s.tablename = c.relname
                          AND s.schemaname = (SELECT nspname FROM pg_namespace n WHERE n.oid = c.relnamespace)))
            FILTER (WHERE pg_relation_size(c.oid) > 0 AND EXISTS (SELECT FROM pg_stats)) AS analyzed",
    );
    let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
    for (table, row) in tables.iter_mut().zip(&rows) {
        table.analyzed = row.get("analyzed").map(|text| text == "t");
    }
    Ok(())
}

fn table_sizes(connection: &mut Connection, tables: &[&str]) -> Result<Vec<event::Table>, QueryError> {
    // Before 14 a table that was never analysed has zero rows on zero pages, and not -1.
    let sql = of_tables(
        tables,
        "bool_and(reltuples >= 0 AND (relpages > 0 OR pg_relation_size(c.oid) = 0)) AS counted,
         sum(reltuples)::int8 AS rows,
         sum(pg_table_size(c.oid))::int8 AS table_bytes, sum(pg_indexes_size(c.oid))::int8 AS index_bytes,
         bool_and(relpersistence = 'p') AS logged",
    );
    let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
    Ok(tables.iter().enumerate().map(|(place, name)| table(name, rows.get(place))).collect())
}

/// A row for each table in its order: partitions, and tables that inherit, are added to theirs, of what is no table all is null.
pub(super) fn of_tables(tables: &[impl AsRef<str>], sums: &str) -> String {
    let names: Vec<String> = tables.iter().map(|name| literal(name.as_ref())).collect();
    format!(
        "SELECT {sums}
         FROM unnest(ARRAY[{}]::text[]) WITH ORDINALITY AS wanted(name, place)
         LEFT JOIN pg_class c ON c.relkind <> 'p' AND c.oid IN (
            SELECT to_regclass(name)::oid UNION ALL SELECT relid::oid FROM pg_partition_tree(to_regclass(name))
            UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(name)::oid)
         GROUP BY place ORDER BY place",
        names.join(", ")
    )
}

fn table(name: &str, row: Option<&TextRow>) -> event::Table {
    let number = |column| row.and_then(|row| row.get(column)?.parse().ok());
    let flag = |column| row.and_then(|row| row.get(column)).map(|text| text == "t");
    event::Table {
        name: name.to_owned(),
        rows: number("rows").filter(|_| flag("counted") == Some(true)),
        table_bytes: number("table_bytes"),
        index_bytes: number("index_bytes"),
        logged: flag("logged"),
        ..event::Table::default()
    }
}
