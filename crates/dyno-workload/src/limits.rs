//! Limits on the time of statements, which are meant for queries and would cut short what reads or writes whole tables.

use dyno_target::connection::Connection;

/// The second since PostgreSQL 17.
const POSTGRES: [&str; 2] = ["SET statement_timeout = 0", "SET transaction_timeout = 0"];
/// MySQL's (of SELECT), MariaDB's, and those of OceanBase, which are 10 s and 24 h by default; microseconds.
const MYSQL: [&str; 4] = [
    "SET SESSION max_execution_time = 0",
    "SET SESSION max_statement_time = 0",
    "SET SESSION ob_query_timeout = 86400000000",
    "SET SESSION ob_trx_timeout = 86400000000",
];

/// Takes them away from a session. A server that does not know one of them has none.
pub(crate) fn lift(connection: &mut Connection) {
    let settings: &[&str] = if connection.is_mysql() { &MYSQL } else { &POSTGRES };
    for setting in settings {
        let _ = connection.execute(setting);
    }
}
