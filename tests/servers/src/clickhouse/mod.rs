//! ClickHouse: its engine of today in a package of Python behind a small front that speaks its HTTP interface, and the server of
//! 2018 that Debian has, for what only a server has: logins, the native port, answers that are sent while they are made.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::cache::keep;
use crate::certificate;
use crate::debian::{Packages, Tree};
use crate::patience::Patience;
use crate::port::Port;
use crate::python::unpack_wheel;
use crate::user::{become_user, give_to_server, unprivileged_user};

/// The package of the engine.
const ENGINE: &str = "chdb-core==26.9.0";
const KEPT_ENGINE: &str = "chdb-core-26.9.0";
const FRONT: &str = include_str!("front.py");
/// Servers run as a user who may not enter root's home, where another Python may be the first.
const PYTHON: &str = "/usr/bin/python3";
const KEPT_SERVER: &str = "clickhouse-12";
const PACKAGES: Packages = Packages { suite: "bookworm", whole: &["libc6", "clickhouse-server"], alone: &[] };

/// What answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickHouseKind {
    /// Version 26.9 in process, and a front. It has no users.
    Engine,
    /// The server of Debian 12, version 18.16.
    Server,
}

/// The other ports of a server.
#[derive(Debug)]
struct Beside {
    native: Port,
    tls: Port,
}

/// A running ClickHouse, ended when dropped.
#[derive(Debug)]
pub struct ClickHouse {
    process: Child,
    directory: TempDir,
    _port: Port,
    beside: Option<Beside>,
    /// Where its HTTP interface listens, on 127.0.0.1.
    pub address: SocketAddr,
}

impl ClickHouse {
    /// Of the user `default`, on the server.
    pub const PASSWORD: &str = "s/cr:et";

    /// Starts one with a data directory of its own; `None`, and a line that says so, where it cannot be had.
    #[must_use]
    pub fn start(kind: ClickHouseKind) -> Option<Self> {
        let had = match kind {
            ClickHouseKind::Engine => keep(KEPT_ENGINE, |into| unpack_wheel(ENGINE, into)),
            ClickHouseKind::Server => keep(KEPT_SERVER, |into| PACKAGES.unpack(into)),
        };
        let had = had.and_then(|tree| match kind {
            ClickHouseKind::Engine if !Path::new(PYTHON).exists() => Err(format!("there is no {PYTHON}")),
            _ => Ok(tree),
        });
        let directory = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(directory.path());
        let had = had.and_then(|tree| match kind {
            ClickHouseKind::Engine => Ok(tree),
            ClickHouseKind::Server => certificate::make(directory.path()).map(|()| tree),
        });
        let tree = match had {
            Ok(tree) => tree,
            Err(why) => {
                println!("skipped: no ClickHouse ({kind:?}): {why}");
                return None;
            }
        };
        let port = Port::reserve();
        let address = port.address;
        let beside = (kind == ClickHouseKind::Server)
            .then(|| Beside { native: Port::reserve(), tls: Port::reserve() });
        let process = match &beside {
            None => front(&tree, address, directory.path()),
            Some(beside) => server(tree, address, beside, directory.path()),
        };
        let mut started = Self { process, directory, _port: port, beside, address };
        started.wait_until_ready();
        Some(started)
    }

    /// The target's name, with the password where there is one.
    #[must_use]
    pub fn url(&self) -> String {
        match self.beside {
            Some(_) => format!("clickhouse://default:s%2Fcr%3Aet@{}/default", self.address),
            None => format!("clickhouse://{}/default", self.address),
        }
    }

    /// Where the server's native protocol is spoken.
    #[must_use]
    pub fn native_address(&self) -> Option<SocketAddr> {
        self.beside.as_ref().map(|beside| beside.native.address)
    }

    /// Where the server speaks TLS, with a certificate for `localhost` of [`ClickHouse::authority`].
    #[must_use]
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.beside.as_ref().map(|beside| beside.tls.address)
    }

    /// The authority that signed the server's certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join(certificate::AUTHORITY)
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn wait_until_ready(&mut self) {
        let mut patience = Patience::new(Duration::from_millis(50));
        while !answers(self.address) {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("ClickHouse ended ({status})");
            }
            assert!(patience.pause(), "ClickHouse does not answer");
        }
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether HTTP is answered, whatever the answer is.
fn answers(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let request =
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\nConnection: close\r\n\r\nSELECT 1";
    let mut first = [0; 5];
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut first).is_ok()
        && first == *b"HTTP/"
}

fn front(tree: &Path, address: SocketAddr, directory: &Path) -> Child {
    let script = directory.join("front.py");
    fs::write(&script, FRONT).unwrap();
    give_to_server(&script);
    let mut command = Command::new(PYTHON);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.arg("-IB").arg(script).arg(tree.join("tree")).arg(address.port().to_string());
    command.arg(directory.join("data"));
    spawn(command)
}

fn server(tree: PathBuf, http: SocketAddr, beside: &Beside, directory: &Path) -> Child {
    let place = directory.display();
    let [http, native, tls] = [http, beside.native.address, beside.tls.address].map(|it| it.port());
    let (certificate, key) = (certificate::CERTIFICATE, certificate::KEY);
    let password = ClickHouse::PASSWORD;
    write(
        &directory.join("config.xml"),
        &format!(
            "<yandex><logger><level>error</level><log>{place}/log</log><errorlog>{place}/errors</errorlog></logger>\
             <http_port>{http}</http_port><tcp_port>{native}</tcp_port><https_port>{tls}</https_port>\
             <openSSL><server><certificateFile>{place}/{certificate}</certificateFile>\
             <privateKeyFile>{place}/{key}</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>\
             <listen_host>127.0.0.1</listen_host>\
             <path>{place}/</path><tmp_path>{place}/tmp/</tmp_path><mark_cache_size>134217728</mark_cache_size>\
             <users_config>{place}/users.xml</users_config><default_profile>default</default_profile>\
             <default_database>default</default_database></yandex>"
        ),
    );
    write(
        &directory.join("users.xml"),
        &format!(
            "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default>\
             <password>{password}</password><networks><ip>127.0.0.1</ip></networks>\
             <profile>default</profile><quota>default</quota></default></users></yandex>"
        ),
    );
    let mut command = Tree::new(tree).program("usr/sbin/clickhouse-server");
    command.arg(format!("--config-file={place}/config.xml"));
    spawn(command)
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    give_to_server(file);
}

fn spawn(mut command: Command) -> Child {
    become_user(&mut command, unprivileged_user());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
