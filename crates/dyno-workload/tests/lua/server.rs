//! Servers that the tests share; each test keeps to tables of its own.

use std::sync::Arc;

use dyno_target::connection::{ConnectError, Connection};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Shared};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Password, Tls, Wire};
use dyno_wire::my::handshake::Options;

pub(crate) enum Server {
    Postgres(Arc<Postgres>),
    MySql(Arc<Mysql>),
}

static POSTGRES: Shared<Postgres> = Shared::new();
static MARIADB: Shared<Mysql> = Shared::new();
static MYSQL: Shared<Mysql> = Shared::new();

/// PostgreSQL and MariaDB, where this machine has them.
pub(crate) fn servers() -> Vec<Server> {
    [postgres(), mariadb()].into_iter().flatten().collect()
}

pub(crate) fn postgres() -> Option<Server> {
    let many = Setup::default().with("max_connections = 300");
    POSTGRES.get(|| Postgres::start(&many)).map(Server::Postgres)
}

pub(crate) fn mariadb() -> Option<Server> {
    MARIADB.get(|| Mysql::start(&MysqlSetup::new(MysqlProduct::MariaDb))).map(Server::MySql)
}

/// Beside MariaDB: it prepares no BEGIN, and lets others log in by another plugin.
pub(crate) fn mysql() -> Option<Server> {
    MYSQL.get(|| Mysql::start(&MysqlSetup::new(MysqlProduct::Mysql))).map(Server::MySql)
}

impl Server {
    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self, Self::MySql(_))
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let (address, user, password, database, wire) = match self {
            Self::Postgres(server) => (server.address, "postgres", None, "postgres", Wire::Postgres),
            Self::MySql(server) => {
                let password = Some(Password::new(server.password.clone()));
                (server.address, "root", password, "test", Wire::MySql(Options::default()))
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
        Endpoint { address: Address::Tcp(address), login: Arc::new(login), wire }
    }

    pub(crate) fn open(&self) -> Result<Connection, ConnectError> {
        Connection::open(&self.endpoint())
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
        f.write_str(if self.is_mysql() { "MariaDB" } else { "PostgreSQL" })
    }
}
