//! The server that all tests share, and the databases in it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use dyno_target::connection::{Connection, TextRow};
use dyno_test_servers::{Postgres, Setup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};

use crate::case::case;
use crate::program::Program;

/// What the names of all databases and roles of these tests begin with: the server has those of others, too.
pub(crate) const PREFIX: &str = "pgbench_";

/// A database of the test's own on the shared server.
pub(crate) struct Database {
    server: Arc<Postgres>,
    name: String,
    /// For what the test itself asks; to start psql each time would take longer than what is tested.
    connection: Mutex<Connection>,
}

/// Makes a database; `None`, and a line that says so, where this machine has no PostgreSQL.
pub(crate) fn database(name: &str) -> Option<Database> {
    made(name, "template template1")
}

/// The same with pgbench's own tables at scale 1.
pub(crate) fn database_with_tables(name: &str) -> Option<Database> {
    static WITH_TABLES: OnceLock<Option<String>> = OnceLock::new();
    let to_copy = WITH_TABLES.get_or_init(|| {
        let database = database("tables_to_copy")?;
        let filled = case("-i -q -I dtGp").run(&Program::dyno_alone(), &database);
        assert_eq!(filled.code, Some(0), "{}", filled.stderr);
        Some(database.name)
    });
    made(name, &format!("template {}", to_copy.as_ref()?))
}

/// The same in another encoding.
pub(crate) fn database_in_latin1(name: &str) -> Option<Database> {
    made(name, "encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'")
}

fn made(name: &str, how: &str) -> Option<Database> {
    let server = Postgres::shared(&Setup::default())?;
    let name = format!("{PREFIX}{name}");
    let mut administration = connect(&server, "postgres");
    // Of an earlier process of the same run, that is.
    administration.query(&format!("drop database if exists {name} with (force)")).unwrap();
    administration.query(&format!("create database {name} {how}")).unwrap();
    let connection = Mutex::new(connect(&server, &name));
    Some(Database { server, name, connection })
}

/// A session of the superuser.
pub(crate) fn connect(server: &Postgres, database: &str) -> Connection {
    let login = Login {
        user: "postgres".to_owned(),
        password: None,
        database: database.to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Disable,
    };
    Connection::open(&Endpoint {
        address: Address::Tcp(server.address),
        login: Arc::new(login),
        wire: Wire::Postgres,
        connect_timeout: None,
    })
    .unwrap()
}

impl Database {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The server's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The server's major version.
    pub(crate) fn version(&self) -> u32 {
        version(&self.connection.lock().unwrap())
    }

    /// What was printed, with a word for the server's port.
    pub(crate) fn without_port(&self, text: &str) -> String {
        without_port(&self.server, text)
    }

    /// Runs statements; returns the values, a line for each row.
    pub(crate) fn run(&self, sql: &str) -> String {
        let rows = self.connection.lock().unwrap().query(sql).unwrap();
        let line = |row: &TextRow| {
            row.iter().map(|(_, value)| value.unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(|row| line(row) + "\n").collect()
    }

    /// Waits until the condition `sql` holds.
    pub(crate) fn wait_until(&self, sql: &str) {
        wait_until(&mut self.connection.lock().unwrap(), sql);
    }

    /// What a program needs to reach this database.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        environment(&self.server, &self.name)
    }

    /// The lines that the server logged of `application`'s sessions in this database, without their prefix. Lines of
    /// one message stay together.
    pub(crate) fn logged(&self, application: &str) -> Vec<String> {
        let prefix = format!("{}|{application}|", self.name);
        let mut lines = Vec::<String>::new();
        let mut ours = false;
        for line in self.server.log().lines() {
            match (line.strip_prefix(&prefix), line.strip_prefix('\t')) {
                (Some(line), _) => {
                    lines.push(line.to_owned());
                    ours = true;
                }
                (None, Some(more)) if ours => {
                    if let Some(last) = lines.last_mut() {
                        last.push('\n');
                        last.push_str(more);
                    }
                }
                (None, Some(_)) => {}
                (None, None) => ours = false,
            }
        }
        lines
    }
}

/// Waits until the condition `sql` holds. Only a defect takes longer than this waits, however busy the machine is.
pub(crate) fn wait_until(connection: &mut Connection, sql: &str) {
    for _ in 0..30_000 {
        if connection.query_value::<String>(sql).unwrap().as_deref() == Some("t") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never came to be: {sql}");
}

/// The major version of a session's server.
pub(crate) fn version(connection: &Connection) -> u32 {
    let told = connection.wire().unwrap().parameter("server_version").unwrap();
    told.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// What was printed, with a word for the server's port.
pub(crate) fn without_port(server: &Postgres, text: &str) -> String {
    let port = server.address.port();
    ["port ", "port: ", ".s.PGSQL."].into_iter().fold(text.to_owned(), |text, before| {
        text.replace(&format!("{before}{port}"), &format!("{before}PORT"))
    })
}

/// What a program needs to reach a database of a server.
pub(crate) fn environment(server: &Postgres, database: &str) -> Vec<(String, String)> {
    let command = server.command("psql", database);
    let set = command.get_envs().filter_map(|(name, value)| {
        Some((name.to_str().unwrap().to_owned(), value?.to_str().unwrap().to_owned()))
    });
    set.collect()
}

/// A program that the tests need beside the servers.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let found =
        ["/usr/bin", "/bin"].map(|place| Path::new(place).join(program)).into_iter().find(|it| it.is_file());
    if found.is_none() {
        println!("skipped: no {program} on this machine");
    }
    found
}
