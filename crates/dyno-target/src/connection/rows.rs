//! Rows as text, for answers that are small.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dyno_engine::column_kind;
use dyno_engine::driver::RowSink;
use dyno_engine::request::Value;
use dyno_results::answer::Kind;
use dyno_wire::{my, pg};

/// All rows of an answer.
pub type TextRows = Vec<TextRow>;

/// One row; values are the server's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow {
    columns: Arc<[String]>,
    /// Of the columns, as far as they are known.
    kinds: Arc<[Kind]>,
    values: Vec<Option<String>>,
}

impl TextRow {
    #[cfg(test)]
    pub(crate) fn of(values: &[(&str, &str)]) -> Self {
        let columns = values.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self {
            columns,
            kinds: Arc::default(),
            values: values.iter().map(|(_, value)| Some((*value).to_owned())).collect(),
        }
    }

    /// A value by its column's name; `None` for NULL and for a column that is not there.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.text(self.columns.iter().position(|name| name == column)?)
    }

    /// A value by its place, from 0; `None` for NULL and beyond the last.
    pub fn text(&self, index: usize) -> Option<&str> {
        self.values.get(index)?.as_deref()
    }

    /// Of what kind the values of a column are, by its place.
    pub fn kind(&self, index: usize) -> Kind {
        self.kinds.get(index).copied().unwrap_or(Kind::Unknown)
    }

    /// Column names with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.columns.iter().map(String::as_str).zip(self.values.iter().map(Option::as_deref))
    }
}

/// Gathers the rows of an answer, as far as they take so much memory.
pub(super) struct Collector {
    columns: Arc<[String]>,
    /// Those of MySQL, which come one by one.
    arriving: Vec<(String, Kind)>,
    kinds: Arc<[Kind]>,
    rows: TextRows,
    /// Memory that further rows may take: a row without a value takes some too.
    bytes_left: usize,
    /// There were more, which another thread may see.
    is_over: Arc<AtomicBool>,
}

impl Collector {
    pub(super) fn within(bytes_max: usize) -> Self {
        Self {
            columns: Arc::default(),
            arriving: Vec::new(),
            kinds: Arc::default(),
            rows: Vec::new(),
            bytes_left: bytes_max,
            is_over: Arc::default(),
        }
    }

    /// Set once there are more rows than are kept.
    pub(super) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_over)
    }

    /// `None` where there were more than are kept.
    pub(super) fn into_rows(self) -> Option<TextRows> {
        (!self.is_over.load(Ordering::Relaxed)).then_some(self.rows)
    }

    fn push(&mut self, values: impl Iterator<Item = Option<String>>) {
        let values: Vec<Option<String>> = values.collect();
        let texts: usize = values.iter().flatten().map(String::len).sum();
        let bytes = size_of::<TextRow>() + values.len() * size_of::<Option<String>>() + texts;
        match self.bytes_left.checked_sub(bytes) {
            Some(left) if !self.is_over.load(Ordering::Relaxed) => {
                self.bytes_left = left;
                let (columns, kinds) = (Arc::clone(&self.columns), Arc::clone(&self.kinds));
                self.rows.push(TextRow { columns, kinds, values });
            }
            _ => self.is_over.store(true, Ordering::Relaxed),
        }
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
        self.kinds = columns.columns().map(|column| column_kind::of_postgres(column.type_oid)).collect();
    }

    fn row(&mut self, row: pg::backend::DataRow<'_>) {
        self.push(row.columns().map(|value| value.map(lossy)));
    }
}

impl RowSink for Collector {
    fn wants_rows(&self) -> bool {
        true
    }

    fn columns(&mut self, names: &[&str]) {
        self.columns = names.iter().map(|&name| name.to_owned()).collect();
    }

    fn kinds(&mut self, kinds: &[Kind]) {
        self.kinds = kinds.into();
    }

    fn row(&mut self, values: &[Value<'_>]) {
        let values = values.iter().map(|value| match value {
            Value::Null => None,
            Value::Integer(value) => Some(value.to_string()),
            Value::Double(value) => Some(value.to_string()),
            Value::Decimal(digits) => Some((*digits).to_owned()),
            Value::Text(text) => Some(lossy(text)),
        });
        self.push(values);
    }
}

impl my::reply::ReplySink for Collector {
    const WANTS_ROWS: bool = true;

    fn result_set(&mut self, columns: usize) {
        self.arriving = Vec::with_capacity(columns);
    }

    fn column(&mut self, column: my::backend::Column<'_>) {
        self.arriving.push((column.name.lossy().into_owned(), column_kind::of_mysql(&column)));
    }

    fn row(&mut self, row: my::backend::ResultRow<'_>) {
        if !self.arriving.is_empty() {
            let (columns, kinds): (Vec<_>, Vec<_>) = std::mem::take(&mut self.arriving).into_iter().unzip();
            (self.columns, self.kinds) = (columns.into(), kinds.into());
        }
        self.push(row.columns().map(|value| match value {
            my::value::Value::Bytes(bytes) => Some(lossy(bytes)),
            // The text protocol has nothing else.
            _ => None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_up_to_a_limit_however_little_is_in_them() {
        for (row, count) in
            [(vec![], 1_000), (vec![Value::Null; 100], 10), (vec![Value::Text(b"0123456789")], 500)]
        {
            let mut rows = Collector::within(64_000);
            let over = rows.over();
            (0..count).for_each(|_| RowSink::row(&mut rows, &row));
            assert!(!over.load(Ordering::Relaxed));
            (0..9_000).for_each(|_| RowSink::row(&mut rows, &row));
            assert!(over.load(Ordering::Relaxed) && rows.rows.len() < 2_000);
            assert_eq!(rows.into_rows(), None);
        }
    }
}
