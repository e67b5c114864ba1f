//! The servers that each test runs against, which other suites use at the same time.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};
use dyno_wire::endpoint::{Login, Password};
use dyno_wire::my::handshake::{LoginError, Options};

use crate::client::{Client, login};

/// The database of these tests.
pub(crate) const DATABASE: &str = "wire_my";

/// A running server, with the database of these tests.
#[derive(Debug)]
pub(crate) struct Server(Arc<Mysql>);

impl std::ops::Deref for Server {
    type Target = Mysql;

    fn deref(&self) -> &Mysql {
        &self.0
    }
}

impl Server {
    /// The one of this setup that all tests share; `None`, and a line that says so, where this machine cannot have it.
    pub(crate) fn shared(setup: &MysqlSetup) -> Option<Self> {
        static PREPARED: Mutex<BTreeSet<SocketAddr>> = Mutex::new(BTreeSet::new());
        let server = Self(Mysql::shared(setup)?);
        let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.insert(server.address) {
            server.make_database();
        }
        Some(server)
    }

    /// One of a test's own.
    pub(crate) fn start(setup: &MysqlSetup) -> Option<Self> {
        let server = Self(Arc::new(Mysql::start(setup)?));
        server.make_database();
        Some(server)
    }

    fn make_database(&self) {
        let anywhere = Login { database: String::new(), ..self.root_login() };
        let mut client = self.open(anywhere, Options::default()).unwrap();
        let made = client.query(format!("DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}"));
        assert_eq!(made.errors, [], "{}", self.product());
    }

    pub(crate) fn is(&self, product: MysqlProduct) -> bool {
        self.product() == product
    }

    pub(crate) fn root_login(&self) -> Login {
        Login { password: Some(Password::new(self.password.clone())), ..login("root", None) }
    }

    /// A session of the superuser.
    pub(crate) fn root(&self) -> Client {
        self.root_with(Options::default())
    }

    pub(crate) fn root_with(&self, options: Options) -> Client {
        self.open(self.root_login(), options).unwrap()
    }

    pub(crate) fn open(&self, login: Login, options: Options) -> Result<Client, LoginError> {
        Client::open(self.address, login, options)
    }

    pub(crate) fn run(&self, sql: &str) {
        let reply = self.root().query(sql);
        assert!(reply.errors.is_empty(), "{}: {sql}: {:?}", self.product(), reply.errors);
    }

    /// A user who has this database; returns the name that he has among the users of all suites.
    pub(crate) fn make_user(&self, name: &str, identified: &str) -> String {
        let user = format!("wire_{name}");
        self.run(&format!("DROP USER IF EXISTS {user}"));
        self.run(&format!("CREATE USER {user} IDENTIFIED {identified}"));
        self.run(&format!("GRANT ALL ON {DATABASE}.* TO {user}"));
        user
    }
}

/// Runs `job` against MySQL and MariaDB, and in `./test all` against seekdb, which is slow.
pub(crate) fn each(job: impl Fn(&Server) + Sync) {
    each_of(MysqlProduct::tested(), shared, job);
}

/// Runs `job` against every product: for what each of them does in a way of its own.
pub(crate) fn each_and_seekdb(job: impl Fn(&Server) + Sync) {
    each_of(&MysqlProduct::ALL, shared, job);
}

/// Runs `job` against a server of each, at the same time; `get` gets the server.
pub(crate) fn each_of(
    products: &[MysqlProduct],
    get: fn(MysqlProduct) -> Option<Server>,
    job: impl Fn(&Server) + Sync,
) {
    std::thread::scope(|scope| {
        for product in products {
            let job = &job;
            scope.spawn(move || get(*product).iter().for_each(job));
        }
    });
}

pub(crate) fn shared(product: MysqlProduct) -> Option<Server> {
    Server::shared(&MysqlSetup::new(product))
}

/// A MariaDB that knows ways to log in which it does not know by itself: old passwords, and PAM, which wants the password
/// in clear.
pub(crate) fn with_odd_logins() -> Option<Server> {
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with_tls().with("secure-auth=0");
    Server::shared(&setup.with("plugin-load-add=auth_pam_v1").with("pam-use-cleartext-plugin=1"))
}

/// A server that takes statements of up to 64 MiB, as MySQL does by itself, but not MariaDB.
pub(crate) fn for_long_statements(product: MysqlProduct) -> Option<Server> {
    let setup = MysqlSetup::new(product);
    Server::shared(&if product == MysqlProduct::MariaDb {
        setup.with("max-allowed-packet=64M")
    } else {
        setup
    })
}
