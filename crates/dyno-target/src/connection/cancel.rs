//! Stopping what a session is doing, by a connection of its own.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use dyno_wire::endpoint::Endpoint;
use dyno_wire::pg::handshake::Handshake;

use super::error::ConnectError;
use super::login::{self, Clock};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Names a session for cancelling; outlives it without harm.
#[derive(Clone)]
pub struct CancelHandle {
    endpoint: Endpoint,
    process_id: i32,
    secret_key: Vec<u8>,
}

impl std::fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelHandle").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

impl CancelHandle {
    pub(super) fn new(endpoint: Endpoint, process_id: i32, secret_key: Vec<u8>) -> Self {
        Self { endpoint, process_id, secret_key }
    }

    /// Asks the server to stop the session's current statement, and returns once it has read the request. The
    /// statement then fails with SQLSTATE 57014, unless it had ended already.
    ///
    /// # Errors
    /// The server could not be reached.
    pub fn cancel(&self) -> Result<(), ConnectError> {
        let mut stream = login::connect(&self.endpoint, Some(TIMEOUT))?;
        let handshake =
            Handshake::for_cancel(Arc::clone(&self.endpoint.login), self.process_id, self.secret_key.clone());
        login::drive(&mut stream, handshake, &self.endpoint, Clock::new(Some(TIMEOUT)))?;
        // The server closes without a word when it has acted.
        let _ = stream.read(&mut [0; 16]);
        Ok(())
    }
}
