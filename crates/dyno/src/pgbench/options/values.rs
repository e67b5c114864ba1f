//! Reads the values of options, with the leniency of the C functions that pgbench reads them with: spaces around
//! integers, and numbers with anything behind them. Scripts in the wild rely on it.

use std::num::NonZeroU32;

use super::error::{PgbenchUsageError, SeedSource};

/// An integer from `min` to `max`; `option` is how messages call it.
pub(super) fn integer(
    text: &str,
    option: &'static str,
    min: i32,
    max: i32,
) -> Result<i32, PgbenchUsageError> {
    let text_after_spaces = text.trim_start_matches(is_space);
    let (number, rest) = leading_integer(text_after_spaces);
    // Without any digit nothing was read, not even the spaces.
    let rest = if number.is_none() { text } else { rest };
    if !rest.trim_start_matches(is_space).is_empty() {
        return Err(PgbenchUsageError::NotAnInteger { value: text.to_owned(), option });
    }
    match i32::try_from(number.unwrap_or(0)) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => Err(PgbenchUsageError::OutOfRange { option, min, max }),
    }
}

/// An integer from one.
pub(super) fn positive(text: &str, option: &'static str) -> Result<NonZeroU32, PgbenchUsageError> {
    let value = integer(text, option, 1, i32::MAX)?;
    let value = u32::try_from(value).ok().and_then(NonZeroU32::new);
    value.ok_or(PgbenchUsageError::OutOfRange { option, min: 1, max: i32::MAX })
}

/// The number that `text` begins with; zero where it begins with none.
pub(super) fn leading_number(text: &str) -> f64 {
    let text = text.trim_start_matches(is_space);
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end > sign && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if exponent <= bytes.len() && digits(exponent) > 0 {
            end = exponent + digits(exponent);
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// How often a transaction is tried: `None` for as often as it takes, which is also what words are taken for.
pub(super) fn tries(text: &str) -> Result<Option<NonZeroU32>, PgbenchUsageError> {
    let (number, _) = leading_integer(text.trim_start_matches(is_space));
    match u32::try_from(number.unwrap_or(0)) {
        Ok(tries) if i32::try_from(tries).is_ok() => Ok(NonZeroU32::new(tries)),
        _ => Err(PgbenchUsageError::MaxTries { value: text.to_owned() }),
    }
}

/// `NAME` or `NAME@WEIGHT`; the weight is 1 if not said.
pub(super) fn weighted(text: &str) -> Result<(&str, u32), PgbenchUsageError> {
    let Some(at) = text.rfind('@') else { return Ok((text, 1)) };
    let (name, weight) = text.split_at(at);
    let (number, rest) = leading_integer(weight[1..].trim_start_matches(is_space));
    match number {
        Some(number) if rest.is_empty() && number != i64::MAX && number != i64::MIN => {
            match u32::try_from(number) {
                Ok(weight) if i32::try_from(weight).is_ok() => Ok((name, weight)),
                _ => Err(PgbenchUsageError::WeightOutOfRange { weight: number }),
            }
        }
        _ => Err(PgbenchUsageError::Weight { text: weight.to_owned() }),
    }
}

/// A seed written as a number; one that is too large is the largest, and a minus sign counts down from 2^64.
pub(super) fn seed(text: &str, from: SeedSource) -> Result<u64, PgbenchUsageError> {
    let refused = || PgbenchUsageError::Seed { value: text.to_owned(), from };
    let number = text.trim_start_matches(is_space);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    Ok(match digits.parse::<u64>() {
        Ok(value) if number.starts_with('-') => value.wrapping_neg(),
        Ok(value) => value,
        Err(_) => u64::MAX,
    })
}

/// What C's `isspace` takes for a space.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0B' | '\x0C' | '\r')
}

/// The integer that `text` begins with, the nearest there is if it is too large, and what follows it.
fn leading_integer(text: &str) -> (Option<i64>, &str) {
    let digits_at = usize::from(text.starts_with(['+', '-']));
    let end = text[digits_at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| digits_at + at);
    if end == digits_at {
        return (None, text);
    }
    let nearest = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    (Some(text[..end].parse().unwrap_or(nearest)), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn integers_may_have_spaces_around_them() {
        let read = |text| integer(text, "-x", 1, 10);
        assert_eq!(read(" +5 \t"), Ok(5));
        assert_eq!(read("5x"), Err(PgbenchUsageError::NotAnInteger { value: "5x".into(), option: "-x" }));
        for text in ["", " ", "0", "11", "-99999999999999999999", "99999999999"] {
            assert_eq!(
                read(text),
                Err(PgbenchUsageError::OutOfRange { option: "-x", min: 1, max: 10 }),
                "{text}"
            );
        }
        assert_eq!(read("+"), Err(PgbenchUsageError::NotAnInteger { value: "+".into(), option: "-x" }));
    }

    #[test]
    fn seeds() {
        let read = |text| seed(text, SeedSource::Option).ok();
        assert_eq!(read("5"), Some(5));
        assert_eq!(read(" +5"), Some(5));
        assert_eq!(read("-1"), Some(u64::MAX));
        assert_eq!(read("18446744073709551616"), Some(u64::MAX));
        for text in ["", "x", "5 ", "5x", "+", "--5", "0x5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn weights() {
        assert_eq!(weighted("a"), Ok(("a", 1)));
        assert_eq!(weighted("a@b@ +3"), Ok(("a@b", 3)));
        assert_eq!(weighted("@0"), Ok(("", 0)));
        assert_eq!(weighted("a@2147483648"), Err(PgbenchUsageError::WeightOutOfRange { weight: 1 << 31 }));
        for text in ["a@", "a@x", "a@1x", "a@99999999999999999999"] {
            let at = text[1..].to_owned();
            assert_eq!(weighted(text), Err(PgbenchUsageError::Weight { text: at }));
        }
    }
}
