//! What a server on MySQL's protocol says of itself. What its product keeps elsewhere, its product's file says.

mod facts;
mod files;
mod limits;
mod place;
mod settings;
mod sizes;
mod statistics;

use super::identity::text;
use super::{Identity, Inspector, known};
use crate::connection::{Connection, QueryError};
use statistics::MySqlStatistics;

pub(super) const INSPECTOR: Inspector = Inspector {
    identity,
    isolation,
    limits: limits::limits,
    same_host: place::same_host,
    server_process: place::server_process,
    settings: settings::settings,
    weightiest: facts::WEIGHTIEST,
    facts: facts::facts,
    sizes: sizes::sizes,
    statistics: MySqlStatistics::prepare,
};

/// MariaDB has no `server_uuid`, and `server_uid` in its newer versions only.
fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    let mut names = Vec::new();
    for variable in ["server_uuid", "server_uid", "hostname", "port", "datadir"] {
        names.extend(text(connection, &format!("SELECT @@GLOBAL.{variable}"))?);
    }
    let up_s = known(named_values(connection, "SHOW GLOBAL STATUS", &["Uptime"]).map(Some))?;
    let up_s = up_s.unwrap_or_default().first().and_then(|(_, value)| value.parse::<i64>().ok());
    let now_s = text(connection, "SELECT UNIX_TIMESTAMP()")?.and_then(|now| now.parse::<i64>().ok());
    let started_s = now_s.zip(up_s).map(|(now, up)| now - up);
    let questions = ["SELECT CURRENT_USER()", "SELECT DATABASE()", "SELECT ''"];
    Identity::ask(connection, names, started_s, questions)
}

fn isolation(connection: &mut Connection) -> Result<Option<String>, QueryError> {
    // MySQL 5.7 and MariaDB up to 11.0 know it by the second name alone, MySQL since 8.0 by the first.
    match known(connection.query_value("SELECT @@GLOBAL.transaction_isolation"))? {
        None => known(connection.query_value("SELECT @@GLOBAL.tx_isolation")),
        level => Ok(level),
    }
}

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
