//! The real sysbench, to compare dyno's with.

use std::path::PathBuf;
use std::process::Command;

use crate::mysql::Mysql;
use crate::postgres::Postgres;

/// The sysbench on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysbench {
    pub program: PathBuf,
}

impl Sysbench {
    /// `None`, and a line that says so, where there is none.
    #[must_use]
    pub fn find() -> Option<Self> {
        let program = PathBuf::from("/usr/bin/sysbench");
        if !program.is_file() {
            println!("skipped: no {}", program.display());
            return None;
        }
        Some(Self { program })
    }

    /// Set up to reach a server's database `test` as `root`, over TCP.
    #[must_use]
    pub fn with_mysql(&self, server: &Mysql) -> Command {
        self.with_mysql_database(server, "test")
    }

    /// The same for another database.
    #[must_use]
    pub fn with_mysql_database(&self, server: &Mysql, database: &str) -> Command {
        let mut command = self.command();
        command.args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root"]);
        command.arg(format!("--mysql-db={database}"));
        command.arg(format!("--mysql-port={}", server.address.port()));
        command.arg(format!("--mysql-password={}", server.password));
        command
    }

    /// Set up to reach a server's database `postgres` as `postgres`, over TCP.
    #[must_use]
    pub fn with_postgres(&self, server: &Postgres) -> Command {
        self.with_postgres_database(server, "postgres")
    }

    /// The same for another database.
    #[must_use]
    pub fn with_postgres_database(&self, server: &Postgres, database: &str) -> Command {
        let mut command = self.command();
        command.args(["--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--pgsql-user=postgres"]);
        command.arg(format!("--pgsql-db={database}"));
        command.arg(format!("--pgsql-port={}", server.address.port()));
        command
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir("/").env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        command
    }
}
