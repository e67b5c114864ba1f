//! The row sink of `\gset` and `\aset`: holds the last row of the current result, until it is known whether it is
//! wanted.

use dyno_engine::workload::{Field, Row};
use dyno_results::answer::Kind;

use crate::script::{Language, Names, Slot, Value, Variables};

/// The rows of the results of one request.
#[derive(Debug, Default)]
pub(super) struct RowSink {
    /// The variables of the current result's columns; `None` for a name that no script mentions.
    columns: Vec<Option<Slot>>,
    /// Of what kind its columns are, as far as that is known.
    kinds: Vec<Kind>,
    /// The first column whose name is no variable's.
    invalid: Option<String>,
    /// The last row's values, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    nulls: Vec<bool>,
    /// Rows of the current result, and of the last that ended.
    rows: u64,
    last_rows: u64,
    /// Results that ended.
    results: u32,
    /// The first result that could not be kept, and the name that is no variable's.
    refused: Option<(u32, String)>,
    name: String,
}

impl RowSink {
    pub(super) fn clear(&mut self) {
        self.begin_result();
        (self.last_rows, self.results, self.refused) = (0, 0, None);
    }

    pub(super) fn begin_result(&mut self) {
        self.columns.clear();
        self.kinds.clear();
        self.ends.clear();
        self.text.clear();
        (self.invalid, self.rows) = (None, 0);
    }

    pub(super) fn column(&mut self, prefix: &str, column: &[u8], names: &Names) {
        self.name.clear();
        self.name.push_str(prefix);
        self.name.push_str(&String::from_utf8_lossy(column));
        if self.invalid.is_none() && !Names::is_valid(&self.name) {
            self.invalid = Some(self.name.clone());
        }
        self.columns.push(names.find(&self.name));
    }

    /// The kind of the next column; behind the last they are told anew.
    pub(super) fn kind(&mut self, kind: Kind) {
        if self.kinds.len() >= self.columns.len() {
            self.kinds.clear();
        }
        self.kinds.push(kind);
    }

    pub(super) fn row(&mut self, row: &Row<'_>) {
        self.rows += 1;
        self.text.clear();
        self.ends.clear();
        self.nulls.clear();
        row.for_each(|field| {
            match field {
                // It becomes the empty text.
                Field::Null => {}
                Field::Text(text) => self.text.extend_from_slice(text),
                Field::Other(value) => self.text.extend_from_slice(value.to_string().as_bytes()),
            }
            self.ends.push(self.text.len());
            self.nulls.push(matches!(field, Field::Null));
        });
    }

    /// A statement has ended.
    pub(super) fn complete(&mut self) {
        self.last_rows = std::mem::take(&mut self.rows);
        self.results += 1;
    }

    /// Rows of the last result that ended.
    pub(super) fn last_rows(&self) -> u64 {
        self.last_rows
    }

    /// Sets the variables to the last row's values, unless a result before could not be kept; that this one cannot is
    /// for [`RowSink::take_refused`].
    pub(super) fn store_every(&mut self, language: Language, variables: &mut Variables) {
        if self.refused.is_none()
            && let Err(name) = self.store(language, variables)
        {
            self.refused = Some((self.results.saturating_sub(1), name.to_owned()));
        }
    }

    /// The number of a result that could not be kept, and the name that is no variable's.
    pub(super) fn take_refused(&mut self) -> Option<(u32, String)> {
        self.refused.take()
    }

    /// Sets the variables to the last row's values, in workload files to NULL where there is none; the name of a column that cannot
    /// be a variable, if there is one.
    pub(super) fn store(&self, language: Language, variables: &mut Variables) -> Result<(), &str> {
        if let Some(name) = &self.invalid {
            return Err(name);
        }
        if language == Language::Workload {
            self.store_values(variables);
            return Ok(());
        }
        let mut start = 0;
        for (slot, end) in self.columns.iter().zip(&self.ends) {
            if let Some(slot) = slot {
                variables.set_spelling(*slot, &self.text[start..*end]);
            }
            start = *end;
        }
        Ok(())
    }

    /// Each by the kind of its column: a text is no number, whatever it looks like.
    fn store_values(&self, variables: &mut Variables) {
        for (at, slot) in self.columns.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            match (self.ends.get(at), self.nulls.get(at)) {
                (Some(end), Some(false)) => {
                    let text = &self.text[start..*end];
                    let kind = self.kinds.get(at).copied().unwrap_or_default();
                    match kind {
                        Kind::Decimal => variables.set_decimal(*slot, text),
                        Kind::Boolean | Kind::Unknown => variables.set_given(*slot, text),
                        kind if kind.is_number() => variables.set_given(*slot, text),
                        _ => variables.set_text(*slot, text),
                    }
                }
                _ => variables.set(*slot, Value::Null),
            }
        }
    }
}
