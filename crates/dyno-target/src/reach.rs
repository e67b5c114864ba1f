//! Which of a target's addresses is used: of several candidates the first that accepts a connection (and suits
//! `target_session_attrs`).

use std::time::Duration;

use dyno_wire::endpoint::Endpoint;

use crate::connection::{self, ConnectError, Connection};
use crate::mysql::MySqlSettings;
use crate::settings::{SessionAttributes, TargetError, TargetSettings};

/// How long an address of several may take to accept where no limit is set.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

impl MySqlSettings {
    /// The address to use: the only one, or the first of several that accepts a connection. Where none accepts it is
    /// the first, so that opening it says why.
    ///
    /// # Errors
    /// As [`MySqlSettings::endpoints`].
    pub fn endpoint(&self) -> Result<Endpoint, TargetError> {
        first_answering(&self.endpoints()?, self.connect_timeout())
    }

    /// Opens a session there within the time for connecting.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn connect(&self) -> Result<Connection, ConnectError> {
        Connection::open(&self.endpoint()?)
    }
}

impl TargetSettings {
    /// The address to use: the only one, or the first of several that accepts a connection and suits. Where none
    /// accepts it is the first, so that opening it says why.
    ///
    /// # Errors
    /// As [`TargetSettings::endpoints`], and where none suits `target_session_attrs`.
    pub fn endpoint(&self) -> Result<Endpoint, TargetError> {
        let endpoints = self.endpoints()?;
        match self.session {
            SessionAttributes::Any => first_answering(&endpoints, self.connect_timeout()),
            _ => self.suitable(&endpoints),
        }
    }

    /// Opens a session there within the time for connecting.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn connect(&self) -> Result<Connection, ConnectError> {
        Connection::open(&self.endpoint()?)
    }

    /// The first that suits; a standby only preferred gives way to any in a second round.
    fn suitable(&self, endpoints: &[Endpoint]) -> Result<Endpoint, TargetError> {
        let mut tried = Vec::new();
        let mut fallback = None;
        for endpoint in endpoints {
            match self.suits(endpoint) {
                Ok(true) => return Ok(endpoint.clone()),
                Ok(false) => {
                    fallback = fallback.or(Some(endpoint));
                    tried.push(format!("{} is not", endpoint.address));
                }
                Err(error) => tried.push(error),
            }
        }
        match fallback {
            Some(endpoint) if self.session == SessionAttributes::PreferStandby => Ok(endpoint.clone()),
            _ => Err(TargetError::NoSuitableServer { wanted: self.session.name(), tried: tried.join("; ") }),
        }
    }

    fn suits(&self, endpoint: &Endpoint) -> Result<bool, String> {
        let mut connection = Connection::open(endpoint).map_err(|error| error.to_string())?;
        let sql = match self.session {
            SessionAttributes::Any => return Ok(true),
            SessionAttributes::ReadWrite => "SELECT current_setting('transaction_read_only') = 'off'",
            SessionAttributes::ReadOnly => "SELECT current_setting('transaction_read_only') = 'on'",
            SessionAttributes::Primary => "SELECT NOT pg_is_in_recovery()",
            SessionAttributes::Standby | SessionAttributes::PreferStandby => "SELECT pg_is_in_recovery()",
        };
        let answer: Option<String> = connection.query_value(sql).map_err(|error| error.to_string())?;
        Ok(answer.as_deref() == Some("t"))
    }
}

/// The only one, or the first of several that accepts a connection, or the first.
fn first_answering(endpoints: &[Endpoint], timeout: Option<Duration>) -> Result<Endpoint, TargetError> {
    let timeout = timeout.unwrap_or(TRY_TIMEOUT);
    let answering = match endpoints {
        [_] => None,
        several => several.iter().find(|endpoint| connection::accepts(&endpoint.address, timeout)),
    };
    let none = || TargetError::NoSuitableServer { wanted: "any", tried: "no address".to_owned() };
    answering.or(endpoints.first()).cloned().ok_or_else(none)
}
