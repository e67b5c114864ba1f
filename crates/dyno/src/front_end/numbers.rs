//! Numbers in options, read with the leniency of the C functions that pgbench and sysbench read them with. Scripts in
//! the wild rely on it.

/// What C's `isspace` takes for a space.
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0B'
}

pub(crate) fn without_spaces_before(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The integer that `text` begins with behind spaces, the nearest there is if it is too large, and what follows it.
/// Without any digit nothing is read, not even the spaces.
pub(crate) fn leading_integer(text: &str) -> (Option<i64>, &str) {
    let trimmed = without_spaces_before(text);
    let digits_at = usize::from(trimmed.starts_with(['+', '-']));
    let digits = trimmed[digits_at..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (None, text);
    }
    let (number, rest) = trimmed.split_at(digits_at + digits);
    let nearest = if trimmed.starts_with('-') { i64::MIN } else { i64::MAX };
    (Some(number.parse().unwrap_or(nearest)), rest)
}

/// The number that `text` begins with, `10`, `1.5e6` or `0x10`; zero where it begins with none.
pub(crate) fn leading_number(text: &str) -> f64 {
    let text = without_spaces_before(text);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let digits = hex.chars().map_while(|digit| digit.to_digit(16));
        return sign * digits.fold(0.0, |sum, digit| sum * 16.0 + f64::from(digit));
    }
    sign * leading_decimal(digits)
}

fn leading_decimal(text: &str) -> f64 {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && end + digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digits(exponent) > 0 {
            end = exponent + digits(exponent);
        }
    }
    text[..end].parse().unwrap_or(0.0)
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
