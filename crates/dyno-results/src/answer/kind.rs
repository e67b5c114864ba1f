//! Of what kind the values of a column are, and how a value of a kind is kept: one value is kept alike, whichever product it comes
//! from, and two values differently. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{normal, number, shortened};

/// Of what kind the values of a column are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A text, or what is nothing but its text: a UUID, an interval, bits.
    Text,
    /// `t` or `f`; 1 or 0 on products that have no Booleans.
    Boolean,
    /// A text of fixed length: blanks at its end do not count.
    Padded,
    Integer,
    /// A number that is exact, with digits behind the point.
    Decimal,
    /// A number that is not exact.
    Float,
    Binary,
    /// A time of day.
    Time,
    /// A date, with a time of day or without.
    Timestamp,
    Json,
    /// In braces or brackets.
    Array,
    /// The same of numbers only.
    NumberArray,
    /// Not known: a value is what it looks like.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        self.is_exact_number() || self == Self::Float
    }

    pub(super) fn is_exact_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal)
    }

    /// Whether values of the two are hashed alike.
    pub(super) fn is_hashed_like(self, other: Self) -> bool {
        let is_number = |kind: Self| kind.is_number() || kind == Self::Boolean;
        self == other || (is_number(self) && is_number(other))
    }

    /// Whether values of the two are hashed alike that are plain.
    pub(super) fn is_hashed_like_if_plain(self, other: Self) -> bool {
        self.keeps_plain_texts() && other.keeps_plain_texts()
    }

    /// Whether it keeps a text as it is that [is plain](is_plain).
    pub(super) fn keeps_plain_texts(self) -> bool {
        matches!(self, Self::Text | Self::Padded | Self::Timestamp | Self::Unknown)
    }

    /// A value that is not NULL, as it is kept and as it is in the digest.
    pub fn keep(self, value: &[u8]) -> Cow<'_, str> {
        let whole = match self {
            Self::Binary => binary(value),
            kind => match std::str::from_utf8(value) {
                Ok(text) => kind.keep_text(text),
                Err(_) => binary(value),
            },
        };
        match whole {
            Cow::Borrowed(text) => shortened(text),
            Cow::Owned(text) => match shortened(&text) {
                Cow::Borrowed(_) => Cow::Owned(text),
                Cow::Owned(short) => Cow::Owned(short),
            },
        }
    }

    fn keep_text(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Text => quoted_null(text),
            Self::Padded => quoted_null(text.trim_end_matches(' ')),
            Self::Boolean | Self::Integer | Self::Decimal | Self::Float | Self::Binary => text.into(),
            Self::Time => time(text),
            Self::Timestamp | Self::Unknown => normal(text).into(),
            Self::Json => json(text).map_or(text.into(), Cow::Owned),
            Self::Array => array(text, write_element).map_or(text.into(), Cow::Owned),
            Self::NumberArray => array(text, write_number).map_or(text.into(), Cow::Owned),
        }
    }
}

/// Whether a value that was kept is the text that it came as, whichever kind has kept it.
pub(super) fn is_plain(kept: &[u8]) -> bool {
    std::str::from_utf8(kept).is_ok_and(|text| normal(text) == text && !text.starts_with('\''))
}

/// The word `NULL` stands for no value, so a text that reads so has quotes, and one with quotes has more.
fn quoted_null(text: &str) -> Cow<'_, str> {
    if text.trim_matches('\'') == "NULL" { format!("'{text}'").into() } else { text.into() }
}

/// `\x00ff`, as PostgreSQL sends it.
fn binary(value: &[u8]) -> Cow<'_, str> {
    if let Some(digits) = value.strip_prefix(br"\x")
        && digits.iter().all(u8::is_ascii_hexdigit)
        && let Ok(text) = std::str::from_utf8(value)
    {
        return text.into();
    }
    hexadecimal(value).into()
}

fn hexadecimal(value: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * value.len());
    text.push_str(r"\x");
    for byte in value {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Without zeros at the end of its fraction; a zone behind it stays.
fn time(text: &str) -> Cow<'_, str> {
    let Some((whole, rest)) = text.split_once('.') else { return text.into() };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(end);
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{zone}").into(),
        fraction => format!("{whole}.{fraction}{zone}").into(),
    }
}

/// Its objects' keys in their order, without blanks. Numbers keep their digits.
fn json(text: &str) -> Option<String> {
    let mut written = String::with_capacity(text.len());
    write_json(text, &mut written).ok()?;
    Some(written)
}

fn write_json(text: &str, to: &mut String) -> serde_json::Result<()> {
    let text = text.trim();
    if text.starts_with('{') {
        to.push('{');
        for (at, (key, value)) in
            serde_json::from_str::<BTreeMap<String, &RawValue>>(text)?.into_iter().enumerate()
        {
            to.push_str(if at == 0 { "" } else { "," });
            to.push_str(&serde_json::to_string(&key)?);
            to.push(':');
            write_json(value.get(), to)?;
        }
        to.push('}');
    } else if text.starts_with('[') {
        to.push('[');
        for (at, value) in serde_json::from_str::<Vec<&RawValue>>(text)?.into_iter().enumerate() {
            to.push_str(if at == 0 { "" } else { "," });
            write_json(value.get(), to)?;
        }
        to.push(']');
    } else if text.starts_with('"') {
        to.push_str(&serde_json::to_string(&serde_json::from_str::<String>(text)?)?);
    } else {
        to.push_str(serde_json::from_str::<&RawValue>(text)?.get());
    }
    Ok(())
}

/// A Boolean as products have it that have only numbers.
pub(super) fn as_number(boolean: &[u8]) -> &[u8] {
    match boolean {
        b"t" => b"1",
        b"f" => b"0",
        other => other,
    }
}

/// `{1,NULL,"a b"}`, whether it comes so or as `[1, NULL, 'a b']`; `None` of what is no array.
fn array(text: &str, write: fn(&str, &mut String)) -> Option<String> {
    let mut written = String::with_capacity(text.len());
    // Lower bounds: `[0:1]={1,2}`.
    let text = text.split_once("]={").map_or(text.into(), |(_, rest)| Cow::Owned(format!("{{{rest}")));
    // PostgreSQL, which has the braces, quotes neither brackets nor single quotes.
    let has_braces = text.starts_with('{');
    let [open, close] = if has_braces { ['{', '}'] } else { ['[', ']'] };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c == open => written.push('{'),
            c if c == close => written.push('}'),
            ',' => written.push(','),
            ' ' => {}
            '\'' | '"' if c == '"' || !has_braces => write(&quoted(&mut rest, c)?, &mut written),
            first => {
                let mut element = String::from(first);
                while let Some(next) = rest.next_if(|c| *c != ',' && *c != close) {
                    element.push(next);
                }
                match element.trim_end() {
                    "NULL" => written.push_str("NULL"),
                    element => write(element, &mut written),
                }
            }
        }
    }
    written.starts_with('{').then_some(written)
}

/// The rest of an element in quotes.
fn quoted(rest: &mut impl Iterator<Item = char>, quote: char) -> Option<String> {
    let mut element = String::new();
    loop {
        match rest.next()? {
            '\\' => element.push(rest.next()?),
            end if end == quote => return Some(element),
            other => element.push(other),
        }
    }
}

/// An element that is a number.
fn write_number(element: &str, to: &mut String) {
    match number::plain(element) {
        Some(number) => to.push_str(&number),
        None => write_element(element, to),
    }
}

/// An element of an array, in quotes where it needs them.
pub fn write_element(element: &str, to: &mut String) {
    let is_special =
        |c: char| matches!(c, '{' | '}' | '[' | ']' | ',' | '"' | '\'' | '\\') || c.is_whitespace();
    if !element.is_empty() && !element.contains(is_special) && !element.eq_ignore_ascii_case("NULL") {
        to.push_str(element);
        return;
    }
    to.push('"');
    for c in element.chars() {
        if matches!(c, '"' | '\\') {
            to.push('\\');
        }
        to.push(c);
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(kind: Kind, value: &str) -> String {
        kind.keep(value.as_bytes()).into_owned()
    }

    #[test]
    fn one_value_is_kept_alike_from_all_products() {
        for (kind, one, other) in [
            (Kind::Padded, "A   ", "A"),
            (Kind::Time, "12:34:56.500000", "12:34:56.5"),
            (Kind::Time, "12:34:56.000", "12:34:56"),
            (Kind::Time, "12:34:56.500+02", "12:34:56.5+02"),
            (Kind::Timestamp, "2020-01-02 00:00:00.000", "2020-01-02"),
            (Kind::Json, r#"{"b": 1, "a": [1, {"d":2,"c": null}]}"#, r#"{"a":[1,{"c":null,"d":2}],"b":1}"#),
            (Kind::Json, "{ }", "{}"),
            (Kind::Json, "\"\\u00e9\"", "\"é\""),
            (Kind::Array, "[1, 2, NULL]", "{1,2,NULL}"),
            (Kind::Array, "['a','b c','it\\'s']", r#"{a,"b c","it's"}"#),
            (Kind::Array, "[[1,2],[3,4]]", "{{1,2},{3,4}}"),
            // As PostgreSQL writes it, and as a driver of ADBC does.
            (Kind::Array, r#"{a,"b c",it's}"#, r#"{a,"b c","it's"}"#),
            (Kind::Array, "{'a,[b]}", r#"{"'a","[b]"}"#),
            (Kind::NumberArray, "{1.5,2.25,NULL}", "{1.50,2.250,NULL}"),
            (Kind::NumberArray, "{0.1,1e+20}", "{0.1,100000000000000000000}"),
            (Kind::NumberArray, "{{1e-7},{NaN},{-inf}}", "[[0.00000010], [nan], [-Infinity]]"),
            (Kind::Array, "[0:1]={1,2}", "{1,2}"),
            (Kind::Binary, "\\x6162", "ab"),
        ] {
            assert_eq!(kept(kind, one), kept(kind, other), "{kind:?}");
        }
    }

    #[test]
    fn other_values_are_kept_differently() {
        for (kind, one, other) in [
            (Kind::Text, " a", "a"),
            (Kind::Text, "a\u{a0}", "a"),
            (Kind::Text, "a\n", "a"),
            (Kind::Text, "lot 00:00:00", "lot"),
            (Kind::Text, "'NULL'", "NULL"),
            (Kind::Padded, " a", "a"),
            (Kind::Padded, "a\n", "a"),
            (Kind::Time, "12:34:56.500+02", "12:34:56.5+03"),
            (Kind::Time, "12:34:50", "12:34:5"),
            (Kind::Json, "{\"a\":12345678901234567890123}", "{\"a\":12345678901234567890124}"),
            (Kind::Json, "[1,2]", "[2,1]"),
            (Kind::Json, "\"1\"", "1"),
            (Kind::Array, "{a,b}", "{\"a,b\"}"),
            (Kind::Array, "{NULL}", "{\"NULL\"}"),
            (Kind::Array, "{}", "{\"\"}"),
            (Kind::Array, "{{1},{2}}", "{1,2}"),
            (Kind::Array, "{1.10}", "{1.1}"),
            (Kind::NumberArray, "{12345678901234567890.12}", "{12345678901234567890.13}"),
            (Kind::NumberArray, "{1}", "{-1}"),
            (Kind::NumberArray, "{NULL}", "{0}"),
            (Kind::NumberArray, "{1,2}", "{12}"),
        ] {
            assert_ne!(kept(kind, one), kept(kind, other), "{kind:?}");
        }
        // The word for no value.
        assert_ne!(kept(Kind::Text, "NULL"), "NULL");
        for kind in [Kind::Binary, Kind::Text] {
            assert_ne!(kind.keep(b"\xff"), kind.keep(b"\xfe"));
        }
    }
}
