//! What the surroundings say about a target: `PG*`, `MYSQL*` and `CLICKHOUSE*` variables, the home directory, the system's user, and
//! where local sockets and MySQL's option files are. Taken from the process once, or made by hand in tests; nothing
//! else in the settings looks at the process.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The surroundings in which a target's name is understood.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
    socket_directories: Vec<PathBuf>,
    mysql_sockets: Vec<PathBuf>,
    mysql_option_files: Vec<PathBuf>,
}

/// Names only: a variable's value may be a password.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("home", &self.home)
            .field("user", &self.user)
            .field("socket_directories", &self.socket_directories)
            .field("mysql_sockets", &self.mysql_sockets)
            .field("mysql_option_files", &self.mysql_option_files)
            .finish()
    }
}

impl Environment {
    /// The surroundings of this process: its `PG*`, `MYSQL*` and `CLICKHOUSE*` variables, its user (by effective id) and that user's home.
    pub fn of_process() -> Self {
        let account = Account::of_process();
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| ["PG", "MYSQL", "CLICKHOUSE"].iter().any(|it| name.starts_with(it)))
                .collect(),
            home: text("HOME").map(PathBuf::from).or_else(|| account.as_ref().map(|it| it.home.clone())),
            user: account.map(|it| it.name).or_else(|| text("USER")).or_else(|| text("LOGNAME")),
            socket_directories: vec!["/var/run/postgresql".into(), "/tmp".into()],
            // As Debian, Red Hat and MySQL itself have it.
            mysql_sockets: vec![
                "/var/run/mysqld/mysqld.sock".into(),
                "/var/lib/mysql/mysql.sock".into(),
                "/tmp/mysql.sock".into(),
            ],
            mysql_option_files: vec!["/etc/my.cnf".into(), "/etc/mysql/my.cnf".into()],
        }
    }

    /// Surroundings in which nothing is set.
    pub fn empty() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    #[must_use]
    pub fn with_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    #[must_use]
    pub fn with_socket_directories(mut self, directories: &[&str]) -> Self {
        self.socket_directories = directories.iter().map(PathBuf::from).collect();
        self
    }

    #[must_use]
    pub fn with_mysql_sockets(mut self, sockets: &[&str]) -> Self {
        self.mysql_sockets = sockets.iter().map(PathBuf::from).collect();
        self
    }

    #[must_use]
    pub fn with_mysql_option_files(mut self, files: &[&str]) -> Self {
        self.mysql_option_files = files.iter().map(PathBuf::from).collect();
        self
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Name of the system's user.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Where a server's socket is looked for when no host is named, in this order.
    pub fn socket_directories(&self) -> &[PathBuf] {
        &self.socket_directories
    }

    /// Where a MySQL server's socket is looked for when none is named, in this order.
    pub fn mysql_sockets(&self) -> &[PathBuf] {
        &self.mysql_sockets
    }

    /// The system's option files of MySQL's clients, in the order in which they are read.
    pub fn mysql_option_files(&self) -> &[PathBuf] {
        &self.mysql_option_files
    }
}

/// A line of the system's list of accounts.
struct Account {
    name: String,
    home: PathBuf,
}

impl Account {
    /// Reads the file itself: asking the name service would need the C library. Accounts that live elsewhere
    /// (LDAP) fall back to `USER`.
    fn of_process() -> Option<Self> {
        let uid = rustix::process::geteuid().as_raw();
        std::fs::read_to_string("/etc/passwd").ok()?.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            match fields.as_slice() {
                [name, _, id, _, _, home, ..] if id.parse() == Ok(uid) => {
                    Some(Self { name: (*name).to_owned(), home: PathBuf::from(home) })
                }
                _ => None,
            }
        })
    }
}
