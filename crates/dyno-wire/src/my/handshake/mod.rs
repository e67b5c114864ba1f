//! How a session begins: the server's greeting, TLS if wanted, the login request, authentication, up to the OK.
//! Who drives it moves the bytes and watches the clock:
//!
//! ```text
//! loop { poll_output → send; if is_done → into_session; receive → handle_input }
//! ```
//!
//! The server speaks first. One that stays silent may be PostgreSQL, see [`Handshake::handle_silence`]. A password
//! never leaves this module but as the protocol demands, and no error names it.

mod authentication;
mod error;
mod public_key;
mod scramble;
mod stranger;

use std::fmt;
use std::sync::Arc;

use self::authentication::Authenticator;
pub use self::error::LoginError;
use super::backend::{Greeting, OkPacket, parse_error};
use super::capabilities::{Capabilities, StatusFlags};
use super::error::ProtocolError;
use super::frontend::{self, LoginRequest};
use super::packet::{self, Header, Packet, next_packet};
pub use crate::endpoint::MySqlOptions as Options;
use crate::endpoint::{Login, Tls};
use crate::link::{Link, TlsSetup};

/// No packet of a login is longer: a stranger must not make us hoard memory.
const PACKET_BYTES_MAX: usize = 64 * 1024;
/// Of all that a server may say before the session is ready. Each request to show the password in another way is answered.
const LOGIN_BYTES_MAX: usize = 1024 * 1024;

/// A login under way.
pub struct Handshake {
    login: Arc<Login>,
    options: Options,
    state: HandshakeState,
    link: Link,
    /// From the greeting on.
    authenticator: Option<Authenticator>,
    /// The number of the next packet, whoever sends it.
    sequence: u8,
    /// Bytes from the server, decrypted, not yet used.
    input: Vec<u8>,
    /// Bytes for the network.
    output: Vec<u8>,
    /// Bytes that came from the network so far.
    heard: usize,
    server_version: String,
    connection_id: u32,
    agreed: Capabilities,
    status: StatusFlags,
}

/// A session that is ready for its first command.
#[derive(Debug)]
pub struct Session {
    pub link: Link,
    /// As the greeting says: `8.4.3`, `5.5.5-10.11.6-MariaDB-…`.
    pub server_version: String,
    /// What `KILL` must name.
    pub connection_id: u32,
    /// What the reply scanner must know.
    pub capabilities: Capabilities,
    pub status: StatusFlags,
    /// Decrypted bytes that came after the login; commonly none.
    pub leftover: Vec<u8>,
}

/// What the handshake waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakeState {
    /// The server's greeting.
    Greeting,
    /// The greeting never came; the answer to a question in PostgreSQL's words.
    Silence,
    /// The TLS handshake.
    TlsHandshake,
    /// The verdict, and whatever the server wants before.
    Authenticating,
    Done,
    Failed,
}

impl Handshake {
    /// A login that ends in a [`Session`].
    pub fn new(login: Arc<Login>, options: Options) -> Self {
        Self {
            login,
            options,
            state: HandshakeState::Greeting,
            link: Link::Plain,
            authenticator: None,
            sequence: 0,
            input: Vec::new(),
            output: Vec::new(),
            heard: 0,
            server_version: String::new(),
            connection_id: 0,
            agreed: Capabilities::default(),
            status: StatusFlags::default(),
        }
    }

    /// Takes in all of `network`, bytes as they came from the socket.
    pub fn handle_input(&mut self, network: &[u8]) -> Result<(), LoginError> {
        self.heard += network.len();
        let mut outcome = self.advance(network);
        if self.heard > LOGIN_BYTES_MAX && outcome.is_ok() && !self.is_done() {
            outcome = Err(LoginError::TooMuch { bytes: LOGIN_BYTES_MAX });
        }
        if outcome.is_err() {
            self.state = HandshakeState::Failed;
            // The alert that says why is owed to the server; without it there is nothing to be done.
            let _ = self.link.poll_output(&mut self.output);
        }
        outcome
    }

    /// The server has said nothing for as long as the driver is willing to wait. A PostgreSQL server waits just
    /// so, and is now asked for TLS in its own words; what it answers ends the login with
    /// [`LoginError::PostgreSql`]. No login comes of it any more, and without an answer within a second or so the
    /// driver gives up. True if there is something to be sent and waited for.
    pub fn handle_silence(&mut self) -> bool {
        if self.state != HandshakeState::Greeting || !self.input.is_empty() {
            return false;
        }
        self.state = HandshakeState::Silence;
        crate::pg::frontend::ssl_request(&mut self.output);
        true
    }

    /// Appends the bytes to be sent now, possibly none.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.output);
    }

    /// Whether the session is ready.
    pub fn is_done(&self) -> bool {
        self.state == HandshakeState::Done
    }

    /// The session, once [`is_done`](Self::is_done); before that it is of no use.
    pub fn into_session(self) -> Session {
        Session {
            link: self.link,
            server_version: self.server_version,
            connection_id: self.connection_id,
            capabilities: self.agreed,
            status: self.status,
            leftover: self.input,
        }
    }

    fn advance(&mut self, network: &[u8]) -> Result<(), LoginError> {
        self.link.open(network, &mut self.input)?;
        self.link.poll_output(&mut self.output)?;
        if self.state == HandshakeState::TlsHandshake && self.link.is_agreed() {
            self.request_login()?;
        }
        match self.state {
            HandshakeState::Silence if !self.input.is_empty() => Err(stranger::after_silence(&self.input)),
            HandshakeState::Greeting => self.read_greeting(),
            _ => Ok(()),
        }?;
        self.read_packets()
    }

    fn read_greeting(&mut self) -> Result<(), LoginError> {
        stranger::check(&self.input)?;
        let input = std::mem::take(&mut self.input);
        let Some((greeting, taken)) = bounded_packet(&input)? else {
            self.input = input;
            return Ok(());
        };
        self.sequence = greeting.sequence.wrapping_add(1);
        self.handle_greeting(greeting.payload, &input[taken..])?;
        self.input = input;
        self.input.drain(..taken);
        Ok(())
    }

    fn handle_greeting(&mut self, payload: &[u8], behind: &[u8]) -> Result<(), LoginError> {
        match payload.first() {
            Some(0xff) => return Err(LoginError::Unwelcome(Box::new(parse_error(payload)?))),
            Some(&version) if version != Greeting::PROTOCOL => {
                return Err(LoginError::ProtocolVersion { version });
            }
            _ => {}
        }
        let greeting = Greeting::parse(payload)?;
        self.server_version = greeting.server_version.lossy().into_owned();
        self.connection_id = greeting.connection_id;
        self.status = greeting.status;
        self.agreed = self.agree(greeting.capabilities)?;
        let encrypted = self.agreed.contains(Capabilities::SSL);
        let confidential = encrypted || self.options.unix_socket;
        self.authenticator =
            Some(Authenticator::new(greeting.plugin, greeting.challenge(), confidential, self.options));
        let setup = match &self.login.tls {
            Tls::Prefer(setup) | Tls::Require(setup) if encrypted => setup.clone(),
            Tls::Require(_) => return Err(LoginError::TlsRefused),
            Tls::Prefer(_) | Tls::Disable => return self.request_login(),
        };
        // Were it read as part of the session, a man in the middle could put words into the server's mouth.
        if !behind.is_empty() {
            return Err(LoginError::DataBeforeTls { bytes: behind.len() });
        }
        self.begin_tls(&setup)
    }

    /// What both sides can do and this one wants.
    fn agree(&self, offered: Capabilities) -> Result<Capabilities, LoginError> {
        let lacking = |what| LoginError::Capability { version: self.server_version.clone(), what };
        if !offered.contains(Capabilities::PROTOCOL_41) {
            return Err(lacking("the protocol of MySQL 4.1"));
        }
        if !offered.contains(Capabilities::SECURE_CONNECTION) {
            return Err(lacking("the passwords of MySQL 4.1"));
        }
        let mut wanted = Capabilities::LONG_PASSWORD
            | Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_DATA
            | Capabilities::CONNECT_ATTRS;
        for (is_wanted, capability) in [
            (!self.login.database.is_empty(), Capabilities::CONNECT_WITH_DB),
            (!matches!(self.login.tls, Tls::Disable), Capabilities::SSL),
            (self.options.local_infile, Capabilities::LOCAL_FILES),
            (self.options.found_rows, Capabilities::FOUND_ROWS),
            (self.options.deprecate_eof, Capabilities::DEPRECATE_EOF),
        ] {
            if is_wanted {
                wanted = wanted | capability;
            }
        }
        // MariaDB does not offer LONG_PASSWORD, and takes its absence as wish for its own extensions.
        Ok(wanted & (offered | Capabilities::LONG_PASSWORD))
    }

    fn begin_tls(&mut self, setup: &TlsSetup) -> Result<(), LoginError> {
        self.sequence = frontend::ssl_request(&mut self.output, self.sequence, self.agreed);
        self.link = Link::tls(setup)?;
        self.state = HandshakeState::TlsHandshake;
        self.link.poll_output(&mut self.output)?;
        Ok(())
    }

    fn request_login(&mut self) -> Result<(), LoginError> {
        self.state = HandshakeState::Authenticating;
        let Some(authenticator) = &mut self.authenticator else { return Ok(()) };
        let answer = authenticator.answer(&self.login)?;
        let own = [("_client_name", "dyno"), ("_client_version", env!("CARGO_PKG_VERSION"))];
        let given = self.login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let attributes: Vec<_> = own.into_iter().chain(given).collect();
        let request = LoginRequest {
            capabilities: self.agreed,
            user: &self.login.user,
            database: &self.login.database,
            plugin: authenticator.plugin(),
            answer: &answer,
            attributes: &attributes,
        };
        let mut plain = Vec::new();
        self.sequence = frontend::login_request(&mut plain, self.sequence, &request);
        self.link.seal(&plain, &mut self.output)?;
        Ok(())
    }

    fn read_packets(&mut self) -> Result<(), LoginError> {
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while self.state == HandshakeState::Authenticating {
            let Some((packet, taken)) = bounded_packet(&input[at..])? else { break };
            let (expected, got) = (self.sequence, packet.sequence);
            if expected != got {
                // A server that has waited too long for an answer refuses without having read it, and counts without it.
                if let (true, [0xff, ..]) = (got < expected, packet.payload) {
                    return Err(LoginError::Server(Box::new(parse_error(packet.payload)?)));
                }
                return Err(ProtocolError::Sequence { expected, got }.into());
            }
            at += taken;
            self.sequence = got.wrapping_add(1);
            self.handle_packet(packet.payload)?;
        }
        self.input = input;
        self.input.drain(..at);
        Ok(())
    }

    fn handle_packet(&mut self, payload: &[u8]) -> Result<(), LoginError> {
        let Some(authenticator) = &mut self.authenticator else { return Ok(()) };
        let answer = match payload {
            [0x00, ..] => {
                self.status = OkPacket::parse(payload)?.status;
                self.state = HandshakeState::Done;
                return Ok(());
            }
            [0xff, ..] => return Err(LoginError::Server(Box::new(parse_error(payload)?))),
            [0xfe, ..] => Some(authenticator.switch(payload, &self.login)?),
            [0x01, data @ ..] => authenticator.more(data, &self.login)?,
            [0x02, ..] => return Err(LoginError::SecondFactor),
            _ => {
                let first = payload.first().copied().unwrap_or_default();
                return Err(ProtocolError::Unexpected { first, bytes: payload.len(), during: "login" }.into());
            }
        };
        if let Some(answer) = answer {
            let mut plain = Vec::new();
            self.sequence = packet::write(&mut plain, self.sequence, |out| out.extend_from_slice(&answer));
            self.link.seal(&plain, &mut self.output)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("state", &self.state)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

/// The first packet of `input`, refused by its length as soon as that is seen.
fn bounded_packet(input: &[u8]) -> Result<Option<(Packet<'_>, usize)>, ProtocolError> {
    if let Some(Header { payload_bytes: bytes, .. }) = Header::read(input)
        && bytes > PACKET_BYTES_MAX
    {
        return Err(ProtocolError::TooLarge { bytes, bytes_max: PACKET_BYTES_MAX, during: "login" });
    }
    Ok(next_packet(input))
}
