//! What a server says of itself: product, version, settings, sizes, connections, and its statistics. Reads only,
//! and leaves out what the server does not say or this user may not see; nothing is guessed.

mod identity;
mod mysql;
mod place;
mod sessions;
mod settings;
mod sizes;
mod statistics;

use dyno_results::event;

pub use identity::{Identity, identity};
pub use place::{ServerProcess, server_process};
pub use sessions::{begins_without_autocommit, prepared_statements_left};
pub use settings::settings;
pub use sizes::data;
pub use statistics::Statistics;

use crate::connection::{Connection, QueryError};
use crate::product;

/// The server as a whole. `name` is the target's name in the run, `url` its URL without the password.
///
/// # Errors
/// The session was lost. A question that this server does not understand leaves its answer unknown.
pub fn facts(connection: &mut Connection, name: &str, url: &str) -> Result<event::Target, QueryError> {
    connection.briefly(|connection| read_facts(connection, name, url))
}

fn read_facts(connection: &mut Connection, name: &str, url: &str) -> Result<event::Target, QueryError> {
    let recognised = product::recognise(connection)?;
    let same_host = place::same_host(connection)?;
    let limits = known(limits(connection).map(Some))?;
    let isolation = isolation(connection)?;
    Ok(event::Target {
        name: name.to_owned(),
        url: url.to_owned(),
        product: recognised.name,
        version: recognised.version,
        version_text: recognised.version_text,
        tls: connection.tls_version().map(str::to_owned),
        same_host,
        embedded: None,
        connections_max: limits.and_then(|it| it.max()),
        host_source: None,
        isolation,
        disk_kind: None,
    })
}

/// The isolation level with which the load's sessions begin, in the words of the SQL standard.
fn isolation(connection: &mut Connection) -> Result<Option<String>, QueryError> {
    // MySQL 5.7 and MariaDB up to 11.0 know it by the second name alone, MySQL since 8.0 by the first.
    let questions: &[&str] = if speaks_mysql(connection) {
        &["SELECT @@GLOBAL.transaction_isolation", "SELECT @@GLOBAL.tx_isolation"]
    } else {
        &["SELECT current_setting('default_transaction_isolation')"]
    };
    for question in questions {
        if let Some(level) = known(connection.query_value::<String>(question))? {
            return Ok(Some(level.to_lowercase().replace('-', " ")));
        }
    }
    Ok(None)
}

/// How many more connections this user can open now, by each limit that holds for it. The session that asks is counted
/// as taken.
///
/// # Errors
/// What the server said.
pub fn connections_allowed(connection: &mut Connection) -> Result<Free, QueryError> {
    let Limits { server, account, database } = connection.briefly(limits)?;
    let free = |limit: Option<Limit>| limit.and_then(|limit| limit.free);
    Ok(Free { server: free(server), account: free(account), database: free(database) })
}

/// Connections that may still be opened; `None` where there is no such limit, or the server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Free {
    /// By everybody.
    pub server: Option<u32>,
    /// By this account.
    pub account: Option<u32>,
    /// In this database.
    pub database: Option<u32>,
}

impl Free {
    /// By this session's user.
    #[must_use]
    pub fn least(&self) -> Option<u32> {
        [self.server, self.account, self.database].into_iter().flatten().min()
    }
}

fn limits(connection: &mut Connection) -> Result<Limits, QueryError> {
    if speaks_mysql(connection) { mysql::limits(connection) } else { postgres_limits(connection) }
}

fn speaks_mysql(connection: &Connection) -> bool {
    connection.endpoint().wire.is_mysql()
}

/// What holds for this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Limits {
    server: Option<Limit>,
    account: Option<Limit>,
    database: Option<Limit>,
}

/// Connections: how many there may be, and how many of these are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    most: u32,
    /// `None` where it is not known how many there are.
    free: Option<u32>,
}

impl Limits {
    fn max(&self) -> Option<u32> {
        [self.server, self.account, self.database].into_iter().flatten().map(|limit| limit.most).min()
    }
}

fn postgres_limits(connection: &mut Connection) -> Result<Limits, QueryError> {
    // Slots of superusers (and, since 16, of `pg_use_reserved_connections`) are not for others; limits of the
    // role and the database hold for all but superusers. Of sessions of other users only some columns are shown:
    // `backend_type` is null for them, but `usesysid` is not, and it is null for the server's own workers.
    const SQL: &str = "\
        WITH sessions AS (
            SELECT datid, usesysid FROM pg_stat_activity
            WHERE datid IS NOT NULL AND usesysid IS NOT NULL
              AND coalesce(backend_type, 'client backend') = 'client backend'
        ), me AS (
            SELECT r.oid, r.rolsuper, r.rolconnlimit, d.oid AS datid, d.datconnlimit
            FROM pg_roles r, pg_database d
            WHERE r.rolname = session_user AND d.datname = current_database()
        ), reserved AS (
            SELECT coalesce(sum(setting::int), 0) AS slots FROM pg_settings
            WHERE name IN ('superuser_reserved_connections', 'reserved_connections')
        ), limits AS (
            SELECT 'server' AS scope,
                   current_setting('max_connections')::int - CASE WHEN rolsuper THEN 0 ELSE slots END AS most,
                   (SELECT count(*) FROM sessions) AS used
            FROM me, reserved
          UNION ALL
            SELECT 'account', rolconnlimit, (SELECT count(*) FROM sessions WHERE usesysid = me.oid)
            FROM me WHERE rolconnlimit >= 0 AND NOT rolsuper
          UNION ALL
            SELECT 'database', datconnlimit, (SELECT count(*) FROM sessions WHERE sessions.datid = me.datid)
            FROM me WHERE datconnlimit >= 0 AND NOT rolsuper
        )
        SELECT scope, greatest(most, 0) AS most, greatest(most - used, 0) AS free FROM limits";
    let rows = connection.query(SQL)?;
    let of = |scope: &str| {
        let row = rows.iter().find(|row| row.get("scope") == Some(scope))?;
        let number = |column: &str| row.get(column)?.parse::<u32>().ok();
        Some(Limit { most: number("most")?, free: number("free") })
    };
    Ok(Limits { server: of("server"), account: of("account"), database: of("database") })
}

/// A refused question is an unknown answer; a lost session is an error.
pub(crate) fn known<T>(answer: Result<Option<T>, QueryError>) -> Result<Option<T>, QueryError> {
    match answer {
        Err(QueryError::Server { error, .. }) if !error.ends_session() => Ok(None),
        other => other,
    }
}

/// Text as an SQL string of PostgreSQL.
pub(crate) fn literal(text: &str) -> String {
    // `E''` reads backslashes the same way whatever standard_conforming_strings says.
    format!("E'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}
