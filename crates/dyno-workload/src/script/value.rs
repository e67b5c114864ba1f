//! What an expression yields, and how it is printed.

use std::fmt;
use std::io::Write as _;

use crate::c_numbers::leading_int;

/// A value of the script language.
// With a tag of a whole word values are copied by words. Otherwise the byte of a boolean is copied apart, and reading a
// value that has just been written in parts costs more than computing it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u64)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    /// Of workload files alone.
    Text(TextRange),
    /// The digits of an exact number; of workload files alone.
    Decimal(TextRange),
}

/// Where a text is kept of an expression that is being evaluated: see [`Variables::text`](super::Variables::text).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Value {
    /// Appends the value as it is substituted into SQL and bound as a parameter: `NULL`, `true`, `-5`, `0.1`. A text and a decimal are elsewhere.
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Value::Integer(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
            Value::Double(value) => write_double(value, out),
            Value::Text(_) | Value::Decimal(_) => {}
        }
    }

    /// Appends the value as the function `debug` prints it, behind `debug(script=0,command=1): `.
    pub fn write_debug(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.kind().as_bytes());
        if self != Value::Null {
            out.push(b' ');
            self.write_text(out);
        }
    }

    /// As a condition of `\if`, `\elif` and CASE: a number holds if it is not 0, and null does not hold. A text is refused before, and a
    /// decimal is made a boolean.
    pub fn holds(self) -> bool {
        match self {
            Value::Null | Value::Text(_) | Value::Decimal(_) => false,
            Value::Boolean(value) => value,
            Value::Integer(value) => value != 0,
            Value::Double(value) => value != 0.0,
        }
    }

    /// The type as messages call it.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Integer(_) => "int",
            Value::Double(_) => "double",
            Value::Text(_) => "text",
            Value::Decimal(_) => "decimal",
        }
    }
}

/// How many digits a double is printed with.
const DIGITS: usize = 15;

/// As C's `%.15g`, but for what is no number, which PostgreSQL spells out.
pub(super) fn write_double(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        return out.extend_from_slice(spelled_out(value).as_bytes());
    }
    let start = out.len();
    // Writing to memory cannot fail. `d.dddddddddddddde-308`: what is rounded decides the exponent.
    let _ = write!(out, "{value:.*e}", DIGITS - 1);
    let mantissa = out[start..].iter().position(|byte| *byte == b'e').unwrap_or(0);
    let exponent = leading_int(&out[start + mantissa + 1..]);
    let is_fixed = (-4..DIGITS as i32).contains(&exponent);
    if is_fixed {
        out.truncate(start);
        let _ = write!(out, "{value:.*}", (DIGITS as i32 - 1 - exponent) as usize);
    } else {
        out.truncate(start + mantissa);
    }
    if out[start..].contains(&b'.') {
        let zeros = out.iter().rev().take_while(|byte| **byte == b'0').count();
        out.truncate(out.len() - zeros);
        out.truncate(out.len() - usize::from(out.ends_with(b".")));
    }
    if !is_fixed {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    }
}

/// A double as `%f` prints it, in messages.
#[derive(Debug)]
pub(super) struct Fixed(pub(super) f64);

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { write!(f, "{:.6}", self.0) } else { f.write_str(spelled_out(self.0)) }
    }
}

fn spelled_out(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_have_fifteen_digits() {
        let expected = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (100_000.0, "100000"),
            (123_456_789_012_345.0, "123456789012345"),
            (999_999_999_999_999.9, "1e+15"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.000_123_45, "0.00012345"),
            (0.000_01, "1e-05"),
            (5e-324, "4.94065645841247e-324"),
            (f64::MAX, "1.79769313486232e+308"),
            (f64::NAN, "NaN"),
            (-f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            // Exactly between two: to the even one.
            (1_234_567_890_123_455.0, "1.23456789012346e+15"),
            (1_234_567_890_123_445.0, "1.23456789012344e+15"),
        ];
        for (value, expected) in expected {
            assert_eq!(text(value), expected);
        }
    }
}
