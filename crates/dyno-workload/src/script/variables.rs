//! One client's variables: by slot unset, a value, or the spelling of one, which becomes a value when an expression asks for it.

use std::sync::Arc;

use dyno_engine::request::Value as Bound;

use super::decimal::Decimal;
use super::value::TextRange;
use super::{Counters, EvaluateError, Names, Slot, Value};
use crate::c_numbers::{self, NumberError};

/// One client's variables. Nothing is allocated by setting a variable once its text has been as long before.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    cells: Vec<Cell>,
    /// The texts of the expression that is evaluated, or was last, one after the other.
    texts: Vec<u8>,
    /// The elements of arrays, from the first one.
    arrays: Vec<(Slot, Vec<Cell>)>,
    counters: Arc<Counters>,
}

/// How long the texts of an expression may be together: their places are of 32 bits.
const TEXTS_BYTES_MAX: usize = 256 << 20;
/// How many elements an array may have.
pub(super) const ELEMENTS_MAX: i64 = 1_024;

#[derive(Debug, Clone, Default)]
struct Cell {
    /// With a spelling, what it was found to mean.
    value: Option<Value>,
    content: Content,
    /// Kept when a value replaces it, for its memory.
    text: Vec<u8>,
}

/// What a variable was set to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Content {
    /// Its value, if it has one.
    #[default]
    Value,
    /// Its text spells a value.
    Spelling,
    /// Its text.
    Text,
    /// Its text has the digits of a decimal.
    Decimal,
}

impl Variables {
    /// Unset variables for all names so far; later names are to be found nowhere.
    pub fn new(names: &Names) -> Self {
        Self { cells: vec![Cell::default(); names.count()], ..Self::default() }
    }

    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        if let Value::Text(range) | Value::Decimal(range) = value {
            return self.set_range(slot, range, Content::of(value));
        }
        if let Some(cell) = self.cells.get_mut(slot.index()) {
            cell.value = Some(value);
            cell.content = Content::Value;
        }
    }

    #[cold]
    fn set_range(&mut self, slot: Slot, range: TextRange, content: Content) {
        let Self { cells, texts, .. } = self;
        if let Some(cell) = cells.get_mut(slot.index()) {
            cell.fill(content, part(texts, range));
        }
    }

    /// Sets a variable to a text, which is never read as another value.
    pub fn set_text(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        if let Some(cell) = self.cells.get_mut(slot.index()) {
            cell.fill(Content::Text, text.as_ref());
        }
    }

    /// Sets a variable to what the server or the command line gave, which spells a value.
    pub fn set_spelling(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        if let Some(cell) = self.cells.get_mut(slot.index()) {
            cell.fill(Content::Spelling, text.as_ref());
        }
    }

    /// The same; what spells no value is a text.
    pub(crate) fn set_given(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        match value_of(text.as_ref(), "") {
            Ok(_) => self.set_spelling(slot, text),
            Err(_) => self.set_text(slot, text),
        }
    }

    /// Sets a variable to what a column of decimals has. One without places behind the point is an integer, as the sum of integers
    /// is on some products and not on others.
    pub(crate) fn set_decimal(&mut self, slot: Slot, text: &[u8]) {
        let is_integer = || str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        match self.cells.get_mut(slot.index()) {
            Some(cell) if Decimal::is_written(text) && !is_integer() => cell.fill(Content::Decimal, text),
            // Some products have such as `NaN`.
            _ => self.set_given(slot, text),
        }
    }

    /// As the value of a parameter. What is spelled as a number is one only where the number is written so.
    #[inline]
    pub(crate) fn bound(&self, slot: Slot) -> Bound<'_> {
        match self.cells.get(slot.index()) {
            Some(Cell { content: Content::Text, text, .. }) => Bound::Text(text),
            Some(Cell { content: Content::Decimal, text, .. }) => exact(text),
            Some(Cell { content: Content::Spelling, text, .. }) => number(text).unwrap_or(Bound::Text(text)),
            Some(Cell { value: Some(value), .. }) => match value {
                // Not all products have Booleans, and those that do take numbers for them.
                Value::Boolean(value) => Bound::Integer(i64::from(*value)),
                Value::Integer(value) => Bound::Integer(*value),
                Value::Double(value) => Bound::Double(*value),
                Value::Null | Value::Text(_) | Value::Decimal(_) => Bound::Null,
            },
            _ => Bound::Null,
        }
    }

    /// The values of these variables, where all are integers and `values` has room for them.
    #[inline]
    pub(crate) fn integers<'v>(&self, slots: &[Slot], values: &'v mut [i64]) -> Option<&'v [i64]> {
        let values = values.get_mut(..slots.len())?;
        for (slot, value) in slots.iter().zip(&mut *values) {
            let Cell { value: Some(Value::Integer(integer)), content: Content::Value, .. } =
                self.cells.get(slot.index())?
            else {
                return None;
            };
            *value = *integer;
        }
        Some(values)
    }

    pub fn is_set(&self, slot: Slot) -> bool {
        self.cells
            .get(slot.index())
            .is_some_and(|cell| cell.content != Content::Value || cell.value.is_some())
    }

    /// Sets an element of an array.
    ///
    /// # Errors
    /// There can be no such element.
    pub(crate) fn set_element(&mut self, array: Slot, index: i64, value: Value) -> Result<(), EvaluateError> {
        let place = place(index)?;
        let Self { arrays, texts, .. } = self;
        let known = arrays.iter().position(|(slot, _)| *slot == array);
        let at = known.unwrap_or_else(|| {
            arrays.push((array, Vec::new()));
            arrays.len() - 1
        });
        let cells = &mut arrays[at].1;
        if cells.len() <= place {
            cells.resize_with(place + 1, Cell::default);
        }
        match value {
            Value::Text(range) | Value::Decimal(range) => {
                cells[place].fill(Content::of(value), part(texts, range));
            }
            value => (cells[place].value, cells[place].content) = (Some(value), Content::Value),
        }
        Ok(())
    }

    /// The value of an element.
    pub(super) fn element(&mut self, array: Slot, index: i64, names: &Names) -> Result<Value, EvaluateError> {
        let place = place(index)?;
        let Self { arrays, texts, .. } = self;
        let found = arrays.iter().find(|(slot, _)| *slot == array).and_then(|(_, cells)| cells.get(place));
        match found {
            Some(Cell { value: Some(value), .. }) => Ok(*value),
            Some(Cell { content: content @ (Content::Text | Content::Decimal), text, .. }) => {
                kept(texts, text, *content)
            }
            _ => Err(EvaluateError::Undefined(format!("{}[{index}]", names.name(array)).into())),
        }
    }

    pub(crate) fn share(&mut self, counters: Arc<Counters>) {
        self.counters = counters;
    }

    /// The next number of a counter.
    pub(super) fn take_next(&self, counter: usize, names: &Names) -> Result<Value, EvaluateError> {
        let undefined =
            || EvaluateError::Undefined(names.counters().get(counter).cloned().unwrap_or_default());
        self.counters.take(counter).map(Value::Integer).ok_or_else(undefined)
    }

    /// The text of a value that an expression has had since the texts were last cleared: until the next is evaluated.
    #[must_use]
    pub fn text(&self, range: TextRange) -> &[u8] {
        part(&self.texts, range)
    }

    /// The texts of the expression before are gone.
    pub(super) fn clear_texts(&mut self) {
        self.texts.clear();
    }

    /// Whether there is room for another text of the expression that is evaluated.
    ///
    /// # Errors
    /// Those that it has had are too long.
    pub(super) fn check_texts(&self) -> Result<(), EvaluateError> {
        has_room(self.texts.len())
    }

    /// Keeps a text of the expression that is evaluated, which `write` appends.
    pub(super) fn keep_text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Value {
        let from = end(&self.texts);
        write(&mut self.texts);
        Value::Text(TextRange { from, to: end(&self.texts) })
    }

    /// Keeps a decimal of the expression that is evaluated.
    pub(super) fn keep_decimal(&mut self, decimal: Decimal) -> Value {
        let from = end(&self.texts);
        decimal.write(&mut self.texts);
        Value::Decimal(TextRange { from, to: end(&self.texts) })
    }

    /// The variable's value, unless it is unset or a text of which nobody has asked for the value.
    #[inline]
    pub(super) fn known(&self, slot: Slot) -> Option<Value> {
        self.cells.get(slot.index()).and_then(|cell| cell.value)
    }

    /// The variable's value; a text is turned into one.
    ///
    /// # Errors
    /// When the variable is unset, or its text is no value.
    pub fn value(&mut self, slot: Slot, names: &Names) -> Result<Value, EvaluateError> {
        let Self { cells, texts, .. } = self;
        match cells.get_mut(slot.index()) {
            Some(Cell { value: Some(value), .. }) => Ok(*value),
            Some(cell) if cell.content == Content::Spelling => {
                let value = value_of(&cell.text, names.name(slot))?;
                cell.value = Some(value);
                Ok(value)
            }
            Some(Cell { content: content @ (Content::Text | Content::Decimal), text, .. }) => {
                kept(texts, text, *content)
            }
            _ => Err(EvaluateError::Undefined(names.name(slot).into())),
        }
    }

    /// Appends the variable's text as it is bound; false for NULL, which an unset variable is too, and with `has_null` the value
    /// null: pgbench binds its name.
    #[inline]
    pub(crate) fn write_parameter(&self, slot: Slot, has_null: bool, out: &mut Vec<u8>) -> bool {
        match self.cells.get(slot.index()) {
            Some(Cell { value: Some(Value::Integer(value)), content: Content::Value, .. }) => {
                out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
                true
            }
            Some(Cell { value: Some(Value::Null), .. }) if has_null => false,
            _ => self.write_text(slot, out),
        }
    }

    /// Appends the variable's text as it is substituted or bound; false, and nothing appended, when it is unset.
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.cells.get(slot.index()) {
            Some(cell) if cell.content != Content::Value => out.extend_from_slice(&cell.text),
            Some(Cell { value: Some(value), .. }) => value.write_text(out),
            _ => return false,
        }
        true
    }
}

impl Content {
    /// Of a value whose text is kept.
    fn of(value: Value) -> Self {
        if matches!(value, Value::Decimal(_)) { Self::Decimal } else { Self::Text }
    }
}

impl Cell {
    fn fill(&mut self, content: Content, text: &[u8]) {
        (self.value, self.content) = (None, content);
        self.text.clear();
        self.text.extend_from_slice(text);
    }
}

/// Where an element stands.
fn place(index: i64) -> Result<usize, EvaluateError> {
    match (1..=ELEMENTS_MAX).contains(&index) {
        true => Ok(index as usize - 1),
        false => Err(EvaluateError::Element { index, most: ELEMENTS_MAX }),
    }
}

fn kept(texts: &mut Vec<u8>, text: &[u8], content: Content) -> Result<Value, EvaluateError> {
    has_room(texts.len().saturating_add(text.len()))?;
    let from = end(texts);
    texts.extend_from_slice(text);
    let range = TextRange { from, to: end(texts) };
    Ok(if content == Content::Decimal { Value::Decimal(range) } else { Value::Text(range) })
}

fn has_room(bytes: usize) -> Result<(), EvaluateError> {
    match bytes <= TEXTS_BYTES_MAX {
        true => Ok(()),
        false => Err(EvaluateError::TextLength {
            count: i64::try_from(bytes).unwrap_or(i64::MAX),
            most: TEXTS_BYTES_MAX as i64,
        }),
    }
}

/// Where the next text begins.
fn end(texts: &[u8]) -> u32 {
    u32::try_from(texts.len()).unwrap_or(u32::MAX)
}

fn part(texts: &[u8], range: TextRange) -> &[u8] {
    texts.get(range.from as usize..range.to as usize).unwrap_or_default()
}

/// A decimal, as what holds all its digits.
fn exact(text: &[u8]) -> Bound<'_> {
    let text = str::from_utf8(text).unwrap_or_default();
    text.parse().map_or(Bound::Decimal(text), Bound::Integer)
}

/// The number that is written so: `-5`, `0.25`, and neither `007` nor `1e3`.
fn number(text: &[u8]) -> Option<Bound<'_>> {
    /// Of any decimal that a double holds, and that products have.
    const DOUBLE_DIGITS_MAX: usize = 15;
    const DIGITS_MAX: usize = 38;
    let text = str::from_utf8(text).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_canonical = are_digits(whole) && are_digits(behind) && (whole == "0" || !whole.starts_with('0'));
    let significant = digits.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0').count();
    if !is_canonical || text == "-0" {
        return None;
    }
    let short = match whole.len() == digits.len() {
        true => text.parse().ok().map(Bound::Integer),
        false if significant <= DOUBLE_DIGITS_MAX => text.parse().ok().map(Bound::Double),
        false => None,
    };
    short.or_else(|| (digits.len() <= DIGITS_MAX).then_some(Bound::Decimal(text)))
}

/// Whether a variable that is given this text has another value than the text.
pub(crate) fn spells_a_value(text: &str) -> bool {
    value_of(text.as_bytes(), "").is_ok()
}

/// What a text means: null, a boolean (also by its first letters), an integer, and else a double.
fn value_of(text: &[u8], name: &str) -> Result<Value, EvaluateError> {
    let shown = || String::from_utf8_lossy(text).into();
    let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
    let begins = |word: &[u8]| word.get(..text.len()).is_some_and(|start| text.eq_ignore_ascii_case(start));
    if text.is_empty() {
        return Err(EvaluateError::EmptyVariable);
    }
    if is(b"null") {
        return Ok(Value::Null);
    }
    // An `o` alone could be either.
    if begins(b"true") || begins(b"yes") || is(b"on") {
        return Ok(Value::Boolean(true));
    }
    if begins(b"false") || begins(b"no") || is(b"off") || is(b"of") {
        return Ok(Value::Boolean(false));
    }
    let malformed = || EvaluateError::Malformed { name: name.into(), value: shown() };
    let number = str::from_utf8(text).map_err(|_| malformed())?;
    if c_numbers::looks_like_integer(number) {
        return c_numbers::integer(number).map(Value::Integer).map_err(|error| match error {
            NumberError::OutOfRange => EvaluateError::OutOfRange(shown()),
            NumberError::Syntax => EvaluateError::NoInteger(shown()),
        });
    }
    c_numbers::double(number).map(Value::Double).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values() {
        let expected = [
            ("null", Value::Null),
            ("NULL", Value::Null),
            ("t", Value::Boolean(true)),
            ("Ye", Value::Boolean(true)),
            ("on", Value::Boolean(true)),
            ("fal", Value::Boolean(false)),
            ("n", Value::Boolean(false)),
            ("of", Value::Boolean(false)),
            ("1", Value::Integer(1)),
            ("  -5", Value::Integer(-5)),
            ("5.", Value::Double(5.0)),
            (" 1e3", Value::Double(1000.0)),
            ("0x10", Value::Double(16.0)),
            ("inf", Value::Double(f64::INFINITY)),
        ];
        for (text, value) in expected {
            assert_eq!(value_of(text.as_bytes(), "x"), Ok(value), "{text}");
        }
        for text in ["", "o", "truex", " ", "99999999999999999999", "1 ", "nul", "1.5 "] {
            assert!(value_of(text.as_bytes(), "x").is_err(), "{text}");
        }
    }

    #[test]
    fn a_decimal_keeps_its_digits() {
        assert!(matches!(number(b"-5"), Some(Bound::Integer(-5))));
        for text in ["0.25", "-1.5", "1234567890123.45", "0.000123456789012345"] {
            assert!(matches!(number(text.as_bytes()), Some(Bound::Double(_))), "{text}");
        }
        for text in ["12345678901234.56", "-0.1234567890123456", "9223372036854775808"] {
            assert_eq!(number(text.as_bytes()), Some(Bound::Decimal(text)));
        }
        for text in ["007", "1e3", "-0", "1.", &"9".repeat(39)] {
            assert!(number(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn a_text_keeps_its_spelling() {
        let mut names = Names::new();
        let (x, y) = (names.slot("x"), names.slot("y"));
        let mut variables = Variables::new(&names);
        variables.set_spelling(x, " 007");
        assert_eq!(variables.value(x, &names), Ok(Value::Integer(7)));
        let mut out = Vec::new();
        assert!(variables.write_text(x, &mut out));
        assert_eq!(out, b" 007");
        assert!(!variables.write_text(y, &mut out));
        assert_eq!(variables.value(y, &names), Err(EvaluateError::Undefined("y".into())));
        variables.set(x, Value::Double(0.5));
        out.clear();
        assert!(variables.write_text(x, &mut out));
        assert_eq!(out, b"0.5");
    }
}
