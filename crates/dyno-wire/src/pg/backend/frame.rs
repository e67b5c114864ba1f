//! Where one message ends and the next begins, and which lengths a message may have at all.

use crate::pg::error::{ProtocolError, Tag};

/// One message: its type and its body, without the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    pub tag: u8,
    pub body: &'a [u8],
}

impl Frame<'_> {
    /// The length as the server sent it: the body and the four bytes of the length itself.
    pub(in crate::pg) fn length(&self) -> u32 {
        u32::try_from(self.body.len() + 4).unwrap_or(u32::MAX)
    }

    pub(super) fn malformed(&self, what: &'static str) -> ProtocolError {
        ProtocolError::Malformed { tag: Tag(self.tag), length: self.length(), what }
    }
}

/// The first message of `buffer` and the bytes it takes there; `None` if it is not complete yet. A length that
/// the message cannot have is refused as soon as it is seen, before anybody waits for its body.
pub fn next_frame(buffer: &[u8]) -> Result<Option<(Frame<'_>, usize)>, ProtocolError> {
    let Some(header) = Header::read(buffer)? else { return Ok(None) };
    let Some(body) = buffer.get(Header::BYTES..header.frame_bytes) else { return Ok(None) };
    Ok(Some((Frame { tag: header.tag, body }, header.frame_bytes)))
}

/// A message's type and size in the buffer.
#[derive(Debug, Clone, Copy)]
pub(in crate::pg) struct Header {
    pub(in crate::pg) tag: u8,
    /// Type byte, length and body.
    pub(in crate::pg) frame_bytes: usize,
}

impl Header {
    pub(in crate::pg) const BYTES: usize = 5;

    #[inline]
    pub(in crate::pg) fn read(buffer: &[u8]) -> Result<Option<Self>, ProtocolError> {
        let Some(&[tag, a, b, c, d]) = buffer.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]);
        let bounds = BOUNDS[tag as usize];
        if length < bounds.min || length > bounds.max {
            return Err(length_error(tag, length));
        }
        Ok(Some(Self { tag, frame_bytes: length as usize + 1 }))
    }
}

#[cold]
pub(in crate::pg) fn length_error(tag: u8, length: u32) -> ProtocolError {
    let tag = Tag(tag);
    if BOUNDS[tag.0 as usize].max == 0 {
        ProtocolError::UnknownTag { tag, length }
    } else {
        ProtocolError::FrameLength { tag, length }
    }
}

/// The least and greatest length a message of one type may state.
#[derive(Clone, Copy)]
struct Bounds {
    min: u32,
    max: u32,
}

/// The server builds its messages in buffers of at most 1 GiB.
const LONG: u32 = 0x3fff_ffff + 4;
/// libpq refuses anything longer too, for messages that are short by nature.
const SHORT: u32 = 30_000;
/// The count of columns is an unsigned 16-bit number.
const COUNT_MAX: u32 = 65_535;

/// By type byte. A table and not a `match`, since every message passes here: one load decides.
static BOUNDS: [Bounds; 256] = bounds();

const fn bounds() -> [Bounds; 256] {
    // An unknown type fails for every length.
    let mut table = [Bounds { min: 1, max: 0 }; 256];
    let mut tag = 0;
    while tag < 128 {
        if let Some((min, max)) = bounds_of(tag) {
            table[tag as usize] = Bounds { min, max };
        }
        tag += 1;
    }
    table
}

const fn bounds_of(tag: u8) -> Option<(u32, u32)> {
    Some(match tag {
        // ParseComplete, BindComplete, CloseComplete, NoData, PortalSuspended, EmptyQueryResponse, CopyDone
        b'1' | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => (4, 4),
        b'Z' => (5, 5),
        b'C' => (5, SHORT),
        b'D' | b'T' => (6, LONG),
        b'd' => (4, LONG),
        // ParameterDescription
        b't' => (6, 6 + 4 * COUNT_MAX),
        b'E' | b'N' => (5, LONG),
        b'A' => (10, LONG),
        // BackendKeyData: the key has 4 bytes, up to 256 since protocol 3.2.
        b'K' => (8, 8 + 256),
        b'R' => (8, SHORT),
        b'S' => (6, SHORT),
        b'v' => (12, SHORT),
        // CopyInResponse, CopyOutResponse
        b'G' | b'H' => (7, 7 + 2 * COUNT_MAX),
        _ => return None,
    })
}
