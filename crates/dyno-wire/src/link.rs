//! The layer between protocol and network: nothing at all, or TLS. Bytes in, bytes out; who owns the socket
//! moves them. A link is made by a handshake and lives as long as its session.

use std::fmt;
use std::io::{BufRead, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion};
use thiserror::Error;

/// What a TLS session needs; trust is decided by `config`'s verifier.
#[derive(Debug, Clone)]
pub struct TlsSetup {
    pub config: Arc<ClientConfig>,
    pub server_name: ServerName<'static>,
}

/// How protocol bytes become network bytes.
pub enum Link {
    Plain,
    Tls(Box<ClientConnection>),
}

/// The TLS layer cannot go on; the connection is of no more use.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LinkError {
    #[error("TLS failed: {0}")]
    Tls(#[from] rustls::Error),
    #[error("TLS could not take in what the network brought: {0}")]
    Buffer(String),
}

impl Link {
    /// The beginning of a TLS session.
    pub(crate) fn tls(setup: &TlsSetup) -> Result<Self, LinkError> {
        let session = ClientConnection::new(Arc::clone(&setup.config), setup.server_name.clone())?;
        Ok(Self::Tls(Box::new(session)))
    }

    /// Whether TLS is used and both sides agree on it.
    pub(crate) fn is_agreed(&self) -> bool {
        matches!(self, Self::Tls(session) if !session.is_handshaking())
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// `"TLSv1.3"` or `"TLSv1.2"`; `None` without TLS or before it was agreed.
    pub fn tls_version(&self) -> Option<&'static str> {
        let Self::Tls(session) = self else { return None };
        match session.protocol_version()? {
            ProtocolVersion::TLSv1_3 => Some("TLSv1.3"),
            ProtocolVersion::TLSv1_2 => Some("TLSv1.2"),
            _ => None,
        }
    }

    /// Appends to `network` what has to be sent so that the server reads `plain`.
    pub fn seal(&mut self, plain: &[u8], network: &mut Vec<u8>) -> Result<(), LinkError> {
        let Self::Tls(session) = self else {
            network.extend_from_slice(plain);
            return Ok(());
        };
        let mut rest = plain;
        while !rest.is_empty() {
            // The session buffers a bounded amount, so it is emptied after each piece.
            let taken = session.writer().write(rest).map_err(buffer_error)?;
            rest = &rest[taken..];
            drain_records(session, network)?;
            if taken == 0 {
                return Err(LinkError::Buffer("its send buffer stays full".to_owned()));
            }
        }
        Ok(())
    }

    /// Takes in all of `network` and appends to `plain` what the server wrote. What the TLS layer itself has to
    /// answer is fetched with [`Link::poll_output`].
    pub fn open(&mut self, network: &[u8], plain: &mut Vec<u8>) -> Result<(), LinkError> {
        let Self::Tls(session) = self else {
            plain.extend_from_slice(network);
            return Ok(());
        };
        let mut rest = network;
        while !rest.is_empty() {
            // Nothing is read after the peer's close_notify: the socket's end follows and says the rest.
            if session.read_tls(&mut rest).map_err(buffer_error)? == 0 {
                break;
            }
            session.process_new_packets()?;
            drain_plain(session, plain);
        }
        Ok(())
    }

    /// Appends what the TLS layer wants to send on its own account: handshake messages, alerts, key updates.
    pub fn poll_output(&mut self, network: &mut Vec<u8>) -> Result<(), LinkError> {
        match self {
            Self::Plain => Ok(()),
            Self::Tls(session) => drain_records(session, network),
        }
    }
}

fn drain_records(session: &mut ClientConnection, network: &mut Vec<u8>) -> Result<(), LinkError> {
    while session.wants_write() {
        session.write_tls(network).map_err(buffer_error)?;
    }
    Ok(())
}

fn drain_plain(session: &mut ClientConnection, plain: &mut Vec<u8>) {
    let mut reader = session.reader();
    // An error here is only "nothing there now" or "closed without notice"; the socket reports the latter.
    while let Ok(chunk) = reader.fill_buf() {
        if chunk.is_empty() {
            break;
        }
        let taken = chunk.len();
        plain.extend_from_slice(chunk);
        reader.consume(taken);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "handed to map_err as it is")]
fn buffer_error(error: std::io::Error) -> LinkError {
    LinkError::Buffer(error.to_string())
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("Plain"),
            Self::Tls(_) => write!(f, "Tls({})", self.tls_version().unwrap_or("not agreed yet")),
        }
    }
}
