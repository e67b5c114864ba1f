//! The server, and what the real pgbench did on one like it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, OnceLock};

use dyno_target::connection::Connection;
use dyno_test_servers::{Pgbench, Postgres, Recorded, Setup, postgres_binaries, succeed};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};
use dyno_workload::pgbench::initialize::Initialization;

use crate::pgbench::{Did, recordings};

/// Each module has its own.
pub(crate) type Recordings = LazyLock<Recorded>;

pub(crate) fn recorded_as(name: &str) -> Recorded {
    recordings("initialize", name)
}

/// The major version of the server with which was recorded: its messages, and how it stores things, differ from those of
/// others.
const SERVER_VERSION: &str = "15";

/// Whether a version's statements and messages are those that dyno has. Before 17 the small tables were filled by INSERT,
/// and progress did not name the table.
pub(crate) fn speaks_as_we_do(version: u32) -> bool {
    version >= 18
}

/// What was printed on standard error, and whether it ended well.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) stderr: String,
    pub(crate) succeeded: bool,
}

impl Said {
    /// As it is recorded.
    pub(crate) fn lines(&self) -> Vec<String> {
        let end = if self.succeeded { "(succeeded)" } else { "(failed)" };
        self.stderr.split('\n').map(str::to_owned).chain([end.to_owned()]).collect()
    }
}

/// What was said, and the statements that reached the server.
pub(crate) fn did(said: &Said, statements: &[String]) -> Did {
    Did::from([("messages", said.lines()), ("statements", statements.to_vec())])
}

/// A tablespace, and one whose name has to be quoted.
pub(crate) const DATA_SPACE: &str = "initialize_data";
pub(crate) const INDEX_SPACE: &str = "initialize_Index";

/// Databases on the server that tests share. In each of them every statement is logged.
pub(crate) struct Server(Arc<Postgres>);

/// The name of a test's database, among those of all suites.
pub(crate) fn database(name: &str) -> String {
    format!("initialize_{name}")
}

impl Server {
    /// `None`, after saying so, where this machine has none of the version with which was recorded.
    pub(crate) fn get() -> Option<Self> {
        static SPACES: OnceLock<()> = OnceLock::new();
        // What is compared is what pgbench has left, whenever it is looked at.
        let server = Postgres::shared(&Setup::default().with("autovacuum=off"))?;
        if !postgres_binaries()?.parent()?.ends_with(SERVER_VERSION) {
            println!(
                "skipped: what pgbench does on PostgreSQL {SERVER_VERSION} is recorded, and this is another"
            );
            return None;
        }
        SPACES.get_or_init(|| {
            for space in [DATA_SPACE, INDEX_SPACE] {
                let mut psql = server.command("psql", "postgres");
                psql.env("PGOPTIONS", "-c allow_in_place_tablespaces=on");
                succeed(psql.args(["-X", "-q", "-c", &format!("create tablespace \"{space}\" location ''")]));
            }
        });
        Some(Self(server))
    }

    /// Makes a database and opens it. `preparation` is run in it by psql; its statements are not among those of
    /// [`Server::statements`].
    pub(crate) fn create(&self, name: &str, preparation: &str) -> Connection {
        let database = database(name);
        let create = format!("create database {database}");
        let log = format!("alter database {database} set log_statement = 'all'");
        let made = self.0.client(
            "psql",
            "postgres",
            &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", &create, "-c", &log],
        );
        assert_eq!(made, "");
        if !preparation.is_empty() {
            self.psql(name, preparation);
        }
        let login = Login {
            user: "postgres".to_owned(),
            password: None,
            database,
            parameters: Vec::new(),
            tls: Tls::Disable,
            channel_binding: ChannelBinding::Disable,
        };
        let endpoint = Endpoint {
            address: Address::Tcp(self.0.address),
            login: Arc::new(login),
            wire: Wire::Postgres,
            connect_timeout: None,
        };
        Connection::open(&endpoint).unwrap()
    }

    /// Runs commands by psql, without their being logged; returns what it prints, unaligned.
    pub(crate) fn psql(&self, name: &str, commands: &str) -> String {
        let mut command = self.0.command("psql", &database(name));
        command.env("PGOPTIONS", "-c log_statement=none");
        succeed(command.args(["-X", "-A", "-v", "ON_ERROR_STOP=1", "-c", commands]))
    }

    /// Ends all sessions in a database.
    pub(crate) fn end_sessions(&self, name: &str) {
        let database = database(name);
        self.0.psql(&format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}'"
        ));
    }

    /// Runs a pgbench in a database.
    pub(crate) fn pgbench(&self, pgbench: &Pgbench, name: &str, arguments: &[&str]) -> Said {
        let mut command = Command::new(&pgbench.program);
        command.current_dir("/").env_clear().args(arguments).envs(self.environment(name));
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Said { stderr: timeless(&stderr), succeeded: output.status.success() }
    }

    /// The same with a terminal for its output, which makes `\r\n` of each `\n`.
    pub(crate) fn pgbench_on_terminal(&self, pgbench: &Pgbench, name: &str, arguments: &str) -> String {
        let script = Path::new("/usr/bin/script");
        assert!(script.is_file(), "no {} to give pgbench a terminal", script.display());
        let mut terminal = Command::new(script);
        let command = format!("'{}' {arguments}", pgbench.program.display());
        terminal.args(["-q", "-e", "-c", &command, "/dev/null"]).current_dir("/").env_clear();
        terminal.envs(self.environment(name));
        succeed(terminal.stdin(Stdio::null())).replace("\r\n", "\n")
    }

    fn environment(&self, name: &str) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let command = self.0.command("psql", &database(name));
        command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect()
    }

    /// The statements that reached a database, in order, with their parameters in place.
    pub(crate) fn statements(&self, name: &str) -> Vec<String> {
        let prefix = format!("{}|", database(name));
        let (mut statements, mut ours) = (Vec::<String>::new(), false);
        for line in self.0.log().lines() {
            if let Some(more) = line.strip_prefix('\t') {
                if let (true, Some(last)) = (ours, statements.last_mut()) {
                    last.push('\n');
                    last.push_str(more);
                }
                continue;
            }
            // Behind the database stands the application.
            let told = line.strip_prefix(&prefix).and_then(|line| Some(line.split_once('|')?.1));
            let statement = told.and_then(|line| {
                line.strip_prefix("LOG:  statement: ")
                    .or_else(|| line.strip_prefix("LOG:  execute <unnamed>: "))
            });
            let parameter = told.and_then(|line| line.strip_prefix("DETAIL:  parameters: $1 = "));
            if let (Some(value), Some(last)) = (parameter, statements.last_mut()) {
                *last = last.replace("$1", value);
            }
            ours = statement.is_some();
            statements.extend(statement.map(str::to_owned));
        }
        statements
    }
}

/// Runs ours, as `dyno pgbench` will print it.
pub(crate) fn run_ours(options: &Initialization, connection: &mut Connection) -> Said {
    let mut stderr = String::new();
    let outcome = options.run(connection, false, &AtomicBool::new(false), &mut |text| stderr.push_str(text));
    if let Err(error) = &outcome {
        stderr.push_str(&format!("pgbench: error: {error}\n"));
        if let Some(detail) = error.detail() {
            stderr.push_str(&format!("pgbench: detail: {detail}\n"));
        }
    }
    Said { stderr: timeless(&stderr), succeeded: outcome.is_ok() }
}

/// With `T s` for each time, and without what follows from how long something took: blanks where a line covers a longer
/// one.
pub(crate) fn timeless(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).collect::<Vec<_>>();
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        let next_is_unit = words
            .get(at + 1)
            .is_some_and(|next| matches!(next.as_bytes(), [b's', rest, ..] if !rest.is_ascii_alphanumeric()));
        match word.trim_end().parse::<f64>() {
            Ok(_) if next_is_unit => out.push_str("T "),
            _ => out.push_str(word),
        }
    }
    let line = |line: &str| {
        let end = line.len() - line.trim_end_matches(['\r', '\n']).len();
        let (line, end) = line.split_at(line.len() - end);
        format!("{}{end}", line.trim_end_matches(' '))
    };
    out.split_inclusive(['\r', '\n']).map(line).collect()
}

/// Without the lines that tell, every five seconds, how far a quiet pgbench is; the last one stays.
pub(crate) fn at_the_end(text: &str) -> String {
    let on_the_way = |line: &str| line.contains(" tuples (") && !line.contains("(100%)");
    text.split_inclusive(['\r', '\n']).filter(|line| !on_the_way(line)).collect()
}

/// Panics where a line on a terminal does not cover the one that was written there before.
pub(crate) fn assert_covering(text: &str) {
    let mut before = 0;
    for line in text.split_inclusive(['\r', '\n']) {
        let shown = line.trim_end_matches(['\r', '\n']);
        assert!(shown.len() >= before, "{line:?} leaves something of what was there in {text:?}");
        before = if line.ends_with('\r') { shown.trim_end().len() } else { 0 };
    }
}
