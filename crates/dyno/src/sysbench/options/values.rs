//! Reads the values of options as sysbench does.

use dyno_workload::c_numbers::leading_integer;

/// A whole number, as `strtol` reads it where nothing may follow; nothing at all is zero.
pub(super) fn strict_integer(text: &str) -> Option<i64> {
    let (value, rest) = leading_integer(text);
    if !rest.is_empty() {
        return None;
    }
    i32::try_from(value.unwrap_or(0)).ok().map(i64::from)
}

/// Bytes: a number, and a letter for its unit.
pub(super) fn size(text: &str) -> u64 {
    let (value, rest) = leading_integer(text);
    let shift = match rest.bytes().next().map(|letter| letter.to_ascii_uppercase()) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        Some(b'P') => 50,
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
