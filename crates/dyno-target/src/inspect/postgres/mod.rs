//! What PostgreSQL and its relatives say of themselves.

mod facts;
mod place;
mod settings;
mod sizes;
mod statistics;

use super::identity::text;
use super::{Identity, Inspector, Limit, Limits, known};
use crate::connection::{Connection, QueryError};
use statistics::PostgresStatistics;

pub(super) const INSPECTOR: Inspector = Inspector {
    identity,
    isolation,
    limits,
    same_host: place::same_host,
    server_process: place::server_process,
    settings: settings::settings,
    weightiest: facts::WEIGHTIEST,
    facts: facts::facts,
    sizes: sizes::sizes,
    statistics: PostgresStatistics::prepare,
};

/// To the microsecond, no two servers on the same files have started at one time; a standby has its primary's
/// identifier.
fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    let started = text(connection, "SELECT extract(epoch FROM pg_postmaster_start_time())::text")?;
    let identifier = text(connection, "SELECT system_identifier::text FROM pg_control_system()")?;
    // Without its time, the identifier is that of a standby too.
    let address = started.is_none().then(|| connection.place());
    let names = [started, identifier, address].into_iter().flatten().collect();
    let questions = ["SELECT session_user", "SELECT current_database()", "SELECT current_schema()"];
    Identity::ask(connection, names, None, questions)
}

fn isolation(connection: &mut Connection) -> Result<Option<String>, QueryError> {
    known(connection.query_value("SELECT current_setting('default_transaction_isolation')"))
}

fn limits(connection: &mut Connection) -> Result<Limits, QueryError> {
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

/// Text as an SQL string.
pub(crate) fn literal(text: &str) -> String {
    // `E''` reads backslashes the same way whatever standard_conforming_strings says.
    format!("E'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}
