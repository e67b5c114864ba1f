//! A PostgreSQL that the user names: shared by tests that keep to a database of their own.

use std::sync::Arc;

use dyno_test_servers::{Postgres, Setup, postgres_binaries};

use crate::home::wait_until;

/// The server that all tests share which leave it as it is. `None`, and a line that says so, where this machine has no
/// PostgreSQL.
pub(crate) fn shared() -> Option<Arc<Postgres>> {
    Postgres::shared(&Setup::default())
}

/// What databases, users and roles on a shared server are called: other suites have theirs on it.
pub(crate) fn prefixed(name: &str) -> String {
    format!("e2e_{name}")
}

/// Where nobody listens: a port that none is given who asks for any.
pub(crate) const NOBODY: &str = "127.0.0.1:1";

/// Makes a database; returns its URL.
pub(crate) fn database(server: &Postgres, name: &str) -> String {
    server.psql(&format!("drop database if exists {} with (force)", real(name)));
    server.psql(&format!("create database {}", real(name)));
    url(server, name)
}

pub(crate) fn url(server: &Postgres, database: &str) -> String {
    format!("postgres://postgres@{}/{}", server.address, real(database))
}

/// The one value of a query in a database.
pub(crate) fn value(server: &Postgres, database: &str, sql: &str) -> String {
    client(server, "psql", database, &["-X", "-A", "-t", "-c", sql]).trim().to_owned()
}

/// What a program of PostgreSQL's prints of a database.
pub(crate) fn client(server: &Postgres, program: &str, database: &str, arguments: &[&str]) -> String {
    server.client(program, &real(database), arguments)
}

/// The database that is on every server keeps its name; those of a test's own server have the prefix as well.
fn real(database: &str) -> String {
    if database == "postgres" { database.to_owned() } else { prefixed(database) }
}

/// A hook that has each statement of `events/join` do something before it answers: `perform pg_sleep(0.02)`, say, which takes
/// as long however fast the machine is and whatever else runs on it.
pub(crate) fn first_do(what: &str) -> String {
    // To count the rows of the table takes no longer than ever.
    format!(
        "sql:create function admit() returns boolean volatile language plpgsql as $$begin \
         if current_query() like 'SELECT c.name%' then {what}; end if; return true; end$$; \
         alter table event rename to events; create view event as select * from events where admit()"
    )
}

/// Waits until nobody but who asks has a session on a server of the test's own.
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
