//! The servers that each test runs against.

use std::path::Path;
use std::sync::Arc;

use dyno_test_servers::{Ending, Mysql, MysqlProduct, MysqlSetup, Shared};
use dyno_wire::endpoint::{Login, Password};
use dyno_wire::my::handshake::{LoginError, Options};

use crate::client::{Client, login};

/// A running server, with database `test`.
#[derive(Debug)]
pub(crate) struct Server(Mysql);

impl std::ops::Deref for Server {
    type Target = Mysql;

    fn deref(&self) -> &Mysql {
        &self.0
    }
}

impl Ending for Server {
    fn pid(&self) -> u32 {
        self.0.pid()
    }

    fn directory(&self) -> &Path {
        self.0.directory()
    }

    fn signal() -> &'static str {
        Mysql::signal()
    }
}

impl Server {
    /// One of a test's own; `None`, and a line that says so, where this machine cannot have it.
    pub(crate) fn start(setup: &MysqlSetup) -> Option<Self> {
        Mysql::start(setup).map(Self)
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
}

/// Runs `job` against every server that this machine can have, at the same time.
pub(crate) fn each(job: impl Fn(&Server) + Sync) {
    std::thread::scope(|scope| {
        for product in MysqlProduct::ALL {
            let job = &job;
            scope.spawn(move || shared(product).iter().for_each(|server| job(server)));
        }
    });
}

pub(crate) fn shared(product: MysqlProduct) -> Option<Arc<Server>> {
    static SHARED: [Shared<Server>; 3] = [const { Shared::new() }; 3];
    let mut setup = MysqlSetup::new(product);
    if product != MysqlProduct::SeekDb {
        setup = setup.with("max-allowed-packet=64M").with("local-infile=1");
    }
    SHARED[product as usize].get(|| Server::start(&setup))
}
