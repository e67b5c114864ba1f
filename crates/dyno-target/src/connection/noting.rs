//! What an answer says beside its rows.

use dyno_wire::libpq_text;
use dyno_wire::{my, pg};

use super::session::Sink;
use super::wire::NOTICES_MAX;

/// Passes everything on and notes notices, parameters that change on the way, and files that were asked for.
pub(super) struct Noting<'s, S> {
    inner: &'s mut S,
    sql: &'s str,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) notices: Vec<String>,
    /// The file that a MySQL server wanted.
    pub(super) file: Option<String>,
}

impl<'s, S: Sink> Noting<'s, S> {
    pub(super) fn new(inner: &'s mut S, sql: &'s str) -> Self {
        Self { inner, sql, parameters: Vec::new(), notices: Vec::new(), file: None }
    }
}

impl<S: Sink> pg::reply::ReplySink for Noting<'_, S> {
    const WANTS_ROWS: bool = <S as pg::reply::ReplySink>::WANTS_ROWS;
    const WANTS_COPY_DATA: bool = S::WANTS_COPY_DATA;

    fn row_description(&mut self, columns: pg::backend::RowDescription<'_>) {
        self.inner.row_description(columns);
    }

    fn row(&mut self, row: pg::backend::DataRow<'_>) {
        pg::reply::ReplySink::row(self.inner, row);
    }

    fn copy_data(&mut self, data: &[u8]) {
        self.inner.copy_data(data);
    }

    fn notice(&mut self, notice: pg::backend::NoticeFields<'_>) {
        if self.notices.len() < NOTICES_MAX {
            self.notices.push(libpq_text::notice(notice, Some(self.sql)));
        }
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        if self.parameters.len() < NOTICES_MAX {
            self.parameters.push((name.to_owned(), value.to_owned()));
        }
    }
}

impl<S: Sink> my::reply::ReplySink for Noting<'_, S> {
    const WANTS_ROWS: bool = <S as my::reply::ReplySink>::WANTS_ROWS;

    fn result_set(&mut self, columns: usize) {
        self.inner.result_set(columns);
    }

    fn column(&mut self, column: my::backend::Column<'_>) {
        self.inner.column(column);
    }

    fn row(&mut self, row: my::backend::ResultRow<'_>) {
        my::reply::ReplySink::row(self.inner, row);
    }

    fn local_infile(&mut self, file: my::backend::Text<'_>) {
        self.file = Some(file.lossy().into_owned());
    }
}
