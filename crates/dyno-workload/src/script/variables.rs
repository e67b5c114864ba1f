//! One client's variables: by slot unset, a value, or a text that becomes a value when an expression asks for it.

use super::{EvaluateError, Names, Slot, Value};
use crate::c_numbers::{self, NumberError};

/// One client's variables. Nothing is allocated by setting a variable once its text has been as long before.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    /// With a text, what the text was found to mean.
    value: Option<Value>,
    /// Whether `text` is what the variable was set to.
    is_text: bool,
    /// Kept when a value replaces it, for its memory.
    text: Vec<u8>,
}

impl Variables {
    /// Unset variables for all names so far; later names are to be found nowhere.
    pub fn new(names: &Names) -> Self {
        Self { cells: vec![Cell::default(); names.count()] }
    }

    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        if let Some(cell) = self.cells.get_mut(slot.index()) {
            cell.value = Some(value);
            cell.is_text = false;
        }
    }

    /// Sets a variable to what the server or the command line gave.
    pub fn set_text(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        if let Some(cell) = self.cells.get_mut(slot.index()) {
            cell.value = None;
            cell.is_text = true;
            cell.text.clear();
            cell.text.extend_from_slice(text.as_ref());
        }
    }

    pub fn is_set(&self, slot: Slot) -> bool {
        self.cells.get(slot.index()).is_some_and(|cell| cell.is_text || cell.value.is_some())
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
        match self.cells.get_mut(slot.index()) {
            Some(Cell { value: Some(value), .. }) => Ok(*value),
            Some(cell) if cell.is_text => {
                let value = value_of(&cell.text, names.name(slot))?;
                cell.value = Some(value);
                Ok(value)
            }
            _ => Err(EvaluateError::Undefined(names.name(slot).into())),
        }
    }

    /// Appends the variable's text as it is substituted or bound; false, and nothing appended, when it is unset.
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.cells.get(slot.index()) {
            Some(cell) if cell.is_text => out.extend_from_slice(&cell.text),
            Some(Cell { value: Some(value), .. }) => value.write_text(out),
            _ => return false,
        }
        true
    }
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
    fn a_text_keeps_its_spelling() {
        let mut names = Names::new();
        let (x, y) = (names.slot("x"), names.slot("y"));
        let mut variables = Variables::new(&names);
        variables.set_text(x, " 007");
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
