//! Opens the socket and drives the login on it, against the clock.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_wire::endpoint::Endpoint;
use dyno_wire::pg::handshake::{Handshake, Session};

use super::error::ConnectError;
use super::stream::Stream;

/// A session, ready for its first statement. `timeout` covers the whole.
pub(super) fn open(
    endpoint: &Endpoint,
    timeout: Option<Duration>,
) -> Result<(Stream, Session), ConnectError> {
    let mut stream = connect(endpoint, timeout)?;
    let handshake = Handshake::new(Arc::clone(&endpoint.login));
    let handshake = drive(&mut stream, handshake, endpoint, Clock::new(timeout))?;
    stream.set_timeout(None).map_err(|error| ConnectError::from_io(endpoint, error, timeout))?;
    Ok((stream, handshake.into_session()))
}

/// The bare socket.
pub(super) fn connect(endpoint: &Endpoint, timeout: Option<Duration>) -> Result<Stream, ConnectError> {
    Stream::connect(&endpoint.address, timeout)
        .map_err(|error| ConnectError::from_io(endpoint, error, timeout))
}

/// When patience ends.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    started: Instant,
    timeout: Option<Duration>,
}

impl Clock {
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        Self { started: Instant::now(), timeout }
    }

    fn left(self) -> io::Result<Option<Duration>> {
        let Some(timeout) = self.timeout else { return Ok(None) };
        match timeout.checked_sub(self.started.elapsed()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Moves bytes until the handshake is done and its last output is sent.
pub(super) fn drive(
    stream: &mut Stream,
    mut handshake: Handshake,
    endpoint: &Endpoint,
    clock: Clock,
) -> Result<Handshake, ConnectError> {
    let mut chunk = [0; 8192];
    let mut output = Vec::new();
    let mut first_words = Vec::new();
    loop {
        output.clear();
        handshake.poll_output(&mut output);
        let exchanged = clock
            .left()
            .and_then(|left| stream.set_timeout(left))
            .and_then(|()| stream.write_all(&output))
            .and_then(|()| if handshake.is_done() { Ok(None) } else { stream.read(&mut chunk).map(Some) });
        let received = match exchanged {
            Ok(None) => return Ok(handshake),
            Ok(Some(0)) => return Err(ConnectError::closed(endpoint)),
            Ok(Some(count)) => chunk.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ConnectError::from_io(endpoint, error, clock.timeout)),
        };
        if first_words.is_empty() {
            first_words.extend_from_slice(received);
            // A MySQL server's length byte may look like an answer to the TLS request.
            if let Some(error) = ConnectError::other_product(endpoint, &first_words) {
                return Err(error);
            }
        }
        if let Err(error) = handshake.handle_input(received) {
            send_alert(stream, &mut handshake);
            return Err(ConnectError::from_login(endpoint, error, &first_words));
        }
    }
}

/// Tells the server why TLS ended, if it still listens.
fn send_alert(stream: &mut Stream, handshake: &mut Handshake) {
    let mut output = Vec::new();
    handshake.poll_output(&mut output);
    let _ = stream.write_all(&output);
}
