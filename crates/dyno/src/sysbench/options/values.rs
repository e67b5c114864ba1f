//! Reads the values of options with the leniency of the C functions that sysbench reads them with.

/// A whole number, as `strtol` reads it where nothing may follow; nothing at all is zero.
pub(super) fn strict_integer(text: &str) -> Option<i64> {
    let (value, rest) = leading_integer(text);
    if !rest.is_empty() {
        return None;
    }
    i32::try_from(value.unwrap_or(0)).ok().map(i64::from)
}

/// The number that a script's option begins with, as Lua's users write it: `10`, `1e6`, `0x10`; whatever follows is
/// left alone.
pub(crate) fn lenient_number(text: &str) -> f64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return sign * hex[..end].bytes().fold(0.0, |sum, digit| sum * 16.0 + hex_digit(digit));
    }
    sign * leading_decimal(digits)
}

fn hex_digit(digit: u8) -> f64 {
    char::from(digit).to_digit(16).map_or(0.0, f64::from)
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

/// Bytes: a number, and a letter for its unit.
pub(super) fn size(text: &str) -> u64 {
    let (value, rest) = leading_integer(text);
    let shift = match rest.bytes().next().map(|letter| letter.to_ascii_uppercase()) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        _ => 0,
    };
    u64::try_from(value.unwrap_or(0)).unwrap_or(0).saturating_mul(1 << shift)
}

/// `on`, `true` and `1`; `off`, `false` and `0`; no value is `on`.
pub(crate) fn flag(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("on" | "true" | "1") => Some(true),
        Some("off" | "false" | "0") => Some(false),
        Some(_) => None,
    }
}

/// The words of a list; empty ones are none.
pub(crate) fn list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// The integer that `text` begins with behind spaces, and what follows it.
pub(super) fn leading_integer(text: &str) -> (Option<i64>, &str) {
    let trimmed = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0B');
    let digits_at = usize::from(trimmed.starts_with(['+', '-']));
    let end =
        trimmed[digits_at..].find(|c: char| !c.is_ascii_digit()).map_or(trimmed.len(), |at| digits_at + at);
    if end == digits_at {
        return (None, text);
    }
    let nearest = if trimmed.starts_with('-') { i64::MIN } else { i64::MAX };
    (Some(trimmed[..end].parse().unwrap_or(nearest)), &trimmed[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_whole_or_refused() {
        for (text, value) in [("4", 4), ("", 0), ("-1", -1), (" +7", 7)] {
            assert_eq!(strict_integer(text), Some(value), "{text}");
        }
        for text in ["4x", "x", "1.5", "1K", "99999999999", "99999999999999999999", "4 "] {
            assert_eq!(strict_integer(text), None, "{text}");
        }
    }

    #[test]
    fn the_numbers_of_scripts_may_have_anything_behind_them() {
        for (text, value) in [
            ("10", 10.0),
            ("1e6", 1e6),
            ("0x10", 16.0),
            ("2.5", 2.5),
            ("2K", 2.0),
            ("x", 0.0),
            ("", 0.0),
            ("-3", -3.0),
        ] {
            assert!((lenient_number(text) - value).abs() < 1e-9, "{text}: {}", lenient_number(text));
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("64K", 65536), ("1m", 1 << 20), ("2G", 2 << 30), ("1T", 1 << 40), ("7", 7), ("x", 0)]
        {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn flags_are_written_in_small_letters() {
        assert_eq!([None, Some("on"), Some("1"), Some("true")].map(flag), [Some(true); 4]);
        assert_eq!(["off", "0", "false"].map(|text| flag(Some(text))), [Some(false); 3]);
        assert_eq!(["ON", "", "yes", "x"].map(|text| flag(Some(text))), [None; 4]);
    }

    #[test]
    fn lists_leave_nothing_out_but_nothing() {
        assert_eq!(list("1,,2, 3"), ["1", "2", "3"]);
        assert!(list("").is_empty());
    }
}
