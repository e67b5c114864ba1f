//! The fields of an error or a notice.

use std::fmt;

use super::body::Body;
use super::frame::Frame;
use super::message::Text;
use crate::pg::error::ProtocolError;

/// An error's or notice's fields as they lie in the buffer. [`PostgresError`](crate::pg::error::PostgresError) is
/// made from it where it must be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NoticeFields<'a> {
    /// Code byte and NUL-ended string, again and again; known to be whole.
    fields: &'a [u8],
}

impl<'a> NoticeFields<'a> {
    pub(in crate::pg) fn parse(frame: Frame<'a>) -> Result<Self, ProtocolError> {
        let mut body = Body::new(frame);
        while body.u8()? != 0 {
            body.string()?;
        }
        body.end()?;
        Ok(Self { fields: frame.body })
    }

    /// Code and value of each field, in the server's order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let (&code, after) = rest.split_first()?;
            if code == 0 {
                return None;
            }
            let end = memchr::memchr(0, after)?;
            rest = &after[end + 1..];
            Some((code, &after[..end]))
        })
    }

    /// The field with this code: `M` message, `C` SQLSTATE, `D` detail, ….
    pub fn get(&self, code: u8) -> Option<&'a [u8]> {
        self.iter().find_map(|(found, value)| (found == code).then_some(value))
    }

    /// The message itself, as bytes in the session's encoding.
    pub fn message(&self) -> Text<'a> {
        Text(self.get(b'M').unwrap_or_default())
    }
}

impl fmt::Debug for NoticeFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(code, value)| (char::from(code), Text(value)))).finish()
    }
}
