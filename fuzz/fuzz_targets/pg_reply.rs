//! Any bytes as a reply: whole or in pieces, with rows or without, the scanner comes to the same counts, or to
//! the same error, and never panics. The first byte says how the rest is cut.

#![no_main]

use dyno_wire::pg::backend::{DataRow, RowDescription};
use dyno_wire::pg::error::ProtocolError;
use dyno_wire::pg::reply::{ReplyScanner, ReplySink, Totals};
use libfuzzer_sys::fuzz_target;

/// Walks every row.
struct Rows;

impl ReplySink for Rows {
    const WANTS_ROWS: bool = true;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        assert_eq!(columns.columns().count(), columns.len());
    }
    fn row(&mut self, row: DataRow<'_>) {
        assert_eq!(row.columns().count(), row.len());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, reply)) = bytes.split_first() else { return };
    let piece = usize::from(piece).max(1);
    let whole = scan(reply, reply.len().max(1), &mut Rows);
    assert_eq!(scan(reply, piece, &mut Rows), whole);
    let Ok(whole) = whole else { return };
    // Who wants no rows counts the same, and perhaps one more that the end of the input cuts short.
    match scan(reply, piece, &mut ()) {
        Ok(counted) => {
            assert!(counted.rows - whole.rows <= 1);
            assert_eq!(Totals { rows: whole.rows, ..counted }, whole);
        }
        Err(error) => panic!("refused without rows only: {error}"),
    }
});

/// Feeds the reply in pieces of `piece` bytes, keeping what was not consumed.
fn scan<S: ReplySink>(reply: &[u8], piece: usize, sink: &mut S) -> Result<Totals, ProtocolError> {
    let mut scanner = ReplyScanner::new();
    scanner.start(4);
    let mut buffer = Vec::new();
    for piece in reply.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            let scanned = scanner.scan(&buffer, sink)?;
            assert!(scanned.consumed <= buffer.len());
            buffer.drain(..scanned.consumed);
            if scanned.done {
                return Ok(scanner.totals());
            }
            if scanned.consumed == 0 {
                break;
            }
        }
    }
    Ok(scanner.totals())
}
