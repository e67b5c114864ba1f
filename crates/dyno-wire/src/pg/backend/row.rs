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
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    #[must_use]
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
    /// OID of the table it comes from, 0 if it is none's.
    pub table_oid: u32,
    /// Number of the column within that table, 0 if it is none's.
    pub attribute: i16,
    pub type_oid: u32,
    /// Size in bytes, negative if it varies.
    pub type_size: i16,
    pub type_modifier: i32,
    /// 0 text, 1 binary.
    pub format: u16,
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
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'a>> + use<'a> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let end = memchr::memchr(0, rest)?;
            let name = &rest[..end];
            let (fixed, after) = rest[end + 1..].split_first_chunk()?;
            rest = after;
            Some(column(name, fixed))
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

fn column<'a>(name: &'a [u8], fixed: &[u8; COLUMN_BYTES]) -> Column<'a> {
    let [t0, t1, t2, t3, a0, a1, o0, o1, o2, o3, s0, s1, m0, m1, m2, m3, f0, f1] = *fixed;
    Column {
        name: Text(name),
        table_oid: u32::from_be_bytes([t0, t1, t2, t3]),
        attribute: i16::from_be_bytes([a0, a1]),
        type_oid: u32::from_be_bytes([o0, o1, o2, o3]),
        type_size: i16::from_be_bytes([s0, s1]),
        type_modifier: i32::from_be_bytes([m0, m1, m2, m3]),
        format: u16::from_be_bytes([f0, f1]),
    }
}
