//! What a server lets its sessions do beside connecting: how they begin, and how many statements they may prepare.

use super::known;
use crate::connection::{Connection, QueryError};

/// Whether other sessions begin with autocommit off, so that what a single statement writes is never committed. Not so
/// where the server does not say: the session that asks has turned its own on.
pub fn begins_without_autocommit(connection: &mut Connection) -> bool {
    if !connection.is_mysql() {
        return false;
    }
    let begins_with = connection.briefly(|it| it.query_value::<u8>("SELECT @@GLOBAL.autocommit"));
    matches!(begins_with, Ok(Some(0)))
}

/// How many more statements may be prepared, on a server that counts those of all its sessions together; `None` where
/// there is no such limit.
///
/// # Errors
/// The session was lost.
pub fn prepared_statements_left(connection: &mut Connection) -> Result<Option<u64>, QueryError> {
    if !connection.is_mysql() {
        return Ok(None);
    }
    let mut ask = |sql: &str, column: usize| -> Result<Option<u64>, QueryError> {
        // A relative has no such limit.
        let rows = known(connection.query(sql).map(Some))?;
        Ok(rows.and_then(|rows| rows.first()?.text(column)?.parse().ok()))
    };
    let most = ask("SELECT @@GLOBAL.max_prepared_stmt_count", 0)?;
    let used = ask("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'", 1)?;
    Ok(most.map(|most| most.saturating_sub(used.unwrap_or(0))))
}
