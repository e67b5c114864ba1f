//! What an expression yields, and how it is printed.

use std::io::Write as _;

/// A value of the script language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

impl Value {
    /// Appends the value as it is substituted into SQL and bound as a parameter: `NULL`, `true`, `-5`, `0.1`.
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Value::Integer(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
            Value::Double(value) => write_double(value, out),
        }
    }
}

/// As C's `%.15g`.
pub(super) fn write_double(value: f64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
}
