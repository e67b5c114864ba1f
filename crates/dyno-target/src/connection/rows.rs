//! Rows as text, for answers that are small.

use std::sync::Arc;

use dyno_engine::driver::RowSink;
use dyno_engine::request::Value;
use dyno_wire::{my, pg};

/// All rows of an answer.
pub type TextRows = Vec<TextRow>;

/// One row; values are the server's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow {
    columns: Arc<[String]>,
    values: Vec<Option<String>>,
}

impl TextRow {
    #[cfg(test)]
    pub(crate) fn of(values: &[(&str, &str)]) -> Self {
        let columns = values.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { columns, values: values.iter().map(|(_, value)| Some((*value).to_owned())).collect() }
    }

    /// A value by its column's name; `None` for NULL and for a column that is not there.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&str> {
        self.text(self.columns.iter().position(|name| name == column)?)
    }

    /// A value by its place, from 0; `None` for NULL and beyond the last.
    #[must_use]
    pub fn text(&self, index: usize) -> Option<&str> {
        self.values.get(index)?.as_deref()
    }

    /// Column names with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.columns.iter().map(String::as_str).zip(self.values.iter().map(Option::as_deref))
    }
}

/// Gathers the rows of an answer.
#[derive(Default)]
pub(super) struct Collector {
    columns: Arc<[String]>,
    /// Those of MySQL, which come one by one.
    arriving: Vec<String>,
    rows: TextRows,
}

impl Collector {
    pub(super) fn into_rows(self) -> TextRows {
        self.rows
    }

    fn push<'v>(&mut self, values: impl Iterator<Item = Option<&'v [u8]>>) {
        let values = values.map(|value| value.map(lossy)).collect();
        self.rows.push(TextRow { columns: Arc::clone(&self.columns), values });
    }
}

fn lossy(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

impl pg::reply::ReplySink for Collector {
    const WANTS_ROWS: bool = true;
    const WANTS_COPY_DATA: bool = false;

    fn row_description(&mut self, columns: pg::backend::RowDescription<'_>) {
        self.columns = columns.columns().map(|column| column.name.lossy().into_owned()).collect();
    }

    fn row(&mut self, row: pg::backend::DataRow<'_>) {
        self.push(row.columns());
    }
}

impl RowSink for Collector {
    fn wants_rows(&self) -> bool {
        true
    }

    fn columns(&mut self, names: &[&str]) {
        self.columns = names.iter().map(|&name| name.to_owned()).collect();
    }

    fn row(&mut self, values: &[Value<'_>]) {
        let values = values.iter().map(|value| match value {
            Value::Null => None,
            Value::Integer(value) => Some(value.to_string()),
            Value::Double(value) => Some(value.to_string()),
            Value::Text(text) => Some(lossy(text)),
        });
        self.rows.push(TextRow { columns: Arc::clone(&self.columns), values: values.collect() });
    }
}

impl my::reply::ReplySink for Collector {
    const WANTS_ROWS: bool = true;

    fn result_set(&mut self, columns: usize) {
        self.arriving = Vec::with_capacity(columns);
    }

    fn column(&mut self, column: my::backend::Column<'_>) {
        self.arriving.push(column.name.lossy().into_owned());
    }

    fn row(&mut self, row: my::backend::ResultRow<'_>) {
        if !self.arriving.is_empty() {
            self.columns = std::mem::take(&mut self.arriving).into();
        }
        self.push(row.columns().map(|value| match value {
            my::value::Value::Bytes(bytes) => Some(bytes),
            // The text protocol has nothing else.
            _ => None,
        }));
    }
}
