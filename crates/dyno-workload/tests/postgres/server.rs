//! Databases on a PostgreSQL, and sessions in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dyno_target::connection::Connection;
use dyno_test_servers::{Pgbench, Postgres, Setup, runs_references, succeed};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};
use dyno_workload::pgbench::initialize::Initialization;

/// A database of a test's own.
pub(crate) struct Database {
    server: Arc<Postgres>,
    pub(crate) name: String,
}

impl Database {
    /// A new one on the server that tests share; `None`, after saying so, where this machine has no PostgreSQL.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Statistics that are compared are those that a preparation has left, whenever they are looked at.
        let server = Postgres::shared(&Setup::default().with("autovacuum=off"))?;
        let name = format!("tpcb_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Some(Self { server, name: "postgres".to_owned() }.create(name))
    }

    /// That of the superuser, on a server of the test's own.
    pub(crate) fn on_own_server(setup: &Setup) -> Option<Self> {
        Some(Self { server: Arc::new(Postgres::start(setup)?), name: "postgres".to_owned() })
    }

    /// A new one on the same server.
    pub(crate) fn create(&self, name: String) -> Self {
        self.open().execute(&format!("create database {name}")).unwrap();
        Self { server: Arc::clone(&self.server), name }
    }

    pub(crate) fn endpoint(&self, user: &str) -> Endpoint {
        Endpoint {
            address: Address::Tcp(self.server.address),
            login: Arc::new(Login {
                user: user.to_owned(),
                password: None,
                database: self.name.clone(),
                parameters: Vec::new(),
                tls: Tls::Disable,
                channel_binding: ChannelBinding::Disable,
            }),
            wire: Wire::Postgres,
            connect_timeout: None,
        }
    }

    /// A session of the superuser's.
    pub(crate) fn open(&self) -> Connection {
        Connection::open(&self.endpoint("postgres")).unwrap()
    }

    /// Runs a client program of PostgreSQL's; returns what it printed.
    pub(crate) fn client(&self, program: &str, arguments: &[&str]) -> String {
        self.server.client(program, &self.name, arguments)
    }

    /// Makes tables with `pgbench -i`. Without the real programs it is dyno's, which the suite `initialize` compares with
    /// what they do.
    pub(crate) fn initialize(&self, scale: u32) {
        if !runs_references() {
            let options = Initialization { scale, ..Initialization::default() };
            options.run(&mut self.open(), false, &AtomicBool::new(false), &mut |_| {}).unwrap();
            return;
        }
        let newest = Pgbench::all().swap_remove(0);
        let mut pgbench = self.server.command(newest.program.to_str().unwrap(), &self.name);
        succeed(pgbench.args(["-i", "-q", "-s", &scale.to_string()]));
    }

    /// A path in the server's own directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.server.directory().join(name).display().to_string()
    }
}
