//! What workload files have beyond pgbench's expressions: texts, choices and what may be missing. A text is kept with the
//! variables ([`Variables::text`]) and is read as no other type.

use jiff::Span;
use std::io::Write as _;

use jiff::civil::{Date, DateTime};

use super::Context;
use super::evaluate::{self, Evaluated};
use super::function::{Binary, Number};
use crate::script::decimal::Decimal;
use crate::script::random::Prng;
use crate::script::value::TextRange;
use crate::script::{EvaluateError, Value, Variables};

/// The longest text that a function makes, bytes.
const TEXT_BYTES_MAX: i64 = 1 << 20;
const LETTERS_AND_DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// A power of two of them.
const WORDS: [&str; 64] = [
    "able", "amber", "anchor", "apple", "arrow", "autumn", "basket", "beach", "blue", "bread", "bridge",
    "bright", "brown", "calm", "candle", "castle", "cedar", "clear", "cloud", "copper", "coral", "cotton",
    "daily", "deep", "early", "east", "field", "forest", "fresh", "garden", "gentle", "glass", "golden",
    "grain", "green", "harbor", "hill", "island", "ivory", "lake", "lemon", "light", "linen", "maple",
    "meadow", "metal", "morning", "north", "ocean", "olive", "orange", "paper", "pearl", "quiet", "river",
    "silver", "simple", "south", "stone", "summer", "valley", "velvet", "west", "winter",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFunction {
    /// Letters and digits, of a length between two.
    Random,
    Digits,
    Words,
    Concatenate,
    /// Of two texts, or else of two numbers.
    Compare(Number),
    Substring,
    PadLeft,
    NullIf,
    /// A number of units, and how many of its digits stand behind the point.
    Decimal,
    /// Days behind a date.
    Date,
    /// Seconds behind a time.
    Timestamp,
}

impl TextFunction {
    pub(super) fn draws(self) -> bool {
        matches!(self, Self::Random | Self::Digits | Self::Words)
    }
}

/// Applies a function to its arguments, of which there are as many as it takes.
pub(super) fn apply(function: TextFunction, arguments: &[Value], context: &mut Context<'_>) -> Evaluated {
    use TextFunction as F;
    context.variables.check_texts().map_err(Box::new)?;
    match (function, arguments) {
        (F::NullIf, [value, other]) => {
            return Ok(match compare(Number::Equal, *value, *other, context)? {
                Value::Boolean(true) => Value::Null,
                _ => *value,
            });
        }
        (_, arguments) if arguments.contains(&Value::Null) => return Ok(Value::Null),
        (F::Compare(number), [left, right]) => return compare(number, *left, *right, context),
        _ => {}
    }
    let Context { variables, random, .. } = context;
    match (function, arguments) {
        (F::Concatenate, [left, right]) => {
            let pieces = [*left, *right];
            limited(variables.keep_text(|out| pieces.into_iter().for_each(|piece| append(piece, out))))
        }
        (F::Random, [low, high]) => {
            let (low, high) = (length(*low, variables)?, length(*high, variables)?);
            if low > high {
                return Err(Box::new(EvaluateError::EmptyRange));
            }
            let length = random.uniform(low, high) as usize;
            Ok(variables.keep_text(|out| write_random(LETTERS_AND_DIGITS, 6, length, random, out)))
        }
        (F::Digits, [count]) => {
            let count = length(*count, variables)? as usize;
            Ok(variables.keep_text(|out| write_random(b"0123456789", 4, count, random, out)))
        }
        (F::Words, [count]) => {
            let count = length(*count, variables)?;
            limited(variables.keep_text(|out| write_words(count, random, out)))
        }
        (F::Substring, [text, from, count]) => substring(*text, *from, *count, variables),
        (F::PadLeft, [value, count, fill]) => pad_left(*value, *count, *fill, variables),
        (F::Decimal, [units, digits]) => decimal(*units, *digits, variables),
        (F::Date, [date, days]) => {
            let date: Date = parsed(*date, variables)?;
            let later = checked(Span::new().try_days(evaluate::integer(*days, variables)?), |span| {
                date.checked_add(span)
            })?;
            Ok(shown(&later, variables))
        }
        (F::Timestamp, [time, seconds]) => {
            let time: DateTime = parsed(*time, variables)?;
            let span = Span::new().try_seconds(evaluate::integer(*seconds, variables)?);
            let later = checked(span, |span| time.checked_add(span))?;
            Ok(shown(&later.strftime("%Y-%m-%d %H:%M:%S"), variables))
        }
        // The parser has counted them.
        _ => Ok(Value::Null),
    }
}

/// A condition of `\if` and CASE, which is no text; a decimal holds if it is not 0, as other numbers do.
pub(super) fn condition(value: Value, variables: &Variables) -> Evaluated {
    match value {
        Value::Text(_) => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "boolean" })),
        Value::Decimal(_) => Ok(Value::Boolean(!evaluate::decimal(value, variables)?.is_zero())),
        value => Ok(value),
    }
}

fn compare(number: Number, left: Value, right: Value, context: &mut Context<'_>) -> Evaluated {
    let (Value::Text(one), Value::Text(other)) = (left, right) else {
        return evaluate::binary(Binary::Number(number), &left, &right, context);
    };
    let order = context.variables.text(one).cmp(context.variables.text(other));
    Ok(Value::Boolean(match number {
        Number::Equal => order.is_eq(),
        Number::NotEqual => order.is_ne(),
        Number::LessOrEqual => order.is_le(),
        Number::Less => order.is_lt(),
        // These are no comparisons.
        Number::Add | Number::Subtract | Number::Multiply | Number::Divide => false,
    }))
}

/// A length or a count of what a text is made of.
fn length(value: Value, variables: &Variables) -> Evaluated<i64> {
    within(evaluate::integer(value, variables)?)
}

fn within(count: i64) -> Evaluated<i64> {
    let fits = (0..=TEXT_BYTES_MAX).contains(&count);
    if fits { Ok(count) } else { Err(Box::new(EvaluateError::TextLength { count, most: TEXT_BYTES_MAX })) }
}

/// A text, where it is no longer than one may be.
fn limited(value: Value) -> Evaluated {
    if let Value::Text(TextRange { from, to }) = value {
        within(i64::from(to.saturating_sub(from)))?;
    }
    Ok(value)
}

/// Appends so many letters of an alphabet that has at most 2 to the power of `bits` of them.
fn write_random(alphabet: &[u8], bits: u32, count: usize, random: &mut Prng, out: &mut Vec<u8>) {
    let end = out.len() + count;
    while out.len() < end {
        let mut drawn = random.next_u64();
        for _ in 0..(64 / bits) {
            // What is beyond the alphabet is drawn again, so that each letter is as likely.
            if let Some(letter) = alphabet.get((drawn & ((1 << bits) - 1)) as usize)
                && out.len() < end
            {
                out.push(*letter);
            }
            drawn >>= bits;
        }
    }
}

fn write_words(count: i64, random: &mut Prng, out: &mut Vec<u8>) {
    for at in 0..count {
        if at > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(WORDS[(random.next_u64() % WORDS.len() as u64) as usize].as_bytes());
    }
}

/// Where in a text so many characters end.
fn behind_characters(text: &[u8], count: usize) -> usize {
    let mut begins = (0..text.len()).filter(|at| text[*at] & 0xC0 != 0x80);
    begins.nth(count).unwrap_or(text.len())
}

/// `from` counts from 1.
fn substring(text: Value, from: Value, count: Value, variables: &mut Variables) -> Evaluated {
    let range = text_range(text)?;
    let (from, count) = (evaluate::integer(from, variables)?, length(count, variables)?);
    let end = from.saturating_sub(1).saturating_add(count).max(0);
    let text = variables.text(range);
    let start = behind_characters(text, from.saturating_sub(1).max(0) as usize);
    let end = behind_characters(text, end as usize).max(start);
    Ok(Value::Text(TextRange { from: range.from + start as u32, to: range.from + end as u32 }))
}

/// Also cuts what is longer.
fn pad_left(value: Value, count: Value, fill: Value, variables: &mut Variables) -> Evaluated {
    let count = length(count, variables)? as usize;
    let fill = text_range(fill)?;
    let Value::Text(padded) = variables.keep_text(|out| append(value, out)) else { return Ok(Value::Null) };
    let text = variables.text(padded);
    let has = text.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    if has >= count {
        let to = padded.from + behind_characters(text, count) as u32;
        return Ok(Value::Text(TextRange { to, ..padded }));
    }
    let fill = variables.text(fill).to_vec();
    if fill.is_empty() {
        return Ok(Value::Text(padded));
    }
    Ok(variables.keep_text(|out| {
        let mut missing = count - has;
        while missing > 0 {
            let whole = fill.iter().filter(|byte| **byte & 0xC0 != 0x80).count().max(1);
            out.extend_from_slice(&fill[..behind_characters(&fill, missing)]);
            missing -= missing.min(whole);
        }
        out.extend_from_within(padded.from as usize..padded.to as usize);
    }))
}

fn decimal(units: Value, places: Value, variables: &mut Variables) -> Evaluated {
    let (units, places) = (evaluate::integer(units, variables)?, evaluate::integer(places, variables)?);
    let decimal = u32::try_from(places).ok().and_then(|places| Decimal::new(units.into(), places));
    Ok(variables.keep_decimal(decimal.ok_or_else(evaluate::too_long)?))
}

fn text_range(value: Value) -> Evaluated<TextRange> {
    match value {
        Value::Text(range) => Ok(range),
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "text" })),
    }
}

/// Appends a value, of which a text is among those that stand before.
fn append(value: Value, texts: &mut Vec<u8>) {
    match value {
        Value::Text(range) | Value::Decimal(range) => {
            texts.extend_from_within(range.from as usize..range.to as usize);
        }
        other => other.write_text(texts),
    }
}

fn parsed<T: std::str::FromStr>(value: Value, variables: &Variables) -> Evaluated<T> {
    let text = String::from_utf8_lossy(variables.text(text_range(value)?));
    text.parse().map_err(|_| Box::new(EvaluateError::NoDate(text.as_ref().into())))
}

fn checked<T>(
    span: Result<Span, jiff::Error>,
    add: impl FnOnce(Span) -> Result<T, jiff::Error>,
) -> Evaluated<T> {
    span.and_then(add).map_err(|_| Box::new(EvaluateError::DateRange))
}

fn shown(value: &dyn std::fmt::Display, variables: &mut Variables) -> Value {
    // Writing to memory cannot fail.
    variables.keep_text(|out| {
        let _ = write!(out, "{value}");
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Names;

    #[test]
    fn a_text_has_a_limit() {
        let most = TEXT_BYTES_MAX as usize;
        let whole = TextRange { from: 0, to: most as u32 };
        let mut variables = Variables::new(&Names::new());
        assert_eq!(variables.keep_text(|out| out.resize(most, b'a')), Value::Text(whole));
        assert!(limited(Value::Text(whole)).is_ok());
        let longer = variables.keep_text(|out| out.resize(out.len() + most + 1, b'a'));
        let error = EvaluateError::TextLength { count: TEXT_BYTES_MAX + 1, most: TEXT_BYTES_MAX };
        assert_eq!(*limited(longer).unwrap_err(), error);
        assert!(variables.check_texts().is_ok());
    }
}
