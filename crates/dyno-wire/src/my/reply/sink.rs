//! Who takes what a reply brings.

use crate::my::backend::{Column, OkPacket, Prepared, ResultRow, Text};
use crate::my::error::MySqlError;

/// Takes what a reply brings. All methods may be left out; without them a reply is only counted.
pub trait ReplySink {
    /// Whether rows and their columns are handed over; otherwise rows are counted and their bytes skipped.
    const WANTS_ROWS: bool = false;

    /// Rows with this many columns will follow.
    fn result_set(&mut self, columns: usize) {
        let _ = columns;
    }
    /// A column of those rows, or of the rows that a statement just prepared will have.
    fn column(&mut self, column: Column<'_>) {
        let _ = column;
    }
    fn row(&mut self, row: ResultRow<'_>) {
        let _ = row;
    }
    /// A statement has ended well; its rows, if it has any, came before.
    fn ok(&mut self, ok: OkPacket<'_>) {
        let _ = ok;
    }
    /// A statement has failed, be it in the middle of its rows. What followed it in the same query is not run.
    fn error(&mut self, error: &MySqlError) {
        let _ = error;
    }
    fn prepared(&mut self, prepared: Prepared) {
        let _ = prepared;
    }
    /// The server asks for a file's contents; see [`ReplyScanner::local_infile`](super::ReplyScanner::local_infile).
    fn local_infile(&mut self, file: Text<'_>) {
        let _ = file;
    }
}

/// Counts and nothing else.
impl ReplySink for () {}
