//! Blocks: what the events of a stretch of a long run come to, written as they go by. A day is then read in a second from the
//! store alone, also one whose process was killed. A block is made from the events and says nothing that they do not.

use rusqlite::params;

use super::checksum::{of_block, of_rare};
use super::{RunWriter, Store, StoreError};
use crate::fold::Fold;
use crate::fold::block::{FORMAT, Marks};

/// Events that become one block: of one or two targets those of some minutes. Fewer at the end of a run are read one by one.
pub(super) const EVENTS_EACH: u64 = 2000;

/// Of events whose kind is neither that of a second of load nor that of a reading, of which there are few: found by their
/// index, without going through the others.
const RARE: &str = "WITH one AS (SELECT id FROM run WHERE name = ?1)
    SELECT seq, at_ms, kind, body, checksum,
        (SELECT max(seq) FROM event AS one_before WHERE run_id = (SELECT id FROM one) AND one_before.seq < rare.seq)
    FROM (
        SELECT seq, at_ms, kind, body, checksum FROM event INDEXED BY event_by_kind
            WHERE run_id = (SELECT id FROM one) AND kind < 'interval' AND seq <= ?2
        UNION ALL SELECT seq, at_ms, kind, body, checksum FROM event INDEXED BY event_by_kind
            WHERE run_id = (SELECT id FROM one) AND kind > 'interval' AND kind < 'sample' AND seq <= ?2
        UNION ALL SELECT seq, at_ms, kind, body, checksum FROM event INDEXED BY event_by_kind
            WHERE run_id = (SELECT id FROM one) AND kind > 'sample' AND seq <= ?2
    ) AS rare ORDER BY seq";

/// How far blocks of a run under way have been written.
#[derive(Debug, Default)]
pub(super) struct Written {
    marks: Marks,
    /// Events that the blocks hold.
    events: u64,
    /// What the checksums of the rare events have come to.
    rare_sum: i64,
    /// Set when one could not be written: those after it would be of no use.
    pub(super) given_up: bool,
}

impl RunWriter {
    /// Takes note of events that are in the store now.
    pub(super) fn note_rare(&mut self) {
        for row in self.backlog.rows.iter().filter(|row| row.is_rare()) {
            self.blocks.rare_sum = of_rare(&self.name, self.blocks.rare_sum, row.checksum);
        }
    }

    /// Writes what has come since the last block, where that is enough. Without it the events are read.
    pub(super) fn write_block(&mut self) {
        if self.blocks.given_up || self.appended < self.blocks.events + EVENTS_EACH {
            return;
        }
        let mut insert = || -> Result<(), Box<dyn std::error::Error>> {
            let block = self.fold.block(&mut self.blocks.marks)?;
            let [before, seq] = [self.blocks.events, self.appended].map(|events| events.cast_signed() - 1);
            let checksum = of_block(&self.name, [before, seq, FORMAT], self.blocks.rare_sum, &block);
            self.connection
                .prepare_cached(
                    "INSERT INTO block (run_id, seq, format, content, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![self.run_id, seq, FORMAT, block, checksum])?;
            Ok(())
        };
        self.blocks.given_up = insert().is_err();
        self.blocks.events = self.appended;
    }
}

/// A block as it is stored.
struct Block {
    /// Of the last event that is in it.
    seq: i64,
    content: Vec<u8>,
    checksum: i64,
}

impl Store {
    /// The fold of a run as far as its blocks go, and `seq` of the last event that is in it. Where it has none, or of another
    /// format, it is empty.
    pub fn fold(&self, name: &str) -> Result<(Fold, Option<u64>), StoreError> {
        let name = self.find(name)?;
        let blocks = self.blocks(&name).map_err(|source| self.error("read", source))?;
        let Some(Block { seq: last, .. }) = blocks.last() else { return Ok((Fold::new(), None)) };
        let (mut fold, mut rare) = (Fold::new(), Vec::new());
        self.read_rows(&name, RARE, params![name, last], |raw| {
            rare.push((raw.seq.cast_signed(), raw.checksum));
            fold.add(&raw.read(&name)?);
            Ok(())
        })?;
        self.check(&name, &blocks, &rare)?;
        let of_run = blocks.iter().map(|block| block.content.as_slice());
        match fold.add_blocks(of_run) {
            Some(()) => Ok((fold, Some(last.unsigned_abs()))),
            None => Ok((Fold::new(), None)),
        }
    }

    /// The run's blocks, where all of them are of this format.
    fn blocks(&self, name: &str) -> rusqlite::Result<Vec<Block>> {
        let mut statement = self.connection.prepare(
            "SELECT seq, content, checksum, format FROM block WHERE run_id = (SELECT id FROM run WHERE name = ?1)
             ORDER BY seq",
        )?;
        let mut rows = statement.query([name])?;
        let mut blocks = Vec::new();
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(3)? != FORMAT {
                return Ok(Vec::new());
            }
            blocks.push(Block { seq: row.get(0)?, content: row.get(1)?, checksum: row.get(2)? });
        }
        Ok(blocks)
    }

    /// Refuses blocks that are not as they were written; `rare` are `seq` and checksum of the events that are not in them.
    fn check(&self, run: &str, blocks: &[Block], rare: &[(i64, i64)]) -> Result<(), StoreError> {
        let mut rare = rare.iter().peekable();
        let (mut before, mut rare_sum) = (-1, 0);
        for Block { seq, content, checksum } in blocks {
            while let Some((_, event)) = rare.next_if(|(of_event, _)| of_event <= seq) {
                rare_sum = of_rare(run, rare_sum, *event);
            }
            if *checksum != of_block(run, [before, *seq, FORMAT], rare_sum, content) {
                let (path, run) = (self.path.clone(), run.to_owned());
                return Err(StoreError::BlockChanged { path, run, seq: *seq });
            }
            before = *seq;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
