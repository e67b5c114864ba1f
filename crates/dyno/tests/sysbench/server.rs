//! The servers that both programs are run against: each test has a database of its own on every kind.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{
    Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, counts_statements, runs_references,
};

/// A database of a test's own.
pub(crate) struct Database {
    server: Server,
    name: String,
}

enum Server {
    Postgres(Arc<Postgres>),
    Mysql(Arc<Mysql>),
}

/// A database on each kind of server that this machine can have; a line says which it cannot.
pub(crate) fn databases(name: &str) -> Vec<Database> {
    on(name, [postgres(), mysql(MysqlProduct::Mysql), mysql(MysqlProduct::MariaDb)])
}

/// The same on servers that tell which statements they were sent.
pub(crate) fn counting_databases(name: &str) -> Vec<Database> {
    // MariaDB's digests leave prepared statements out, so it writes every statement to its log.
    let logging = MysqlSetup::new(MysqlProduct::MariaDb).with("general-log=ON").with("log-output=TABLE");
    let mariadb = Mysql::shared(&logging).map(Server::Mysql);
    let mut postgres = postgres();
    if !counts_statements() {
        println!("skipped: this PostgreSQL has no pg_stat_statements");
        postgres = None;
    }
    on(name, [postgres, mysql(MysqlProduct::Mysql), mariadb])
}

/// The same on servers of the test's own that take few connections.
pub(crate) fn databases_with_little_room(name: &str) -> Vec<Database> {
    let few = "max_connections=20";
    let postgres = Postgres::start(&Setup::default().with(few)).map(Arc::new).map(Server::Postgres);
    let mariadb = Mysql::start(&MysqlSetup::new(MysqlProduct::MariaDb).with(few));
    on(name, [postgres, mariadb.map(Arc::new).map(Server::Mysql)])
}

/// The same on those that speak MySQL's protocol.
pub(crate) fn mysql_databases(name: &str) -> Vec<Database> {
    on(name, [mysql(MysqlProduct::Mysql), mysql(MysqlProduct::MariaDb)])
}

/// The same on PostgreSQL alone.
pub(crate) fn postgres_database(name: &str) -> Option<Database> {
    on(name, [postgres()]).pop()
}

fn on<const KINDS: usize>(name: &str, servers: [Option<Server>; KINDS]) -> Vec<Database> {
    let there: Vec<_> = servers.into_iter().flatten().collect();
    assert!(!runs_references() || there.len() == KINDS, "a recording is of every server");
    there.into_iter().map(|server| Database::new(server, name)).collect()
}

fn postgres() -> Option<Server> {
    Postgres::shared(&Setup::default()).map(Server::Postgres)
}

fn mysql(product: MysqlProduct) -> Option<Server> {
    Mysql::shared(&MysqlSetup::new(product)).map(Server::Mysql)
}

impl Database {
    fn new(server: Server, name: &str) -> Self {
        // Other suites have databases on the same servers.
        let database = Self { server, name: format!("sysbench_{name}") };
        let mut administrator = database.administrator();
        let force = if database.is_mysql() { "" } else { " with (force)" };
        administrator.execute(&format!("drop database if exists {}{force}", database.name)).unwrap();
        administrator.execute(&format!("create database {}", database.name)).unwrap();
        database
    }

    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self.server, Server::Mysql(_))
    }

    pub(crate) fn product(&self) -> String {
        match &self.server {
            Server::Postgres(_) => "PostgreSQL".to_owned(),
            Server::Mysql(server) => server.product().to_string(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match &self.server {
            Server::Postgres(server) => server.address,
            Server::Mysql(server) => server.address,
        }
    }

    /// A session in it.
    pub(crate) fn connect(&self) -> Connection {
        self.connect_to(&self.name)
    }

    /// A session elsewhere on the same server, so that it is not among those in this database.
    pub(crate) fn administrator(&self) -> Connection {
        self.connect_to(if self.is_mysql() { "test" } else { "postgres" })
    }

    fn connect_to(&self, name: &str) -> Connection {
        let url = match &self.server {
            Server::Postgres(server) => {
                format!("postgres://postgres@{}/{name}?sslmode=disable", server.address)
            }
            Server::Mysql(server) => server.url("root", &server.password, name),
        };
        Target::parse(&url, &Environment::empty()).unwrap().connect().unwrap()
    }

    /// Runs a statement in it: a line for each row, with `|` between the values.
    pub(crate) fn sql(&self, sql: &str) -> String {
        lines(&mut self.connect(), sql).join("\n")
    }

    /// How many sessions are in it, of those that `which` says.
    pub(crate) fn sessions(&self, which: &str) -> String {
        let name = &self.name;
        match self.is_mysql() {
            true => {
                format!("select count(*) from information_schema.processlist where db = '{name}' and {which}")
            }
            false => format!(
                "select count(*) from pg_stat_activity \
                 where datname = '{name}' and backend_type = 'client backend' and {which}"
            ),
        }
    }

    /// Ends all sessions in it. Only PostgreSQL has to.
    pub(crate) fn end_sessions(&self) {
        let end = "select pg_terminate_backend(pid)::int from pg_stat_activity where datname = '";
        lines(&mut self.administrator(), &format!("{end}{}'", self.name));
    }

    /// The options that name it.
    pub(crate) fn options(&self) -> Vec<String> {
        self.options_at(self.address())
    }

    /// The same by way of another address.
    pub(crate) fn options_at(&self, address: SocketAddr) -> Vec<String> {
        let (name, port) = (&self.name, address.port());
        match &self.server {
            Server::Postgres(_) => vec![
                "--db-driver=pgsql".to_owned(),
                "--pgsql-host=127.0.0.1".to_owned(),
                format!("--pgsql-port={port}"),
                "--pgsql-user=postgres".to_owned(),
                format!("--pgsql-db={name}"),
            ],
            Server::Mysql(server) => vec![
                "--db-driver=mysql".to_owned(),
                "--mysql-host=127.0.0.1".to_owned(),
                format!("--mysql-port={port}"),
                "--mysql-user=root".to_owned(),
                format!("--mysql-password={}", server.password),
                format!("--mysql-db={name}"),
            ],
        }
    }

    /// The options that name it, and further words.
    pub(crate) fn with(&self, words: &str) -> Vec<String> {
        self.options().into_iter().chain(super::program::words(words)).collect()
    }

    /// The statements that `run` sends, each behind how often, as the server writes them without their values.
    pub(crate) fn statements_of(&self, run: impl FnOnce()) -> Vec<String> {
        let mut administrator = match &self.server {
            Server::Postgres(_) => self.connect(),
            Server::Mysql(_) => self.administrator(),
        };
        let name = &self.name;
        // A server counts a statement a little after it has answered, but not after its session's end.
        let own = administrator.wire().unwrap().process_id();
        let id = if self.is_mysql() { "id" } else { "pid" };
        let others = self.sessions(&format!("{id} <> {own}"));
        let settle = |connection: &mut Connection| wait_until(connection, &others, |count| count == 0);
        let (counted, forgotten) = match &self.server {
            Server::Postgres(_) => {
                let sql = "create extension if not exists pg_stat_statements";
                administrator.execute(sql).unwrap();
                let own = "(select oid from pg_database where datname = current_database())";
                (
                    // Line breaks do not count, nor, from PostgreSQL 18 on, the length of a list.
                    format!(
                        "select regexp_replace(regexp_replace(query, '\\s+', ' ', 'g'), \
                                               ' IN \\([^)]*\\)', ' IN (...)', 'g') as statement, \
                                sum(calls) from pg_stat_statements \
                         where dbid = {own} and query not ilike '%pg_stat_%' group by 1"
                    ),
                    "select dealloc from pg_stat_statements_info".to_owned(),
                )
            }
            // Who is not connected to this database is somebody else, and who was before is not asked for.
            Server::Mysql(server) if server.product() == MysqlProduct::MariaDb => (
                format!(
                    r#"select regexp_replace(regexp_replace(regexp_replace(argument, "'[^']*'", "?"),
                                                            "[0-9]+", "?"), "[ \\n]+", " ") as statement,
                              count(*)
                       from mysql.general_log
                       where command_type in ('Query', 'Execute') and thread_id in (
                           select thread_id from mysql.general_log
                           where command_type = 'Connect' and thread_id > {own}
                             and argument like '% on {name} using %')
                       group by statement"#
                ),
                // A log forgets nothing.
                "select 0".to_owned(),
            ),
            // How statements are made ready, and thrown away, is each program's own affair.
            Server::Mysql(_) => (
                format!(
                    "select digest_text, count_star from performance_schema.events_statements_summary_by_digest \
                     where schema_name = '{name}' \
                       and digest_text not like 'DEALLOCATE%' and digest_text not like 'PREPARE%'"
                ),
                "select coalesce(sum(count_star), 0) \
                 from performance_schema.events_statements_summary_by_digest where digest is null"
                    .to_owned(),
            ),
        };
        settle(&mut administrator);
        let before = counts(&mut administrator, &counted);
        let lost_before = lines(&mut administrator, &forgotten);
        run();
        settle(&mut administrator);
        let after = counts(&mut administrator, &counted);
        let lost = lines(&mut administrator, &forgotten);
        assert_eq!(lost, lost_before, "{} has no room for more statements", self.product());
        let so_often = |(statement, count): (String, u64)| {
            let count = count - before.get(&statement).copied().unwrap_or(0);
            (count > 0).then(|| format!("{count} {statement}"))
        };
        after.into_iter().filter_map(so_often).collect()
    }
}

/// Longer than anything takes that a test waits for, however slow the machine.
const LONG: Duration = Duration::from_secs(300);

/// Waits until a question is answered so.
#[track_caller]
pub(crate) fn wait_until(connection: &mut Connection, sql: &str, is_so: impl Fn(u64) -> bool) {
    let begun = Instant::now();
    while !is_so(connection.query_value::<u64>(sql).unwrap().unwrap_or(0)) {
        assert!(begun.elapsed() < LONG, "waited in vain: {sql}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The rows, with `|` between the values.
fn lines(connection: &mut Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap_or_else(|why| panic!("{why}: {sql}"));
    let line = |values: Vec<&str>| values.join("|");
    rows.iter().map(|row| line(row.iter().map(|(_, value)| value.unwrap_or("")).collect())).collect()
}

fn counts(connection: &mut Connection, sql: &str) -> BTreeMap<String, u64> {
    let rows = connection.query(sql).unwrap_or_else(|why| panic!("{why}: {sql}"));
    let mut counts = BTreeMap::new();
    for row in &rows {
        let statement = match row.text(0).unwrap() {
            // On MySQL dyno says it so, which is the same there but for `sql_mode=ORACLE`.
            "START TRANSACTION" => "BEGIN",
            statement => statement,
        };
        *counts.entry(statement.to_owned()).or_default() += row.text(1).unwrap().parse::<u64>().unwrap();
    }
    counts
}
