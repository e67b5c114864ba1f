//! A PostgreSQL for tests: in a directory of its own, on a free port of 127.0.0.1, stopped by its process id.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, TargetSettings};

/// Users with their passwords and how each has to prove itself over TCP.
const SETUP: &str = "
    SET password_encryption = 'scram-sha-256'; CREATE ROLE scram_user LOGIN PASSWORD 's:c/r@m?';
    SET password_encryption = 'md5'; CREATE ROLE md5_user LOGIN PASSWORD 'md5 word';
    CREATE ROLE cert_user LOGIN; CREATE ROLE rejected LOGIN;
    CREATE ROLE limited LOGIN CONNECTION LIMIT 2; CREATE ROLE plain LOGIN;";

const HBA: &str = "
    local all all trust
    host all scram_user 127.0.0.1/32 scram-sha-256
    host all md5_user 127.0.0.1/32 md5
    hostssl all cert_user 127.0.0.1/32 cert
    host all rejected 127.0.0.1/32 reject
    host all all 127.0.0.1/32 trust\n";

/// Ends what only PostgreSQL's absence can end.
#[macro_export]
macro_rules! server_or_skip {
    ($start:expr) => {
        match $start {
            Some(server) => server,
            None => {
                println!("skipped: no PostgreSQL binaries under /usr/lib/postgresql");
                return;
            }
        }
    };
}

pub(crate) struct Server {
    process: Child,
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
}

impl Server {
    /// One server for all tests that only read or keep to objects of their own; it ends with the last of them.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start("")?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A server of the caller's own with further settings; `None` where no PostgreSQL is installed.
    pub(crate) fn start(configuration: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let binaries = binaries()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("dyno-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        give_to_server(&directory);
        let data = directory.join("data");
        let made = as_server(&binaries.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nfsync = off\n\
             work_mem = 8MB\nmax_connections = 30\n{configuration}\n",
            directory.display()
        );
        let file = data.join("postgresql.conf");
        let defaults = fs::read_to_string(&file).unwrap();
        fs::write(&file, defaults + &settings).unwrap();
        fs::write(data.join("pg_hba.conf"), HBA).unwrap();
        let process = as_server(&binaries.join("postgres")).arg("-D").arg(&data).spawn().unwrap();
        let mut server = Self { process, directory, port };
        server.wait_until_ready();
        server.admin().execute(SETUP).unwrap();
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.settings("user=postgres", true).connect().is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "the server ended at once");
            assert!(Instant::now() < deadline, "the server did not start");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Settings for this server, by its socket or by TCP, with further parameters.
    pub(crate) fn settings(&self, further: &str, local: bool) -> TargetSettings {
        let host = if local { self.directory.display().to_string() } else { "127.0.0.1".to_owned() };
        self.named(&format!("host={host} port={} dbname=postgres {further}", self.port))
    }

    pub(crate) fn named(&self, text: &str) -> TargetSettings {
        TargetSettings::parse(text, &Environment::empty().with_home(self.directory.join("home"))).unwrap()
    }

    pub(crate) fn admin(&self) -> Connection {
        self.settings("user=postgres", true).connect().unwrap()
    }

    pub(crate) fn tcp(&self, further: &str) -> Connection {
        self.settings(further, false).connect().unwrap()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Stops at once and starts anew on the same data and port.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let data = self.directory.join("data");
        self.process = as_server(&binaries().unwrap().join("postgres")).arg("-D").arg(data).spawn().unwrap();
        self.wait_until_ready();
    }

    pub(crate) fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        // SIGQUIT: immediate shutdown, which also ends the server's children.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Those in the directory that `DYNO_TEST_POSTGRES_BIN` names, or the newest installed.
fn binaries() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("DYNO_TEST_POSTGRES_BIN") {
        return Some(PathBuf::from(named));
    }
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| version(path).is_some())
        .max_by_key(version)?;
    Some(newest.join("bin")).filter(|bin| bin.join("postgres").exists())
}

/// A server refuses to run as root, so then it runs as `nobody`.
const NOBODY: u32 = 65534;

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).current_dir("/");
    if program.ends_with("postgres") {
        command.stderr(Stdio::null());
    }
    if root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Lets the server own a file or directory, as it demands of its keys.
pub(crate) fn give_to_server(path: &Path) {
    if root() {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// Asks until it is so.
pub(crate) fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
