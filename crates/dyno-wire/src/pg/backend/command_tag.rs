//! What a statement did, from the tag that ends it (`INSERT 0 5`). Read as bytes: this is on the hot path.

use std::fmt;

use super::frame::Frame;
use super::message::Text;
use crate::pg::error::ProtocolError;

/// A statement's command tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a> {
    text: &'a [u8],
}

/// The commands whose tag ends in a number of rows, and all the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `INSERT`, `UPDATE`, `DELETE` or `MERGE`.
    Write,
    /// `SELECT`, also of `CREATE TABLE AS`.
    Select,
    Copy,
    Other,
}

impl<'a> CommandTag<'a> {
    #[inline]
    pub(in crate::pg) fn parse(frame: Frame<'a>) -> Result<Self, ProtocolError> {
        match frame.body.split_last() {
            Some((0, text)) => Ok(Self { text }),
            _ => Err(frame.malformed("a string has no end")),
        }
    }

    /// The whole tag.
    pub fn text(&self) -> Text<'a> {
        Text(self.text)
    }

    #[inline]
    pub fn command(&self) -> Command {
        match self.text {
            [b'S', b'E', b'L', b'E', b'C', b'T', b' ', ..] => Command::Select,
            [b'U', b'P', b'D', b'A', b'T', b'E', b' ', ..]
            | [b'I', b'N', b'S', b'E', b'R', b'T', b' ', ..]
            | [b'D', b'E', b'L', b'E', b'T', b'E', b' ', ..]
            | [b'M', b'E', b'R', b'G', b'E', b' ', ..] => Command::Write,
            [b'C', b'O', b'P', b'Y', b' ', ..] => Command::Copy,
            _ => Command::Other,
        }
    }

    /// The number at the tag's end, 0 if there is none.
    #[inline]
    pub fn rows(&self) -> u64 {
        let mut rows = 0_u64;
        let mut unit = 1_u64;
        for digit in self.text.iter().rev() {
            if !digit.is_ascii_digit() {
                break;
            }
            rows = rows.saturating_add(unit.saturating_mul(u64::from(digit - b'0')));
            unit = unit.saturating_mul(10);
        }
        rows
    }
}

impl fmt::Debug for CommandTag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}
