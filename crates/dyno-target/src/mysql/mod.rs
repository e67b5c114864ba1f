//! How a MySQL server is named: `mysql://` and `mariadb://` URLs, or options one by one, with what is missing filled in
//! from `MYSQL_*` variables, option files and defaults, in that order, as MySQL's own clients do (`docs/targets.md`).
//!
//! Understanding a name opens no connection; [`MySqlSettings::endpoints`] resolves host names and reads certificates.
//! The password never appears in anything that is printed.

mod endpoints;
mod option_files;
mod parameters;
mod resolve;
mod url;

use std::path::PathBuf;
use std::time::Duration;

use dyno_wire::endpoint::Password;
use dyno_wire::my::handshake;

use crate::settings::parameters::Parameters;
use crate::settings::url::{encode, encode_host, written};
use crate::settings::{Environment, TargetError};
use crate::tls::{RootCertificates, SslMode, TlsSettings};

/// The schemes of a URL that names a server of MySQL's kind.
pub(crate) const SCHEMES: [&str; 2] = ["mysql", "mariadb"];

const LOCALHOST: &str = "localhost";

/// What the user named, understood: who logs in to which database, where and how.
#[derive(Debug, Clone)]
pub struct MySqlSettings {
    /// In the order in which they are tried; never empty.
    hosts: Vec<MySqlLocation>,
    user: String,
    password: Option<Password>,
    /// Empty for none.
    database: String,
    /// What the session is called in the server's `session_connect_attrs`.
    program_name: String,
    tls: TlsSettings,
    options: handshake::Options,
    connect_timeout: Option<Duration>,
    warnings: Vec<String>,
}

/// Where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MySqlLocation {
    /// `localhost`: the first of these sockets that is there, else TCP.
    Local {
        sockets: Vec<PathBuf>,
        port: u16,
    },
    /// The socket file itself.
    Socket(PathBuf),
    Tcp {
        name: String,
        port: u16,
    },
}

impl MySqlSettings {
    /// Understands a URL: `mysql://user@host:3306/database?ssl-mode=REQUIRED`.
    ///
    /// # Errors
    /// Says what is wrong with the name, and never repeats a password.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, TargetError> {
        let text = text.trim();
        let Some(rest) = url::without_scheme(text) else {
            let found = if text.contains('@') { "…@…" } else { text };
            return Err(TargetError::NotATarget { found: found.chars().take(60).collect() });
        };
        resolve::named(url::parse(rest)?, environment)
    }

    /// Understands options given one by one, named as in a URL: for programs that have options of their own. `host`,
    /// `port` and `socket` may be lists with commas; every host is combined with every port, and where sockets are
    /// given they alone are used. Option files are not read; of the environment only `MYSQL_UNIX_PORT` counts.
    ///
    /// # Errors
    /// As [`MySqlSettings::parse`].
    pub fn from_options(options: &[(&str, &str)], environment: &Environment) -> Result<Self, TargetError> {
        let mut parameters = Parameters::new(&parameters::MYSQL);
        for (name, value) in options {
            parameters::set(&mut parameters, name, (*value).to_owned())?;
        }
        resolve::given(&parameters, environment)
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    /// Empty where none is named.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same server and user, another database.
    #[must_use]
    pub fn with_database(mut self, database: &str) -> Self {
        database.clone_into(&mut self.database);
        self
    }

    /// The same with another password.
    #[must_use]
    pub fn with_password(mut self, password: &Password) -> Self {
        self.password = Some(password.clone());
        self
    }

    /// The password that the server may be sent.
    pub fn password(&self) -> Option<&Password> {
        self.password.as_ref()
    }

    /// How long connecting and logging in may take at each address; `None` for as long as it takes.
    pub fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// What the user should know of and is no error: an option file that was ignored.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The target as a URL that can be named again, without the password.
    pub fn url(&self) -> String {
        let mut query: Vec<(&str, String)> = Vec::new();
        let authority = match self.hosts.as_slice() {
            [MySqlLocation::Socket(socket)] => {
                query.push(("socket", socket.display().to_string()));
                LOCALHOST.to_owned()
            }
            [MySqlLocation::Local { port, .. }] => {
                if *port != resolve::DEFAULT_PORT {
                    query.push(("port", port.to_string()));
                }
                LOCALHOST.to_owned()
            }
            places => places.iter().map(MySqlLocation::url_part).collect::<Vec<_>>().join(","),
        };
        if let Some(mode) = resolve::mode_name(self.tls.mode).filter(|_| self.tls.mode != SslMode::Prefer) {
            query.push(("ssl-mode", mode.to_owned()));
        }
        if let RootCertificates::File(file) = &self.tls.roots {
            query.push(("ssl-ca", file.display().to_string()));
        }
        written("mysql", [&self.user, &authority, &self.database], &query)
    }
}

impl MySqlLocation {
    fn url_part(&self) -> String {
        match self {
            Self::Socket(socket) => encode(&socket.display().to_string()),
            Self::Local { .. } => LOCALHOST.to_owned(),
            // A port says that it is TCP.
            Self::Tcp { name, port } if is_local(name) => format!("{name}:{port}"),
            Self::Tcp { name, port } => {
                let host = encode_host(name);
                if *port == resolve::DEFAULT_PORT { host } else { format!("{host}:{port}") }
            }
        }
    }
}

/// Whether MySQL's clients would use a socket for this host.
fn is_local(host: &str) -> bool {
    host.is_empty() || host.eq_ignore_ascii_case(LOCALHOST)
}

#[cfg(test)]
mod tests;
