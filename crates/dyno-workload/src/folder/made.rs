//! The rows of a folder's table without a server, as COPY takes them: for `bench/rows`, which measures how fast they are made.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Folder;
use super::benchmark::numbers_of;
use super::mistake::Mistakes;
use super::rows::Failed;
use crate::dataset::bulk::pieces;
use crate::dataset::rows::RowRange;

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error("{0}")]
    Mistakes(#[from] Mistakes),
    #[error("there is no table {name}: there are {known}")]
    NoSuch { name: String, known: String },
    #[error("{0}")]
    Wrong(String),
}

/// Makes all rows of a table with these options on this thread, and hands them on in pieces; returns how many there are.
///
/// # Errors
/// The folder has mistakes or no such table, or a value cannot be computed.
pub fn make_rows(
    files: &BTreeMap<String, String>,
    table: &str,
    options: &Map<String, Value>,
    mut take: impl FnMut(&[u8]),
) -> Result<u64, MakeError> {
    let folder: &'static Folder = Box::leak(Box::new(Folder::new(".", files)?));
    let Some(place) = folder.tables.iter().position(|it| it.name == table) else {
        let known: Vec<&str> = folder.tables.iter().map(|it| &*it.name).collect();
        return Err(MakeError::NoSuch { name: table.to_owned(), known: known.join(", ") });
    };
    let values = folder.options.values(&folder.names, options, 1).map_err(MakeError::Wrong)?;
    let last = numbers_of(folder, &values).map_err(MakeError::Wrong)?[place];
    let failed = Failed::default();
    let rows = folder.rows_of(&folder.tables[place], &values, &failed);
    let made = pieces(RowRange { rows, next: 1, last }, |piece, _| {
        take(piece);
        Ok(())
    });
    match failed.get() {
        Some((_, why)) => Err(MakeError::Wrong(why.clone())),
        // What takes them refuses none.
        None => Ok(made.unwrap_or_default()),
    }
}
