//! One client's variables: by slot unset, a value, or a text that becomes a value when an expression asks for it.

use super::{EvaluateError, Names, Slot, Value};

/// One client's variables. Nothing is allocated by setting a variable once its text has been as long before.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    value: Option<Value>,
    /// Whether `text` is what the variable was set to.
    is_text: bool,
    /// Kept when a value replaces it, for its memory.
    text: String,
}

impl Variables {
    #[must_use]
    pub fn new(names: &Names) -> Self {
        Self { cells: vec![Cell::default(); names.len()] }
    }

    pub fn set(&mut self, slot: Slot, value: Value) {
        let cell = &mut self.cells[slot.index()];
        cell.value = Some(value);
        cell.is_text = false;
    }

    /// Sets a variable to what the server or the command line gave.
    pub fn set_text(&mut self, slot: Slot, text: &str) {
        let cell = &mut self.cells[slot.index()];
        cell.value = None;
        cell.is_text = true;
        cell.text.clear();
        cell.text.push_str(text);
    }

    #[must_use]
    pub fn is_set(&self, slot: Slot) -> bool {
        self.cells.get(slot.index()).is_some_and(|cell| cell.is_text || cell.value.is_some())
    }

    /// The variable's value; a text is turned into one.
    ///
    /// # Errors
    /// When the variable is unset, or its text is no value.
    pub fn value(&mut self, slot: Slot, names: &Names) -> Result<Value, EvaluateError> {
        self.cells[slot.index()].value.ok_or_else(|| EvaluateError::Undefined(names.name(slot).into()))
    }

    /// Appends the variable's text as it is substituted or bound; false, and nothing appended, when it is unset.
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.cells.get(slot.index()) {
            Some(cell) if cell.is_text => out.extend_from_slice(cell.text.as_bytes()),
            Some(Cell { value: Some(value), .. }) => value.write_text(out),
            _ => return false,
        }
        true
    }
}
