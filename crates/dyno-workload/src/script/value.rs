//! What an expression yields, and how it is printed.

use std::fmt;
use std::io::Write as _;

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

    /// Appends the value as the function `debug` prints it, behind `debug(script=0,command=1): `.
    pub fn write_debug(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => return out.extend_from_slice(b"null"),
            Value::Boolean(_) => out.extend_from_slice(b"boolean "),
            Value::Integer(_) => out.extend_from_slice(b"int "),
            Value::Double(_) => out.extend_from_slice(b"double "),
        }
        self.write_text(out);
    }

    /// As a condition: a number holds if it is not 0, and null does not hold.
    pub(super) fn holds(self) -> bool {
        match self {
            Value::Null => false,
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
    if value.is_sign_negative() {
        out.push(b'-');
    }
    // `d.dddddddddddddde-308` at the longest, and always with all its digits.
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    let _ = write!(rest, "{:.*e}", DIGITS - 1, value.abs());
    let mut digits = [b'0'; DIGITS];
    digits[0] = buffer[0];
    digits[1..].copy_from_slice(&buffer[2..=DIGITS]);
    let exponent = exponent_of(&buffer[DIGITS + 2..]);
    let significant = DIGITS - digits[1..].iter().rev().take_while(|digit| **digit == b'0').count();
    let digits = &digits[..significant];
    match usize::try_from(exponent) {
        Ok(exponent) if exponent < DIGITS => write_fixed(digits, exponent, out),
        Err(_) if exponent >= -4 => write_small(digits, exponent, out),
        _ => write_scientific(digits, exponent, out),
    }
}

fn exponent_of(text: &[u8]) -> i32 {
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    let size = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let size = size.fold(0, |size, digit| size * 10 + i32::from(digit - b'0'));
    if negative { -size } else { size }
}

/// `123.45`
fn write_fixed(digits: &[u8], exponent: usize, out: &mut Vec<u8>) {
    let whole = exponent + 1;
    if digits.len() <= whole {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
    } else {
        out.extend_from_slice(&digits[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// `0.00012345`
fn write_small(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0.");
    out.extend((exponent + 1..0).map(|_| b'0'));
    out.extend_from_slice(digits);
}

/// `1.2345e+67`
fn write_scientific(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    out.push(digits[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "e{sign}{:02}", exponent.abs());
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
