//! A server of the test's own that speaks MySQL's protocol: MySQL, MariaDB or OceanBase seekdb.

mod mysqld;
mod product;
mod seekdb;

use std::ffi::OsString;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::certificate;
use crate::command::{attempt, succeed};
use crate::patience::Patience;
use crate::port::Port;
use crate::shared::{Place, Shareable, Shared};
use crate::user::{become_user, copy_for_server, give_to_server, unprivileged_user};

use product::Installation;
pub use product::MysqlProduct;

/// The pause before a server is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct MysqlSetup {
    pub product: MysqlProduct,
    /// Further settings, `name=value`: options of `mysqld`, parameters of seekdb.
    pub settings: Vec<String>,
    /// Whether it offers TLS, with a certificate for `localhost` and 127.0.0.1 of [`Mysql::authority`].
    pub tls: bool,
    /// Users beside `root`.
    pub users: Vec<MysqlUser>,
    /// SQL run as `root` in the database `test` before the test gets the server.
    pub sql: String,
}

/// A user who may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MysqlUser {
    pub name: String,
    pub password: String,
    /// How the server checks the password, in its own words: `caching_sha2_password`, `ed25519`, …
    pub plugin: String,
}

impl MysqlSetup {
    /// Nothing but the server, without TLS.
    #[must_use]
    pub fn new(product: MysqlProduct) -> Self {
        Self { product, settings: Vec::new(), tls: false, users: Vec::new(), sql: String::new() }
    }

    /// Adds a setting, `name=value`.
    #[must_use]
    pub fn with(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// Has it offer TLS, which seekdb cannot.
    #[must_use]
    pub fn with_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Adds a user, with the name of the plugin that checks the password.
    #[must_use]
    pub fn with_user(mut self, name: &str, password: &str, plugin: &str) -> Self {
        let (name, password, plugin) = (name.to_owned(), password.to_owned(), plugin.to_owned());
        self.users.push(MysqlUser { name, password, plugin });
        self
    }

    /// Adds SQL to run before the test gets the server.
    #[must_use]
    pub fn with_sql(mut self, sql: &str) -> Self {
        self.sql.push_str(sql);
        self.sql.push_str(";\n");
        self
    }
}

/// A running server, with the user `root`, who may come from everywhere, and the database `test`.
#[derive(Debug)]
pub struct Mysql {
    /// `None`: another process of this run started it, and shares it.
    own: Option<Own>,
    pid: u32,
    installation: Installation,
    setup: MysqlSetup,
    directory: PathBuf,
    /// Where it listens: MySQL and MariaDB on 127.0.0.1 alone, seekdb everywhere.
    pub address: SocketAddr,
    /// Of `root`: empty, but for seekdb.
    pub password: String,
}

/// What goes with the server of a process that started it.
#[derive(Debug)]
struct Own {
    process: Child,
    _directory: TempDir,
    _port: Port,
}

impl Mysql {
    /// The server of this setup that all tests of a run share: each keeps to databases and users of its own, with names
    /// that begin with that of its suite, and changes nothing else. It has room for many connections, takes rows by
    /// `LOAD DATA LOCAL` and counts statements, where its product can.
    #[must_use]
    pub fn shared(setup: &MysqlSetup) -> Option<Arc<Self>> {
        static SHARED: Shared<Mysql> = Shared::new();
        let mut setup = setup.clone();
        if setup.product != MysqlProduct::SeekDb {
            let settings = [
                "max-connections=500",
                "local-infile=1",
                "performance-schema=ON",
                "performance-schema-digests-size=50000",
            ];
            setup.settings.splice(0..0, settings.map(str::to_owned));
        }
        SHARED.get("mysql", &setup)
    }

    /// Starts a server of the test's own; `None`, and a line that says why, where this machine cannot have it.
    #[must_use]
    pub fn start(setup: &MysqlSetup) -> Option<Self> {
        let installation = match Installation::get(setup.product) {
            Ok(installation) => installation,
            Err(why) => {
                println!("skipped: no {}: {why}", setup.product);
                return None;
            }
        };
        let directory = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(directory.path());
        copy_for_server(&installation.data(), &directory.path().join("data"));
        if setup.tls {
            assert!(setup.product != MysqlProduct::SeekDb, "{} has no TLS", setup.product);
            if let Err(why) = certificate::make(directory.path()) {
                println!("skipped: no certificate: {why}");
                return None;
            }
        }
        let port = Port::reserve();
        let address = port.address;
        let process = spawn(&installation, directory.path(), address.port(), setup);
        let (setup, password) = (setup.clone(), installation.password());
        let (pid, path) = (process.id(), directory.path().to_owned());
        let own = Some(Own { process, _directory: directory, _port: port });
        let mut server = Self { own, pid, installation, setup, directory: path, address, password };
        server.wait_until_ready();
        if server.setup.product == MysqlProduct::SeekDb {
            server.sql(seekdb::PATIENT);
        }
        for user in &server.setup.users {
            server.sql(&server.setup.product.create_user(user));
        }
        if !server.setup.sql.is_empty() {
            server.sql(&server.setup.sql);
        }
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        let mut answer = Err("it does not listen".to_owned());
        let mut patience = Patience::new(PAUSE);
        loop {
            if let Some(status) = self.own().process.try_wait().unwrap() {
                panic!("{} ended ({status}): {}", self.setup.product, self.log());
            }
            if TcpStream::connect(self.address).is_ok() {
                answer = attempt(self.client("root", &self.password).args(["-e", "select 1"]));
                if answer.is_ok() {
                    return;
                }
            }
            assert!(patience.pause(), "{} does not answer ({answer:?}): {}", self.setup.product, self.log());
        }
    }

    /// What the server is.
    #[must_use]
    pub fn product(&self) -> MysqlProduct {
        self.setup.product
    }

    /// Process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn own(&mut self) -> &mut Own {
        self.own
            .as_mut()
            .unwrap_or_else(|| panic!("this server is shared: it is started and stopped by nobody"))
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.setup.product.socket(&self.directory)
    }

    /// The server's own directory: data, log, Unix socket, certificates.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The certificate of the authority that signed the server's, where there is TLS.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.directory.join(certificate::AUTHORITY)
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.setup.product.log(&self.directory)).unwrap_or_default()
    }

    /// `mysql://…` for a user, over TCP.
    #[must_use]
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("mysql://{user}:{password}@{}/{database}", self.address)
    }

    /// The client program that belongs to the server, set up to reach the database `test` over TCP as `user`. With TLS
    /// it demands that the server's certificate is right. It prints values only, with a tab between, a line for each
    /// row.
    #[must_use]
    pub fn client(&self, user: &str, password: &str) -> Command {
        let mut command = self.installation.client();
        let port = self.address.port();
        command.args([
            "--protocol=TCP",
            "--host=127.0.0.1",
            "--batch",
            "--skip-column-names",
            "--database=test",
        ]);
        command.arg(format!("--port={port}")).arg(format!("--user={user}")).env("MYSQL_PWD", password);
        if self.setup.tls {
            command.arg(prefixed("--ssl-ca=", &self.authority())).args(self.setup.product.verify_server());
        }
        command
    }

    /// Runs SQL as `root` in the database `test`; returns the values, with a tab between, a line for each row.
    pub fn sql(&self, sql: &str) -> String {
        succeed(self.client("root", &self.password).args(["-e", sql]))
    }

    /// Makes a user, unless there is one. While others change its schema, seekdb may refuse that as if there were such a user, so it
    /// is asked until there is.
    pub fn make_user(&self, name: &str, host: &str, password: &str) {
        let make = format!("CREATE USER IF NOT EXISTS '{name}'@'{host}' IDENTIFIED BY '{password}'");
        let count = format!("SELECT count(*) FROM mysql.user WHERE user = '{name}' AND host = '{host}'");
        let mut patience = Patience::new(PAUSE);
        loop {
            let made = attempt(self.client("root", &self.password).args(["-e", &make]));
            if self.sql(&count).trim() == "1" {
                return;
            }
            assert!(patience.pause(), "{} makes no user {name}: {made:?}", self.setup.product);
        }
    }

    /// Ends the server as a crash would.
    pub fn kill(&mut self) {
        let process = &mut self.own().process;
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Ends the server as its administrator would, and waits until it has ended.
    pub fn stop(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.own().process), Signal::TERM).unwrap();
        let mut patience = Patience::new(PAUSE);
        loop {
            if let Some(status) = self.own().process.try_wait().unwrap() {
                return status;
            }
            assert!(patience.pause(), "{} does not stop: {}", self.setup.product, self.log());
        }
    }

    /// Starts it again after [`Mysql::kill`] or [`Mysql::stop`], on the same port and data.
    pub fn restart(&mut self) {
        let process = spawn(&self.installation, &self.directory, self.address.port(), &self.setup);
        self.pid = process.id();
        self.own().process = process;
        self.wait_until_ready();
    }
}

impl Drop for Own {
    /// Its data go with it, so it need not tidy them.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Shareable for Mysql {
    type Setup = MysqlSetup;
    const SIGNAL: &'static str = "KILL";

    fn start(setup: &MysqlSetup) -> Option<Self> {
        Self::start(setup)
    }

    fn attach(setup: &MysqlSetup, place: Place) -> Self {
        let Place { pid, address, directory } = place;
        // Whoever started it had it.
        let installation = Installation::get(setup.product).unwrap();
        let password = installation.password();
        Self { own: None, pid, installation, setup: setup.clone(), directory, address, password }
    }

    fn place(&self) -> Place {
        Place { pid: self.pid, address: self.address, directory: self.directory.clone() }
    }
}

fn spawn(installation: &Installation, directory: &Path, port: u16, setup: &MysqlSetup) -> Child {
    let mut command = installation.server(directory, port, setup);
    become_user(&mut command, unprivileged_user());
    let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

/// An argument that ends in a path.
fn prefixed(prefix: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(prefix);
    argument.push(path);
    argument
}
