//! Where a server is and how to log in to it: data only. Who opens the socket reads it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
// A length of time, and no clock.
use core::time::Duration;

pub use crate::link::TlsSetup;

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
    MySql(MySqlOptions),
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

/// What MySQL's login knows beyond [`Login`], of which `parameters` become connection attributes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MySqlOptions {
    /// The connection is a Unix socket, over which passwords are sent in clear as the server expects there.
    pub unix_socket: bool,
    /// Let `LOAD DATA LOCAL INFILE` ask for a file.
    pub local_infile: bool,
    /// Count rows found, not rows changed, as affected.
    pub found_rows: bool,
    /// Let rows end without EOF packets where the server can.
    pub deprecate_eof: bool,
    /// Send the password as it is where the account's plugin wants that, over TLS. Whoever the certificate was not checked
    /// of then knows it. Over a Unix socket it is sent in any case.
    pub clear_password: bool,
    /// Without TLS, ask the server for its RSA key. Who sits in between may put in a key of his own.
    pub public_key_retrieval: bool,
}

impl Default for MySqlOptions {
    fn default() -> Self {
        Self {
            unix_socket: false,
            local_infile: false,
            found_rows: false,
            deprecate_eof: true,
            clear_password: false,
            public_key_retrieval: true,
        }
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
