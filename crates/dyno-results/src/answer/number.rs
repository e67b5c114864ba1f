//! Numbers as products print them. Millions of them pass through here, so most are read without the general parser.

use super::digits;

/// A number, and with how many digits it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// Digits behind the point; `u32::MAX` of one with an exponent.
    pub(super) printed: u32,
    /// The same without zeros at the end.
    pub(super) significant: u32,
}

impl Number {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        Self::short(text).or_else(|| Self::any(std::str::from_utf8(text).ok()?))
    }

    /// A number with at most fifteen digits: they and the power of ten are exact as floats, so their quotient is the float that is
    /// nearest to the number, as from the general parser.
    fn short(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.len() > DIGITS_MAX + 1 {
            return None;
        }
        let (mut all, mut point) = (0_u64, None);
        for (at, byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' => all = 10 * all + u64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(at),
                _ => return None,
            }
        }
        let count = digits.len() - usize::from(point.is_some());
        let behind = point.map_or(0, |point| digits.len() - point - 1);
        let power = POWERS.get(behind).filter(|_| (1..=DIGITS_MAX).contains(&count))?;
        let value = all as f64 / power;
        let value = if digits.len() < text.len() { -value } else { value };
        Some(Self::new(value, behind as u32, text))
    }

    fn any(text: &str) -> Option<Self> {
        Some(Self::new(text.parse().ok()?, digits(text), text.as_bytes()))
    }

    fn new(value: f64, printed: u32, text: &[u8]) -> Self {
        let zeros = if printed == u32::MAX { 0 } else { zeros_at_end(text).min(printed) };
        Self { value, printed, significant: printed - zeros }
    }

    /// Whether it is taken for a float, because no decimal is printed with so many digits.
    pub(super) fn is_float(self) -> bool {
        self.significant > DECIMAL_DIGITS_MAX
    }

    /// Whether it has neither point nor exponent, and is finite.
    pub(super) fn is_whole(text: &[u8]) -> bool {
        text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'))
    }
}

/// A number without zeros at its end that are behind the point: of an exact one, the same for all that print it.
pub(super) fn without_zeros(text: &[u8]) -> &[u8] {
    if !text.contains(&b'.') {
        return text;
    }
    let text = &text[..text.len() - zeros_at_end(text) as usize];
    text.strip_suffix(b".").unwrap_or(text)
}

/// An exact number as it has no other form, or the only name of one that is not finite.
pub(super) fn plain(text: &str) -> Option<String> {
    exact(text)
        .or_else(|| text.parse::<f64>().ok().filter(|number| !number.is_finite()).map(|it| it.to_string()))
}

fn exact(text: &str) -> Option<String> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let without_start = digits.trim_start_matches('0');
    let digits_before = whole.len().cast_signed() - (digits.len() - without_start.len()).cast_signed();
    let before = exponent.parse::<isize>().ok()?.checked_add(digits_before)?;
    let digits = without_start.trim_end_matches('0');
    let sign = if text.starts_with('-') && !digits.is_empty() { "-" } else { "" };
    Some(format!("{sign}{}", placed(digits, before)))
}

/// Digits, so many of which are before the point.
fn placed(digits: &str, before: isize) -> String {
    match usize::try_from(before) {
        _ if digits.is_empty() => "0".to_owned(),
        _ if before.unsigned_abs() > PLAIN_MAX => format!("0.{digits}e{before}"),
        Ok(before) if before >= digits.len() => format!("{digits:0<before$}"),
        Ok(before) if before > 0 => format!("{}.{}", &digits[..before], &digits[before..]),
        _ => format!("0.{}{digits}", "0".repeat(before.unsigned_abs())),
    }
}

fn zeros_at_end(text: &[u8]) -> u32 {
    text.iter().rev().take_while(|byte| **byte == b'0').count() as u32
}

/// Digits behind the point that a number may have which is not taken for a float, without zeros at the end.
pub(super) const DECIMAL_DIGITS_MAX: u32 = 6;
/// An integer of so many digits is exact as a float.
const DIGITS_MAX: usize = 15;
/// Numbers that have more digits before the point, or more zeros behind it, have an exponent.
const PLAIN_MAX: usize = 40;
const POWERS: [f64; DIGITS_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_those_of_the_general_parser() {
        let digits = "7205759403792793";
        for length in 1..=digits.len() {
            for point in 0..=length {
                for sign in ["", "-"] {
                    let text = format!("{sign}{}.{}", &digits[..point], &digits[point..length]);
                    assert_eq!(Number::parse(text.as_bytes()), Number::any(&text), "{text}");
                }
            }
        }
        for text in ["0", "-0", "-0.0", "007.50", ".5", "5.", "999999999999999", "1000000000000000", "+1.5"] {
            let number = Number::parse(text.as_bytes()).unwrap();
            assert_eq!(Some(number), Number::any(text), "{text}");
            assert_eq!(number.value.is_sign_negative(), text.starts_with('-'), "{text}");
        }
    }

    #[test]
    fn digits_behind_the_point_are_counted_with_and_without_zeros_at_the_end() {
        for (text, value, printed, significant) in [
            ("100", 100.0, 0, 0),
            ("12.50", 12.5, 2, 1),
            ("3.000", 3.0, 3, 0),
            ("100.", 100.0, 0, 0),
            ("0.12345678901234567890", 0.123_456_789_012_345_68, 20, 19),
            ("1.50e10", 1.5e10, u32::MAX, u32::MAX),
            ("-inf", f64::NEG_INFINITY, 0, 0),
        ] {
            assert_eq!(
                Number::parse(text.as_bytes()),
                Some(Number { value, printed, significant }),
                "{text}"
            );
        }
    }

    #[test]
    fn an_exact_number_has_one_form() {
        for (text, expected) in [
            ("1.50", "1.5"),
            ("-0.0", "0"),
            ("007", "7"),
            ("1.25e1", "12.5"),
            ("1e+20", "100000000000000000000"),
            ("0.00125", "0.00125"),
            ("-1.25e-3", "-0.00125"),
            (".5", "0.5"),
            ("1e300", "0.1e301"),
            ("10e-300", "0.1e-298"),
            ("Infinity", "inf"),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "--1", "1e", "1e99999999999999999999", "a"] {
            assert_eq!(exact(text), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in ["", "-", ".", "-.", "--1", "1.2.3", "2020-01-02", "NULL", "1 ", "\u{b2}"] {
            assert_eq!(Number::parse(text.as_bytes()), None, "{text}");
        }
    }
}
