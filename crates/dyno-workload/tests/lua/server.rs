//! Servers that all tests share, with a database for those of this binary; each test keeps to tables of its own.

use std::sync::{Arc, Mutex};

use dyno_target::connection::Connection;
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Password, Tls, Wire};
use dyno_wire::my::handshake::Options;

pub(crate) enum Server {
    Postgres(Arc<Postgres>),
    MySql(Arc<Mysql>),
}

/// The tests' database.
pub(crate) const DATABASE: &str = "workload_lua";

/// PostgreSQL and MariaDB, where this machine has them.
pub(crate) fn servers() -> Vec<Server> {
    [postgres(), mariadb()].into_iter().flatten().collect()
}

pub(crate) fn postgres() -> Option<Server> {
    Postgres::shared(&Setup::default()).map(Server::Postgres).map(with_database)
}

/// A server of the test's own, with room for so many.
pub(crate) fn own_postgres(connections: u32) -> Option<Server> {
    let room = format!("max_connections={connections}");
    let server = Server::Postgres(Arc::new(Postgres::start(&Setup::default().with(&room))?));
    server.create_database();
    Some(server)
}

pub(crate) fn mariadb() -> Option<Server> {
    Mysql::shared(&MysqlSetup::new(MysqlProduct::MariaDb)).map(Server::MySql).map(with_database)
}

/// Beside MariaDB: it prepares no BEGIN, and lets others log in by another plugin.
pub(crate) fn mysql() -> Option<Server> {
    Mysql::shared(&MysqlSetup::new(MysqlProduct::Mysql)).map(Server::MySql).map(with_database)
}

/// The database is made once in the process.
fn with_database(server: Server) -> Server {
    static MADE: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap();
    let name = server.to_string();
    if !made.contains(&name) {
        server.create_database();
        made.push(name);
    }
    server
}

impl Server {
    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self, Self::MySql(_))
    }

    /// In place of what an earlier run may have left.
    fn create_database(&self) {
        let (elsewhere, force) = if self.is_mysql() { ("test", "") } else { ("postgres", " WITH (FORCE)") };
        let mut administrator = Connection::open(&self.endpoint_of(elsewhere)).unwrap();
        administrator.execute(&format!("DROP DATABASE IF EXISTS {DATABASE}{force}")).unwrap();
        administrator.execute(&format!("CREATE DATABASE {DATABASE}")).unwrap();
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint_of(DATABASE)
    }

    fn endpoint_of(&self, database: &str) -> Endpoint {
        let (address, user, password, wire) = match self {
            Self::Postgres(server) => (server.address, "postgres", None, Wire::Postgres),
            Self::MySql(server) => {
                let password = Some(Password::new(server.password.clone()));
                (server.address, "root", password, Wire::MySql(Options::default()))
            }
        };
        let login = Login {
            user: user.to_owned(),
            password,
            database: database.to_owned(),
            parameters: Vec::new(),
            tls: Tls::Disable,
            channel_binding: ChannelBinding::Disable,
        };
        Endpoint { address: Address::Tcp(address), login: Arc::new(login), wire, connect_timeout: None }
    }

    pub(crate) fn open(&self) -> Result<Connection, String> {
        Connection::open(&self.endpoint()).map_err(|error| error.to_string())
    }

    /// Runs SQL; the values of all rows with `|` between them.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let rows = self.open().unwrap().query(sql).unwrap();
        let values =
            rows.iter().flat_map(|row| row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()));
        values.collect::<Vec<_>>().join("|")
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Postgres(_) => f.write_str("PostgreSQL"),
            Self::MySql(server) => server.product().fmt(f),
        }
    }
}
