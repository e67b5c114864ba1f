//! How large the data is, against the server's cache.

use dyno_results::event;

use super::{known, literal, mysql, speaks_mysql};
use crate::connection::{Connection, QueryError, TextRow};

/// The data of a workload as it lies there now. `tables` are names as SQL writes them; one that is missing is
/// listed with nothing known of it. Rows are the planner's estimate, exact after VACUUM or ANALYZE of unchanged
/// data. `memory_bytes` is left for the caller, who may know the server's host.
///
/// # Errors
/// The session was lost. A question that this server does not understand leaves its answer unknown.
pub fn data(
    connection: &mut Connection,
    target: &str,
    workload: &str,
    scale: Option<f64>,
    tables: &[&str],
) -> Result<event::Data, QueryError> {
    if speaks_mysql(connection) {
        let (target, workload) = (target.to_owned(), workload.to_owned());
        let sizes = mysql::sizes(connection, tables)?;
        return Ok(event::Data { target, workload, scale, ..sizes });
    }
    let database = connection.query_value("SELECT pg_database_size(current_database())");
    let cache = "SELECT setting::int8 * current_setting('block_size')::int8 FROM pg_settings WHERE name = 'shared_buffers'";
    Ok(event::Data {
        target: target.to_owned(),
        workload: workload.to_owned(),
        scale,
        database_bytes: known(database)?,
        cache_bytes: known(connection.query_value(cache))?,
        memory_bytes: None,
        tables: {
            let mut sizes = table_sizes(connection, tables)?;
            add_indexes(connection, tables, &mut sizes)?;
            sizes
        },
    })
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

/// `rows` have the place of a table and the column that an index of it begins with.
pub(super) fn mark_indexed(tables: &mut [event::Table], rows: Option<&[TextRow]>) {
    let Some(rows) = rows else { return };
    for (place, table) in tables.iter_mut().enumerate().filter(|(_, table)| table.table_bytes.is_some()) {
        let of_table = rows.iter().filter(|row| row.get("place") == Some(&place.to_string()));
        table.indexed = Some(of_table.filter_map(|row| Some(row.get("column")?.to_owned())).collect());
    }
}

fn table_sizes(connection: &mut Connection, tables: &[&str]) -> Result<Vec<event::Table>, QueryError> {
    let names: Vec<String> = tables.iter().map(|name| literal(name)).collect();
    // Before 14 a table that was never analysed has zero rows on zero pages, and not -1.
    // Of a partitioned table the leaves are added up; for a plain table the tree is empty.
    let sql = format!(
        "SELECT bool_and(reltuples >= 0 AND (relpages > 0 OR pg_relation_size(c.oid) = 0)) AS counted,
                sum(reltuples)::int8 AS rows,
                sum(pg_table_size(c.oid))::int8 AS table_bytes, sum(pg_indexes_size(c.oid))::int8 AS index_bytes,
                bool_and(relpersistence = 'p') AS logged
         FROM unnest(ARRAY[{}]::text[]) WITH ORDINALITY AS wanted(name, place)
         LEFT JOIN pg_class c ON c.relkind <> 'p' AND c.oid IN (
            SELECT to_regclass(name)::oid UNION ALL SELECT relid::oid FROM pg_partition_tree(to_regclass(name)))
         GROUP BY place ORDER BY place",
        names.join(", ")
    );
    let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
    Ok(tables.iter().enumerate().map(|(place, name)| table(name, rows.get(place))).collect())
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
        indexed: None,
    }
}
