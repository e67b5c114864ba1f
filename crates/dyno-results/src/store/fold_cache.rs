//! A cache of folds: blocks of what the seconds of a long run have come to, written as they go by. A day is then read in a
//! fraction of a second, also one whose process was killed. It is made from the events and says nothing that they do not.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{RunWriter, Store, StoreError};
use crate::event::Stamped;
use crate::fold::Fold;
use crate::fold::block::{self, Marks};

/// Events that become one block: of one or two targets those of some minutes. Fewer at the end of a run are read one by one.
pub(super) const EVENTS_EACH: u64 = 2000;

/// Of events whose kind is neither that of a second of load nor that of a reading, of which there are few: found by their
/// index, without going through the others.
const RARE: &str = "SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = ?1 AND kind < 'interval' AND seq <= ?2
    UNION ALL SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = ?1 AND kind > 'interval' AND kind < 'sample' AND seq <= ?2
    UNION ALL SELECT seq, at_ms, kind, body FROM event INDEXED BY event_by_kind
        WHERE run_id = ?1 AND kind > 'sample' AND seq <= ?2
    ORDER BY seq";

/// How far blocks of a run under way have been cached.
#[derive(Debug, Default)]
pub(super) struct FoldCacheState {
    marks: Marks,
    /// Events that the blocks hold.
    events: u64,
    /// Set when one could not be written: those after it would be of no use.
    pub(super) given_up: bool,
}

/// A store that an earlier dyno made has no place for blocks yet.
pub(super) fn make_room(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(include_str!("fold_cache.sql"))
}

impl RunWriter {
    /// Caches what has come since it was last done, where that is enough. What cannot be cached is read from the events later.
    pub(super) fn cache_fold(&mut self) {
        if self.fold_cache.given_up || self.appended < self.fold_cache.events + EVENTS_EACH {
            return;
        }
        let mut insert = || -> Result<(), Box<dyn std::error::Error>> {
            let block = self.fold.block(&mut self.fold_cache.marks)?;
            self.connection
                .prepare_cached("INSERT INTO folded (run_id, seq, made_by, block) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![self.run_id, (self.appended - 1).cast_signed(), block::made_by(), block])?;
            Ok(())
        };
        self.fold_cache.given_up = insert().is_err();
        self.fold_cache.events = self.appended;
    }
}

impl Store {
    /// The fold of a run, as far as it was cached, and `seq` of the last event that is in it. Where nothing was cached, or not by
    /// a program that did it in the same way, it is empty.
    pub fn cached_fold(&self, name: &str) -> Result<(Fold, Option<u64>), StoreError> {
        let name = self.find(name)?;
        let read = || -> rusqlite::Result<Option<(Fold, u64)>> {
            // One snapshot of everything.
            let snapshot = self.connection.unchecked_transaction()?;
            let run_id: Option<i64> = snapshot
                .query_row("SELECT id FROM run WHERE name = ?1", [&name], |row| row.get(0))
                .optional()?;
            let Some(run_id) = run_id else { return Ok(None) };
            let blocks = blocks(&snapshot, run_id)?;
            let Some((last, _)) = blocks.last() else { return Ok(None) };
            let mut fold = Fold::new();
            let whole = add_rare(&snapshot, run_id, *last, &mut fold)?;
            let blocks_of_run = blocks.iter().map(|(_, block)| block.as_slice());
            Ok((whole && fold.add_blocks(blocks_of_run).is_some()).then(|| (fold, last.unsigned_abs())))
        };
        let cached = read().map_err(|source| self.error("read", source))?;
        Ok(cached.map_or_else(|| (Fold::new(), None), |(fold, last)| (fold, Some(last))))
    }
}

/// The run's blocks with their last events' `seq`, where all of them are ours.
fn blocks(connection: &Connection, run_id: i64) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let room: bool = connection.query_row(
        "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'folded'",
        [],
        |row| row.get(0),
    )?;
    if !room {
        return Ok(Vec::new());
    }
    let ours = block::made_by();
    let mut statement =
        connection.prepare("SELECT seq, made_by, block FROM folded WHERE run_id = ?1 ORDER BY seq")?;
    let mut rows = statement.query([run_id])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? != ours {
            return Ok(Vec::new());
        }
        blocks.push((row.get(0)?, row.get(2)?));
    }
    Ok(blocks)
}

/// False where one of them is not understood: who reads all events will say what is the matter with it.
fn add_rare(connection: &Connection, run_id: i64, last: i64, fold: &mut Fold) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare(RARE)?;
    let mut rows = statement.query(params![run_id, last])?;
    while let Some(row) = rows.next()? {
        let (seq, at_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (kind, body) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
        let Ok(stamped) = Stamped::read(seq.unsigned_abs(), at_ms.unsigned_abs(), kind, body) else {
            return Ok(false);
        };
        fold.add(&stamped);
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
