//! OceanBase seekdb: the server in a package of Python.
//!
//! It listens on all addresses, and a new one lets `root` in without a password. So the first start, which makes the
//! data directory, is the embedded one, that has a Unix socket only, and sets a password that every server has then.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::product::Installation;
use super::{MysqlSetup, PAUSE, prefixed};
use crate::cache::keep;
use crate::command::{attempt, succeed};
use crate::patience::Patience;
use crate::python::unpack_wheel;
use crate::user::{become_user, copy_for_server, give_to_server, unprivileged_user};

const VERSION: &str = "1.4.0.post1";

/// The file in the cache with the password of `root`.
pub(super) const PASSWORD: &str = "password";

/// It gives up a statement after ten seconds, which on a slow and busy machine is no long time. It would wait for a lock
/// as long; it finds no deadlock.
pub(super) const PATIENT: &str =
    "SET GLOBAL ob_query_timeout = 600000000; SET GLOBAL ob_trx_lock_timeout = 10000000";

/// Less, and it does not start. The files have holes, so that they take a tenth of it.
const SIZES: [&str; 3] = ["log_disk_size=2G", "datafile_size=512M", "memory_limit=4G"];

/// The directory in the cache, filled if it was not there.
pub(super) fn get(mariadb: &Installation) -> Result<PathBuf, String> {
    if !has_hardware_address() {
        return Err("it wants a network interface with a hardware address".to_owned());
    }
    keep(&format!("seekdb-{VERSION}"), |directory| {
        unpack(directory)?;
        let password = random_password();
        fs::write(directory.join(PASSWORD), &password).unwrap();
        fs::set_permissions(directory.join(PASSWORD), fs::Permissions::from_mode(0o600)).unwrap();
        initialise(directory, mariadb, &password);
        Ok(())
    })
}

/// From that it makes its identifiers, and without one it ends at once.
fn has_hardware_address() -> bool {
    let interfaces = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let addresses = interfaces.filter_map(|it| fs::read_to_string(it.path().join("address")).ok());
    addresses.into_iter().any(|address| address.contains(|c: char| !matches!(c, '0' | ':' | '\n')))
}

fn unpack(into: &Path) -> Result<(), String> {
    unpack_wheel(&format!("pylibseekdb=={VERSION}"), into)?;
    let program = program(into);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(|why| format!("{}: {why}", program.display()))
}

fn program(directory: &Path) -> PathBuf {
    directory.join("tree/pylibseekdb/seekdb")
}

fn random_password() -> String {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn initialise(directory: &Path, mariadb: &Installation, password: &str) {
    let made = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
    let base = made.path().join("data");
    fs::create_dir_all(base.join("run")).unwrap();
    // An embedded server ends as soon as nobody holds this lock.
    let clients = File::create(base.join("run/seekdb.clients")).unwrap();
    clients.lock_shared().unwrap();
    for path in [made.path(), &base, &base.join("run"), &base.join("run/seekdb.clients")] {
        give_to_server(path);
    }
    let log = File::create(made.path().join("log")).unwrap();
    let mut command = daemon(directory, &base);
    command.arg("--embedded").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    become_user(&mut command, unprivileged_user());
    let mut server = command.spawn().unwrap();
    let client = |sql: &str| {
        let mut client = mariadb.client();
        client.arg(prefixed("--socket=", &base.join("run/sql.sock"))).args(["--user=root", "-e", sql]);
        client
    };
    wait_until_ready(&mut server, || client("select 1"), &base);
    succeed(&mut client(&format!(
        "CREATE DATABASE IF NOT EXISTS test; ALTER USER root IDENTIFIED BY '{password}'"
    )));
    drop(clients);
    server.wait().unwrap();
    for name in ["run", "log"] {
        fs::remove_dir_all(base.join(name)).unwrap();
    }
    copy_for_server(&base, &directory.join("data"));
}

fn wait_until_ready(server: &mut Child, client: impl Fn() -> Command, base: &Path) {
    let log = || fs::read_to_string(base.join("log/seekdb.log")).unwrap_or_default();
    let mut patience = Patience::new(PAUSE);
    while attempt(&mut client()).is_err() {
        if let Some(status) = server.try_wait().unwrap() {
            panic!("seekdb ended ({status}): {}", log());
        }
        assert!(patience.pause(), "seekdb does not answer: {}", log());
    }
}

fn daemon(directory: &Path, base: &Path) -> Command {
    let mut command = Command::new(program(directory));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").env("HOME", base);
    // It would report its start to its makers.
    command.env("TELEMETRY_ENABLED", "false");
    command.args(["--nodaemon", "--base-dir"]).arg(base);
    command.arg("--data-dir").arg(base.join("store")).arg("--redo-dir").arg(base.join("store/redo"));
    command.args(SIZES.iter().flat_map(|size| ["--parameter", size]));
    command
}

/// What serves the data in `directory`.
pub(super) fn server(installation: &Path, directory: &Path, port: u16, setup: &MysqlSetup) -> Command {
    let mut command = daemon(installation, &directory.join("data"));
    command.args(["--port", &port.to_string()]);
    command.args(setup.settings.iter().flat_map(|setting| ["--parameter", setting]));
    command
}
