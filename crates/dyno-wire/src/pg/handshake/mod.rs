//! How a session begins: TLS if wanted, startup, authentication, up to the first `ReadyForQuery`. Who drives it
//! moves the bytes and watches the clock:
//!
//! ```text
//! loop { poll_output → send; if is_done → into_session; receive → handle_input }
//! ```
//!
//! After an error `poll_output` may still hold a TLS alert for the server. A password never leaves this module
//! but as the protocol demands, and no error names it.

mod authentication;
mod channel_binding;
mod error;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use self::authentication::Authenticator;
pub use self::error::LoginError;
use super::backend::{Frame, Message, next_frame};
use super::error::{PostgresError, ProtocolError, Tag};
use super::frontend;
use crate::endpoint::{Login, Tls};
use crate::link::Link;

/// No message of a login is longer: a stranger must not make us hoard memory.
const FRAME_BYTES_MAX: usize = 64 * 1024;
/// Of all that a server may say before the session is ready.
const LOGIN_BYTES_MAX: usize = 1024 * 1024;

/// A login under way.
pub struct Handshake {
    login: Arc<Login>,
    purpose: Purpose,
    state: HandshakeState,
    link: Link,
    authenticator: Authenticator,
    /// Bytes from the server, decrypted, not yet used.
    input: Vec<u8>,
    /// Bytes for the network.
    output: Vec<u8>,
    /// Bytes that came from the network so far.
    heard: usize,
    parameters: BTreeMap<String, String>,
    process_id: i32,
    secret_key: Vec<u8>,
}

/// A session that is ready for its first query.
#[derive(Debug)]
pub struct Session {
    pub link: Link,
    /// What the server reported of itself: `server_version`, `TimeZone`, ….
    pub parameters: BTreeMap<String, String>,
    /// For a cancel request; 0 if the server sent none.
    pub process_id: i32,
    /// For a cancel request: 4 bytes, up to 256 since protocol 3.2.
    pub secret_key: Vec<u8>,
    /// Decrypted bytes that came after `ReadyForQuery`; commonly none.
    pub leftover: Vec<u8>,
}

/// What the connection is for.
enum Purpose {
    Session,
    Cancel { process_id: i32, secret_key: Vec<u8> },
}

/// What the handshake waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakeState {
    /// Nothing was sent; the first `poll_output` begins.
    New,
    /// The server's single byte: `S` for TLS, `N` for none.
    TlsAnswer,
    /// The TLS handshake itself.
    TlsHandshake,
    /// `AuthenticationOk`, and whatever the server wants before.
    Authenticating,
    /// Parameters, key data and `ReadyForQuery`.
    Starting,
    Done,
    Failed,
}

impl Handshake {
    /// A login that ends in a [`Session`].
    pub fn new(login: Arc<Login>) -> Self {
        Self::with_purpose(login, Purpose::Session)
    }

    /// A connection that asks another session's statement to stop, encrypted as the login asks. Once it is done
    /// and its output sent the connection has no more to say.
    pub fn for_cancel(login: Arc<Login>, process_id: i32, secret_key: Vec<u8>) -> Self {
        Self::with_purpose(login, Purpose::Cancel { process_id, secret_key })
    }

    fn with_purpose(login: Arc<Login>, purpose: Purpose) -> Self {
        Self {
            login,
            purpose,
            state: HandshakeState::New,
            link: Link::Plain,
            authenticator: Authenticator::default(),
            input: Vec::new(),
            output: Vec::new(),
            heard: 0,
            parameters: BTreeMap::new(),
            process_id: 0,
            secret_key: Vec::new(),
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

    /// Appends the bytes to be sent now, possibly none.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) {
        if self.state == HandshakeState::New {
            self.begin();
        }
        out.append(&mut self.output);
    }

    /// Whether the session is ready (or the cancel request written).
    pub fn is_done(&self) -> bool {
        self.state == HandshakeState::Done
    }

    /// The session, once [`is_done`](Self::is_done); before that it is of no use.
    pub fn into_session(self) -> Session {
        Session {
            link: self.link,
            parameters: self.parameters,
            process_id: self.process_id,
            secret_key: self.secret_key,
            leftover: self.input,
        }
    }

    /// What is sent before the server has said anything; always in the clear.
    fn begin(&mut self) {
        if matches!(self.login.tls, Tls::Disable) {
            let opening = self.opening();
            self.output.extend_from_slice(&opening);
        } else {
            frontend::ssl_request(&mut self.output);
            self.state = HandshakeState::TlsAnswer;
        }
    }

    /// The first message of the protocol proper; says what is waited for after it.
    fn opening(&mut self) -> Vec<u8> {
        let mut message = Vec::new();
        match &self.purpose {
            Purpose::Session => {
                startup(&mut message, &self.login);
                self.state = HandshakeState::Authenticating;
            }
            Purpose::Cancel { process_id, secret_key } => {
                frontend::cancel_request(&mut message, *process_id, secret_key);
                self.state = HandshakeState::Done;
            }
        }
        message
    }

    fn advance(&mut self, network: &[u8]) -> Result<(), LoginError> {
        // A MySQL server speaks first; its greeting would pass for a strange answer to what was sent.
        let nothing_before = self.link.is_plain() && self.input.is_empty();
        if nothing_before && self.state != HandshakeState::Starting && is_mysql_greeting(network) {
            return Err(LoginError::MySql);
        }
        let network = match self.state {
            HandshakeState::New if !network.is_empty() => return Err(LoginError::SpokeFirst),
            HandshakeState::TlsAnswer => self.tls_answer(network)?,
            _ => network,
        };
        self.link.open(network, &mut self.input)?;
        self.link.poll_output(&mut self.output)?;
        if self.state == HandshakeState::TlsHandshake && self.link.is_agreed() {
            let opening = self.opening();
            self.link.seal(&opening, &mut self.output)?;
        }
        self.read_messages()
    }

    /// Reads the byte that answers the TLS request, and gives what follows it.
    fn tls_answer<'n>(&mut self, network: &'n [u8]) -> Result<&'n [u8], LoginError> {
        let Some((answer, rest)) = network.split_first() else { return Ok(network) };
        // Whatever came with the answer was put there before encryption began, by whomever: were it read as
        // part of the session, a man in the middle could inject it (CVE-2021-23222).
        if !rest.is_empty() && matches!(answer, b'S' | b'N') {
            return Err(LoginError::DataBeforeTls { bytes: rest.len() });
        }
        match (answer, &self.login.tls) {
            (b'S', Tls::Prefer(setup) | Tls::Require(setup)) => {
                self.link = Link::tls(setup)?;
                self.state = HandshakeState::TlsHandshake;
            }
            (b'N', Tls::Prefer(_)) => {
                let opening = self.opening();
                self.output.extend_from_slice(&opening);
            }
            (b'N', _) => return Err(LoginError::TlsRefused),
            // An error message here is from nobody in particular, so its text is not repeated.
            (b'E', _) => return Err(LoginError::TlsRequestFailed),
            (&tag, _) => return Err(LoginError::TlsAnswer { answer: Tag(tag) }),
        }
        Ok(rest)
    }

    fn read_messages(&mut self) -> Result<(), LoginError> {
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while matches!(self.state, HandshakeState::Authenticating | HandshakeState::Starting) {
            let Some((frame, taken)) = bounded_frame(&input[at..])? else { break };
            at += taken;
            self.handle_frame(frame)?;
        }
        self.input = input;
        self.input.drain(..at);
        Ok(())
    }

    fn handle_frame(&mut self, frame: Frame<'_>) -> Result<(), LoginError> {
        match Message::parse(frame)? {
            Message::Authentication(request) if self.state == HandshakeState::Authenticating => {
                let mut answer = Vec::new();
                if self.authenticator.handle(request, &self.login, &self.link, &mut answer)? {
                    self.state = HandshakeState::Starting;
                }
                self.link.seal(&answer, &mut self.output)?;
            }
            Message::BackendKeyData { process_id, secret_key } if self.state == HandshakeState::Starting => {
                self.process_id = process_id;
                self.secret_key = secret_key.to_vec();
            }
            Message::ParameterStatus { name, value } if self.state == HandshakeState::Starting => {
                self.parameters.insert(name.lossy().into_owned(), value.lossy().into_owned());
            }
            Message::ReadyForQuery(_) if self.state == HandshakeState::Starting => {
                self.state = HandshakeState::Done;
            }
            Message::Error(fields) => return Err(LoginError::Server(Box::new(PostgresError::from(fields)))),
            // Protocol 3.0 is the oldest there is and is what was asked for; options were not.
            Message::Notice(_) | Message::NegotiateProtocolVersion { .. } => {}
            _ => {
                let length = frame.length();
                let during = "login";
                return Err(ProtocolError::Unexpected { tag: Tag(frame.tag), length, during }.into());
            }
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

/// Whether the first bytes from a server are MySQL's greeting, or its refusal to give one. At least seven bytes are needed to
/// tell.
pub fn is_mysql_greeting(bytes: &[u8]) -> bool {
    // Text reads as a length far beyond.
    const LENGTH_MAX: u32 = 4096;
    let [low, middle, high, 0, payload @ ..] = bytes else { return false };
    if u32::from_le_bytes([*low, *middle, *high, 0]) > LENGTH_MAX {
        return false;
    }
    match payload {
        // A version number follows that of the protocol.
        [10, digit, ..] => digit.is_ascii_digit(),
        // A server error's number lies between 1000 and 5000; what PostgreSQL has in this place is a letter.
        [0xff, low, high, ..] => (1000..5000).contains(&u16::from_le_bytes([*low, *high])),
        _ => false,
    }
}

fn startup(out: &mut Vec<u8>, login: &Login) {
    let named = |name: &str| login.parameters.iter().any(|(given, _)| given == name);
    // Everything here reads and writes UTF-8, whatever the server's default; unless the encoding is named as empty, which
    // leaves it to the server.
    let encoding = (!named("client_encoding")).then_some(("client_encoding", "UTF8"));
    let first = [("user", login.user.as_str()), ("database", login.database.as_str())];
    let further = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let left_to_server = |(name, value): &(&str, &str)| *name == "client_encoding" && value.is_empty();
    // An empty name would end the list.
    frontend::startup(
        out,
        first
            .into_iter()
            .chain(encoding)
            .chain(further)
            .filter(|pair| !pair.0.is_empty() && !left_to_server(pair)),
    );
}

fn bounded_frame(input: &[u8]) -> Result<Option<(Frame<'_>, usize)>, ProtocolError> {
    let found = next_frame(input)?;
    if found.is_none() && input.len() > FRAME_BYTES_MAX {
        let length = input.get(1..5).map_or(0, |l| u32::from_be_bytes([l[0], l[1], l[2], l[3]]));
        return Err(ProtocolError::FrameLength { tag: Tag(input[0]), length });
    }
    Ok(found)
}
