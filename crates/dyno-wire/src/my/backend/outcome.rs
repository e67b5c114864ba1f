//! How a statement ended: OK, EOF or an error.

use super::Text;
use super::body::Body;
use crate::my::capabilities::StatusFlags;
use crate::my::error::{MySqlError, ProtocolError, SqlState};

/// A statement has ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows inserted, changed or deleted; with [`Capabilities::FOUND_ROWS`] those found instead of changed.
    pub affected: u64,
    /// The first value that AUTO_INCREMENT gave, 0 if none.
    pub last_insert_id: u64,
    pub status: StatusFlags,
    /// How many warnings `SHOW WARNINGS` would list.
    pub warnings: u16,
    /// "Rows matched: 1  Changed: 1  Warnings: 0", for some statements.
    pub info: Text<'a>,
}

impl<'a> OkPacket<'a> {
    pub(in crate::my) fn parse(payload: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("an OK packet", payload);
        body.u8()?;
        let affected = body.lenenc_int()?;
        let last_insert_id = body.lenenc_int()?;
        let status = StatusFlags(body.u16()?);
        let warnings = body.u16()?;
        let info = Text(info(&mut body));
        Ok(Self { affected, last_insert_id, status, warnings, info })
    }

    /// The end of columns or rows, where [`Capabilities::DEPRECATE_EOF`](crate::my::capabilities::Capabilities) was not
    /// agreed.
    pub(in crate::my) fn parse_eof(payload: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("an EOF packet", payload);
        body.u8()?;
        let (warnings, status) = (body.u16()?, StatusFlags(body.u16()?));
        Ok(Self { affected: 0, last_insert_id: 0, status, warnings, info: Text(&[]) })
    }
}

/// The documents say that the text fills the packet; servers put its length before it.
fn info<'a>(body: &mut Body<'a>) -> &'a [u8] {
    let all = body.rest();
    let mut counted = Body::new("an OK packet", all);
    match counted.lenenc_bytes() {
        Ok(text) if counted.peek().is_empty() => text,
        _ => all,
    }
}

/// Reads the payload of an error packet, 0xff at its beginning.
pub fn parse_error(payload: &[u8]) -> Result<MySqlError, ProtocolError> {
    let mut body = Body::new("an error packet", payload);
    body.u8()?;
    let number = body.u16()?;
    let mut state = SqlState::UNKNOWN;
    // Left out by a server that does not know yet whom it speaks to.
    if body.peek().first() == Some(&b'#') && body.peek().len() > 5 {
        state = SqlState::from_bytes(&body.bytes(6)?[1..]);
    }
    Ok(MySqlError { number, state, message: String::from_utf8_lossy(body.rest()).into_owned() })
}
