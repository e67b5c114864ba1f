//! The answer to a prepare.

use super::body::Body;
use crate::my::error::ProtocolError;

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// How the session names it from now on.
    pub statement: u32,
    pub parameters: u16,
    /// Columns of its result; 0 if it has none, or none that is known yet.
    pub columns: u16,
    pub warnings: u16,
}

impl Prepared {
    pub(in crate::my) fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("the answer to a prepare", payload);
        body.u8()?;
        let statement = body.u32()?;
        let columns = body.u16()?;
        let parameters = body.u16()?;
        body.u8()?;
        // Some relatives leave the count of warnings out.
        let warnings = if body.peek().is_empty() { 0 } else { body.u16()? };
        Ok(Self { statement, parameters, columns, warnings })
    }
}
