//! How a target is named: a URL or a connection string, with what is missing filled in from a service, the
//! `PG*` variables, the password file and defaults, in that order, as libpq does (`docs/targets.md`).
//!
//! Understanding a name opens no connection; [`TargetSettings::endpoints`] resolves host names and reads
//! certificates. The password never appears in anything that is printed.

mod conninfo;
mod endpoints;
pub mod environment;
mod error;
pub(crate) mod names;
pub(crate) mod parameters;
mod pgpass;
mod redact;
mod resolve;
mod service;
pub(crate) mod url;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use dyno_wire::endpoint::{ChannelBinding, Password};

pub use environment::Environment;
pub use error::TargetError;

pub(crate) use endpoints::at_addresses;

use resolve::Encoding;

use crate::tls::{SslMode, TlsSettings};

/// What the user named, understood: who logs in to which database, where and how.
#[derive(Debug, Clone)]
pub struct TargetSettings {
    /// In the order in which they are tried; never empty.
    hosts: Vec<Host>,
    user: String,
    database: String,
    /// Startup parameters: `application_name`, `client_encoding`, `options`, ….
    startup: Vec<(String, String)>,
    tls: TlsSettings,
    channel_binding: ChannelBinding,
    pub(crate) session: SessionAttributes,
    connect_timeout: Option<Duration>,
    warnings: Vec<String>,
}

/// A server that may be tried.
#[derive(Debug, Clone)]
struct Host {
    place: PostgresLocation,
    port: u16,
    password: Option<Password>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PostgresLocation {
    /// None was named: the first of these directories that has a server's socket.
    Local(Vec<PathBuf>),
    /// Directory of the socket.
    Socket(PathBuf),
    /// By name; `address` overrides what the name resolves to.
    Tcp { name: Option<String>, address: Option<IpAddr> },
}

/// `target_session_attrs`: which of several hosts will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SessionAttributes {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl TargetSettings {
    /// Understands a target's name: `postgres://…`, `postgresql://…`, `host=… dbname=…`, or nothing at all for
    /// what the environment says.
    ///
    /// # Errors
    /// Says what is wrong with the name, and never repeats a password.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, TargetError> {
        resolve::resolve(read(text)?, environment, Encoding::Utf8)
    }

    /// Understands parameters given one by one, a later one of the same name replacing an earlier, as libpq does for
    /// its own programs: a `dbname` that is itself a URL or a connection string is taken apart, and what it says
    /// replaces what came before. Where no `client_encoding` is named it is the database's.
    ///
    /// # Errors
    /// As [`TargetSettings::parse`].
    pub fn from_parameters(named: &[(&str, &str)], environment: &Environment) -> Result<Self, TargetError> {
        let mut parameters = parameters::Parameters::new(&parameters::POSTGRES);
        for (name, value) in named {
            if *name == "dbname" && (url::without_scheme(value).is_some() || looks_like_conninfo(value)) {
                parameters = read(value)?.or(parameters);
            } else {
                parameters.set(name, (*value).to_owned())?;
            }
        }
        resolve::resolve(parameters, environment, Encoding::OfDatabase)
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same server and user, another database.
    #[must_use]
    pub fn with_database(mut self, database: &str) -> Self {
        database.clone_into(&mut self.database);
        self
    }

    /// The same with this password for every host; for a server whose password dyno made itself.
    #[must_use]
    pub fn with_password(mut self, password: &Password) -> Self {
        for host in &mut self.hosts {
            host.password = Some(password.clone());
        }
        self
    }

    /// Every password that a host may be sent.
    pub fn passwords(&self) -> impl Iterator<Item = &Password> {
        self.hosts.iter().filter_map(|host| host.password.as_ref())
    }

    /// How long connecting and logging in may take at each address; `None` for as long as it takes.
    pub fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// What the user should know of and is no error: a password file that was ignored.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The target as a URL that can be named again, without the password.
    pub fn url(&self) -> String {
        let mut query: Vec<(&str, String)> = Vec::new();
        let authority = match self.hosts.as_slice() {
            [Host { place: PostgresLocation::Socket(directory), port, .. }] => {
                query.push(("host", directory.display().to_string()));
                if *port != resolve::DEFAULT_PORT {
                    query.push(("port", port.to_string()));
                }
                String::new()
            }
            [Host { place: PostgresLocation::Local(_), port, .. }] if *port != resolve::DEFAULT_PORT => {
                query.push(("port", port.to_string()));
                String::new()
            }
            hosts => hosts.iter().map(Host::url_part).collect::<Vec<_>>().join(","),
        };
        let addresses: Vec<String> = self.hosts.iter().map(Host::named_address).collect();
        if addresses.iter().any(|address| !address.is_empty()) {
            query.push(("hostaddr", addresses.join(",")));
        }
        if self.tls.mode != SslMode::Prefer && self.hosts.iter().any(Host::is_tcp) {
            query.push(("sslmode", self.tls.mode.name().to_owned()));
        }
        if self.session != SessionAttributes::Any {
            query.push(("target_session_attrs", self.session.name().to_owned()));
        }
        if let Some((_, options)) = self.startup.iter().find(|(name, _)| name == "options") {
            query.push(("options", options.clone()));
        }
        url::written("postgres", [&self.user, &authority, &self.database], &query)
    }
}

/// `text` as typed, with every password in it replaced by `***`; for the command line in reports. It may be a
/// target's name, an option that holds one, or anything else.
pub fn without_password(text: &str) -> String {
    redact::redact(text)
}

/// Whether a variable or option of this name holds a password or a token.
pub fn is_secret(name: &str) -> bool {
    redact::is_secret(name)
}

/// Whether a setting of a database may hold a password, a key or a token.
pub(crate) fn is_secret_setting(name: &str) -> bool {
    redact::is_secret_setting(name)
}

/// Whether libpq has a connection parameter of this name.
pub fn is_parameter(name: &str) -> bool {
    parameters::POSTGRES.has(name)
}

/// What stands before the first `=` may be a parameter's name, which a path is not.
fn looks_like_conninfo(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '.']))
}

/// The scheme of a URL that is not PostgreSQL's.
pub(crate) fn other_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_other = url::without_scheme(text).is_none() && !scheme.contains(['=', ' ']);
    is_other.then_some(scheme)
}

fn read(text: &str) -> Result<parameters::Parameters, TargetError> {
    let text = text.trim();
    if let Some(rest) = url::without_scheme(text) {
        return url::parse(rest);
    }
    if let Some(scheme) = other_scheme(text) {
        let scheme: String = scheme.chars().take(24).collect();
        let suggestion = parameters::nearest(&scheme, ["postgres", "postgresql"].into_iter());
        return Err(TargetError::UnknownScheme { scheme, suggestion });
    }
    if text.is_empty() || looks_like_conninfo(text) {
        return conninfo::parse(text);
    }
    // `user:password@host` without its scheme must not be repeated.
    let shown = if text.contains('@') { "…@…" } else { text };
    Err(TargetError::NotATarget { found: shown.chars().take(60).collect() })
}

impl Host {
    fn url_part(&self) -> String {
        let host = match &self.place {
            PostgresLocation::Local(_) => String::new(),
            PostgresLocation::Socket(directory) => url::encode(&directory.display().to_string()),
            PostgresLocation::Tcp { name, .. } => url::encode_host(name.as_deref().unwrap_or_default()),
        };
        if self.port == resolve::DEFAULT_PORT { host } else { format!("{host}:{}", self.port) }
    }

    fn named_address(&self) -> String {
        match &self.place {
            PostgresLocation::Tcp { address: Some(address), .. } => address.to_string(),
            _ => String::new(),
        }
    }

    fn is_tcp(&self) -> bool {
        matches!(self.place, PostgresLocation::Tcp { .. })
    }
}

impl SessionAttributes {
    const ALL: [Self; 6] =
        [Self::Any, Self::ReadWrite, Self::ReadOnly, Self::Primary, Self::Standby, Self::PreferStandby];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
            Self::Primary => "primary",
            Self::Standby => "standby",
            Self::PreferStandby => "prefer-standby",
        }
    }
}

#[cfg(test)]
mod tests;
