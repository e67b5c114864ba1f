//! Rows and their description. Both are checked once when parsed; walking them afterwards cannot fail.

use std::fmt;

use super::body::Body;
use super::frame::Frame;
use super::message::Text;
use crate::pg::error::ProtocolError;

/// One row of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DataRow<'a> {
    columns: u16,
    /// The values, each behind its length; known to hold `columns` of them exactly.
    values: &'a [u8],
}

impl<'a> DataRow<'a> {
    pub(in crate::pg) fn parse(frame: Frame<'a>) -> Result<Self, ProtocolError> {
        let mut body = Body::new(frame);
        let columns = body.u16()?;
        for _ in 0..columns {
            body.value()?;
        }
        body.end()?;
        Ok(Self { columns, values: &frame.body[2..] })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The values from left to right, `None` for NULL.
    pub fn columns(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut rest = self.values;
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first_chunk()?;
            let length = i32::from_be_bytes(*length);
            let (value, after) = match usize::try_from(length) {
                Ok(length) => after.split_at_checked(length).map(|(value, after)| (Some(value), after))?,
                Err(_) => (None, after),
            };
            rest = after;
            Some(value)
        })
    }
}

impl fmt::Debug for DataRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.columns().map(|value| value.map(Text))).finish()
    }
}

/// The columns of a result to come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RowDescription<'a> {
    columns: u16,
    fields: &'a [u8],
}

/// One column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    pub name: Text<'a>,
    pub type_oid: u32,
}

impl<'a> RowDescription<'a> {
    pub(in crate::pg) fn parse(frame: Frame<'a>) -> Result<Self, ProtocolError> {
        let mut body = Body::new(frame);
        let columns = body.u16()?;
        for _ in 0..columns {
            body.string()?;
            body.bytes(COLUMN_BYTES)?;
        }
        body.end()?;
        Ok(Self { columns, fields: &frame.body[2..] })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'a>> + use<'a> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let end = memchr::memchr(0, rest)?;
            let name = &rest[..end];
            let (fixed, after) = rest[end + 1..].split_first_chunk::<COLUMN_BYTES>()?;
            rest = after;
            // Behind the table's number and the column's within it.
            let type_oid = u32::from_be_bytes(*fixed[6..].first_chunk()?);
            Some(Column { name: Text(name), type_oid })
        })
    }
}

impl fmt::Debug for RowDescription<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.columns()).finish()
    }
}

/// What follows a column's name.
const COLUMN_BYTES: usize = 18;
