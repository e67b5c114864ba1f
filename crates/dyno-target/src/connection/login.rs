//! Opens the socket and drives the login on it, before a deadline.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use dyno_wire::endpoint::{Address, Endpoint};
use dyno_wire::{my, pg};

use super::error::ConnectError;
use super::stream::{SocketStream, WaitLimit};
use crate::deadline::Deadline;

/// A MySQL server greets at once. One that says nothing for as long may be a PostgreSQL that waits to be spoken to.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);

/// A session of PostgreSQL's, ready for its first statement. The timeout of `limit` is that of the whole.
pub(super) fn open_postgres(
    endpoint: &Endpoint,
    limit: WaitLimit,
) -> Result<(SocketStream, pg::handshake::Session), ConnectError> {
    let handshake = pg::handshake::Handshake::new(Arc::clone(&endpoint.login));
    let (stream, handshake) = open(endpoint, limit, handshake)?;
    Ok((stream, handshake.into_session()))
}

/// The same of MySQL's.
pub(super) fn open_mysql(
    endpoint: &Endpoint,
    options: my::handshake::Options,
    limit: WaitLimit,
) -> Result<(SocketStream, my::handshake::Session), ConnectError> {
    let unix_socket = matches!(endpoint.address, Address::Unix(_));
    let options = my::handshake::Options { unix_socket, ..options };
    let handshake = my::handshake::Handshake::new(Arc::clone(&endpoint.login), options);
    let (stream, handshake) = open(endpoint, limit, handshake)?;
    Ok((stream, handshake.into_session()))
}

fn open<M: LoginMachine>(
    endpoint: &Endpoint,
    limit: WaitLimit,
    machine: M,
) -> Result<(SocketStream, M), ConnectError> {
    let deadline = Deadline::within(limit.timeout);
    let mut stream = connect(endpoint, limit)?;
    let machine = drive(&mut stream, machine, endpoint, deadline)?;
    Ok((stream, machine))
}

/// The bare socket.
pub(super) fn connect(endpoint: &Endpoint, limit: WaitLimit) -> Result<SocketStream, ConnectError> {
    SocketStream::connect(&endpoint.address, limit)
        .map_err(|error| ConnectError::from_io(endpoint, error, limit.timeout))
}

/// A login of either protocol.
pub(super) trait LoginMachine {
    /// How long the server may say nothing at all before [`LoginMachine::doubt`].
    const SILENCE_MAX: Option<Duration>;

    fn is_done(&self) -> bool;
    fn poll_output(&mut self, out: &mut Vec<u8>);
    /// Takes in what came; `first_words` are the first bytes of all.
    fn handle(
        &mut self,
        received: &[u8],
        first_words: &[u8],
        endpoint: &Endpoint,
    ) -> Result<(), ConnectError>;
    /// Finds out whether this is another kind of server.
    fn doubt(&self, endpoint: &Endpoint) -> Result<(), ConnectError>;
}

impl LoginMachine for pg::handshake::Handshake {
    /// The client speaks first.
    const SILENCE_MAX: Option<Duration> = None;

    fn is_done(&self) -> bool {
        self.is_done()
    }

    fn poll_output(&mut self, out: &mut Vec<u8>) {
        self.poll_output(out);
    }

    fn handle(
        &mut self,
        received: &[u8],
        first_words: &[u8],
        endpoint: &Endpoint,
    ) -> Result<(), ConnectError> {
        self.handle_input(received).map_err(|error| ConnectError::from_login(endpoint, error, first_words))
    }

    fn doubt(&self, _: &Endpoint) -> Result<(), ConnectError> {
        Ok(())
    }
}

impl LoginMachine for my::handshake::Handshake {
    const SILENCE_MAX: Option<Duration> = Some(GREETING_TIMEOUT);

    fn is_done(&self) -> bool {
        self.is_done()
    }

    fn poll_output(&mut self, out: &mut Vec<u8>) {
        self.poll_output(out);
    }

    fn handle(&mut self, received: &[u8], _: &[u8], endpoint: &Endpoint) -> Result<(), ConnectError> {
        self.handle_input(received).map_err(|error| ConnectError::from_my_login(endpoint, error))
    }

    /// By a connection of its own: a server that is only slow (an overloaded one, or one that looks up names) would be
    /// lost by a question in the wrong protocol.
    fn doubt(&self, endpoint: &Endpoint) -> Result<(), ConnectError> {
        let mut question =
            my::handshake::Handshake::new(Arc::clone(&endpoint.login), my::handshake::Options::default());
        question.handle_silence();
        let (mut output, mut chunk) = (Vec::new(), [0; 64]);
        question.poll_output(&mut output);
        let limit = WaitLimit::of(Some(GREETING_TIMEOUT));
        let asked = SocketStream::connect(&endpoint.address, limit).and_then(|mut stream| {
            stream.write_all(&mut output)?;
            stream.read(&mut chunk)
        });
        match asked.map(|count| question.handle_input(chunk.get(..count).unwrap_or_default())) {
            Ok(Err(error @ my::handshake::LoginError::PostgreSql)) => {
                Err(ConnectError::from_my_login(endpoint, error))
            }
            // Nothing was learnt, so the greeting is waited for as long as there is time.
            _ => Ok(()),
        }
    }
}

/// Moves bytes until the handshake is done and its last output is sent.
pub(super) fn drive<M: LoginMachine>(
    stream: &mut SocketStream,
    mut machine: M,
    endpoint: &Endpoint,
    deadline: Deadline,
) -> Result<M, ConnectError> {
    let mut chunk = [0; 8192];
    let mut output = Vec::new();
    let mut first_words = Vec::new();
    let mut silence_max = M::SILENCE_MAX;
    loop {
        machine.poll_output(&mut output);
        let exchanged = deadline
            .left()
            .map(|left| stream.set_timeout(left.into_iter().chain(silence_max).min()))
            .and_then(|()| stream.write_all(&mut output))
            .and_then(|()| if machine.is_done() { Ok(None) } else { stream.read(&mut chunk).map(Some) });
        let received = match exchanged {
            Ok(None) => return Ok(machine),
            Ok(Some(0)) => return Err(ConnectError::closed(endpoint)),
            Ok(Some(count)) => chunk.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::TimedOut && silence_max.take().is_some() => {
                machine.doubt(endpoint)?;
                continue;
            }
            Err(error) => return Err(ConnectError::from_io(endpoint, error, deadline.timeout())),
        };
        silence_max = None;
        if first_words.is_empty() {
            first_words.extend_from_slice(received);
            // A MySQL server's length byte may look like an answer to the TLS request.
            if let Some(error) = ConnectError::other_product(endpoint, &first_words) {
                return Err(error);
            }
        }
        if let Err(error) = machine.handle(received, &first_words, endpoint) {
            send_alert(stream, &mut machine);
            return Err(error);
        }
    }
}

/// Tells the server why TLS ended, if it still listens.
fn send_alert(stream: &mut SocketStream, machine: &mut impl LoginMachine) {
    let mut output = Vec::new();
    machine.poll_output(&mut output);
    let _ = stream.write_available(&output);
}
