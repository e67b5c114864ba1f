//! Why a session could not be opened, and why a statement failed. Each message says what failed, on what, what
//! the server said and what to do next; the SQLSTATE is kept.

use std::io;
use std::time::Duration;

use dyno_wire::endpoint::{Address, Endpoint};
use dyno_wire::link::LinkError;
use dyno_wire::pg::error::PostgresError;
use dyno_wire::server_error::ServerError;
use dyno_wire::{my, pg};
use rustls::CertificateError;

use crate::tls::certificate_reason;

use super::advice::{self, TlsTerms};
use crate::cause::Cause;
use crate::settings::TargetError;

/// No session came about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("no server listens at {address} (connection refused): start it, or check host and port")]
    Refused { address: Address },
    #[error(
        "no server has the socket {address}: start the server, check the path (unix_socket_directories in PostgreSQL, socket in MySQL), or name a host to use TCP"
    )]
    NoSocket { address: Address },
    #[error(
        "the socket {address} may not be opened by this user: {source}; check the rights on its directory"
    )]
    SocketDenied { address: Address, source: io::Error },
    #[error("{address} cannot be reached: {source}; check the address, the network and the firewall")]
    Unreachable { address: Address, source: io::Error },
    #[error("{address} did not answer within {} s: check host and firewall, or raise the time for connecting (connect_timeout)", .timeout.as_secs_f64())]
    TimedOut { address: Address, timeout: Duration },
    #[error("interrupted while connecting to {place}")]
    Interrupted { place: String },
    #[error("the connection to {address} failed: {source}")]
    Io { address: Address, source: io::Error },
    #[error("{address} closed the connection before the login was done: look into the server's log")]
    Closed { address: Address },
    #[error("what answers at {address} is not PostgreSQL: {what}; check host and port")]
    NotPostgres { address: Address, what: String },
    #[error("what answers at {address} is not MySQL: {what}; check host and port")]
    NotMySql { address: Address, what: String },
    #[error(
        "the password of user `{user}` was not accepted at {address}: {error}; check PGPASSWORD, the URL or ~/.pgpass"
    )]
    WrongPassword { address: Address, user: String, error: ServerError },
    #[error("{address} did not let user `{user}` in: {error}; {advice}")]
    AccessDenied { address: Address, user: String, error: ServerError, advice: &'static str },
    #[error(
        "{address} asks for a password ({method}) of user `{user}` and none was given: set PGPASSWORD or add a line to ~/.pgpass"
    )]
    PasswordMissing { address: Address, user: String, method: &'static str },
    #[error(
        "{address} does not offer TLS and the target demands it: turn it on in the server, or say {}",
        .terms.off
    )]
    TlsRefused { address: Address, terms: &'static TlsTerms },
    #[error("{address} refuses logins without TLS: {error}; say ssl-mode=REQUIRED")]
    TlsRequired { address: Address, error: ServerError },
    #[error(
        "the certificate of {address} is not signed by a trusted authority: name the right one with {}=FILE",
        .terms.authority
    )]
    CertificateNotTrusted { address: Address, terms: &'static TlsTerms },
    #[error(
        "the certificate of {address} is for {}, not for `{wanted}`: {}",
        names(.presented), .terms.other_name
    )]
    CertificateName { address: Address, wanted: String, presented: Vec<String>, terms: &'static TlsTerms },
    #[error(
        "the certificate of {address} has expired or is not valid yet ({reason}): renew it, and check this machine's clock"
    )]
    CertificateExpired { address: Address, reason: String },
    #[error("the certificate of {address} cannot be accepted: {reason}")]
    Certificate { address: Address, reason: String },
    #[error(
        "{address} did not accept the client certificate: {reason}; check {}",
        .terms.client_certificate
    )]
    ClientCertificate { address: Address, reason: String, terms: &'static TlsTerms },
    #[error(
        "database `{database}` does not exist at {address}: {error}; {}",
        advice::database_missing(.error)
    )]
    DatabaseMissing { address: Address, database: String, error: ServerError },
    #[error(
        "user `{user}` does not exist at {address}: {error}; create it (CREATE ROLE … LOGIN) or name another"
    )]
    RoleMissing { address: Address, user: String, error: ServerError },
    #[error(
        "{address} has no connection left for user `{user}`: {error}; end others or raise {}",
        advice::connection_limit(.error)
    )]
    TooManyConnections { address: Address, user: String, error: ServerError },
    #[error(
        "{address} lets user `{user}` not into database `{database}` from here: {error}; {}",
        advice::not_allowed(.error)
    )]
    NotAllowed { address: Address, user: String, database: String, error: ServerError },
    #[error(
        "{address} refuses logins from this host: {error}; {}",
        advice::host_not_allowed(.error)
    )]
    HostNotAllowed { address: Address, error: ServerError },
    #[error("{address} accepts no connections yet: {error}; wait until it has started")]
    NotReady { address: Address, error: ServerError },
    #[error("{address} refused the login of `{user}`: {error}")]
    Server { address: Address, user: String, error: ServerError },
    #[error("the login at {address} failed: {source}")]
    Login { address: Address, source: pg::handshake::LoginError },
    #[error("the login at {address} failed: {source}")]
    MyLogin { address: Address, source: my::handshake::LoginError },
    #[error("{place} could not be opened: {error}{}", advice::further(.error))]
    Driver { place: String, error: ServerError },
    #[error("{address} did not stop the statement: {source}")]
    NotCancelled { address: Address, source: Box<QueryError> },
}

impl ConnectError {
    /// What the server said, where it was the server that said no.
    pub fn server_error(&self) -> Option<&ServerError> {
        match self {
            Self::WrongPassword { error, .. }
            | Self::AccessDenied { error, .. }
            | Self::TlsRequired { error, .. }
            | Self::DatabaseMissing { error, .. }
            | Self::RoleMissing { error, .. }
            | Self::TooManyConnections { error, .. }
            | Self::NotAllowed { error, .. }
            | Self::HostNotAllowed { error, .. }
            | Self::NotReady { error, .. }
            | Self::Driver { error, .. }
            | Self::Server { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The server's SQLSTATE, where it was the server that said no.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server_error().map(sqlstate)
    }

    /// Whether the server has said no to this statement, and would to others of its kind: not for want of room, of a right or
    /// of time, and the session goes on.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Server { error, .. } if is_refusal(error))
    }

    /// MySQL's number of the error, where it was the server that said no.
    pub fn number(&self) -> Option<u16> {
        self.server_error()?.number()
    }

    /// Whether the server says no for a reason that no waiting mends: the password, the user or the database.
    pub fn is_final(&self) -> bool {
        match self.server_error() {
            // 1045 says 28000 as well.
            Some(error) => {
                matches!(sqlstate(error), "28P01" | "28000" | "3D000") || error.number() == Some(1049)
            }
            None => false,
        }
    }

    pub(super) fn from_io(endpoint: &Endpoint, source: io::Error, timeout: Option<Duration>) -> Self {
        let address = endpoint.address.clone();
        let local = matches!(address, Address::Unix(_));
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused if local => Self::NoSocket { address },
            io::ErrorKind::PermissionDenied if local => Self::SocketDenied { address, source },
            io::ErrorKind::ConnectionRefused => Self::Refused { address },
            io::ErrorKind::TimedOut => Self::TimedOut { address, timeout: timeout.unwrap_or_default() },
            io::ErrorKind::Interrupted => Self::Interrupted { place: address.to_string() },
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable => Self::Unreachable { address, source },
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Self::Closed { address },
            _ => Self::Io { address, source },
        }
    }

    pub(super) fn closed(endpoint: &Endpoint) -> Self {
        Self::Closed { address: endpoint.address.clone() }
    }

    /// Recognises another kind of server by the first bytes that it sent.
    pub(super) fn other_product(endpoint: &Endpoint, first_words: &[u8]) -> Option<Self> {
        let address = endpoint.address.clone();
        let known = [
            (&b"HTTP/"[..], "an HTTP server"),
            (b"SSH-", "an SSH server"),
            (b"220 ", "a mail or FTP server"),
        ];
        let other = known.iter().find(|(start, _)| first_words.starts_with(start));
        let what = other.map(|(_, what)| format!("it is {what}"));
        if endpoint.wire.is_mysql() {
            return Some(Self::NotMySql { address, what: what? });
        }
        Some(Self::NotPostgres { address, what: what.or_else(|| mysql(first_words))? })
    }

    pub(super) fn from_login(
        endpoint: &Endpoint,
        source: pg::handshake::LoginError,
        first_words: &[u8],
    ) -> Self {
        use pg::handshake::LoginError;
        let (address, terms) = (endpoint.address.clone(), TlsTerms::of(endpoint));
        match source {
            LoginError::Server(error) => Self::from_server(endpoint, error),
            LoginError::TlsRefused => Self::TlsRefused { address, terms },
            LoginError::Certificate(error) => Self::from_certificate(endpoint, &error),
            LoginError::PasswordMissing { method } => {
                Self::PasswordMissing { address, user: endpoint.login.user.clone(), method }
            }
            LoginError::Tls(LinkError::Tls(rustls::Error::AlertReceived(alert))) => {
                Self::ClientCertificate { address, reason: format!("TLS alert {alert:?}"), terms }
            }
            LoginError::MySql => Self::NotPostgres { address, what: A_MYSQL.to_owned() },
            LoginError::TlsAnswer { .. } | LoginError::SpokeFirst | LoginError::Protocol(_) => {
                Self::NotPostgres { address, what: format!("it began with {}", quote(first_words)) }
            }
            source => Self::Login { address, source },
        }
    }

    pub(super) fn from_my_login(endpoint: &Endpoint, source: my::handshake::LoginError) -> Self {
        use my::handshake::LoginError;
        let (address, terms) = (endpoint.address.clone(), TlsTerms::of(endpoint));
        match source {
            LoginError::Server(error) | LoginError::Unwelcome(error) => {
                Self::from_my_server(endpoint, error.into())
            }
            LoginError::PostgreSql => Self::NotMySql {
                address,
                what: "it is PostgreSQL or a relative (a postgres:// URL reaches it)".to_owned(),
            },
            LoginError::NotMySql(beginning) => {
                Self::NotMySql { address, what: format!("it began with {beginning}") }
            }
            LoginError::TlsRefused => Self::TlsRefused { address, terms },
            LoginError::Certificate(error) => Self::from_certificate(endpoint, &error),
            LoginError::Tls(LinkError::Tls(rustls::Error::AlertReceived(alert))) => {
                Self::ClientCertificate { address, reason: format!("TLS alert {alert:?}"), terms }
            }
            source => Self::MyLogin { address, source },
        }
    }

    fn from_server(endpoint: &Endpoint, error: Box<PostgresError>) -> Self {
        let address = endpoint.address.clone();
        let (user, database) = (endpoint.login.user.clone(), endpoint.login.database.clone());
        let is_role_missing = error.routine.as_deref() == Some("InitializeSessionUserId");
        let code = error.code;
        let error = ServerError::from(error);
        match code.as_str() {
            "28P01" => Self::WrongPassword { address, user, error },
            "3D000" => Self::DatabaseMissing { address, database, error },
            "53300" => Self::TooManyConnections { address, user, error },
            "57P03" => Self::NotReady { address, error },
            // One code for both; the messages are translated, the server's routine is not.
            "28000" if is_role_missing => Self::RoleMissing { address, user, error },
            "28000" => Self::NotAllowed { address, user, database, error },
            _ => Self::Server { address, user, error },
        }
    }

    fn from_my_server(endpoint: &Endpoint, error: ServerError) -> Self {
        let address = endpoint.address.clone();
        let (user, database) = (endpoint.login.user.clone(), endpoint.login.database.clone());
        match error.number().unwrap_or_default() {
            1045 | 1698 => {
                Self::AccessDenied { address, user, error, advice: advice::access_denied(endpoint) }
            }
            1049 => Self::DatabaseMissing { address, database, error },
            1044 => Self::NotAllowed { address, user, database, error },
            // Of the server, of the user, of the user per hour.
            1040 | 1203 | 1226 => Self::TooManyConnections { address, user, error },
            1129 | 1130 => Self::HostNotAllowed { address, error },
            3159 => Self::TlsRequired { address, error },
            _ => Self::Server { address, user, error },
        }
    }

    fn from_certificate(endpoint: &Endpoint, error: &CertificateError) -> Self {
        let (address, terms) = (endpoint.address.clone(), TlsTerms::of(endpoint));
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Self::CertificateNotTrusted { address, terms }
            }
            CertificateError::NotValidForNameContext { expected, presented } => Self::CertificateName {
                address,
                wanted: expected.to_str().into_owned(),
                presented: presented.clone(),
                terms,
            },
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                Self::CertificateExpired { address, reason: error.to_string() }
            }
            other => Self::Certificate { address, reason: certificate_reason(other) },
        }
    }
}

const A_MYSQL: &str = "it is MySQL or a relative (a mysql:// URL reaches it)";

/// What a MySQL server says first: a packet of protocol 10 with its version, or an error.
fn mysql(first_words: &[u8]) -> Option<String> {
    let [low, middle, high, 0, kind, rest @ ..] = first_words else { return None };
    let length = usize::from(*low) | usize::from(*middle) << 8 | usize::from(*high) << 16;
    if length != rest.len() + 1 {
        return None;
    }
    match kind {
        0x0a => {
            let version = rest.split(|byte| *byte == 0).next().unwrap_or_default();
            let version = String::from_utf8_lossy(version);
            Some(format!("it is MySQL or a relative, version {version} (a mysql:// URL reaches it)"))
        }
        0xff => Some(format!("{A_MYSQL}, and it refuses connections from here")),
        _ => None,
    }
}

/// The first bytes, readable.
fn quote(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.get(..bytes.len().min(32)).unwrap_or_default().escape_ascii())
}

fn names(presented: &[String]) -> String {
    if presented.is_empty() {
        return "no host at all".to_owned();
    }
    presented.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A statement failed.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("{error}{}, in: {statement}", advice::further(.error))]
    Server { error: ServerError, statement: String },
    #[error("the connection was lost: {source}, in: {statement}; {advice}")]
    Lost { source: io::Error, statement: String, advice: &'static str },
    #[error(
        "the server did not answer in time, in: {statement}; look whether it hangs, in its log and on its host"
    )]
    TimedOut { statement: String },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    #[error("an earlier failure ended this connection; open another")]
    Broken,
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Protocol(#[from] pg::error::ProtocolError),
    #[error(transparent)]
    MyProtocol(#[from] my::error::ProtocolError),
    #[error("the server's answer has more than {bytes} bytes, in: {statement}")]
    TooLarge { bytes: usize, statement: String },
    #[error("`{value}` is no {wanted}, in: {statement}")]
    Value { value: String, wanted: &'static str, statement: String },
    #[error("the statement does not copy from the client: {statement}")]
    NotACopy { statement: String },
    #[error("the statement loads no file from the client: {statement}")]
    NotALoad { statement: String },
    #[error("the server asked for the file `{file}`, which it was not given, in: {statement}")]
    FileRefused { file: String, statement: String },
}

impl QueryError {
    fn server_error(&self) -> Option<&ServerError> {
        match self {
            Self::Server { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The server's SQLSTATE, where it was the server that said no.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server_error().map(sqlstate)
    }

    /// What is behind it, where it was the server that said no and dyno knows.
    pub fn cause(&self) -> Option<Cause> {
        self.server_error().and_then(Cause::of)
    }

    /// Whether the server has said no to this statement, and would to others of its kind: not for want of room, of a right or
    /// of time, and the session goes on.
    pub fn is_refusal(&self) -> bool {
        self.server_error().is_some_and(is_refusal)
    }

    /// MySQL's number of the error, where it was the server that said no.
    pub fn number(&self) -> Option<u16> {
        self.server_error()?.number()
    }
}

fn is_refusal(error: &ServerError) -> bool {
    let is_of_moment = matches!(
        Cause::of(error),
        Some(
            Cause::DiskFull
                | Cause::ReadOnly
                | Cause::Denied
                | Cause::Locked
                | Cause::TooManyConnections
                | Cause::TooManyStatements
        )
    );
    !(is_of_moment || error.ends_session() || error.is_cancellation())
}

fn sqlstate(error: &ServerError) -> &str {
    match error {
        ServerError::Postgres(error) => error.code.as_str(),
        ServerError::MySql(error) => error.state.as_str(),
        ServerError::Driver(_) => "",
    }
}

/// A statement on one line, its beginning only.
pub(super) fn shorten(sql: &str) -> String {
    const CHARACTERS_MAX: usize = 120;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= CHARACTERS_MAX {
        return line;
    }
    line.chars().take(CHARACTERS_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mysql_greeting_is_recognised_whatever_its_length() {
        for padding in 0..120_usize {
            let body = [b"\x0a8.0.36\0".as_slice(), &vec![0; padding]].concat();
            let mut packet = u32::try_from(body.len()).unwrap().to_le_bytes()[..3].to_vec();
            packet.push(0);
            packet.extend(&body);
            assert!(mysql(&packet).unwrap().contains("8.0.36"), "{padding}");
        }
        assert_eq!(mysql(b"S"), None);
        assert_eq!(mysql(b"E\0\0\0\x08abcd"), None);
        assert_eq!(mysql(b"R\0\0\0\x08\0\0\0\0"), None);
    }

    #[test]
    fn long_statements_are_shortened() {
        assert_eq!(shorten("SELECT\n  1"), "SELECT 1");
        assert_eq!(shorten(&"x".repeat(500)).chars().count(), 121);
    }
}
