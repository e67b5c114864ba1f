//! Prometheus's node_exporter of this machine, from Debian's package.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::cache::keep;
use crate::certificate;
use crate::debian::{Packages, Tree};
use crate::patience::Patience;
use crate::port::Port;
use crate::user::{become_user, give_to_server, unprivileged_user};

const KEPT: &str = "node-exporter-12";
const PACKAGES: Packages =
    Packages { suite: "bookworm", whole: &["libc6"], alone: &["prometheus-node-exporter"] };

/// A running node_exporter, ended when dropped.
#[derive(Debug)]
pub struct NodeExporter {
    process: Child,
    tree: PathBuf,
    arguments: Vec<String>,
    directory: TempDir,
    _port: Port,
    /// Where it listens, on 127.0.0.1.
    pub address: SocketAddr,
}

impl NodeExporter {
    /// The user that [`NodeExporter::start_closed`] lets in, and his password, as a URL has them.
    pub const CREDENTIALS: &str = "me:s%3Ac%2Fr%40m%3F";

    /// Starts one with further arguments; `None`, and a line that says so, where it cannot be had.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Option<Self> {
        Self::start_with(arguments, |_| Ok(Vec::new()))
    }

    /// Starts one that speaks TLS only, with a certificate for `localhost` of [`NodeExporter::authority`].
    #[must_use]
    pub fn start_with_tls() -> Option<Self> {
        Self::start_with(&[], |directory| {
            certificate::make(directory)?;
            let lines = [
                "tls_server_config:".to_owned(),
                format!("  cert_file: {}", directory.join(certificate::CERTIFICATE).display()),
                format!("  key_file: {}", directory.join(certificate::KEY).display()),
            ];
            Ok(configured(directory, &lines))
        })
    }

    /// Starts one that wants a user and his password.
    #[must_use]
    pub fn start_closed() -> Option<Self> {
        // The password's hash by bcrypt, of few rounds.
        let hash = "$2b$04$XgdjtHAh.TuvPZix41qadeARXFGZQXT8PwsNBKKthXbmukMbLSbfC";
        let lines = ["basic_auth_users:".to_owned(), format!("  me: {hash}")];
        Self::start_with(&[], |directory| Ok(configured(directory, &lines)))
    }

    fn start_with(
        arguments: &[&str],
        prepare: impl FnOnce(&Path) -> Result<Vec<String>, String>,
    ) -> Option<Self> {
        let directory = tempfile::Builder::new().prefix("dyno-exporter-").tempdir().unwrap();
        give_to_server(directory.path());
        let had =
            keep(KEPT, |into| PACKAGES.unpack(into)).and_then(|tree| Ok((tree, prepare(directory.path())?)));
        let (tree, further) = match had {
            Ok(had) => had,
            Err(why) => {
                println!("skipped: no node_exporter: {why}");
                return None;
            }
        };
        let port = Port::reserve();
        let address = port.address;
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).chain(further).collect();
        let process = spawn(&tree, address, &arguments);
        let mut exporter = Self { process, tree, arguments, directory, _port: port, address };
        exporter.wait_until_ready();
        Some(exporter)
    }

    /// The authority that signed its certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join(certificate::AUTHORITY)
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again after [`NodeExporter::kill`], at the same address.
    pub fn restart(&mut self) {
        self.process = spawn(&self.tree, self.address, &self.arguments);
        self.wait_until_ready();
    }

    fn wait_until_ready(&mut self) {
        let mut patience = Patience::new(Duration::from_millis(20));
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("node_exporter ended ({status})");
            }
            assert!(patience.pause(), "node_exporter does not answer");
        }
    }
}

impl Drop for NodeExporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The argument that names a file of these lines.
fn configured(directory: &Path, lines: &[String]) -> Vec<String> {
    let file = directory.join("web.yml");
    fs::write(&file, lines.join("\n")).unwrap();
    give_to_server(&file);
    vec![format!("--web.config.file={}", file.display())]
}

fn spawn(tree: &Path, address: SocketAddr, arguments: &[String]) -> Child {
    let mut command = Tree::new(tree.to_owned()).program("usr/bin/prometheus-node-exporter");
    become_user(&mut command, unprivileged_user());
    command.arg(format!("--web.listen-address={address}")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
