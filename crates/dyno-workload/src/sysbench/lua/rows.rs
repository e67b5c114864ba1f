//! Rows of an answer on their way into Lua: one string in which each value stands behind four bytes, its length plus
//! one, or zero for NULL. `result:fetch_row()` takes it apart, so that rows nobody fetches cost one copy.

use std::fmt::Display;
use std::io::Write as _;

use dyno_engine::workload::{Field, Reply};

use super::question::RowsWanted;

/// The rows of the answer that is waited for.
#[derive(Debug)]
pub(super) struct AnswerRows {
    wanted: RowsWanted,
    pub(super) columns: u32,
    /// Rows so far, of the statement that sent any last.
    pub(super) count: u64,
    bytes: Vec<u8>,
    /// Columns are those of a new result.
    complete: bool,
}

impl AnswerRows {
    pub(super) fn new() -> Self {
        Self { wanted: RowsWanted::Nothing, columns: 0, count: 0, bytes: Vec::new(), complete: false }
    }

    pub(super) fn start(&mut self, wanted: RowsWanted) {
        (self.wanted, self.columns, self.count, self.complete) = (wanted, 0, 0, false);
        self.bytes.clear();
    }

    /// As Lua reads them; `None` where they were not wanted.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (self.wanted != RowsWanted::Nothing).then_some(&self.bytes)
    }

    pub(super) fn take(&mut self, part: &Reply<'_>) {
        match part {
            Reply::Row(row) => self.row(row.columns(), |rows| {
                row.for_each(|field| match field {
                    Field::Null => rows.value(None),
                    Field::Text(text) => rows.value(Some(text)),
                    Field::Other(value) => rows.shown(value),
                });
            }),
            Reply::Rows(columns) => {
                // Of several results the last one stays.
                if std::mem::take(&mut self.complete) {
                    self.start(self.wanted);
                }
                self.columns = *columns as u32;
            }
            Reply::Complete => self.complete = true,
            Reply::Column(_) | Reply::Kind(_) | Reply::Notice(_) | Reply::CopyOut => {}
        }
    }

    pub(super) fn row(&mut self, columns: usize, values: impl FnOnce(&mut Self)) {
        self.columns = columns as u32;
        self.count += 1;
        if self.wanted == RowsWanted::All || self.count == 1 {
            values(self);
        }
    }

    pub(super) fn value(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else {
            self.bytes.extend_from_slice(&[0; 4]);
            return;
        };
        // A server's row is below 1 GiB.
        self.bytes.extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// A value that is no text yet.
    fn shown(&mut self, value: &dyn Display) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        // Writing to memory cannot fail.
        let _ = write!(self.bytes, "{value}");
        let length = (self.bytes.len() - start - 4) as u32 + 1;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}
