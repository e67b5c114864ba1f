//! MySQL and MariaDB: packages of Debian, unpacked, and a data directory made with them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{MysqlSetup, prefixed};
use crate::cache::keep;
use crate::certificate;
use crate::command::succeed;
use crate::debian::{Packages, Tree};
use crate::user::{become_user, copy_for_server, give_to_server, unprivileged_user};

/// What the two call differently.
#[derive(Debug)]
pub(super) struct Flavour {
    /// Its name in the cache, which changes with what is kept there.
    kept: &'static str,
    packages: Packages,
    server: &'static str,
    client: &'static str,
    /// For initialising and for serving: small files, no ports beside the one, and plugins that tests log in with.
    options: &'static [&'static str],
    initialise: fn(&Self, &Tree, &Path),
    /// Turns TLS off.
    plain: &'static [&'static str],
    client_options: fn(&Tree, &mut Command),
}

pub(super) static MYSQL: Flavour = Flavour {
    kept: "mysql-9",
    packages: Packages { suite: "sid", whole: &["mysql-server-core", "mysql-client-core"], alone: &[] },
    server: "usr/sbin/mysqld",
    client: "usr/bin/mysql",
    options: &["--disable-log-bin", "--mysqlx=OFF", "--innodb-redo-log-capacity=32M"],
    initialise: initialise_mysql,
    plain: &["--tls-version=", "--auto-generate-certs=OFF"],
    // Without TLS, caching_sha2_password wants the server's key, or a user who was there before.
    client_options: |_, command| {
        command.arg("--get-server-public-key");
    },
};

pub(super) static MARIADB: Flavour = Flavour {
    kept: "mariadb-10.11",
    packages: Packages {
        suite: "bookworm",
        whole: &["mariadb-server-core", "mariadb-client-core"],
        // For its plugins.
        alone: &["mariadb-server"],
    },
    server: "usr/sbin/mariadbd",
    client: "usr/bin/mariadb",
    options: &["--innodb-log-file-size=32M", "--plugin-load-add=auth_ed25519"],
    initialise: initialise_mariadb,
    plain: &["--skip-ssl"],
    client_options: |tree, command| {
        command.arg(prefixed("--plugin-dir=", &tree.library("libmariadb3/plugin")));
    },
};

/// `root` from everywhere, for the server listens on 127.0.0.1 only, and the database that tests use.
const PREPARE: &str = "CREATE USER root@'%';\nGRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\nCREATE DATABASE IF NOT EXISTS test;\n";

/// The directory in the cache, filled if it was not there.
pub(super) fn get(flavour: &Flavour) -> Result<PathBuf, String> {
    keep(flavour.kept, |directory| {
        flavour.packages.unpack(&directory.join("tree"))?;
        // The server's user owns nothing in the cache, so the data are made elsewhere.
        let made = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(made.path());
        (flavour.initialise)(flavour, &tree(directory), made.path());
        copy_for_server(&made.path().join("data"), &directory.join("data"));
        Ok(())
    })
}

pub(super) fn tree(directory: &Path) -> Tree {
    Tree::new(directory.join("tree"))
}

impl Flavour {
    /// The server's program, told where its own files are, which it would look for in /usr, and where the data are.
    fn daemon(&self, tree: &Tree, data: &Path) -> Command {
        let mut command = tree.program(self.server);
        let share = tree.path("usr/share/mysql");
        command.arg("--no-defaults").arg(prefixed("--basedir=", &tree.path("usr")));
        command.arg(prefixed("--lc-messages-dir=", &share));
        command.arg(prefixed("--character-sets-dir=", &share.join("charsets")));
        command.arg(prefixed("--plugin-dir=", &tree.path("usr/lib/mysql/plugin")));
        // No server of a test outlives a crash of the machine, so nothing need be on the disk.
        command.args(["--secure-file-priv=", "--innodb-flush-method=nosync"]).args(self.options);
        command.arg(prefixed("--datadir=", data));
        command
    }

    pub(super) fn server(&self, tree: &Tree, directory: &Path, port: u16, setup: &MysqlSetup) -> Command {
        let mut command = self.daemon(tree, &directory.join("data"));
        command.arg(prefixed("--socket=", &setup.product.socket(directory)));
        command.arg(prefixed("--pid-file=", &directory.join("pid"))).arg(prefixed("--tmpdir=", directory));
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve"]).arg(format!("--port={port}"));
        // On a busy machine a login takes longer than the ten seconds after which a server ends it.
        command.arg("--connect-timeout=300");
        if setup.tls {
            command.arg(prefixed("--ssl-ca=", &directory.join(certificate::AUTHORITY)));
            command.arg(prefixed("--ssl-cert=", &directory.join(certificate::CERTIFICATE)));
            command.arg(prefixed("--ssl-key=", &directory.join(certificate::KEY)));
        } else {
            command.args(self.plain);
        }
        command.args(setup.settings.iter().map(|setting| format!("--{setting}")));
        command
    }

    pub(super) fn client(&self, tree: &Tree) -> Command {
        let mut command = tree.program(self.client);
        command.arg("--no-defaults");
        (self.client_options)(tree, &mut command);
        command
    }
}

fn initialise_mysql(flavour: &Flavour, tree: &Tree, into: &Path) {
    let first = into.join("first.sql");
    fs::write(&first, PREPARE).unwrap();
    let mut command = flavour.daemon(tree, &into.join("data"));
    command.arg("--initialize-insecure").arg(prefixed("--init-file=", &first));
    become_user(&mut command, unprivileged_user());
    succeed(&mut command);
    // Each server makes an identity of its own.
    fs::remove_file(into.join("data/auto.cnf")).unwrap();
}

/// What `mariadb-install-db` does, which cannot be told how to run the programs of this tree.
fn initialise_mariadb(flavour: &Flavour, tree: &Tree, into: &Path) {
    let mut sql = String::from("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n");
    for part in [
        "mysql_system_tables",
        "mysql_performance_tables",
        "mysql_system_tables_data",
        "fill_help_tables",
        "maria_add_gis_sp_bootstrap",
        "mysql_sys_schema",
    ] {
        sql += &fs::read_to_string(tree.path(&format!("usr/share/mysql/{part}.sql"))).unwrap();
    }
    // Until then the server knows no users.
    sql += "FLUSH PRIVILEGES;\n";
    sql += PREPARE;
    let (data, said) = (into.join("data"), into.join("said"));
    fs::create_dir(&data).unwrap();
    give_to_server(&data);
    let mut command = flavour.daemon(tree, &data);
    command.args(["--bootstrap", "--log-warnings=0", "--enforce-storage-engine=", "--max-allowed-packet=8M"]);
    become_user(&mut command, unprivileged_user());
    let output = fs::File::create(&said).unwrap();
    command.stdin(Stdio::piped()).stdout(output.try_clone().unwrap()).stderr(output);
    let mut process = command.spawn().unwrap();
    // A server that ends early says why; that writing to it failed is no news then.
    let _ = process.stdin.take().unwrap().write_all(sql.as_bytes());
    let status = process.wait().unwrap();
    assert!(status.success(), "{command:?} ended with {status}: {}", fs::read_to_string(&said).unwrap());
}
