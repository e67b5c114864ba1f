//! Opens the socket and drives the login on it, against the clock.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_wire::endpoint::{Address, Endpoint};
use dyno_wire::{my, pg};

use super::error::ConnectError;
use super::stream::{Patience, Stream};

/// A MySQL server greets at once. One that says nothing for as long may be a PostgreSQL that waits to be spoken to.
const GREETING_PATIENCE: Duration = Duration::from_secs(1);

/// A session of PostgreSQL's, ready for its first statement. The time of `patience` is that of the whole.
pub(super) fn open_postgres(
    endpoint: &Endpoint,
    patience: Patience,
) -> Result<(Stream, pg::handshake::Session), ConnectError> {
    let handshake = pg::handshake::Handshake::new(Arc::clone(&endpoint.login));
    let (stream, handshake) = open(endpoint, patience, handshake)?;
    Ok((stream, handshake.into_session()))
}

/// The same of MySQL's.
pub(super) fn open_mysql(
    endpoint: &Endpoint,
    options: my::handshake::Options,
    patience: Patience,
) -> Result<(Stream, my::handshake::Session), ConnectError> {
    let unix_socket = matches!(endpoint.address, Address::Unix(_));
    let options = my::handshake::Options { unix_socket, ..options };
    let handshake = my::handshake::Handshake::new(Arc::clone(&endpoint.login), options);
    let (stream, handshake) = open(endpoint, patience, handshake)?;
    Ok((stream, handshake.into_session()))
}

fn open<M: Machine>(
    endpoint: &Endpoint,
    patience: Patience,
    machine: M,
) -> Result<(Stream, M), ConnectError> {
    let clock = Clock::new(patience.timeout);
    let mut stream = connect(endpoint, patience)?;
    let machine = drive(&mut stream, machine, endpoint, clock)?;
    Ok((stream, machine))
}

/// The bare socket.
pub(super) fn connect(endpoint: &Endpoint, patience: Patience) -> Result<Stream, ConnectError> {
    Stream::connect(&endpoint.address, patience)
        .map_err(|error| ConnectError::from_io(endpoint, error, patience.timeout))
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

/// A login of either protocol.
pub(super) trait Machine {
    /// How long the server may say nothing at all before [`Machine::doubt`].
    const PATIENCE: Option<Duration>;

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

impl Machine for pg::handshake::Handshake {
    /// The client speaks first.
    const PATIENCE: Option<Duration> = None;

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

impl Machine for my::handshake::Handshake {
    const PATIENCE: Option<Duration> = Some(GREETING_PATIENCE);

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
        let patience = Patience::of(Some(GREETING_PATIENCE));
        let asked = Stream::connect(&endpoint.address, patience).and_then(|mut stream| {
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
pub(super) fn drive<M: Machine>(
    stream: &mut Stream,
    mut machine: M,
    endpoint: &Endpoint,
    clock: Clock,
) -> Result<M, ConnectError> {
    let mut chunk = [0; 8192];
    let mut output = Vec::new();
    let mut first_words = Vec::new();
    let mut patience = M::PATIENCE;
    loop {
        machine.poll_output(&mut output);
        let exchanged = clock
            .left()
            .map(|left| stream.set_timeout(left.into_iter().chain(patience).min()))
            .and_then(|()| stream.write_all(&mut output))
            .and_then(|()| if machine.is_done() { Ok(None) } else { stream.read(&mut chunk).map(Some) });
        let received = match exchanged {
            Ok(None) => return Ok(machine),
            Ok(Some(0)) => return Err(ConnectError::closed(endpoint)),
            Ok(Some(count)) => chunk.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::TimedOut && patience.take().is_some() => {
                machine.doubt(endpoint)?;
                continue;
            }
            Err(error) => return Err(ConnectError::from_io(endpoint, error, clock.timeout)),
        };
        patience = None;
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
fn send_alert(stream: &mut Stream, machine: &mut impl Machine) {
    let mut output = Vec::new();
    machine.poll_output(&mut output);
    let _ = stream.write_available(&output);
}
