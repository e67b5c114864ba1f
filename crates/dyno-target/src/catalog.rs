//! What a server's catalog says of tables: the same questions for every product, each asked in its dialect's words. Reads
//! only, and no table.

use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::{known, recognise};
pub use crate::product::{Column, Names, Table};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub table: String,
    pub name: String,
    pub first_column: String,
}

/// Columns by which no two rows of a table are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    pub table: String,
    pub columns: Vec<String>,
}

/// What a user's statement may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// As the sizes of tables are asked for.
    pub name: String,
    pub is_table: bool,
    /// Schema and name, where it is found with its schema alone.
    pub elsewhere: Option<(String, String)>,
}

/// Instead of what the catalog does not show.
pub const UNSEEN: &str = "what this user may not see";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    pub table: String,
    pub column: String,
    pub refers_to: String,
}

/// Bytes of tables and of their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    pub tables: u64,
    pub indexes: u64,
}

/// The tables that are there, with their columns.
///
/// # Errors
/// The catalog cannot be read, or the session was lost.
pub fn tables(connection: &mut Connection, names: Names<'_>) -> Result<Vec<Table>, QueryError> {
    let catalog = connection.dialect().catalog;
    if let Some(describe) = catalog.described {
        return describe(connection, names);
    }
    let table = |row: &TextRow| Table {
        name: text(row, 0),
        is_table: row.text(1) == Some("1"),
        comment: text(row, 2),
        columns: Vec::new(),
    };
    let mut tables = ask(connection, catalog.tables, names, table)?;
    if tables.is_empty() {
        return Ok(tables);
    }
    let column = |row: &TextRow| {
        (text(row, 0), Column { name: text(row, 1), kind: text(row, 2), is_key: row.text(3) == Some("1") })
    };
    for (name, column) in ask(connection, catalog.columns, names, column)? {
        if let Some(table) = tables.iter_mut().find(|table| table.name == name) {
            table.columns.push(column);
        }
    }
    Ok(tables)
}

/// Their indexes that are whole; `None` where the server has no such catalog.
///
/// # Errors
/// The session was lost.
pub fn indexes(connection: &mut Connection, names: Names<'_>) -> Result<Option<Vec<Index>>, QueryError> {
    let index = |row: &TextRow| Index { table: text(row, 0), name: text(row, 1), first_column: text(row, 2) };
    let sql = connection.dialect().catalog.indexes;
    known(ask(connection, sql, names, index).map(Some))
}

/// Their columns by which no two rows are the same, for each such key. None of a product that was never run: its keys may be no promise.
///
/// # Errors
/// The session was lost.
pub fn unique_keys(connection: &mut Connection, names: Names<'_>) -> Result<Vec<UniqueKey>, QueryError> {
    let was_run = recognise(connection)?.product.is_some_and(|product| product.ran.is_some());
    let Some(sql) = connection.dialect().catalog.unique_keys.filter(|_| was_run) else {
        return Ok(Vec::new());
    };
    let row = |row: &TextRow| [0, 1, 2].map(|at| text(row, at));
    let mut keys: Vec<(String, UniqueKey)> = Vec::new();
    for [table, index, column] in known(ask(connection, sql, names, row).map(Some))?.unwrap_or_default() {
        match keys.iter_mut().find(|(of, key)| *of == index && key.table == table) {
            Some((_, key)) => key.columns.push(column),
            None => keys.push((index, UniqueKey { table, columns: vec![column] })),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

/// Their foreign keys; `None` where the server has no such catalog.
///
/// # Errors
/// The session was lost.
pub fn foreign_keys(
    connection: &mut Connection,
    names: Names<'_>,
) -> Result<Option<Vec<ForeignKey>>, QueryError> {
    let key =
        |row: &TextRow| ForeignKey { table: text(row, 0), column: text(row, 1), refers_to: text(row, 2) };
    let sql = connection.dialect().catalog.foreign_keys;
    known(ask(connection, sql, names, key).map(Some))
}

/// What a user's statement may name. Of a catalog that cannot be read nothing.
///
/// # Errors
/// The session was lost.
pub fn found(connection: &mut Connection, names: Names<'_>) -> Result<Vec<Found>, QueryError> {
    let Some(sql) = connection.dialect().catalog.found else {
        let tables = known(tables(connection, names).map(Some))?.unwrap_or_default().into_iter();
        let found = |table: Table| Found { name: table.name, is_table: table.is_table, elsewhere: None };
        return Ok(tables.map(found).collect());
    };
    let found = |row: &TextRow| Found {
        name: text(row, 0),
        is_table: row.text(1) == Some("1"),
        elsewhere: row.text(2).map(|schema| (schema.to_owned(), text(row, 3))),
    };
    Ok(known(ask(connection, sql, names, found).map(Some))?.unwrap_or_default())
}

/// Routines of users of these names that may change tables.
///
/// # Errors
/// The session was lost.
pub fn routines(connection: &mut Connection, names: Names<'_>) -> Result<Vec<String>, QueryError> {
    seen(connection, connection.dialect().catalog.routines, names)
}

/// What else changes tables with one of these names.
///
/// # Errors
/// The session was lost.
pub fn triggers(connection: &mut Connection, names: Names<'_>) -> Result<Vec<String>, QueryError> {
    seen(connection, connection.dialect().catalog.triggers, names)
}

fn seen(connection: &mut Connection, sql: Option<&str>, names: Names<'_>) -> Result<Vec<String>, QueryError> {
    let Some(sql) = sql else { return Ok(Vec::new()) };
    let found = known(ask(connection, sql, names, |row| text(row, 0)).map(Some))?;
    Ok(found.unwrap_or_else(|| vec![UNSEEN.to_owned()]))
}

/// How large they are together; `None` where the server does not say.
///
/// # Errors
/// The session was lost.
pub fn bytes(connection: &mut Connection, names: Names<'_>) -> Result<Option<Bytes>, QueryError> {
    let Some(sql) = connection.dialect().catalog.bytes else { return Ok(None) };
    let number = |row: &TextRow, at| row.text(at).and_then(|text: &str| text.parse().ok());
    let bytes = |row: &TextRow| Some(Bytes { tables: number(row, 0)?, indexes: number(row, 1)? });
    Ok(known(ask(connection, sql, names, bytes).map(Some))?
        .and_then(|rows| rows.into_iter().next().flatten()))
}

fn ask<T>(
    connection: &mut Connection,
    sql: &str,
    names: Names<'_>,
    read: impl Fn(&TextRow) -> T,
) -> Result<Vec<T>, QueryError> {
    Ok(connection.query(&sql.replace("{names}", &names.condition()))?.iter().map(read).collect())
}

fn text(row: &TextRow, at: usize) -> String {
    row.text(at).unwrap_or_default().to_owned()
}
