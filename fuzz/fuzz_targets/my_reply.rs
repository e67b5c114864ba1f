//! Any bytes as a MySQL reply: whole or in pieces, with rows or without, the scanner comes to the same counts, or
//! to the same error, and never panics. The first byte says how the rest is cut, the second what was agreed and
//! asked.

#![no_main]

use dyno_wire::my::backend::ResultRow;
use dyno_wire::my::capabilities::Capabilities;
use dyno_wire::my::error::ProtocolError;
use dyno_wire::my::reply::{Expect, ReplyScanner, ReplySink, Totals};
use libfuzzer_sys::fuzz_target;

/// Walks every row.
struct Rows;

impl ReplySink for Rows {
    const WANTS_ROWS: bool = true;

    fn row(&mut self, row: ResultRow<'_>) {
        assert_eq!(row.columns().count(), row.len());
        let _ = format!("{row:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [piece, setting, reply @ ..] = bytes else { return };
    let piece = usize::from(*piece).max(1);
    let whole = scan(reply, reply.len().max(1), *setting, &mut Rows);
    assert_eq!(scan(reply, piece, *setting, &mut Rows), whole);
    let Ok(whole) = whole else { return };
    // Who wants no rows counts the same, and perhaps one more that the end of the input cuts short.
    match scan(reply, piece, *setting, &mut ()) {
        Ok(counted) => {
            assert!(counted.rows - whole.rows <= 1);
            assert_eq!(Totals { rows: whole.rows, ..counted }, whole);
        }
        Err(error) => panic!("refused without rows only: {error}"),
    }
});

/// Feeds the reply in pieces of `piece` bytes, keeping what was not consumed.
fn scan<S: ReplySink>(
    reply: &[u8],
    piece: usize,
    setting: u8,
    sink: &mut S,
) -> Result<Totals, ProtocolError> {
    let agreed = if setting & 1 != 0 { Capabilities::DEPRECATE_EOF } else { Capabilities::default() };
    let expect =
        [Expect::Text, Expect::Binary, Expect::Prepared, Expect::Text][usize::from(setting >> 2 & 3)];
    let mut scanner = ReplyScanner::new(agreed);
    scanner.start(expect);
    scanner.extend(Expect::Binary);
    scanner.extend(expect);
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
            // A file that is asked for is refused.
            if scanner.local_infile().is_none() && scanned.consumed == 0 {
                break;
            }
        }
    }
    Ok(scanner.totals())
}
