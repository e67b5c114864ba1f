//! A PostgreSQL that the user names: shared by tests that keep to a database of their own.

use std::sync::Arc;

use dyno_test_servers::{Postgres, Setup, Shared, postgres_binaries};

use crate::home::wait_until;

/// The server that tests share which leave it as it is. `None`, and a line that says so, where this machine has no
/// PostgreSQL.
pub(crate) fn shared() -> Option<Arc<Postgres>> {
    static SHARED: Shared<Postgres> = Shared::new();
    SHARED.get(|| Postgres::start(&Setup::default()))
}

/// Where nobody listens: a port that none is given who asks for any.
pub(crate) const NOBODY: &str = "127.0.0.1:1";

/// Makes a database; returns its URL.
pub(crate) fn database(server: &Postgres, name: &str) -> String {
    server.psql(&format!("create database {name}"));
    url(server, name)
}

pub(crate) fn url(server: &Postgres, database: &str) -> String {
    format!("postgres://postgres@{}/{database}", server.address)
}

/// The one value of a query in a database.
pub(crate) fn value(server: &Postgres, database: &str, sql: &str) -> String {
    server.client("psql", database, &["-X", "-A", "-t", "-c", sql]).trim().to_owned()
}

/// Waits until nobody but who asks has a session on the server.
pub(crate) fn wait_until_alone(server: &Postgres) {
    let others = "select count(*) from pg_stat_activity where backend_type = 'client backend' \
                  and pid <> pg_backend_pid()";
    wait_until("the server's other sessions have ended", || value(server, "postgres", others) == "0");
}

/// False, with a line that says so, where this machine has no PostgreSQL that dyno could start.
pub(crate) fn installed() -> bool {
    let found = postgres_binaries().is_some();
    if !found {
        println!("skipped: no PostgreSQL in /usr/lib/postgresql");
    }
    found
}
