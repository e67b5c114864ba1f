//! Why there is no session, in libpq's words where libpq has words for it. Wrappers look for them in what pgbench
//! prints.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use dyno_engine::error::SessionError;
use dyno_target::connection::ConnectError;
use dyno_target::settings::TargetError;
use dyno_wire::endpoint::Address;
use dyno_wire::pg::libpq_text;

use super::PgbenchServer;

const IS_IT_RUNNING_LOCALLY: &str =
    "\n\tIs the server running locally and accepting connections on that socket?";
const IS_IT_RUNNING_THERE: &str = "\n\tIs the server running on that host and accepting TCP/IP connections?";
const CLOSED: &str = "server closed the connection unexpectedly\n\tThis probably means the server terminated \
                      abnormally\n\tbefore or while processing the request.";

/// Why a connection could not be opened: one or more lines, the last one not ended.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct ConnectFailure {
    text: String,
    needs_password: bool,
}

impl ConnectFailure {
    /// What pgbench prints; `purpose` is what the connection was for: `setup`, `initialization`, `client 3`.
    pub(crate) fn stderr(&self, purpose: &str) -> String {
        format!("pgbench: error: {self}\npgbench: error: could not create connection for {purpose}\n")
    }

    /// The server asks for a password, and none was given.
    pub(super) fn needs_password(&self) -> bool {
        self.needs_password
    }

    /// An address could not be used. `name` is what was resolved to get it.
    pub(crate) fn of_address(name: Option<&str>, error: &ConnectError) -> Self {
        let needs_password = matches!(error, ConnectError::PasswordMissing { .. });
        let text = match address_of(error) {
            Some(address) => {
                let text = failed(&ServerLabel { name, address }, &reason(error));
                if knows_no_parameter(error) { format!("{text}\n{text}") } else { text }
            }
            None => reason(error),
        };
        Self { text, needs_password }
    }

    /// A further session there could not be opened.
    pub(crate) fn of_session(name: Option<&str>, address: &Address, error: &SessionError) -> Self {
        let text = failed(&ServerLabel { name, address }, &session_reason(error, address));
        Self { text, needs_password: false }
    }

    /// The place was not named rightly.
    pub(crate) fn target(error: &TargetError) -> Self {
        Self { text: target(error), needs_password: false }
    }

    pub(super) fn nowhere() -> Self {
        Self { text: "no address to connect to".to_owned(), needs_password: false }
    }

    /// The same, when another address failed before.
    pub(super) fn after(self, before: &Self) -> Self {
        Self { text: format!("{}\n{}", before.text, self.text), ..self }
    }
}

impl PgbenchServer {
    /// Why a further session there could not be opened, worded like the first one's failure.
    pub(crate) fn failure(&self, error: &SessionError) -> String {
        ConnectFailure::of_session(self.name.as_deref(), &self.endpoint.address, error).text
    }
}

/// libpq takes that for a server which is too old to know `application_name`, tries again without it, and tells of both.
fn knows_no_parameter(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Server { error, .. } if error.state() == "42704")
}

fn failed(place: &ServerLabel<'_>, reason: &str) -> String {
    format!("connection to server {place} failed: {reason}")
}

/// A server's address as libpq words it.
struct ServerLabel<'a> {
    name: Option<&'a str>,
    address: &'a Address,
}

impl fmt::Display for ServerLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address: &SocketAddr = match self.address {
            Address::Unix(path) => return write!(f, "on socket \"{}\"", path.display()),
            Address::Tcp(address) => address,
        };
        let (ip, port) = (address.ip().to_string(), address.port());
        match self.name {
            Some(name) if name != ip => write!(f, "at \"{name}\" ({ip}), port {port}"),
            _ => write!(f, "at \"{ip}\", port {port}"),
        }
    }
}

fn address_of(error: &ConnectError) -> Option<&Address> {
    match error {
        ConnectError::Target(_) => None,
        ConnectError::Refused { address }
        | ConnectError::NoSocket { address }
        | ConnectError::SocketDenied { address, .. }
        | ConnectError::Unreachable { address, .. }
        | ConnectError::TimedOut { address, .. }
        | ConnectError::Interrupted { address }
        | ConnectError::Io { address, .. }
        | ConnectError::Closed { address }
        | ConnectError::NotPostgres { address, .. }
        | ConnectError::WrongPassword { address, .. }
        | ConnectError::PasswordMissing { address, .. }
        | ConnectError::NotMySql { address, .. }
        | ConnectError::AccessDenied { address, .. }
        | ConnectError::TlsRequired { address, .. }
        | ConnectError::HostNotAllowed { address, .. }
        | ConnectError::MyLogin { address, .. }
        | ConnectError::NotCancelled { address, .. }
        | ConnectError::TlsRefused { address, .. }
        | ConnectError::CertificateNotTrusted { address, .. }
        | ConnectError::CertificateName { address, .. }
        | ConnectError::CertificateExpired { address, .. }
        | ConnectError::Certificate { address, .. }
        | ConnectError::ClientCertificate { address, .. }
        | ConnectError::DatabaseMissing { address, .. }
        | ConnectError::RoleMissing { address, .. }
        | ConnectError::TooManyConnections { address, .. }
        | ConnectError::NotAllowed { address, .. }
        | ConnectError::NotReady { address, .. }
        | ConnectError::Server { address, .. }
        | ConnectError::Login { address, .. } => Some(address),
    }
}

/// What follows `failed: `.
fn reason(error: &ConnectError) -> String {
    match error {
        ConnectError::Refused { .. } => format!("Connection refused{IS_IT_RUNNING_THERE}"),
        ConnectError::NoSocket { address } => {
            let refused = matches!(address, Address::Unix(path) if Path::exists(path));
            let why = if refused { "Connection refused" } else { "No such file or directory" };
            format!("{why}{IS_IT_RUNNING_LOCALLY}")
        }
        ConnectError::SocketDenied { source, .. } => {
            format!("{}{IS_IT_RUNNING_LOCALLY}", libpq_text::system(source))
        }
        ConnectError::Unreachable { source, .. } => {
            format!("{}{IS_IT_RUNNING_THERE}", libpq_text::system(source))
        }
        ConnectError::Io { source, .. } => libpq_text::system(source),
        ConnectError::TimedOut { .. } => "timeout expired".to_owned(),
        ConnectError::Interrupted { .. } => "interrupted".to_owned(),
        ConnectError::Closed { .. } => CLOSED.to_owned(),
        ConnectError::NotPostgres { what, .. } => {
            format!("expected authentication request from server, but {what}")
        }
        ConnectError::WrongPassword { error, .. }
        | ConnectError::DatabaseMissing { error, .. }
        | ConnectError::RoleMissing { error, .. }
        | ConnectError::TooManyConnections { error, .. }
        | ConnectError::NotAllowed { error, .. }
        | ConnectError::NotReady { error, .. }
        | ConnectError::Server { error, .. } => libpq_text::server_error(error, None).trim_end().to_owned(),
        // MySQL's, which is not reached from here.
        ConnectError::NotMySql { .. }
        | ConnectError::AccessDenied { .. }
        | ConnectError::TlsRequired { .. }
        | ConnectError::HostNotAllowed { .. }
        | ConnectError::MyLogin { .. }
        | ConnectError::NotCancelled { .. } => error.to_string(),
        ConnectError::PasswordMissing { .. } => "fe_sendauth: no password supplied".to_owned(),
        ConnectError::TlsRefused { .. } => "server does not support SSL, but SSL was required".to_owned(),
        ConnectError::CertificateNotTrusted { .. } => "SSL error: certificate verify failed".to_owned(),
        ConnectError::CertificateName { wanted, presented, .. } => {
            let presented = presented.first().map_or("", String::as_str);
            format!("server certificate for \"{presented}\" does not match host name \"{wanted}\"")
        }
        ConnectError::CertificateExpired { reason, .. }
        | ConnectError::Certificate { reason, .. }
        | ConnectError::ClientCertificate { reason, .. } => format!("SSL error: {reason}"),
        ConnectError::Login { source, .. } => source.to_string(),
        ConnectError::Target(error) => target(error),
    }
}

/// The same of a session that the engine opens.
fn session_reason(error: &SessionError, address: &Address) -> String {
    let local = matches!(address, Address::Unix(_));
    if let Some(error) = error.server_error() {
        return libpq_text::server_error(error, None).trim_end().to_owned();
    }
    match error {
        SessionError::Io { doing: "connect", source } => {
            let is_it_running = if local { IS_IT_RUNNING_LOCALLY } else { IS_IT_RUNNING_THERE };
            format!("{}{is_it_running}", libpq_text::system(&(*source).into()))
        }
        SessionError::Io { source, .. } => libpq_text::system(&(*source).into()),
        SessionError::Closed => CLOSED.to_owned(),
        SessionError::TimedOut(_) => "timeout expired".to_owned(),
        other => other.to_string(),
    }
}

/// A name that could not be understood, or not resolved.
fn target(error: &TargetError) -> String {
    match error {
        TargetError::NameNotFound { host, source } => {
            format!("could not translate host name \"{host}\" to address: {}", libpq_text::system(source))
        }
        TargetError::UnknownParameter { name, .. } => format!("invalid connection option \"{name}\""),
        TargetError::InvalidValue { name: "port", value, .. } if value.parse::<i32>().is_ok() => {
            format!("invalid port number: \"{value}\"")
        }
        TargetError::InvalidValue { name: name @ ("port" | "connect_timeout"), value, .. } => {
            format!("invalid integer value \"{value}\" for connection option \"{name}\"")
        }
        TargetError::InvalidValue { name, value, expected } => {
            format!("invalid {name} value: \"{value}\" (expected {expected})")
        }
        TargetError::CountDiffers { name: "port", count, hosts } => {
            format!("could not match {count} port numbers to {hosts} hosts")
        }
        TargetError::ServiceMissing { service, .. } => {
            format!("definition of service \"{service}\" not found")
        }
        other => other.to_string(),
    }
}
