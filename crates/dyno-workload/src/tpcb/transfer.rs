//! Sends the rows of a fresh table to the server by COPY.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::connection::{Connection, QueryError};

use super::rows::TpcbRows;

/// Size of a CopyData message: large enough that neither side is busy with messages, small enough for the caches.
const COPY_BYTES: usize = 64 << 10;

/// Where a transfer ended before its end; it then leaves no rows.
#[derive(Debug)]
pub(crate) enum TransferError {
    /// The stop flag was set.
    Stopped,
    /// The COPY could not begin.
    Refused(QueryError),
    /// It had begun.
    Failed(QueryError),
}

/// Runs `copy_sql`, a `COPY … FROM STDIN`, with all of `rows`. `sent` hears of each block's rows once it is on its
/// way; `stop` is looked at after each.
pub(crate) fn transfer(
    connection: &mut Connection,
    copy_sql: &str,
    mut rows: TpcbRows,
    stop: Option<&AtomicBool>,
    sent: &mut dyn FnMut(u64),
) -> Result<(), TransferError> {
    let mut copy = connection.copy_in(copy_sql).map_err(TransferError::Refused)?;
    let mut buffer = Vec::with_capacity(COPY_BYTES);
    loop {
        let added = rows.fill(&mut buffer);
        if added == 0 {
            break;
        }
        copy.send(&buffer).map_err(TransferError::Failed)?;
        sent(added);
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            // Dropped unfinished, the copy is given up.
            return Err(TransferError::Stopped);
        }
    }
    copy.finish().map_err(TransferError::Failed)?;
    Ok(())
}
