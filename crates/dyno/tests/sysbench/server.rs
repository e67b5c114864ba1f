//! The servers that both programs are run against, one of each kind for all tests, with a database for each test.

use std::sync::Arc;

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Shared, postgres_binaries};

static POSTGRES: Shared<Postgres> = Shared::new();
static MYSQL: Shared<Mysql> = Shared::new();
static MARIADB: Shared<Mysql> = Shared::new();

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
    let servers = [
        postgres().map(Server::Postgres),
        mysql(&MYSQL, MysqlProduct::Mysql).map(Server::Mysql),
        mysql(&MARIADB, MysqlProduct::MariaDb).map(Server::Mysql),
    ];
    servers.into_iter().flatten().map(|server| Database::new(server, name)).collect()
}

/// The same on servers of the test's own that take few connections.
pub(crate) fn databases_with_little_room(name: &str) -> Vec<Database> {
    let few = "max_connections=20";
    let servers = [
        Postgres::start(&Setup::default().with(few)).map(|server| Server::Postgres(Arc::new(server))),
        Mysql::start(&MysqlSetup::new(MysqlProduct::MariaDb).with(few))
            .map(|server| Server::Mysql(Arc::new(server))),
    ];
    servers.into_iter().flatten().map(|server| Database::new(server, name)).collect()
}

/// The same on PostgreSQL alone.
pub(crate) fn postgres_database(name: &str) -> Option<Database> {
    Some(Database::new(Server::Postgres(postgres()?), name))
}

fn postgres() -> Option<Arc<Postgres>> {
    let mut setup = Setup::default();
    if counts_statements() {
        setup = setup.with("shared_preload_libraries=pg_stat_statements").with("pg_stat_statements.max=5000");
    }
    POSTGRES.get(|| Postgres::start(&setup))
}

/// Whether the installed PostgreSQL has the extension that counts statements.
fn counts_statements() -> bool {
    postgres_binaries().is_some_and(|binaries| {
        let libraries = binaries.parent().map(|tree| tree.join("lib/pg_stat_statements.so"));
        libraries.is_some_and(|library| library.is_file())
    })
}

fn mysql(shared: &Shared<Mysql>, product: MysqlProduct) -> Option<Arc<Mysql>> {
    shared.get(|| Mysql::start(&MysqlSetup::new(product).with("performance_schema=ON")))
}

impl Database {
    fn new(server: Server, name: &str) -> Self {
        let database = Self { server, name: name.to_owned() };
        database.server_sql(&format!("create database {name}"));
        database
    }

    fn server_sql(&self, sql: &str) -> String {
        match &self.server {
            Server::Postgres(server) => server.psql(sql),
            Server::Mysql(server) => server.sql(sql),
        }
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

    /// Runs statements in it; the rows as the server's own client prints them.
    pub(crate) fn sql(&self, sql: &str) -> String {
        match &self.server {
            Server::Postgres(server) => {
                server.client("psql", &self.name, &["-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", sql])
            }
            Server::Mysql(server) => server.sql(&format!("use {}; {sql}", self.name)),
        }
    }

    /// The same, whatever becomes of it.
    pub(crate) fn try_sql(&self, sql: &str) {
        match &self.server {
            Server::Postgres(server) => server.command("psql", &self.name).args(["-X", "-c", sql]).output(),
            Server::Mysql(server) => server.client("root", &server.password).args(["-e", sql]).output(),
        }
        .unwrap();
    }

    /// The options that name it.
    pub(crate) fn options(&self) -> Vec<String> {
        let name = &self.name;
        match &self.server {
            Server::Postgres(server) => vec![
                "--db-driver=pgsql".to_owned(),
                "--pgsql-host=127.0.0.1".to_owned(),
                format!("--pgsql-port={}", server.address.port()),
                "--pgsql-user=postgres".to_owned(),
                format!("--pgsql-db={name}"),
            ],
            Server::Mysql(server) => vec![
                "--db-driver=mysql".to_owned(),
                "--mysql-host=127.0.0.1".to_owned(),
                format!("--mysql-port={}", server.address.port()),
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

    /// Forgets the statements that it was asked so far; false, and a line that says so, where it does not count them.
    pub(crate) fn forget_statements(&self) -> bool {
        match &self.server {
            Server::Postgres(_) if !counts_statements() => {
                println!("skipped: this PostgreSQL has no pg_stat_statements");
                return false;
            }
            Server::Postgres(_) => {
                self.sql("create extension if not exists pg_stat_statements");
                self.sql("select pg_stat_statements_reset(0, (select oid from pg_database where datname = current_database()), 0)");
            }
            Server::Mysql(server) if server.product() == MysqlProduct::MariaDb => {
                self.sql(
                    "set global log_output = 'TABLE'; set global general_log = ON; truncate mysql.general_log",
                );
            }
            Server::Mysql(_) => {
                self.sql("truncate performance_schema.events_statements_summary_by_digest");
            }
        }
        true
    }

    /// The statements that the load sent since then, each with how often, as the server writes them without their values.
    pub(crate) fn statements(&self) -> String {
        match &self.server {
            Server::Postgres(_) => self.sql(
                // Line breaks do not count.
                "select sum(calls), regexp_replace(query, '\\s+', ' ', 'g') from pg_stat_statements \
                 where dbid = (select oid from pg_database where datname = current_database()) \
                   and query not ilike '%pg_stat_statements%' group by 2 order by 2",
            ),
            // Its digests leave prepared statements out, so its log is asked. Who is not connected to this database is
            // somebody else, or this test.
            Server::Mysql(server) if server.product() == MysqlProduct::MariaDb => self.sql(&format!(
                r#"select count(*),
                          regexp_replace(regexp_replace(regexp_replace(argument, "'[^']*'", "?"),
                                                        "[0-9]+", "?"), "[ \\n]+", " ") as statement
                   from mysql.general_log
                   where command_type in ('Query', 'Execute') and thread_id in (
                       select thread_id from mysql.general_log
                       where command_type = 'Connect' and argument like '% on {} using %')
                   group by statement order by statement"#,
                self.name
            )),
            // How statements are made ready, and thrown away, is each program's own affair.
            Server::Mysql(_) => self.sql(&format!(
                "select count_star, digest_text from performance_schema.events_statements_summary_by_digest \
                 where schema_name = '{}' and digest_text not like '%performance_schema%' \
                   and digest_text not like 'DEALLOCATE%' and digest_text not like 'PREPARE%' \
                 order by digest_text",
                self.name
            )),
        }
    }
}
