//! A PostgreSQL of the test's own, and sessions on it.

use std::sync::Arc;

use dyno_target::connection::Connection;
use dyno_test_servers::{Postgres, Setup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};

pub(crate) struct Server(Postgres);

impl Server {
    /// Starts one; `None`, after saying so, where this machine has no PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        // Statistics that are compared are those that a preparation has left, whenever they are looked at.
        Self::start_with(&Setup::default().with("autovacuum=off"))
    }

    pub(crate) fn start_with(setup: &Setup) -> Option<Self> {
        Postgres::start(setup).map(Self)
    }

    pub(crate) fn endpoint(&self, user: &str, database: &str) -> Endpoint {
        Endpoint {
            address: Address::Tcp(self.0.address),
            login: Arc::new(Login {
                user: user.to_owned(),
                password: None,
                database: database.to_owned(),
                parameters: Vec::new(),
                tls: Tls::Disable,
                channel_binding: ChannelBinding::Disable,
            }),
            wire: Wire::Postgres,
        }
    }

    pub(crate) fn connect(&self, database: &str) -> Connection {
        Connection::open(&self.endpoint("postgres", database)).unwrap()
    }

    /// Makes a database and opens it.
    pub(crate) fn create(&self, database: &str) -> Connection {
        self.connect("postgres").execute(&format!("create database {database}")).unwrap();
        self.connect(database)
    }

    /// Runs a client program of PostgreSQL's against `database`; returns what it printed.
    pub(crate) fn client(&self, program: &str, database: &str, arguments: &[&str]) -> String {
        self.0.client(program, database, arguments)
    }

    /// A path in the server's own directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.directory().join(name).display().to_string()
    }
}
