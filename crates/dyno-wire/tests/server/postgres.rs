//! A PostgreSQL of the tests' own: on 127.0.0.1 with a free port, in a temporary directory, as an unprivileged
//! user when root, stopped by process id when the last test lets go of it.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Users are named for how they must log in; all have the password `right`.
const HBA: &str = "
host    all postgres,trusted 127.0.0.1/32 trust
host    all clear            127.0.0.1/32 password
host    all md5              127.0.0.1/32 md5
hostssl all scram_tls        127.0.0.1/32 scram-sha-256
host    all scram            127.0.0.1/32 scram-sha-256
";

const ROLES: &str = "
CREATE ROLE trusted LOGIN;
SET password_encryption = 'md5';
CREATE ROLE md5 LOGIN PASSWORD 'right';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear LOGIN PASSWORD 'right';
CREATE ROLE scram LOGIN PASSWORD 'right';
CREATE ROLE scram_tls LOGIN PASSWORD 'right';
";

/// A running server.
pub(crate) struct Postgres {
    process: Child,
    directory: PathBuf,
    pub(crate) address: SocketAddr,
}

static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The server that all tests share which do not change its settings. `None`, and a line that says so, if there
/// is no PostgreSQL on this machine.
pub(crate) fn shared() -> Option<Arc<Postgres>> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Postgres::start(&[])?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

impl Postgres {
    /// Starts a server with further `settings`, `name=value`.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let Some(binaries) = binaries() else {
            println!("skipped: no PostgreSQL binaries under /usr/lib/postgresql");
            return None;
        };
        let started = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("dyno-wire-{}-{started}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let owner = owner();
        if let Some((user, group)) = owner {
            chown(&directory, Some(user), Some(group)).unwrap();
        }
        let data = directory.join("data");
        let mut initdb = command(&binaries.join("initdb"), owner);
        initdb.args(["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
        run(initdb.arg("--pgdata").arg(&data));
        fs::write(data.join("pg_hba.conf"), HBA).unwrap();

        let address = free_address();
        let mut postgres = command(&binaries.join("postgres"), owner);
        postgres.arg("-D").arg(&data).arg("-h127.0.0.1").arg(format!("-p{}", address.port()));
        for setting in ["unix_socket_directories=", "fsync=off", "max_connections=40"].iter().chain(settings)
        {
            postgres.args(["-c", setting]);
        }
        let log = fs::File::create(directory.join("log")).unwrap();
        let process = postgres.stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let mut server = Self { process, directory, address };
        server.wait_until_ready(&binaries);
        server.psql(&binaries, ROLES);
        Some(server)
    }

    fn wait_until_ready(&mut self, binaries: &Path) {
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!(
                    "postgres ended ({status}): {}",
                    fs::read_to_string(self.directory.join("log")).unwrap()
                );
            }
            let mut ready = command(&binaries.join("pg_isready"), None);
            ready.args(["-q", "-h127.0.0.1", "-p", &self.address.port().to_string()]);
            if TcpStream::connect(self.address).is_ok() && ready.status().unwrap().success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn psql(&self, binaries: &Path, sql: &str) {
        let port = self.address.port().to_string();
        let mut psql = command(&binaries.join("psql"), None);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h127.0.0.1", "-Upostgres", "-p", &port, "-c", sql]);
        run(&mut psql);
    }

    /// Puts a file where the server reads it, and nobody else.
    pub(crate) fn give(&self, name: &str, from: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.directory.join(name);
        fs::copy(from, &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = owner() {
            chown(&path, Some(user), Some(group)).unwrap();
        }
        path
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT is PostgreSQL's fast shutdown.
        let asked = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Runs a command to its end; the test fails with what it said if it fails.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The newest installed version's programs.
fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let newest = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max()?;
    Some(PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin")))
}

fn command(program: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// User and group that the server runs as: when we are root, which PostgreSQL refuses, those of `postgres` or
/// `nobody`.
fn owner() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    ["postgres", "nobody"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map_while(|number| number.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    })
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
