//! How many connections a user may open.

use super::{known, named_values};
use crate::connection::{Connection, QueryError};
use crate::inspect::{Limit, Limits};

/// By the server's limit and the account's. The one connection beyond the server's limit, that an administrator is
/// given, is left to him.
pub(super) fn limits(connection: &mut Connection) -> Result<Limits, QueryError> {
    // Where it is 0 there is no limit (TiDB).
    let server = number(connection, "SELECT @@global.max_connections")?.filter(|most| *most > 0);
    let connected = known(named_values(connection, "SHOW GLOBAL STATUS", &["Threads_connected"]).map(Some))?;
    let connected: Option<u32> =
        connected.unwrap_or_default().first().and_then(|(_, value)| value.parse().ok());
    let server = server.map(|most| Limit { most, free: connected.map(|used| most.saturating_sub(used)) });
    Ok(Limits { server, account: account(connection)?, database: None })
}

/// `None` where the account has no limit.
fn account(connection: &mut Connection) -> Result<Option<Limit>, QueryError> {
    // The session's own value is the account's, or the server's for all accounts alike.
    let most = number(connection, "SELECT @@session.max_user_connections")?;
    let Some(most) = most.filter(|most| *most > 0) else { return Ok(None) };
    let Some(user) = known(connection.query_value::<String>("SELECT substring_index(user(), '@', 1)"))?
    else {
        return Ok(None);
    };
    // One's own sessions are shown to everybody.
    let sessions = known(connection.query("SHOW PROCESSLIST").map(Some))?.unwrap_or_default();
    let used = sessions.iter().filter(|row| row.text(1) == Some(&user)).count();
    Ok(Some(Limit { most, free: Some(most.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))) }))
}

/// `None` for what is no such number as well.
fn number(connection: &mut Connection, sql: &str) -> Result<Option<u32>, QueryError> {
    let text = known(connection.query_value::<String>(sql))?;
    Ok(text.and_then(|text| text.parse().ok()))
}
