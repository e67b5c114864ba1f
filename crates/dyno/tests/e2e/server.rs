//! A PostgreSQL that the user names: shared by tests that keep to a database of their own.

use std::sync::Arc;

use dyno_test_servers::{Postgres, Setup, Shared, postgres_binaries};

/// The server that tests share which leave it as it is. `None`, and a line that says so, where this machine has no
/// PostgreSQL.
pub(crate) fn shared() -> Option<Arc<Postgres>> {
    static SHARED: Shared<Postgres> = Shared::new();
    SHARED.get(|| Postgres::start(&Setup::default()))
}

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

/// False, with a line that says so, where this machine has no PostgreSQL that dyno could start.
pub(crate) fn installed() -> bool {
    let found = postgres_binaries().is_some();
    if !found {
        println!("skipped: no PostgreSQL in /usr/lib/postgresql");
    }
    found
}
