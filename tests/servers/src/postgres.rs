//! A PostgreSQL of the test's own.

use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::command::succeed;
use crate::user::{User, become_user, give_to_server, unprivileged_user};

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
    process: Child,
    binaries: PathBuf,
    starter: Option<Starter>,
    directory: TempDir,
    /// Where it listens, on 127.0.0.1.
    pub address: SocketAddr,
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
    /// Starts a server; `None`, and a line that says so, where this machine has no PostgreSQL.
    #[must_use]
    pub fn start(setup: &Setup) -> Option<Self> {
        let Some(binaries) = postgres_binaries() else {
            println!("skipped: no PostgreSQL in /usr/lib/postgresql");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(directory.path());
        let data = directory.path().join("data");
        let mut initdb = Command::new(binaries.join("initdb"));
        become_user(&mut initdb, unprivileged_user());
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]);
        succeed(initdb.arg("-D").arg(&data));
        configure(&data, setup);
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = spawn(setup.starter, &binaries, directory.path(), address.port());
        let mut server = Self { process, binaries, starter: setup.starter, directory, address };
        server.wait_until_ready();
        if !setup.sql.is_empty() {
            server.psql(&setup.sql);
        }
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        for _ in 0..600 {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("postgres ended ({status}): {}", self.log());
            }
            let mut ready = self.command("pg_isready", "postgres");
            if TcpStream::connect(self.address).is_ok() && ready.arg("-q").status().unwrap().success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("postgres does not answer: {}", self.log());
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// The server's own directory: data, log, Unix socket.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Process id of the postmaster.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
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
        let path = self.directory.path().join(name);
        fs::copy(from, &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        give_to_server(&path);
        path
    }

    /// Ends the server at once, as a crash of its machine would; its sessions end with it.
    pub fn crash(&mut self) {
        kill_process(Pid::from_child(&self.process), Signal::QUIT).unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again after [`Postgres::crash`], on the same port and data.
    pub fn restart(&mut self) {
        self.process = spawn(self.starter, &self.binaries, self.directory.path(), self.address.port());
        self.wait_until_ready();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        // SIGINT is the fast shutdown: sessions are ended, nothing is left running.
        if kill_process(Pid::from_child(&self.process), Signal::INT).is_ok() {
            let _ = self.process.wait();
        }
    }
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
