//! Text that becomes a number, as C's library, pgbench and sysbench read it: what they accept, and what is too large or
//! too small. Scripts in the wild rely on their leniency.

use std::num::{IntErrorKind, ParseIntError};

/// Why a text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberError {
    OutOfRange,
    Syntax,
}

/// C's `isspace`.
pub(crate) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn is_space_character(character: char) -> bool {
    u8::try_from(character).is_ok_and(is_space)
}

pub fn without_spaces_before(text: &str) -> &str {
    text.trim_start_matches(is_space_character)
}

/// The text behind a sign, and whether the sign is a minus.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Whether a text is to be read as an integer, and not as a double. Blanks alone are, and then are none.
pub(crate) fn looks_like_integer(text: &str) -> bool {
    let (_, rest) = split_sign(without_spaces_before(text));
    rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads an integer with blanks around it.
pub(crate) fn integer(text: &str) -> Result<i64, NumberError> {
    let parsed = text.trim_matches(is_space_character).parse();
    parsed.map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => NumberError::OutOfRange,
        _ => NumberError::Syntax,
    })
}

/// C's `strtol`: the integer that the text begins with behind spaces, the nearest there is if it is too large, and what
/// follows it. Without any digit nothing is read, not even the spaces.
pub fn leading_integer(text: &str) -> (Option<i64>, &str) {
    let trimmed = without_spaces_before(text);
    let (negative, digits) = split_sign(trimmed);
    let rest = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() == digits.len() {
        return (None, text);
    }
    let nearest = if negative { i64::MIN } else { i64::MAX };
    (Some(trimmed[..trimmed.len() - rest.len()].parse().unwrap_or(nearest)), rest)
}

/// C's `atoi`: 0 where there is no integer; of one that is too large the lowest bits.
pub(crate) fn leading_int(text: &[u8]) -> i32 {
    let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    leading_integer(text).0.unwrap_or(0) as i32
}

/// C's `atof`, but for words and fractions of hexadecimal numbers: the number that the text begins with, `10`, `1.5e6`
/// or `0x10`; zero where it begins with none.
pub fn leading_number(text: &str) -> f64 {
    let (negative, digits) = split_sign(without_spaces_before(text));
    let size = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let digits = hex.chars().map_while(|digit| digit.to_digit(16));
        digits.fold(0.0, |sum, digit| sum * 16.0 + f64::from(digit))
    } else if digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        let parsed = (1..=digits.len()).rev().find_map(|end| digits.get(..end)?.parse().ok());
        parsed.unwrap_or(0.0)
    } else {
        0.0
    };
    if negative { -size } else { size }
}

/// Reads a double as C's `strtod` does, to the text's end.
pub(crate) fn double(text: &str) -> Result<f64, NumberError> {
    let (negative, rest) = split_sign(without_spaces_before(text));
    let size = if is_nan(rest) {
        f64::NAN
    } else if rest.eq_ignore_ascii_case("inf") || rest.eq_ignore_ascii_case("infinity") {
        f64::INFINITY
    } else if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        hexadecimal(digits)?
    } else {
        decimal(rest)?
    };
    Ok(if negative { -size } else { size })
}

/// `nan`, or `nan(…)` with letters, digits and `_`.
fn is_nan(text: &str) -> bool {
    let Some((name, rest)) = text.split_at_checked(3) else { return false };
    let payload = |rest: &str| {
        let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    };
    name.eq_ignore_ascii_case("nan") && (rest.is_empty() || payload(rest))
}

fn decimal(text: &str) -> Result<f64, NumberError> {
    // Rust accepts the same, and words that have been dealt with, but no sign is left here.
    let begins = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let value = text.parse::<f64>().ok().filter(|_| begins).ok_or(NumberError::Syntax)?;
    let mantissa = text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    within_range(value, mantissa.filter(u8::is_ascii_digit).all(|digit| digit == b'0'))
}

/// Refuses what is too large, and what has lost digits below the least normal double.
fn within_range(value: f64, is_zero: bool) -> Result<f64, NumberError> {
    if value.is_infinite() || (!value.is_normal() && !is_zero) {
        return Err(NumberError::OutOfRange);
    }
    Ok(value)
}

/// What stands behind `0x`: hexadecimal digits with a point, and a power of two behind `p`.
fn hexadecimal(text: &str) -> Result<f64, NumberError> {
    let (digits, mut power) = match text.split_once(['p', 'P']) {
        None => (text, 0),
        Some((_, power)) if power.contains(is_space_character) => return Err(NumberError::Syntax),
        Some((digits, power)) => (digits, integer(power)?.clamp(-100_000, 100_000) as i32),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::Syntax);
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16).ok_or(NumberError::Syntax)?);
    }
    if value == 0.0 {
        return Ok(value);
    }
    power -= 4 * fraction.len() as i32;
    // In two steps, because 2^power itself may not be a normal number.
    within_range(value * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_blanks_around_them() {
        assert_eq!(integer("  -9223372036854775808 "), Ok(i64::MIN));
        assert_eq!(integer("+7\t"), Ok(7));
        assert_eq!(integer("9223372036854775808"), Err(NumberError::OutOfRange));
        assert_eq!(integer(" "), Err(NumberError::Syntax));
        assert_eq!(integer("1 2"), Err(NumberError::Syntax));
    }

    #[test]
    fn doubles_are_read_as_c_does() {
        assert_eq!(double("\t-1.5e3"), Ok(-1500.0));
        assert_eq!(double(".5"), Ok(0.5));
        assert_eq!(double("5."), Ok(5.0));
        assert_eq!(double("0x1.8p1"), Ok(3.0));
        assert_eq!(double("0x.1"), Ok(0.0625));
        assert_eq!(double("0x1p-1022"), Ok(f64::MIN_POSITIVE));
        assert_eq!(double("0x1p-1075"), Err(NumberError::OutOfRange));
        assert_eq!(double("0x1.fffffffffffffp1023"), Ok(f64::MAX));
        assert_eq!(double("0x1p1024"), Err(NumberError::OutOfRange));
        assert_eq!(double("-Infinity"), Ok(f64::NEG_INFINITY));
        assert!(double("nan(1_a)").unwrap().is_nan());
        assert_eq!(double("1e400"), Err(NumberError::OutOfRange));
        assert_eq!(double("1e-310"), Err(NumberError::OutOfRange));
        assert_eq!(double("0e-999"), Ok(0.0));
        for text in ["", ".", "1.5 ", "x", "--1", "0x", "0xp1", "0x1p", "1e", "+inf inity"] {
            assert_eq!(double(text), Err(NumberError::Syntax), "{text}");
        }
    }

    #[test]
    fn a_number_may_have_something_behind_it() {
        assert_eq!(leading_int(b" 12ms"), 12);
        assert_eq!(leading_int(b"-3"), -3);
        assert_eq!(leading_int(b"x"), 0);
        assert_eq!(leading_int(b"99999999999999999999"), -1);
    }

    #[test]
    fn numbers_are_read_as_far_as_they_go() {
        for (text, value) in [
            ("1", 1.0),
            (" 1.5x", 1.5),
            ("-2.5e3/s", -2500.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e", 1.0),
            ("1e+", 1.0),
            ("+7e-1", 0.7),
            ("0x10", 16.0),
            ("2K", 2.0),
            (".", 0.0),
            ("-", 0.0),
            ("", 0.0),
            ("e5", 0.0),
            ("é", 0.0),
        ] {
            assert!((leading_number(text) - value).abs() < 1e-12, "{text}: {}", leading_number(text));
        }
    }

    #[test]
    fn integers_are_read_as_far_as_they_go() {
        assert_eq!(leading_integer(" \x0B+7x"), (Some(7), "x"));
        assert_eq!(leading_integer("-99999999999999999999 "), (Some(i64::MIN), " "));
        assert_eq!(leading_integer(" x"), (None, " x"));
    }
}
