//! A PostgreSQL of the test's own.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::cache::keep;
use crate::command::{attempt, succeed};
use crate::patience::Patience;
use crate::port::Port;
use crate::shared::{Place, Shareable, Shared};
use crate::user::{User, become_user, copy_for_server, give_to_server, unprivileged_user};

/// From the program, the user it has to run as and the server's directory: what starts it.
pub type Starter = fn(&Path, User, &Path) -> Command;

/// How a server is set up.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Further settings, `name=value`, as the configuration file will have them.
    pub settings: Vec<String>,
    /// The whole of pg_hba.conf; `None`: everyone is trusted.
    pub hba: Option<String>,
    /// SQL run as the superuser before the test gets the server.
    pub sql: String,
    /// A command that starts the server instead of `postgres` itself (to limit it, say); the arguments follow.
    pub starter: Option<Starter>,
}

impl Setup {
    /// Adds a setting, `name=value`.
    #[must_use]
    pub fn with(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }
}

/// A running server. Superuser `postgres`, database `postgres`; also on a Unix socket in [`Postgres::directory`].
#[derive(Debug)]
pub struct Postgres {
    /// `None`: another process of this run started it, and shares it.
    own: Option<Own>,
    pid: u32,
    binaries: PathBuf,
    directory: PathBuf,
    /// Where it listens, on 127.0.0.1.
    pub address: SocketAddr,
}

/// What goes with the server of a process that started it.
#[derive(Debug)]
struct Own {
    process: Child,
    starter: Option<Starter>,
    _directory: TempDir,
    _port: Port,
}

/// The newest installation's programs under /usr/lib/postgresql, pgbench among them; `None` where there is none.
#[must_use]
pub fn postgres_binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let complete = versions.map(|entry| entry.path()).filter(|path| path.join("bin/pgbench").is_file());
    Some(complete.max_by_key(|path| number(path))?.join("bin"))
}

impl Postgres {
    /// The server with these settings that all tests of a run share: each keeps to databases of its own, with names that
    /// begin with that of its suite, and changes nothing else. It has room for many connections, its log names the
    /// database and the application of each line, and it counts statements where the extension for that is installed.
    #[must_use]
    pub fn shared(setup: &Setup) -> Option<Arc<Self>> {
        static SHARED: Shared<Postgres> = Shared::new();
        assert!(setup.starter.is_none(), "who limits a server has one of his own");
        let mut setup = setup.clone();
        let mut settings = vec!["max_connections=400".to_owned(), "log_line_prefix=%d|%a|".to_owned()];
        if counts_statements() {
            settings.push("shared_preload_libraries=pg_stat_statements".to_owned());
            settings.push("pg_stat_statements.max=50000".to_owned());
        }
        settings.append(&mut setup.settings);
        setup.settings = settings;
        SHARED.get("postgres", &setup)
    }

    /// Starts a server of the test's own; `None`, and a line that says so, where this machine has no PostgreSQL.
    #[must_use]
    pub fn start(setup: &Setup) -> Option<Self> {
        let Some(binaries) = postgres_binaries() else {
            println!("skipped: no PostgreSQL in /usr/lib/postgresql");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(directory.path());
        let data = directory.path().join("data");
        copy_for_server(&data_to_copy(&binaries), &data);
        configure(&data, setup);
        let port = Port::reserve();
        let address = port.address;
        let process = spawn(setup.starter, &binaries, directory.path(), address.port());
        let (pid, path) = (process.id(), directory.path().to_owned());
        let own = Own { process, starter: setup.starter, _directory: directory, _port: port };
        let mut server = Self { own: Some(own), pid, binaries, directory: path, address };
        server.wait_until_ready();
        if !setup.sql.is_empty() {
            server.psql(&setup.sql);
        }
        Some(server)
    }

    /// It writes into its directory that it is; nobody else's answer on the port can be taken for its own.
    fn wait_until_ready(&mut self) {
        let mut patience = Patience::new(Duration::from_millis(10));
        while !self.is_ready() {
            if let Some(status) = self.own().process.try_wait().unwrap() {
                panic!("postgres ended ({status}): {}", self.log());
            }
            assert!(patience.pause(), "postgres is not ready: {}", self.log());
        }
    }

    fn is_ready(&self) -> bool {
        let told = fs::read_to_string(told_by_postmaster(&self.directory)).unwrap_or_default();
        told.lines().nth(7).is_some_and(|status| status.trim_end() == "ready")
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// The server's own directory: data, log, Unix socket.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Process id of the postmaster.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn own(&mut self) -> &mut Own {
        self.own
            .as_mut()
            .unwrap_or_else(|| panic!("this server is shared: it is started and stopped by nobody"))
    }

    /// A client program of the same installation, set up to reach `database`.
    #[must_use]
    pub fn command(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.address.port().to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", database);
        command
    }

    /// Runs a client program against `database`; returns what it printed.
    #[must_use]
    pub fn client(&self, program: &str, database: &str, arguments: &[&str]) -> String {
        succeed(self.command(program, database).args(arguments))
    }

    /// Runs SQL as the superuser; returns the values, a line for each row.
    pub fn psql(&self, sql: &str) -> String {
        self.client("psql", "postgres", &["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql])
    }

    /// Puts a file where the server can read it, and nobody else.
    #[must_use]
    pub fn give(&self, name: &str, from: &Path) -> PathBuf {
        let path = self.directory.join(name);
        fs::copy(from, &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        give_to_server(&path);
        path
    }

    /// Ends the server at once, as a crash of its machine would; its sessions end with it.
    pub fn crash(&mut self) {
        let process = &mut self.own().process;
        kill_process(Pid::from_child(process), Signal::QUIT).unwrap();
        process.wait().unwrap();
    }

    /// Starts it again after [`Postgres::crash`], on the same port and data.
    pub fn restart(&mut self) {
        // What one says that was killed outright is not true any more.
        let _ = fs::remove_file(told_by_postmaster(&self.directory));
        let (binaries, directory, port) =
            (self.binaries.clone(), self.directory.clone(), self.address.port());
        let own = self.own();
        own.process = spawn(own.starter, &binaries, &directory, port);
        self.pid = own.process.id();
        self.wait_until_ready();
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        // The immediate shutdown: its processes end, and nothing is written that goes with the directory anyway.
        if kill_process(Pid::from_child(&self.process), Signal::QUIT).is_ok() {
            let _ = self.process.wait();
        }
    }
}

impl Shareable for Postgres {
    type Setup = Setup;
    const SIGNAL: &'static str = "QUIT";

    fn start(setup: &Setup) -> Option<Self> {
        Self::start(setup)
    }

    fn attach(_: &Setup, place: Place) -> Self {
        let Place { pid, address, directory } = place;
        let binaries = postgres_binaries().unwrap();
        Self { own: None, pid, binaries, directory, address }
    }

    fn place(&self) -> Place {
        Place { pid: self.pid, address: self.address, directory: self.directory.clone() }
    }
}

/// Whether the installed PostgreSQL has the extension that counts statements.
#[must_use]
pub fn counts_statements() -> bool {
    postgres_binaries().is_some_and(|binaries| {
        let libraries = binaries.parent().map(|tree| tree.join("lib/pg_stat_statements.so"));
        libraries.is_some_and(|library| library.is_file())
    })
}

/// The data directory that each server gets a copy of: to make one takes longer than all the rest of a start.
fn data_to_copy(binaries: &Path) -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        // initdb (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
        let version = succeed(Command::new(binaries.join("initdb")).arg("--version"));
        let version = version.split_whitespace().nth(2).unwrap();
        let kept = keep(&format!("postgres-{version}"), |into| {
            let made = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
            give_to_server(made.path());
            let data = made.path().join("data");
            let mut initdb = Command::new(binaries.join("initdb"));
            become_user(&mut initdb, unprivileged_user());
            initdb.args(["--no-sync", "--auth=trust", "--username=postgres"]);
            attempt(initdb.args(["--encoding=UTF8", "--locale=C", "-D"]).arg(&data))?;
            copy_for_server(&data, &into.join("data"));
            Ok(())
        });
        kept.unwrap_or_else(|why| panic!("no data directory of PostgreSQL's: {why}")).join("data")
    };
    MADE.get_or_init(make).clone()
}

/// The file in which the postmaster says, in its eighth line, how far it is.
fn told_by_postmaster(directory: &Path) -> PathBuf {
    directory.join("data/postmaster.pid")
}

fn configure(data: &Path, setup: &Setup) {
    let mut file = fs::File::options().append(true).open(data.join("postgresql.conf")).unwrap();
    for setting in
        ["fsync=off", "max_connections=60"].into_iter().chain(setup.settings.iter().map(String::as_str))
    {
        let (name, value) = setting.split_once('=').unwrap();
        writeln!(file, "{} = '{}'", name.trim(), value.trim().replace('\'', "''")).unwrap();
    }
    if let Some(hba) = &setup.hba {
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
    }
}

fn spawn(starter: Option<Starter>, binaries: &Path, directory: &Path, port: u16) -> Child {
    let (postgres, user) = (binaries.join("postgres"), unprivileged_user());
    let mut command = match starter {
        Some(starter) => starter(&postgres, user, directory),
        None => {
            let mut command = Command::new(&postgres);
            become_user(&mut command, user);
            command
        }
    };
    command.arg("-D").arg(directory.join("data")).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"]);
    command.arg(directory);
    let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
