//! The description of a column, and the types there are.

use super::Text;
use super::body::Body;
use crate::my::error::ProtocolError;

/// One column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    pub schema: Text<'a>,
    /// The table's alias in the statement, and its real name.
    pub table: Text<'a>,
    pub org_table: Text<'a>,
    /// The column's alias in the statement, and its real name.
    pub name: Text<'a>,
    pub org_name: Text<'a>,
    /// Number of the collation; 63 is binary.
    pub collation: u16,
    /// The widest value's width, in bytes.
    pub width_max: u32,
    pub value_type: ValueType,
    pub flags: u16,
    /// Digits after the point; 31 if they vary.
    pub decimals: u8,
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
}

impl Column<'_> {
    const UNSIGNED: u16 = 1 << 5;
}

impl<'a> Column<'a> {
    pub(in crate::my) fn parse(payload: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("a column's description", payload);
        // The catalog, always "def".
        body.lenenc_bytes()?;
        let schema = Text(body.lenenc_bytes()?);
        let table = Text(body.lenenc_bytes()?);
        let org_table = Text(body.lenenc_bytes()?);
        let name = Text(body.lenenc_bytes()?);
        let org_name = Text(body.lenenc_bytes()?);
        let mut fixed = Body::new("a column's description", body.lenenc_bytes()?);
        let collation = fixed.u16()?;
        let width_max = fixed.u32()?;
        let column_type = ColumnType(fixed.u8()?);
        let flags = fixed.u16()?;
        let decimals = fixed.u8()?;
        let value_type = ValueType { column_type, unsigned: flags & Self::UNSIGNED != 0 };
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation,
            width_max,
            value_type,
            flags,
            decimals,
        })
    }
}
