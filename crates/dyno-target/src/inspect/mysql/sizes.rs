//! How large the data is, by the server's estimates.

use dyno_results::event;

use super::{known, literal};
use crate::connection::{Connection, QueryError, Row};
use crate::product;

/// Engines by whether a crash leaves their tables whole: those without a log may be emptied or corrupted by it.
const LOGGED: &[(&str, bool)] =
    &[("InnoDB", true), ("ROCKSDB", true), ("MEMORY", false), ("MyISAM", false), ("MRG_MyISAM", false)];

/// Sizes, with the names that a caller gives left empty. Rows are an estimate from sampled pages.
pub(in crate::inspect) fn sizes(
    connection: &mut Connection,
    tables: &[&str],
) -> Result<event::Data, QueryError> {
    refresh(connection)?;
    let cache = product::recognise(connection)?.product.and_then(|product| product.views.cache);
    let cache_bytes = match cache {
        Some(sql) => known(connection.query_value(sql))?,
        None => None,
    };
    Ok(event::Data {
        target: String::new(),
        workload: String::new(),
        scale: None,
        database_bytes: known(connection.query_value(DATABASE_BYTES))?,
        cache_bytes,
        memory_bytes: None,
        tables: table_sizes(connection, tables)?,
    })
}

/// Data and indexes of the session's database; null where the server counts nothing, as seekdb does while rows are in
/// memory only.
pub(super) const DATABASE_BYTES: &str =
    "SELECT CAST(NULLIF(SUM(data_length + index_length), 0) AS UNSIGNED) AS database_bytes
     FROM information_schema.tables WHERE table_schema = DATABASE()";

/// Since 8.0 MySQL answers from what it noted up to a day ago, unless told otherwise; others know no such variable.
pub(super) fn refresh(connection: &mut Connection) -> Result<(), QueryError> {
    known(connection.execute("SET SESSION information_schema_stats_expiry = 0").map(Some))?;
    Ok(())
}

fn table_sizes(connection: &mut Connection, tables: &[&str]) -> Result<Vec<event::Table>, QueryError> {
    let mut sizes = Vec::with_capacity(tables.len());
    for name in tables {
        let plain = name.replace('`', "");
        let (schema, table) = match plain.split_once('.') {
            Some((schema, table)) => (literal(schema), table),
            None => ("DATABASE()".to_owned(), plain.as_str()),
        };
        let sql = format!(
            "SELECT table_rows AS table_rows, data_length AS table_bytes, index_length AS index_bytes,
                    engine AS engine
             FROM information_schema.tables WHERE table_schema = {schema} AND table_name = {}",
            literal(table)
        );
        let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
        sizes.push(described(name, rows.first()));
    }
    Ok(sizes)
}

fn described(name: &str, row: Option<&Row>) -> event::Table {
    // A server that counts nothing says 0.
    let number = |column| row.and_then(|row| row.get(column)?.parse().ok()).filter(|number| *number > 0);
    let engine = row.and_then(|row| row.get("engine"));
    event::Table {
        name: name.to_owned(),
        rows: number("table_rows"),
        table_bytes: number("table_bytes"),
        index_bytes: number("index_bytes"),
        logged: engine.and_then(|engine| {
            LOGGED.iter().find(|(known, _)| known.eq_ignore_ascii_case(engine)).map(|(_, logged)| *logged)
        }),
    }
}
