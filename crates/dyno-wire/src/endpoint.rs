//! Where a server is and how to log in to it: data only. Who opens the socket reads it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
// A length of time, and no clock.
use core::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::my;

/// A server's address, already resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    /// The socket file itself, `/var/run/postgresql/.s.PGSQL.5432`.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// A server and all that is needed to open a session on it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub address: Address,
    pub login: Arc<Login>,
    pub wire: Wire,
    /// How long connecting and logging in may take; `None` for as long as it takes.
    pub connect_timeout: Option<Duration>,
}

/// How a server knows a session, for cancelling what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionName {
    Postgres { process_id: i32, secret_key: Vec<u8> },
    MySql { connection_id: u32 },
}

/// The protocol that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wire {
    #[default]
    Postgres,
    /// Whoever opens the socket sets what the options say of it.
    MySql(my::handshake::Options),
}

impl Wire {
    pub fn is_mysql(self) -> bool {
        matches!(self, Self::MySql(_))
    }

    /// The one of [`Login::parameters`] by which the server shows what a session is for.
    pub fn name_parameter(self) -> &'static str {
        if self.is_mysql() { "program_name" } else { "application_name" }
    }
}

/// Who logs in, and how.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: Option<Password>,
    pub database: String,
    /// Further startup parameters: `application_name`, `options`, …. Without a `client_encoding` it is UTF8; with an empty one,
    /// what the database has.
    pub parameters: Vec<(String, String)>,
    pub tls: Tls,
    pub channel_binding: ChannelBinding,
}

/// Whether the connection is encrypted.
#[derive(Debug, Clone)]
pub enum Tls {
    Disable,
    /// Encrypted if the server offers it.
    Prefer(TlsSetup),
    /// Encrypted or not at all.
    Require(TlsSetup),
}

/// What a TLS session needs; trust is decided by `config`'s verifier.
#[derive(Debug, Clone)]
pub struct TlsSetup {
    pub config: Arc<ClientConfig>,
    pub server_name: ServerName<'static>,
}

/// Whether SCRAM binds to the TLS channel (`channel_binding` of libpq).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// A password; it shows itself as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The password itself, for the authentication exchange and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
