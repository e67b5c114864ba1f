//! The server's first packet.

use super::Text;
use super::body::Body;
use crate::my::capabilities::{Capabilities, StatusFlags};
use crate::my::error::ProtocolError;

/// What the server says of itself before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// `8.4.3`; MariaDB may write `5.5.5-10.11.6-MariaDB`, for the sake of old clients.
    pub server_version: Text<'a>,
    /// What `KILL` must name.
    pub connection_id: u32,
    pub capabilities: Capabilities,
    pub status: StatusFlags,
    /// The plugin that the server would use for a user it does not know better.
    pub plugin: Text<'a>,
    /// What a password is mixed with, twenty bytes by custom, in two parts.
    challenge: (&'a [u8], &'a [u8]),
}

impl<'a> Greeting<'a> {
    /// The one version of the protocol that is spoken here.
    pub const PROTOCOL: u8 = 10;

    pub fn parse(payload: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("the greeting", payload);
        if body.u8()? != Self::PROTOCOL {
            return Err(body.malformed("it is not of protocol version 10"));
        }
        let server_version = Text(body.string()?);
        let connection_id = body.u32()?;
        let first = body.bytes(8)?;
        body.u8()?;
        let low = body.u16()?;
        // The collation.
        body.u8()?;
        let status = StatusFlags(body.u16()?);
        let high = body.u16()?;
        let capabilities = Capabilities(u32::from(low) | u32::from(high) << 16);
        let challenge_bytes = usize::from(body.u8()?);
        // Ten unused bytes, of which MariaDB uses four for capabilities that are not asked for.
        body.bytes(10)?;
        let mut second: &[u8] = &[];
        if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let part = body.bytes(challenge_bytes.saturating_sub(8).max(13).min(body.peek().len()))?;
            second = part.strip_suffix(&[0]).unwrap_or(part);
        }
        let plugin = if capabilities.contains(Capabilities::PLUGIN_AUTH) { body.last_string() } else { &[] };
        Ok(Self {
            server_version,
            connection_id,
            capabilities,
            status,
            plugin: Text(plugin),
            challenge: (first, second),
        })
    }

    pub fn challenge(&self) -> Vec<u8> {
        [self.challenge.0, self.challenge.1].concat()
    }
}
