//! Values of a statement's parameters, and how they travel: bound in either protocol, or as literals in the text.

use std::io::Write as _;

use dyno_wire::my::backend::Prepared;
use dyno_wire::my::frontend::ExecuteWriter;
use dyno_wire::pg::frontend::{self, BindWriter};

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Double(f64),
    /// `-12345678901234567.89`: a number of more digits than those above hold, as it is written.
    Decimal(&'a str),
    /// Text, or the text form of a value of another type.
    Text(&'a [u8]),
}

impl Value<'_> {
    /// A Boolean as PostgreSQL writes it, so that the answers of products agree.
    #[must_use]
    pub fn boolean(value: bool) -> Self {
        Self::Text(if value { b"t" } else { b"f" })
    }

    /// Appends it as the text that it is bound as, as libpq does; false for NULL, which has none.
    #[inline]
    pub(crate) fn write_text(self, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Null => return false,
            Self::Integer(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
            Self::Double(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Text(text) => out.extend_from_slice(text),
        }
        true
    }

    #[inline]
    fn bind_mysql(self, writer: &mut ExecuteWriter<'_>) {
        match self {
            Self::Null => writer.null(),
            Self::Integer(value) => writer.integer(value),
            Self::Double(value) => writer.double(value),
            Self::Decimal(digits) => writer.decimal(digits),
            Self::Text(text) => writer.text(text),
        }
    }

    /// Appends it as SQL. `backslashes`: within a plain string they begin an escape, as on MySQL.
    pub(crate) fn write_literal(self, backslashes: bool, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Integer(value) => {
                out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            // Writing to memory cannot fail.
            Self::Double(value) => {
                let _ = write!(out, "{value:e}");
            }
            Self::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Text(text) => quote(text, backslashes, out),
        }
    }
}

/// Appends an execution of a statement that a PostgreSQL server has prepared.
pub(crate) fn execute_postgres<'v>(out: &mut Vec<u8>, name: &str, values: impl Iterator<Item = Value<'v>>) {
    let mut bind = BindWriter::new(out, "", name);
    values.for_each(|value| bind.text_with(|out| value.write_text(out)));
    bind.finish();
    frontend::execute(out, "", 0);
    frontend::sync(out);
}

/// The same of a MySQL server.
pub(crate) fn execute_mysql<'v>(
    out: &mut Vec<u8>,
    prepared: Prepared,
    values: impl Iterator<Item = Value<'v>>,
) {
    let mut writer = ExecuteWriter::new(out, prepared.statement, prepared.parameters);
    values.for_each(|value| value.bind_mysql(&mut writer));
    writer.finish();
}

fn quote(text: &[u8], backslashes: bool, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && backslashes) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(value: Value<'_>, backslashes: bool) -> String {
        let mut out = Vec::new();
        value.write_literal(backslashes, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn literals_read_back_as_the_value() {
        assert_eq!(literal(Value::Null, false), "NULL");
        assert_eq!(literal(Value::Integer(i64::MIN), false), "-9223372036854775808");
        assert_eq!(literal(Value::Double(0.5), false), "5e-1");
        assert_eq!(literal(Value::Decimal("-12345678901234567.89"), false), "-12345678901234567.89");
        assert_eq!(literal(Value::Text(b"it's"), false), "'it''s'");
        assert_eq!(literal(Value::Text(br"a\b"), false), r"'a\b'");
        assert_eq!(literal(Value::Text(br"a\b"), true), r"'a\\b'");
    }
}
