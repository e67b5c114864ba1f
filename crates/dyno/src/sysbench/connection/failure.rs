//! Why there is no session, in the words that sysbench and its drivers have for it. Wrappers look for them.

use std::path::Path;

use dyno_engine::error::{EngineError, SessionError};
use dyno_target::TargetError;
use dyno_target::connection::ConnectError;
use dyno_wire::endpoint::Address;
use dyno_wire::server_error::ServerError;

use super::super::console::{Level, SysbenchConsole};
use super::SysbenchServer;
use crate::pgbench::connect::ConnectFailure;

/// What the scripts of sysbench say when there is no driver, and when it did not connect.
const NO_DRIVER: &str = "failed to initialize the DB driver";
const NO_CONNECTION: &str = "connection creation failed";
const SQL_API: &str = "SQL API error";

/// Errors of MySQL's client library.
const UNKNOWN_ERROR: u16 = 2000;
const NO_SERVER: u16 = 2002;
const UNKNOWN_HOST: u16 = 2005;
const SERVER_LOST: u16 = 2013;
const TLS_FAILED: u16 = 2026;

/// No session came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct NotConnected {
    lines: Vec<String>,
    reason: &'static str,
}

impl NotConnected {
    /// The options name no driver, or none that can be had so.
    pub(super) fn no_driver(line: String) -> Self {
        Self { lines: vec![line], reason: NO_DRIVER }
    }

    pub(in super::super) fn nowhere() -> Self {
        Self { lines: vec!["no host to connect to".to_owned()], reason: NO_CONNECTION }
    }

    /// The load could not begin, and no server is to blame.
    pub(in super::super) fn other(error: &EngineError) -> Self {
        Self { lines: vec![error.to_string()], reason: NO_CONNECTION }
    }

    pub(super) fn postgres_target(error: &TargetError) -> Self {
        Self::postgres(&ConnectFailure::target(error).to_string())
    }

    /// libpq's words end with an end of line, and so does sysbench's message.
    fn postgres(text: &str) -> Self {
        Self { lines: vec![format!("Connection to database failed: {text}\n")], reason: NO_CONNECTION }
    }

    pub(super) fn mysql_target(server: &str, error: &TargetError) -> Self {
        Self::mysql(server, UNKNOWN_ERROR, &error.to_string())
    }

    fn mysql(server: &str, number: u16, message: &str) -> Self {
        let lines = vec![
            format!("unable to connect to MySQL server on {server}, aborting..."),
            format!("error {number}: {message}"),
        ];
        Self { lines, reason: NO_CONNECTION }
    }

    /// The same, when another address failed before.
    pub(super) fn after(self, before: &Self) -> Self {
        let [one, other] = [before, &self].map(|it| it.lines.concat());
        let other = other.strip_prefix("Connection to database failed: ").unwrap_or(&other);
        Self { lines: vec![format!("{one}{other}")], ..self }
    }

    /// Tells of it while threads begin.
    pub(in super::super) fn tell_thread(&self, console: &SysbenchConsole) {
        self.tell(console, "thread_init");
        console.fatal("Thread initialization failed!");
    }

    /// Tells of it where a command is carried out, by this function.
    pub(in super::super) fn tell_command(&self, console: &SysbenchConsole, function: &str) {
        self.tell(console, function);
    }

    /// Tells of it where a script says itself what follows from it.
    pub(in super::super) fn tell_lines(&self, console: &SysbenchConsole) {
        for line in &self.lines {
            console.say(Level::Fatal, line);
        }
    }

    fn tell(&self, console: &SysbenchConsole, function: &str) {
        self.tell_lines(console);
        console.fatal(&format!("`{function}' function failed: {}", self.reason));
    }
}

impl SysbenchServer {
    pub(super) fn no_target(&self, error: &TargetError) -> NotConnected {
        match error {
            _ if !self.target.is_mysql() => NotConnected::postgres_target(error),
            TargetError::NameNotFound { host, .. } => {
                NotConnected::mysql(&self.name, UNKNOWN_HOST, &format!("Unknown server host '{host}' (-2)"))
            }
            _ => NotConnected::mysql_target(&self.name, error),
        }
    }

    pub(super) fn not_opened(&self, name: Option<&str>, error: &ConnectError) -> NotConnected {
        if !self.target.is_mysql() {
            return NotConnected::postgres(&ConnectFailure::of_address(name, error).to_string());
        }
        if let ConnectError::Target(error) = error {
            return self.no_target(error);
        }
        let (number, message) = match error {
            ConnectError::NoSocket { address } | ConnectError::SocketDenied { address, .. } => {
                (NO_SERVER, no_socket(address))
            }
            ConnectError::Refused { .. }
            | ConnectError::Unreachable { .. }
            | ConnectError::TimedOut { .. }
            | ConnectError::Io { .. } => {
                (NO_SERVER, format!("Can't connect to server on '{}' (115)", self.host))
            }
            ConnectError::Closed { .. } => (
                SERVER_LOST,
                "Lost connection to server at 'handshake: reading initial communication packet'".to_owned(),
            ),
            ConnectError::TlsRefused { .. }
            | ConnectError::CertificateNotTrusted { .. }
            | ConnectError::CertificateName { .. }
            | ConnectError::CertificateExpired { .. }
            | ConnectError::Certificate { .. }
            | ConnectError::ClientCertificate { .. } => (TLS_FAILED, format!("TLS/SSL error: {error}")),
            other => match other.server_error() {
                Some(server_error) => {
                    (server_error.number().unwrap_or(UNKNOWN_ERROR), server_error.message().to_owned())
                }
                None => (UNKNOWN_ERROR, other.to_string()),
            },
        };
        NotConnected::mysql(&self.name, number, &message)
    }

    /// A session of the engine, after a first one could be opened.
    pub(super) fn refused(&self, address: &Address, error: &SessionError) -> NotConnected {
        if let SessionError::Prepare(server_error) = error {
            let lines = match server_error.number() {
                Some(number) => vec![
                    "mysql_stmt_prepare() failed".to_owned(),
                    format!("MySQL error: {number} \"{}\"", server_error.message()),
                ],
                None => vec![format!("PQprepare() failed: ERROR:  {}\n", server_error.message())],
            };
            return NotConnected { lines, reason: SQL_API };
        }
        if !self.target.is_mysql() {
            return NotConnected::postgres(&ConnectFailure::of_session(None, address, error).to_string());
        }
        let server_error = error.server_error();
        let message =
            server_error.map_or_else(|| error.to_string(), |server_error| server_error.message().to_owned());
        let number = server_error.and_then(ServerError::number).unwrap_or(SERVER_LOST);
        NotConnected::mysql(&self.name, number, &message)
    }
}

fn no_socket(address: &Address) -> String {
    let (path, errno) = match address {
        // As the system numbers them: it refuses, or there is none.
        Address::Unix(path) => (path.display().to_string(), if Path::exists(path) { 111 } else { 2 }),
        Address::Tcp(address) => (address.to_string(), 111),
    };
    format!("Can't connect to local server through socket '{path}' ({errno})")
}
