//! A database of a test's own on each kind of server, and waiting for what happens there.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Sysbench};

/// A database, on a server that the tests of the binary share or on one of the test's own.
pub(crate) struct Server {
    kind: Kind,
    database: String,
    is_shared: bool,
}

enum Kind {
    Postgres(Arc<Postgres>),
    MySql(Arc<Mysql>),
}

static DATABASES: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Runs `job` on one of each kind that this machine can start, on all of them at the same time; what came of it.
    pub(crate) fn on_each<T: Send>(job: impl Fn(Self) -> T + Sync) -> Vec<T> {
        let run = |product: Option<MysqlProduct>| {
            let server = match product {
                None => Self::postgres(),
                Some(product) => Self::mysql(product),
            };
            server.map(&job)
        };
        std::thread::scope(|scope| {
            let products = std::iter::once(None).chain(MysqlProduct::tested().iter().copied().map(Some));
            let run = &run;
            let running: Vec<_> = products.map(|product| scope.spawn(move || run(product))).collect();
            let ended = running.into_iter().map(ScopedJoinHandle::join);
            // One that has failed has said so; the test is to fail by that, and not by what it then leaves undone.
            ended.filter_map(|outcome| outcome.unwrap_or_else(|why| std::panic::resume_unwind(why))).collect()
        })
    }

    /// A database on the PostgreSQL that tests share.
    pub(crate) fn postgres() -> Option<Self> {
        Some(Self::with_database(Kind::Postgres(Postgres::shared(&Setup::default())?)))
    }

    /// A database on the server of this product that tests share.
    pub(crate) fn mysql(product: MysqlProduct) -> Option<Self> {
        Self::shared_mysql(&MysqlSetup::new(product))
    }

    /// The same on one that is set up otherwise.
    pub(crate) fn shared_mysql(setup: &MysqlSetup) -> Option<Self> {
        Some(Self::with_database(Kind::MySql(Mysql::shared(setup)?)))
    }

    /// A server of the test's own, with files of clients allowed.
    pub(crate) fn own_mysql(setup: &MysqlSetup) -> Option<Self> {
        Some(Self::own(Kind::MySql(Arc::new(Mysql::start(&with_files(setup))?))))
    }

    fn own(kind: Kind) -> Self {
        let database = if matches!(kind, Kind::Postgres(_)) { "postgres" } else { "test" };
        Self { kind, database: database.to_owned(), is_shared: false }
    }

    /// Named for the test binary, since those of others are on the same server.
    fn with_database(kind: Kind) -> Self {
        let mut server = Self::own(kind);
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let database = format!("workload_{}_{number}", env!("CARGO_CRATE_NAME"));
        let mut administrator = server.open();
        let force = if server.is_mysql() { "" } else { " WITH (FORCE)" };
        // One of an earlier run may be there.
        administrator.execute(&format!("DROP DATABASE IF EXISTS {database}{force}")).unwrap();
        administrator.execute(&format!("CREATE DATABASE {database}")).unwrap();
        if !server.is_mysql() {
            // Clients of these tests meet often.
            let soon = format!("ALTER DATABASE {database} SET deadlock_timeout = '20ms'");
            administrator.execute(&soon).unwrap();
        }
        (server.database, server.is_shared) = (database, true);
        server
    }

    /// A user without rights, who logs in with the password `x`; users are the whole server's.
    pub(crate) fn create_user(&self, what: &str) -> String {
        let user = format!("{}_{what}", self.database);
        let mut administrator = self.open();
        match &self.kind {
            Kind::MySql(server) => {
                for host in ["%", "localhost"] {
                    administrator.execute(&format!("DROP USER IF EXISTS {user}@'{host}'")).unwrap();
                    server.make_user(&user, host, "x");
                }
            }
            Kind::Postgres(_) => {
                administrator.execute(&format!("DROP ROLE IF EXISTS {user}")).unwrap();
                administrator.execute(&format!("CREATE ROLE {user} LOGIN")).unwrap();
            }
        }
        user
    }

    /// A user who may read what is in the database now, and nothing else.
    pub(crate) fn create_reader(&self) -> String {
        let user = self.create_user("reader");
        let database = &self.database;
        let grants = match self.is_mysql() {
            true => ["'%'", "localhost"]
                .map(|host| format!("GRANT SELECT ON {database}.* TO {user}@{host}"))
                .to_vec(),
            false => vec![format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")],
        };
        let mut administrator = self.open();
        for grant in grants {
            administrator.execute(&grant).unwrap();
        }
        user
    }

    pub(crate) fn name(&self) -> String {
        match &self.kind {
            Kind::Postgres(_) => "PostgreSQL".to_owned(),
            Kind::MySql(server) => server.product().to_string(),
        }
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self.kind, Kind::MySql(_))
    }

    pub(crate) fn is_seekdb(&self) -> bool {
        matches!(&self.kind, Kind::MySql(server) if server.product() == MysqlProduct::SeekDb)
    }

    /// What PostgreSQL has logged of this database.
    pub(crate) fn log(&self) -> Vec<String> {
        let Kind::Postgres(server) = &self.kind else {
            panic!("{} does not say of which database", self.name())
        };
        let prefix = format!("{}|", self.database);
        server.log().lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    /// The administrator's.
    pub(crate) fn target(&self) -> Target {
        match &self.kind {
            Kind::Postgres(_) => self.target_of("postgres", ""),
            Kind::MySql(server) => self.target_of("root", &server.password),
        }
    }

    /// PostgreSQL lets everybody in without a password.
    pub(crate) fn target_of(&self, user: &str, password: &str) -> Target {
        let database = &self.database;
        let url = match &self.kind {
            Kind::Postgres(server) => {
                format!("postgres://{user}@{}/{database}?sslmode=disable", server.address)
            }
            Kind::MySql(server) => server.url(user, password, database),
        };
        Target::parse(&url, &Environment::empty()).unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match &self.kind {
            Kind::Postgres(server) => server.address,
            Kind::MySql(server) => server.address,
        }
    }

    /// The administrator's, by way of another address.
    pub(crate) fn target_at(&self, address: SocketAddr) -> Target {
        let url = match &self.kind {
            Kind::Postgres(_) => format!("postgres://postgres@{address}/{}?sslmode=disable", self.database),
            Kind::MySql(server) => format!("mysql://root:{}@{address}/{}", server.password, self.database),
        };
        Target::parse(&url, &Environment::empty()).unwrap()
    }

    pub(crate) fn open(&self) -> Connection {
        self.target().connect().unwrap()
    }

    /// The real sysbench, set up to reach it.
    pub(crate) fn sysbench(&self) -> Option<Command> {
        let sysbench = Sysbench::find()?;
        Some(match &self.kind {
            Kind::Postgres(server) => sysbench.with_postgres_database(server, &self.database),
            Kind::MySql(server) => sysbench.with_mysql_database(server, &self.database),
        })
    }

    /// Waits until the server is rid of all other sessions: it rolls back what one was at, and keeps its locks meanwhile,
    /// for as long as that takes after the client has gone.
    pub(crate) fn wait_until_alone(&self) {
        let mut connection = self.open();
        let others = match self.is_mysql() {
            true => {
                "SELECT COUNT(*) FROM information_schema.processlist \
                 WHERE id <> CONNECTION_ID() AND db = DATABASE()"
            }
            false => {
                "SELECT COUNT(*) FROM pg_stat_activity \
                 WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'"
            }
        };
        wait_until("the end of all other sessions", || {
            connection.query_value::<u64>(others).unwrap() == Some(0)
        });
    }

    /// Ends all other connections to the database.
    pub(crate) fn end_connections(&self) {
        let mut connection = self.open();
        let others = match self.is_mysql() {
            true => {
                "SELECT id FROM information_schema.processlist \
                 WHERE id <> CONNECTION_ID() AND db = DATABASE()"
            }
            false => {
                "SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity \
                 WHERE pid <> pg_backend_pid() AND datname = current_database()"
            }
        };
        let rows = connection.query(others).unwrap();
        for id in rows.iter().filter(|_| self.is_mysql()).filter_map(|row| row.text(0)) {
            // It may have ended by itself.
            let _ = connection.execute(&format!("KILL {id}"));
        }
    }
}

impl Drop for Server {
    /// A shared server has no room for the tables of all tests: seekdb is small here.
    fn drop(&mut self) {
        if self.is_shared && self.is_mysql() && !std::thread::panicking() {
            self.open().execute(&format!("DROP DATABASE {}", self.database)).unwrap();
        }
    }
}

fn with_files(setup: &MysqlSetup) -> MysqlSetup {
    match setup.product {
        MysqlProduct::Mysql | MysqlProduct::MariaDb => setup.clone().with("local_infile=1"),
        MysqlProduct::SeekDb => setup.clone(),
    }
}

/// Longer than anything takes that a test waits for, however slow the machine.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// With limits on time that only what is broken reaches.
pub(crate) fn config(threads: u32) -> EngineConfig {
    EngineConfig {
        reconnect_timeout: LONG,
        drain_timeout: LONG,
        stopped_drain_timeout: LONG,
        ..EngineConfig::new(threads)
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
