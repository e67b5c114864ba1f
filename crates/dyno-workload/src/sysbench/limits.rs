//! Limits on the time of statements, which are meant for queries and would cut short what reads or writes whole tables.

use dyno_target::connection::Connection;

/// PostgreSQL's limit, and those of OceanBase, which are 10 s and 24 h by default; microseconds.
const POSTGRES: [&str; 1] = ["SET statement_timeout = 0"];
const MYSQL: [&str; 2] =
    ["SET SESSION ob_query_timeout = 86400000000", "SET SESSION ob_trx_timeout = 86400000000"];

/// Takes them away from a session. A server that does not know one of them has none.
pub(super) fn lift(connection: &mut Connection) {
    let settings: &[&str] = if connection.is_mysql() { &MYSQL } else { &POSTGRES };
    for setting in settings {
        let _ = connection.execute(setting);
    }
}
