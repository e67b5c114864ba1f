//! The products: what differs between them, and what is fetched of each.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::mysqld::Flavour;
use super::{MysqlSetup, MysqlUser, mysqld, seekdb};
use crate::debian::Tree;
use crate::runs_all;

/// Who makes the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MysqlProduct {
    /// MySQL 9, from Debian's next release.
    Mysql,
    /// MariaDB 10.11, from Debian 12.
    MariaDb,
    /// OceanBase seekdb: one node, no TLS, `mysql_native_password` only.
    SeekDb,
}

impl MysqlProduct {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mysql, Self::MariaDb, Self::SeekDb];

    /// Those that a test runs against that looks at all of them: without seekdb, which takes a minute to start and is in
    /// two suites anyway, unless `./test all` is run.
    #[must_use]
    pub fn tested() -> &'static [Self] {
        if runs_all() { &Self::ALL } else { &[Self::Mysql, Self::MariaDb] }
    }

    pub(super) fn socket(self, directory: &Path) -> PathBuf {
        match self {
            Self::Mysql | Self::MariaDb => directory.join("socket"),
            Self::SeekDb => directory.join("data/run/sql.sock"),
        }
    }

    pub(super) fn log(self, directory: &Path) -> PathBuf {
        match self {
            Self::Mysql | Self::MariaDb => directory.join("log"),
            Self::SeekDb => directory.join("data/log/seekdb.log"),
        }
    }

    /// SQL that creates a user.
    pub(super) fn create_user(self, user: &MysqlUser) -> String {
        let MysqlUser { name, password, plugin } = user;
        let identified = match self {
            Self::Mysql => format!("IDENTIFIED WITH {plugin} BY '{password}'"),
            Self::MariaDb => format!("IDENTIFIED VIA {plugin} USING PASSWORD('{password}')"),
            Self::SeekDb => {
                assert_eq!(plugin, "mysql_native_password", "{self} knows no other");
                format!("IDENTIFIED BY '{password}'")
            }
        };
        format!("CREATE USER '{name}'@'%' {identified}; GRANT ALL ON *.* TO '{name}'@'%'")
    }

    /// Has the client program demand that the server's certificate is right.
    pub(super) fn verify_server(self) -> Option<&'static str> {
        match self {
            Self::Mysql => Some("--ssl-mode=VERIFY_IDENTITY"),
            Self::MariaDb => Some("--ssl-verify-server-cert"),
            Self::SeekDb => None,
        }
    }
}

impl fmt::Display for MysqlProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "MySQL",
            Self::MariaDb => "MariaDB",
            Self::SeekDb => "OceanBase seekdb",
        })
    }
}

/// What is kept of a product: its programs, and a data directory to copy for each server.
#[derive(Debug, Clone)]
pub(super) struct Installation {
    product: MysqlProduct,
    directory: PathBuf,
}

impl Installation {
    /// Fetched at the first time; what cannot be had is tried once in a process.
    pub(super) fn get(product: MysqlProduct) -> Result<Self, String> {
        static KNOWN: [OnceLock<Result<PathBuf, String>>; MysqlProduct::ALL.len()] =
            [const { OnceLock::new() }; 3];
        let directory = KNOWN[product as usize].get_or_init(|| match product {
            MysqlProduct::Mysql => mysqld::get(&mysqld::MYSQL),
            MysqlProduct::MariaDb => mysqld::get(&mysqld::MARIADB),
            MysqlProduct::SeekDb => {
                let mariadb = Self::get(MysqlProduct::MariaDb)
                    .map_err(|why| format!("its client is MariaDB's: {why}"))?;
                seekdb::get(&mariadb)
            }
        });
        Ok(Self { product, directory: directory.clone()? })
    }

    /// The data directory to copy.
    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// The password of `root` in there.
    pub(super) fn password(&self) -> String {
        match self.flavour() {
            Some(_) => String::new(),
            None => fs::read_to_string(self.directory.join(seekdb::PASSWORD)).unwrap(),
        }
    }

    fn flavour(&self) -> Option<&'static Flavour> {
        match self.product {
            MysqlProduct::Mysql => Some(&mysqld::MYSQL),
            MysqlProduct::MariaDb => Some(&mysqld::MARIADB),
            MysqlProduct::SeekDb => None,
        }
    }

    /// What serves the data in `directory`.
    pub(super) fn server(&self, directory: &Path, port: u16, setup: &MysqlSetup) -> Command {
        match self.flavour() {
            Some(flavour) => flavour.server(&self.tree(), directory, port, setup),
            None => seekdb::server(&self.directory, directory, port, setup),
        }
    }

    fn tree(&self) -> Tree {
        mysqld::tree(&self.directory)
    }

    /// The client program, told nothing yet of where the server is. seekdb comes without one and gets MariaDB's, which
    /// is there as seekdb is not fetched without it.
    pub(super) fn client(&self) -> Command {
        match self.flavour() {
            Some(flavour) => flavour.client(&self.tree()),
            None => Self::get(MysqlProduct::MariaDb).unwrap().client(),
        }
    }
}
