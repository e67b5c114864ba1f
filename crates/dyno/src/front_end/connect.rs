//! Where a load goes: a session at the first address that takes one, and in libpq's words why there is none. Wrappers
//! look for how its sentences begin and for what the server said; the rest is told in dyno's.

use std::fmt;

use dyno_engine::error::SessionError;
use dyno_target::Target;
use dyno_target::connection::{ConnectError, Connection};
use dyno_target::settings::TargetError;
use dyno_wire::endpoint::{Address, Endpoint};
use dyno_wire::libpq_text;

use crate::secrets;

/// A target that is understood: its passwords are hidden from now on.
pub(crate) fn remembered(target: Target) -> Target {
    secrets::remember(target.passwords(), target.user(), target.database());
    target
}

/// A session, and the name that was resolved to get its address.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) endpoint: Endpoint,
    pub(crate) name: Option<String>,
}

/// Tries one address after the other. One that can be reached and refuses the login is the last.
pub(crate) fn open(target: &Target) -> Result<Opened, ConnectFailure> {
    let mut failed = ConnectFailure(Vec::new());
    for (name, endpoint) in addresses(target)? {
        let error = match Connection::open(&endpoint) {
            Ok(connection) => return Ok(Opened { connection, endpoint, name }),
            Err(error) => error,
        };
        let is_last = error.server_error().is_some() && !matches!(error, ConnectError::NotReady { .. });
        failed.0.push(FailedAddress { place: Some((name, endpoint.address)), error });
        if is_last {
            break;
        }
    }
    Err(failed)
}

/// The addresses, each with the name that was resolved to get it.
pub(crate) fn addresses(target: &Target) -> Result<Vec<(Option<String>, Endpoint)>, TargetError> {
    let unnamed = |endpoint| (None, endpoint);
    Ok(match target {
        Target::Postgres(settings) if settings.takes_any_session() => {
            let named = settings.named_endpoints()?.into_iter();
            named.map(|(name, endpoint)| (name.map(str::to_owned), endpoint)).collect()
        }
        Target::Postgres(settings) => vec![unnamed(settings.endpoint()?)],
        Target::MySql(settings) => settings.endpoints()?.into_iter().map(unnamed).collect(),
        // Neither pgbench nor sysbench has it.
        Target::Driver(_) => Vec::new(),
    })
}

/// Why no session came about: what was tried, never nothing. Displays as libpq words it, one or more lines, the last
/// one not ended.
#[derive(Debug)]
pub(crate) struct ConnectFailure(Vec<FailedAddress>);

#[derive(Debug)]
struct FailedAddress {
    /// What was resolved and the address; `None` where it did not come so far.
    place: Option<(Option<String>, Address)>,
    error: ConnectError,
}

impl From<TargetError> for ConnectFailure {
    fn from(error: TargetError) -> Self {
        Self(vec![FailedAddress { place: None, error: error.into() }])
    }
}

impl ConnectFailure {
    /// The server asks for a password, and none was given.
    pub(crate) fn needs_password(&self) -> bool {
        let last = self.0.last().map(|failed| &failed.error);
        matches!(last, Some(ConnectError::PasswordMissing { .. }))
    }

    /// Of the address that was tried last.
    pub(crate) fn into_error(mut self) -> Option<ConnectError> {
        self.0.pop().map(|failed| failed.error)
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, FailedAddress { place, error }) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { "\n" } else { "" })?;
            match place {
                Some((name, address)) => f.write_str(&failed(name.as_deref(), address, &reason(error)))?,
                None => f.write_str(&reason(error))?,
            }
        }
        Ok(())
    }
}

/// A further session could not be opened, worded like the first one's failure.
pub(crate) fn session_failed(name: Option<&str>, address: &Address, error: &SessionError) -> String {
    let reason = match (error.server_error(), error) {
        (Some(error), _) => libpq_text::server_error(error, None).trim_end().to_owned(),
        (None, SessionError::Io { source, .. }) => libpq_text::system(&(*source).into()),
        (None, other) => other.to_string(),
    };
    failed(name, address, &reason)
}

fn failed(name: Option<&str>, address: &Address, reason: &str) -> String {
    let place = match (address, name) {
        (Address::Unix(path), _) => format!("on socket \"{}\"", path.display()),
        (Address::Tcp(address), Some(name)) if name != address.ip().to_string() => {
            format!("at \"{name}\" ({}), port {}", address.ip(), address.port())
        }
        (Address::Tcp(address), _) => format!("at \"{}\", port {}", address.ip(), address.port()),
    };
    format!("connection to server {place} failed: {reason}")
}

fn reason(error: &ConnectError) -> String {
    const IS_IT_RUNNING: &str =
        "Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?";
    if let Some(error) = error.server_error() {
        return libpq_text::server_error(error, None).trim_end().to_owned();
    }
    match error {
        ConnectError::Refused { .. } => IS_IT_RUNNING.to_owned(),
        ConnectError::NoSocket { address } => {
            let refused = matches!(address, Address::Unix(path) if path.exists());
            let why = if refused { "Connection refused" } else { "No such file or directory" };
            format!("{why}\n\tIs the server running locally and accepting connections on that socket?")
        }
        ConnectError::Closed { .. } => libpq_text::CLOSED.to_owned(),
        ConnectError::PasswordMissing { .. } => "fe_sendauth: no password supplied".to_owned(),
        ConnectError::TlsRefused { .. } => "server does not support SSL, but SSL was required".to_owned(),
        ConnectError::Target(TargetError::NameNotFound { host, source }) => {
            format!("could not translate host name \"{host}\" to address: {}", libpq_text::system(source))
        }
        other => other.to_string(),
    }
}
