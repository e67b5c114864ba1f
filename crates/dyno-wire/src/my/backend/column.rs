//! The description of a column, and the types there are.

use super::Text;
use super::body::Body;
use crate::my::error::ProtocolError;

/// One column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its alias in the statement.
    pub name: Text<'a>,
    pub value_type: ValueType,
    /// Of a string: it is bytes and no text.
    pub is_binary: bool,
}

/// What is needed to read a value of the binary protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType {
    pub column_type: ColumnType,
    pub unsigned: bool,
}

/// A type by its number in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType(pub u8);

impl ColumnType {
    pub const TINY: Self = Self(1);
    pub const SHORT: Self = Self(2);
    pub const LONG: Self = Self(3);
    pub const FLOAT: Self = Self(4);
    pub const DOUBLE: Self = Self(5);
    pub const NULL: Self = Self(6);
    pub const TIMESTAMP: Self = Self(7);
    pub const LONGLONG: Self = Self(8);
    pub const INT24: Self = Self(9);
    pub const DATE: Self = Self(10);
    pub const TIME: Self = Self(11);
    pub const DATETIME: Self = Self(12);
    pub const YEAR: Self = Self(13);
    pub const BIT: Self = Self(16);
    pub const JSON: Self = Self(245);
    pub const DECIMAL: Self = Self(246);
    /// A text or bytes of any length, also TEXT.
    pub const BLOB: Self = Self(252);
    pub const VARCHAR: Self = Self(253);
    pub const STRING: Self = Self(254);
}

impl<'a> Column<'a> {
    const UNSIGNED: u16 = 1 << 5;
    /// The collation of bytes.
    const BINARY: u16 = 63;

    pub(in crate::my) fn parse(payload: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("a column's description", payload);
        // The catalog, the schema, the table's alias and its name.
        for _ in 0..4 {
            body.lenenc_bytes()?;
        }
        let name = Text(body.lenenc_bytes()?);
        // The column's name in its table.
        body.lenenc_bytes()?;
        let mut fixed = Body::new("a column's description", body.lenenc_bytes()?);
        let is_binary = fixed.u16()? == Self::BINARY;
        // The width of the widest value.
        fixed.bytes(4)?;
        let column_type = ColumnType(fixed.u8()?);
        let unsigned = fixed.u16()? & Self::UNSIGNED != 0;
        // Digits after the point.
        fixed.u8()?;
        Ok(Self { name, value_type: ValueType { column_type, unsigned }, is_binary })
    }
}
