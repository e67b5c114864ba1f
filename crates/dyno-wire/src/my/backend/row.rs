//! Rows of the text and of the binary protocol. A row is checked once when parsed; walking it afterwards cannot
//! fail.

use std::fmt;

use super::body::Body;
use super::column::ValueType;
use crate::my::error::ProtocolError;
use crate::my::value::{Value, read_binary};

/// One row of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ResultRow<'a> {
    types: &'a [ValueType],
    values: Values<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Values<'a> {
    /// Each behind its length.
    Text(&'a [u8]),
    /// Those that are not NULL by the bitmap, each as its type says.
    Binary { nulls: &'a [u8], values: &'a [u8] },
}

/// The bitmap of a binary row begins with two bits that mean nothing.
const NULLS_OFFSET: usize = 2;

impl<'a> ResultRow<'a> {
    pub(in crate::my) fn text(payload: &'a [u8], types: &'a [ValueType]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("a row", payload);
        for _ in types {
            body.text_value()?;
        }
        body.end()?;
        Ok(Self { types, values: Values::Text(payload) })
    }

    pub(in crate::my) fn binary(payload: &'a [u8], types: &'a [ValueType]) -> Result<Self, ProtocolError> {
        let mut body = Body::new("a binary row", payload);
        if body.u8()? != 0 {
            return Err(body.malformed("it does not begin with 0"));
        }
        let nulls = body.bytes((types.len() + NULLS_OFFSET).div_ceil(8))?;
        let values = body.peek();
        for (index, value_type) in types.iter().enumerate() {
            if !is_null(nulls, index) {
                read_binary(&mut body, *value_type)?;
            }
        }
        body.end()?;
        Ok(Self { types, values: Values::Binary { nulls, values } })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The values from left to right. In the text protocol each is [`Value::Bytes`] or [`Value::Null`].
    pub fn columns(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let (nulls, values) = match self.values {
            Values::Text(values) => (None, values),
            Values::Binary { nulls, values } => (Some(nulls), values),
        };
        let mut body = Body::new("a row", values);
        self.types.iter().enumerate().map_while(move |(index, value_type)| match nulls {
            None => body.text_value().ok().map(|value| value.map_or(Value::Null, Value::Bytes)),
            Some(nulls) if is_null(nulls, index) => Some(Value::Null),
            Some(_) => read_binary(&mut body, *value_type).ok(),
        })
    }
}

impl fmt::Debug for ResultRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.columns()).finish()
    }
}

fn is_null(nulls: &[u8], index: usize) -> bool {
    let bit = index + NULLS_OFFSET;
    nulls.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}
