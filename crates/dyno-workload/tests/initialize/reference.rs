//! The server, and the pgbench programs that are compared with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dyno_target::connection::Connection;
use dyno_test_servers::{Ending, Pgbench, Postgres, Setup, Shared, give_to_server, succeed};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};
use dyno_workload::pgbench::initialize::Initialization;

/// A pgbench that is there.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    program: PathBuf,
    /// Its major version.
    pub(crate) version: u32,
}

impl Reference {
    /// All that can be compared with.
    pub(crate) fn all() -> Vec<Self> {
        let reference = |Pgbench { program, version }| Self { program, version };
        Pgbench::all().into_iter().map(reference).collect()
    }

    /// Whether its statements and messages are those that dyno has. Before 17 the small tables were filled by INSERT,
    /// and progress did not name the table.
    pub(crate) fn speaks_as_we_do(&self) -> bool {
        self.version >= 18
    }
}

/// What was printed on standard error, and whether it ended well.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) stderr: String,
    pub(crate) succeeded: bool,
}

impl Ending for Server {
    fn pid(&self) -> u32 {
        self.0.pid()
    }

    fn directory(&self) -> &Path {
        self.0.directory()
    }

    fn signal() -> &'static str {
        Postgres::signal()
    }
}

/// A server that logs each statement, with the tablespaces `data_space` and `"Index Space"`.
pub(crate) struct Server(Postgres);

static SERVER: Shared<Server> = Shared::new();

impl Server {
    pub(crate) fn get() -> Option<Arc<Self>> {
        SERVER.get(|| {
            // What is compared is what pgbench has left, whenever it is looked at.
            let setup = Setup::default().with("autovacuum=off");
            let setup = setup.with("log_statement=all").with("log_line_prefix=%d|");
            let server = Postgres::start(&setup)?;
            for (name, directory) in [("data_space", "data_space"), ("\"Index Space\"", "index_space")] {
                let path = server.directory().join(directory);
                std::fs::create_dir(&path).unwrap();
                give_to_server(&path);
                server.psql(&format!("create tablespace {name} location '{}'", path.display()));
            }
            Some(Self(server))
        })
    }

    /// Makes a database and opens it. `preparation` is run in it by psql; its statements are not among those of
    /// [`Server::statements`].
    pub(crate) fn create(&self, database: &str, preparation: &str) -> Connection {
        self.0.psql(&format!("create database {database}"));
        if !preparation.is_empty() {
            self.psql(database, preparation);
        }
        let login = Login {
            user: "postgres".to_owned(),
            password: None,
            database: database.to_owned(),
            parameters: Vec::new(),
            tls: Tls::Disable,
            channel_binding: ChannelBinding::Disable,
        };
        let endpoint =
            Endpoint { address: Address::Tcp(self.0.address), login: Arc::new(login), wire: Wire::Postgres };
        Connection::open(&endpoint).unwrap()
    }

    /// Runs commands by psql, without their being logged.
    pub(crate) fn psql(&self, database: &str, commands: &str) -> String {
        let mut command = self.0.command("psql", database);
        command.env("PGOPTIONS", "-c log_statement=none").args([
            "-X",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            commands,
        ]);
        succeed(&mut command)
    }

    /// Runs a pgbench in `database`.
    pub(crate) fn pgbench(&self, reference: &Reference, database: &str, arguments: &[&str]) -> Said {
        let mut pgbench = Command::new(&reference.program);
        pgbench.current_dir("/").env_clear().args(arguments);
        pgbench.envs(self.0.command("psql", database).get_envs().filter_map(|(k, v)| Some((k, v?))));
        let output = pgbench.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Said { stderr: timeless(&stderr), succeeded: output.status.success() }
    }

    /// Runs a pgbench in `database` with a terminal for its output; `None` where no program can give it one. Its
    /// terminal makes `\r\n` of each `\n`.
    pub(crate) fn pgbench_on_terminal(
        &self,
        reference: &Reference,
        database: &str,
        arguments: &str,
    ) -> Option<String> {
        let script = Path::new("/usr/bin/script");
        if !script.is_file() {
            println!("skipped: no /usr/bin/script to give pgbench a terminal");
            return None;
        }
        let mut terminal = Command::new(script);
        let command = format!("{} {arguments}", reference.program.display());
        terminal.args(["-q", "-e", "-c", &command, "/dev/null"]).current_dir("/").env_clear();
        terminal.envs(self.0.command("psql", database).get_envs().filter_map(|(k, v)| Some((k, v?))));
        Some(succeed(terminal.stdin(Stdio::null())).replace("\r\n", "\n"))
    }

    /// The statements that reached `database`, in order, with their parameters in place.
    pub(crate) fn statements(&self, database: &str) -> Vec<String> {
        let prefix = format!("{database}|");
        let (mut statements, mut ours) = (Vec::<String>::new(), false);
        for line in self.0.log().lines() {
            if let Some(more) = line.strip_prefix('\t') {
                if let (true, Some(last)) = (ours, statements.last_mut()) {
                    last.push('\n');
                    last.push_str(more);
                }
                continue;
            }
            let statement = line.strip_prefix(&prefix).and_then(|line| {
                line.strip_prefix("LOG:  statement: ")
                    .or_else(|| line.strip_prefix("LOG:  execute <unnamed>: "))
            });
            let parameter =
                line.strip_prefix(&prefix).and_then(|line| line.strip_prefix("DETAIL:  parameters: $1 = "));
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
