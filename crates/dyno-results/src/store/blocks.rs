//! Blocks: what the events of a stretch of a long run come to, written as they go by. A day is then read in a second from the
//! store alone, also one whose process was killed. A block is made from the events and says nothing that they do not.

use rusqlite::params;

use super::{RunWriter, Store, StoreError, tail};
use crate::fold::Fold;
use crate::fold::block::{FORMAT, Marks};

/// Events that become one block: of one or two targets those of some minutes. Fewer at the end of a run are read one by one.
pub(super) const EVENTS_EACH: u64 = 2000;

/// Of events whose kind is neither that of a second of load nor that of a reading, of which there are few: found by their
/// index, without going through the others.
const RARE: &str = "WITH one AS (SELECT id FROM run WHERE name = ?1)
    SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = (SELECT id FROM one) AND kind < 'interval' AND seq <= ?2
    UNION ALL SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = (SELECT id FROM one) AND kind > 'interval' AND kind < 'sample' AND seq <= ?2
    UNION ALL SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = (SELECT id FROM one) AND kind > 'sample' AND seq <= ?2
    ORDER BY seq";

/// How far blocks of a run under way have been written.
#[derive(Debug, Default)]
pub(super) struct Written {
    marks: Marks,
    /// Events that the blocks hold.
    events: u64,
    /// Set when one could not be written: those after it would be of no use.
    pub(super) given_up: bool,
}

impl RunWriter {
    /// Writes what has come since the last block, where that is enough. Without it the events are read.
    pub(super) fn write_block(&mut self) {
        if self.blocks.given_up || self.appended < self.blocks.events + EVENTS_EACH {
            return;
        }
        let mut insert = || -> Result<(), Box<dyn std::error::Error>> {
            let block = self.fold.block(&mut self.blocks.marks)?;
            self.connection
                .prepare_cached("INSERT INTO block (run_id, seq, format, content) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![self.run_id, (self.appended - 1).cast_signed(), FORMAT, block])?;
            Ok(())
        };
        self.blocks.given_up = insert().is_err();
        self.blocks.events = self.appended;
    }
}

impl Store {
    /// The fold of a run as far as its blocks go, and `seq` of the last event that is in it. Where it has none, or of another
    /// format, it is empty.
    pub fn fold(&self, name: &str) -> Result<(Fold, Option<u64>), StoreError> {
        let name = self.find(name)?;
        let read = || -> rusqlite::Result<Option<(Fold, u64)>> {
            let blocks = self.blocks(&name)?;
            let Some((last, _)) = blocks.last() else { return Ok(None) };
            let (mut fold, mut whole) = (Fold::new(), true);
            // What is not understood is told by who reads all events.
            tail::read_rows(&mut self.connection.prepare(RARE)?, params![name, last], |raw| {
                match raw.read() {
                    Ok(stamped) => fold.add(&stamped),
                    Err(_) => whole = false,
                }
            })?;
            let of_run = blocks.iter().map(|(_, content)| content.as_slice());
            Ok((whole && fold.add_blocks(of_run).is_some()).then(|| (fold, last.unsigned_abs())))
        };
        let folded = read().map_err(|source| self.error("read", source))?;
        Ok(folded.map_or_else(|| (Fold::new(), None), |(fold, last)| (fold, Some(last))))
    }

    /// The run's blocks with their last events' `seq`, where all of them are of this format.
    fn blocks(&self, name: &str) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
        let mut statement = self.connection.prepare(
            "SELECT seq, content, format FROM block WHERE run_id = (SELECT id FROM run WHERE name = ?1) ORDER BY seq",
        )?;
        let mut rows = statement.query([name])?;
        let mut blocks = Vec::new();
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(2)? != FORMAT {
                return Ok(Vec::new());
            }
            blocks.push((row.get(0)?, row.get(1)?));
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests;
