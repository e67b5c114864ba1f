//! What a server on MySQL's protocol says of itself. What its product keeps elsewhere, its product's file says.

mod files;
mod limits;
mod place;
mod settings;
mod sizes;
mod statistics;

pub(super) use limits::limits;
pub(super) use place::{same_host, server_process};
pub(super) use settings::settings;
pub(super) use sizes::sizes;
pub(super) use statistics::MySqlStatistics;

use super::known;
use crate::connection::{Connection, QueryError};

/// Text as an SQL string.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

/// Name and value of each row of an answer to `SHOW … STATUS` or `SHOW … VARIABLES`, names in lower case.
fn named_values(
    connection: &mut Connection,
    show: &str,
    names: &[&str],
) -> Result<Vec<(String, String)>, QueryError> {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let rows = connection.query(&format!("{show} WHERE variable_name IN ({})", names.join(", ")))?;
    Ok(rows
        .iter()
        .filter_map(|row| Some((row.text(0)?.to_ascii_lowercase(), row.text(1)?.to_owned())))
        .collect())
}
