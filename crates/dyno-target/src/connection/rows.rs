//! Rows as text, for answers that are small.

use std::sync::Arc;

use dyno_wire::pg::backend::{DataRow, RowDescription};
use dyno_wire::pg::reply::ReplySink;

/// All rows of an answer.
pub type Rows = Vec<Row>;

/// One row; values are the server's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Option<String>>,
}

impl Row {
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
    rows: Rows,
}

impl Collector {
    pub(super) fn into_rows(self) -> Rows {
        self.rows
    }
}

impl ReplySink for Collector {
    const WANTS_ROWS: bool = true;
    const WANTS_COPY_DATA: bool = false;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        self.columns = columns.columns().map(|column| column.name.lossy().into_owned()).collect();
    }

    fn row(&mut self, row: DataRow<'_>) {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let values = row.columns().map(|value| value.map(text)).collect();
        self.rows.push(Row { columns: Arc::clone(&self.columns), values });
    }
}
