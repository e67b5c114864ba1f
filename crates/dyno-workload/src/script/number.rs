//! Text that becomes a number, as C's library and pgbench read it: what they accept, and what is too large or too small.

/// Why a text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberError {
    OutOfRange,
    Syntax,
}

/// C's `isspace`.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

pub(super) fn skip_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[spaces..]
}

/// The text behind a sign, and whether the sign is a minus.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether a text is to be read as an integer, and not as a double. Blanks alone are, and then are none.
pub(super) fn looks_like_integer(text: &[u8]) -> bool {
    let (_, rest) = split_sign(skip_spaces(text));
    rest.iter().all(u8::is_ascii_digit)
}

/// Reads an integer with blanks around it.
pub(super) fn integer(text: &[u8]) -> Result<i64, NumberError> {
    let (negative, rest) = split_sign(skip_spaces(text));
    let (number, rest) = rest.split_at(digits(rest));
    if number.is_empty() {
        return Err(NumberError::Syntax);
    }
    let step = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_sub(i64::from(digit - b'0'));
    // Downwards, because the least integer has no counterpart.
    let sum = number.iter().try_fold(0, step).ok_or(NumberError::OutOfRange)?;
    if !skip_spaces(rest).is_empty() {
        return Err(NumberError::Syntax);
    }
    if negative { Ok(sum) } else { sum.checked_neg().ok_or(NumberError::OutOfRange) }
}

/// C's `atoi`: the number that the text begins with, or 0; one that is too large for 64 bits is -1 or 0.
pub(super) fn leading_integer(text: &[u8]) -> i32 {
    let text = skip_spaces(text);
    let (negative, rest) = split_sign(text);
    let number = &rest[..digits(rest)];
    let step = |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_sub(i64::from(digit - b'0'));
    let sum = number.iter().fold(0, step);
    (if negative { sum } else { sum.saturating_neg() }) as i32
}

/// Reads a double as C's `strtod` does, to the text's end.
pub(super) fn double(text: &[u8]) -> Result<f64, NumberError> {
    let (negative, rest) = split_sign(skip_spaces(text));
    let size = if is_nan(rest) {
        f64::NAN
    } else if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
        f64::INFINITY
    } else if let [b'0', b'x' | b'X', digits @ ..] = rest {
        hexadecimal(digits)?
    } else {
        decimal(rest)?
    };
    Ok(if negative { -size } else { size })
}

/// `nan`, or `nan(…)` with letters, digits and `_`.
fn is_nan(text: &[u8]) -> bool {
    let Some((name, rest)) = text.split_at_checked(3) else { return false };
    let payload = |rest: &[u8]| {
        let inner = rest.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
        inner.is_some_and(|inner| inner.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
    };
    name.eq_ignore_ascii_case(b"nan") && (rest.is_empty() || payload(rest))
}

fn decimal(text: &[u8]) -> Result<f64, NumberError> {
    // Rust accepts the same, and words that have been dealt with, but no sign is left here.
    let begins = text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let parsed = std::str::from_utf8(text).ok().filter(|_| begins).and_then(|text| text.parse::<f64>().ok());
    let value = parsed.ok_or(NumberError::Syntax)?;
    let mantissa = text.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    within_range(value, mantissa.filter(|byte| byte.is_ascii_digit()).all(|digit| *digit == b'0'))
}

/// Refuses what is too large, and what has lost digits below the least normal double.
fn within_range(value: f64, is_zero: bool) -> Result<f64, NumberError> {
    if value.is_infinite() || (!value.is_normal() && !is_zero) {
        return Err(NumberError::OutOfRange);
    }
    Ok(value)
}

/// What stands behind `0x`: hexadecimal digits with a point, and a power of two behind `p`.
fn hexadecimal(text: &[u8]) -> Result<f64, NumberError> {
    let end = text.iter().position(|byte| matches!(byte, b'p' | b'P')).unwrap_or(text.len());
    let mut power = match text.get(end + 1..) {
        None => 0,
        Some(power) if power.iter().any(|byte| is_space(*byte)) => return Err(NumberError::Syntax),
        Some(power) => integer(power)?.clamp(-100_000, 100_000) as i32,
    };
    let (whole, fraction) = match text[..end].iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..end]),
        None => (&text[..end], &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::Syntax);
    }
    let mut value = 0.0;
    for byte in whole.iter().chain(fraction) {
        value = value * 16.0 + f64::from(char::from(*byte).to_digit(16).ok_or(NumberError::Syntax)?);
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
        assert_eq!(integer(b"  -9223372036854775808 "), Ok(i64::MIN));
        assert_eq!(integer(b"+7\t"), Ok(7));
        assert_eq!(integer(b"9223372036854775808"), Err(NumberError::OutOfRange));
        assert_eq!(integer(b" "), Err(NumberError::Syntax));
        assert_eq!(integer(b"1 2"), Err(NumberError::Syntax));
    }

    #[test]
    fn doubles_are_read_as_c_does() {
        assert_eq!(double(b"\t-1.5e3"), Ok(-1500.0));
        assert_eq!(double(b".5"), Ok(0.5));
        assert_eq!(double(b"5."), Ok(5.0));
        assert_eq!(double(b"0x1.8p1"), Ok(3.0));
        assert_eq!(double(b"0x.1"), Ok(0.0625));
        assert_eq!(double(b"0x1p-1022"), Ok(f64::MIN_POSITIVE));
        assert_eq!(double(b"0x1p-1075"), Err(NumberError::OutOfRange));
        assert_eq!(double(b"0x1.fffffffffffffp1023"), Ok(f64::MAX));
        assert_eq!(double(b"0x1p1024"), Err(NumberError::OutOfRange));
        assert_eq!(double(b"-Infinity"), Ok(f64::NEG_INFINITY));
        assert!(double(b"nan(1_a)").unwrap().is_nan());
        assert_eq!(double(b"1e400"), Err(NumberError::OutOfRange));
        assert_eq!(double(b"1e-310"), Err(NumberError::OutOfRange));
        assert_eq!(double(b"0e-999"), Ok(0.0));
        for text in ["", ".", "1.5 ", "x", "--1", "0x", "0xp1", "0x1p", "1e", "+inf inity"] {
            assert_eq!(double(text.as_bytes()), Err(NumberError::Syntax), "{text}");
        }
    }

    #[test]
    fn a_number_may_have_something_behind_it() {
        assert_eq!(leading_integer(b" 12ms"), 12);
        assert_eq!(leading_integer(b"-3"), -3);
        assert_eq!(leading_integer(b"x"), 0);
        assert_eq!(leading_integer(b"99999999999999999999"), -1);
    }
}
