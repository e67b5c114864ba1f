//! Reads the values of options: integers may have spaces around them, and some numbers anything behind them.

use crate::pgbench::failed::PgbenchFailed;
use dyno_workload::c_numbers::{leading_integer, leading_number, without_spaces_before};

type Read<T> = Result<T, PgbenchFailed>;

/// An integer from `min`, which is not below zero; `option` is how messages call it.
pub(super) fn integer(text: &str, option: &str, min: u32, max: u32) -> Read<u32> {
    let (number, rest) = leading_integer(text);
    if !without_spaces_before(rest).is_empty() {
        return Err(PgbenchFailed::new(format!("invalid value \"{text}\" for option {option}")));
    }
    match u32::try_from(number.unwrap_or(0)) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => Err(PgbenchFailed::new(format!("{option} must be in range {min}..{max}"))),
    }
}

/// As large as C's `int` may be.
pub(super) const INT_MAX: u32 = i32::MAX.unsigned_abs();

/// An integer from one.
pub(super) fn positive(text: &str, option: &str) -> Read<u32> {
    integer(text, option, 1, INT_MAX)
}

/// A number above zero and up to `max`, with anything behind it; `what` is how a message calls it.
pub(super) fn number(text: &str, what: &str, max: f64) -> Read<f64> {
    let number = leading_number(text);
    if number > 0.0 && number <= max { Ok(number) } else { Err(invalid(what, text)) }
}

pub(super) fn invalid(what: &str, text: &str) -> PgbenchFailed {
    PgbenchFailed::new(format!("invalid {what}: \"{text}\""))
}

/// How often a transaction is tried: `None` for as often as it takes, which is also what words are taken for.
pub(super) fn tries(text: &str) -> Read<Option<u32>> {
    match u32::try_from(leading_integer(text).0.unwrap_or(0)) {
        Ok(tries) if tries <= INT_MAX => Ok(Some(tries).filter(|tries| *tries > 0)),
        _ => Err(invalid("number of maximum tries", text)),
    }
}

/// `NAME` or `NAME@WEIGHT`; the weight is 1 if not said.
pub(super) fn weighted(text: &str) -> Read<(&str, u32)> {
    let Some(at) = text.rfind('@') else { return Ok((text, 1)) };
    let (name, weight) = text.split_at(at);
    let number = match leading_integer(&weight[1..]) {
        (Some(number), "") if number != i64::MAX && number != i64::MIN => number,
        _ => return Err(PgbenchFailed::new(format!("invalid weight specification: {weight}"))),
    };
    match u32::try_from(number) {
        Ok(weight) if weight <= INT_MAX => Ok((name, weight)),
        _ => Err(PgbenchFailed::new(format!("weight specification out of range (0 .. {INT_MAX}): {number}"))),
    }
}

/// A seed written as a number; one that is too large is the largest, and a minus sign counts down from 2^64.
pub(super) fn seed(text: &str) -> Option<u64> {
    let number = without_spaces_before(text);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match digits.parse::<u64>() {
        Ok(value) if number.starts_with('-') => value.wrapping_neg(),
        Ok(value) => value,
        Err(_) => u64::MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_have_spaces_around_them() {
        let read = |text| integer(text, "-x", 1, 10);
        assert_eq!(read(" +5 \t"), Ok(5));
        for text in ["5x", "+"] {
            let refused = format!("invalid value \"{text}\" for option -x");
            assert_eq!(read(text), Err(PgbenchFailed::new(refused)));
        }
        for text in ["", " ", "0", "11", "-99999999999999999999", "99999999999"] {
            assert_eq!(read(text), Err(PgbenchFailed::new("-x must be in range 1..10")), "{text}");
        }
    }

    #[test]
    fn seeds() {
        assert_eq!(seed("5"), Some(5));
        assert_eq!(seed(" +5"), Some(5));
        assert_eq!(seed("-1"), Some(u64::MAX));
        assert_eq!(seed("18446744073709551616"), Some(u64::MAX));
        for text in ["", "x", "5 ", "5x", "+", "--5", "0x5"] {
            assert_eq!(seed(text), None, "{text}");
        }
    }

    #[test]
    fn weights() {
        assert_eq!(weighted("a"), Ok(("a", 1)));
        assert_eq!(weighted("a@b@ +3"), Ok(("a@b", 3)));
        assert_eq!(weighted("@0"), Ok(("", 0)));
        let refused = |text: &str| weighted(text).unwrap_err().stderr().to_owned();
        assert!(refused("a@2147483648").contains("out of range (0 .. 2147483647): 2147483648\n"));
        for text in ["a@", "a@x", "a@1x", "a@99999999999999999999"] {
            assert!(refused(text).ends_with(&format!("invalid weight specification: {}\n", &text[1..])));
        }
    }
}
