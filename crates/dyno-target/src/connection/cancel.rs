//! Stopping what a session is doing, by a connection of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_wire::endpoint::{Endpoint, SessionName};
use dyno_wire::pg::handshake::Handshake;

use super::error::{ConnectError, QueryError};
use super::login;
use super::stream::{Lingers, WaitLimit};
use super::wire::WireConnection;
use crate::deadline::Deadline;

/// To connect and to be heard.
const TIMEOUT: Duration = Duration::from_secs(5);
/// MySQL's error where the session has ended meanwhile.
const NO_SUCH_THREAD: u16 = 1094;

/// Names a session for cancelling; outlives it without harm.
#[derive(Clone)]
pub struct CancelHandle {
    endpoint: Endpoint,
    name: SessionName,
}

impl std::fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = match self.name {
            SessionName::Postgres { process_id, .. } => i64::from(process_id),
            SessionName::MySql { connection_id } => i64::from(connection_id),
        };
        f.debug_struct("CancelHandle").field("process_id", &id).finish_non_exhaustive()
    }
}

impl CancelHandle {
    pub fn new(endpoint: Endpoint, name: SessionName) -> Self {
        Self { endpoint, name }
    }

    /// Asks the server to stop the session's current statement, and returns once it has read the request. The
    /// statement then fails with SQLSTATE 57014 or MySQL's error 1317, unless it had ended already.
    ///
    /// # Errors
    /// The server could not be reached, or did not obey.
    pub fn cancel(&self) -> Result<(), ConnectError> {
        let lingers = Lingers::Cancelling(Instant::now());
        let limit = WaitLimit { timeout: Some(TIMEOUT), lingers };
        match &self.name {
            SessionName::Postgres { process_id, secret_key } => {
                self.cancel_postgres(*process_id, secret_key, limit)
            }
            SessionName::MySql { connection_id } => self.kill_query(*connection_id, limit),
        }
    }

    fn cancel_postgres(
        &self,
        process_id: i32,
        secret_key: &[u8],
        limit: WaitLimit,
    ) -> Result<(), ConnectError> {
        let deadline = Deadline::within(limit.timeout);
        let mut stream = login::connect(&self.endpoint, limit)?;
        let handshake =
            Handshake::for_cancel(Arc::clone(&self.endpoint.login), process_id, secret_key.to_vec());
        login::drive(&mut stream, handshake, &self.endpoint, deadline)?;
        // The server closes without a word when it has acted.
        let _ = stream.read(&mut [0; 16]);
        Ok(())
    }

    fn kill_query(&self, connection_id: u32, limit: WaitLimit) -> Result<(), ConnectError> {
        let mut connection = WireConnection::open_with(&self.endpoint, limit)?;
        connection.limit(TIMEOUT);
        match connection.execute(&format!("KILL QUERY {connection_id}")) {
            Ok(_) => Ok(()),
            Err(QueryError::Server { error, .. }) if error.number() == Some(NO_SUCH_THREAD) => Ok(()),
            Err(source) => {
                let address = self.endpoint.address.clone();
                Err(ConnectError::NotCancelled { address, source: Box::new(source) })
            }
        }
    }
}
