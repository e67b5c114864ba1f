//! The server that all tests share, and the databases in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dyno_target::connection::{Connection, Row};
use dyno_test_servers::{Postgres, Setup, Shared};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};

static SERVER: Shared<Postgres> = Shared::new();

/// A database of the test's own on the shared server.
pub(crate) struct Database {
    server: Arc<Postgres>,
    name: String,
    /// For what the test itself asks; to start psql each time would take longer than what is tested.
    connection: Mutex<Connection>,
}

/// Makes a database; `None`, and a line that says so, where this machine has no PostgreSQL.
pub(crate) fn database(name: &str) -> Option<Database> {
    let server = SERVER.get(|| Postgres::start(&Setup::default().with("log_line_prefix=%d|%a|")))?;
    server.psql(&format!("create database {name}"));
    let connection = Mutex::new(connect(&server, name));
    Some(Database { server, name: name.to_owned(), connection })
}

fn connect(server: &Postgres, database: &str) -> Connection {
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
    })
    .unwrap()
}

/// The same with pgbench's own tables at scale 1.
pub(crate) fn database_with_tables(name: &str) -> Option<Database> {
    let database = database(name)?;
    let _ = database.server.client("pgbench", name, &["-i", "-q", "-I", "dtGp"]);
    Some(database)
}

impl Database {
    /// Runs statements; returns the values, a line for each row.
    pub(crate) fn run(&self, sql: &str) -> String {
        let rows = self.connection.lock().unwrap().query(sql).unwrap();
        let line =
            |row: &Row| row.iter().map(|(_, value)| value.unwrap_or("NULL")).collect::<Vec<_>>().join("|");
        rows.iter().map(|row| line(row) + "\n").collect()
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
