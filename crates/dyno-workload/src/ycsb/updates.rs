//! The last updates of each client that were acknowledged, so that those that are lost behind a load are found. Each value
//! begins with a stamp that says which client wrote it, and how many it had begun before. No lock, no allocation but for a new client.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::table::LETTERS;

/// Acknowledged updates that are remembered of each client.
const LAST: usize = 64;
/// Letters of each of a stamp's three numbers, six bits each.
const NUMBER_LETTERS: [usize; 3] = [4, 6, 8];
/// Shorter fields have no stamp.
pub(super) const STAMP_LETTERS: usize = NUMBER_LETTERS[0] + NUMBER_LETTERS[1] + NUMBER_LETTERS[2];

/// A field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Cell {
    pub record: u64,
    pub field: u16,
}

/// What the beginning of a value says of the update that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    /// Tells runs apart.
    run: u64,
    writer: u64,
    number: u64,
}

impl Stamp {
    fn write(self, text: &mut [u8]) {
        let mut letters = text.iter_mut();
        for (mut number, count) in [self.run, self.writer, self.number].into_iter().zip(NUMBER_LETTERS) {
            for letter in letters.by_ref().take(count) {
                *letter = LETTERS[(number % 64) as usize];
                number /= 64;
            }
        }
    }

    /// `None` where a value has none.
    fn read(text: &[u8]) -> Option<Self> {
        let mut digits = text.iter().map(|letter| LETTERS.iter().position(|it| it == letter));
        let mut number = |count: usize| {
            (0..count).try_fold(0_u64, |sum, at| Some(sum | (digits.next()?? as u64) << (6 * at)))
        };
        let [run, writer, own] = NUMBER_LETTERS.map(&mut number);
        Some(Self { run: run?, writer: writer?, number: own? })
    }
}

/// The updates of all clients of a load.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Counts beginnings and ends of updates.
    clock: AtomicU64,
    writers: Mutex<Vec<Arc<Writer>>>,
}

/// What is known of the updates of one client.
#[derive(Debug)]
pub(super) struct Writer {
    run: u64,
    writer: u64,
    /// Updates that were begun.
    begun: AtomicU64,
    acknowledged: AtomicU64,
    /// Updates that were not: each may have been done, and also later.
    unsure: AtomicU64,
    /// As the numbers of updates.
    last: [[AtomicU64; 5]; LAST],
}

/// An update that is under way, or was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub(super) struct Update {
    cell: Cell,
    number: u64,
    begun: u64,
    ended: u64,
}

impl From<[u64; 5]> for Update {
    fn from([number, record, field, begun, ended]: [u64; 5]) -> Self {
        Self { cell: Cell { record, field: field as u16 }, number, begun, ended }
    }
}

impl From<Update> for [u64; 5] {
    fn from(Update { cell, number, begun, ended }: Update) -> Self {
        [number, cell.record, cell.field.into(), begun, ended]
    }
}

/// The last acknowledged updates of all clients, by their numbers as writers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LastUpdates(Vec<Known>);

/// The acknowledged updates of a client.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    run: u64,
    /// The last, the oldest first.
    last: Vec<Update>,
    /// Each of those that are not among them ended before them.
    is_sure: bool,
}

impl Updates {
    fn writers(&self) -> MutexGuard<'_, Vec<Arc<Writer>>> {
        // It is whole whoever panicked.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a client that will draw its random numbers by `seed`.
    pub(super) fn writer(&self, seed: u64) -> Arc<Writer> {
        let mut writers = self.writers();
        let writer = Arc::new(Writer {
            // As many bits as its letters hold.
            run: seed & ((1 << (6 * NUMBER_LETTERS[0])) - 1),
            writer: writers.len() as u64,
            begun: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            unsure: AtomicU64::new(0),
            last: std::array::from_fn(|_| Default::default()),
        });
        writers.push(Arc::clone(&writer));
        writer
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, AcqRel)
    }

    /// Stamps the value of an update that begins.
    pub(super) fn begin(&self, writer: &Writer, cell: Cell, value: &mut [u8]) -> Option<Update> {
        let stamp = value.get_mut(..STAMP_LETTERS)?;
        let number = writer.begun.fetch_add(1, Relaxed);
        Stamp { run: writer.run, writer: writer.writer, number }.write(stamp);
        Some(Update { cell, number, begun: self.now(), ended: 0 })
    }

    pub(super) fn end(&self, writer: &Writer, update: Update, well: bool) {
        if !well {
            writer.unsure.fetch_add(1, Relaxed);
            return;
        }
        let at = writer.acknowledged.fetch_add(1, Relaxed);
        let values = <[u64; 5]>::from(Update { ended: self.now(), ..update });
        let slot = &writer.last[at as usize % LAST];
        slot.iter().zip(values).for_each(|(number, value)| number.store(value, Relaxed));
    }

    /// What was acknowledged last. The clients must be gone.
    pub(super) fn last(&self) -> LastUpdates {
        LastUpdates(self.writers().iter().map(|writer| writer.known()).collect())
    }
}

impl LastUpdates {
    /// Where updates were acknowledged last, at most `most`, with when the last of each began.
    pub(super) fn sample(&self, most: usize) -> BTreeMap<Cell, u64> {
        let Self(known) = self;
        let mut begun: BTreeMap<Cell, u64> = BTreeMap::new();
        for update in known.iter().flat_map(|writer| &writer.last) {
            let last = begun.entry(update.cell).or_default();
            *last = update.begun.max(*last);
        }
        // As many of each client.
        let each = most / known.len().max(1) + 1;
        let wanted = known.iter().flat_map(|writer| writer.last.iter().rev().take(each));
        let wanted = wanted.filter_map(|update| Some((update.cell, *begun.get(&update.cell)?)));
        wanted.take(most).collect()
    }

    /// Whether a value cannot be there behind an acknowledged update of its field that began at `begun`: it was written, and
    /// that was acknowledged, before. What was begun but not acknowledged may be there.
    pub(super) fn is_lost(&self, cell: Cell, begun: u64, value: &[u8]) -> bool {
        let stamp = Stamp::read(value);
        let writer = stamp.and_then(|stamp| self.0.get(usize::try_from(stamp.writer).ok()?));
        let Some((stamp, known)) = stamp.zip(writer) else { return true };
        if stamp.run != known.run {
            return true;
        }
        match known.last.iter().find(|update| update.number == stamp.number) {
            Some(update) => update.cell != cell || update.ended < begun,
            // Before the first of those that are known, and so ended before that began.
            None => {
                let first = known.last.first();
                let before = first.filter(|first| stamp.number < first.number);
                known.is_sure && before.is_some_and(|first| first.begun <= begun)
            }
        }
    }
}

impl Writer {
    fn known(&self) -> Known {
        let count = self.acknowledged.load(Relaxed);
        let of = |at: u64| {
            let slot = &self.last[at as usize % LAST];
            slot.each_ref().map(|number| number.load(Relaxed)).into()
        };
        let last = (count.saturating_sub(LAST as u64)..count).map(of).collect();
        let is_sure = self.unsure.load(Relaxed) == 0;
        Known { run: self.run, last, is_sure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { record: 7, field: 2 };

    /// A value as an update of a client writes it, and the update.
    fn written(updates: &Updates, writer: &Writer, cell: Cell) -> (Vec<u8>, Update) {
        let mut value = vec![b'x'; 20];
        let update = updates.begin(writer, cell, &mut value).unwrap();
        (value, update)
    }

    fn done(updates: &Updates, writer: &Writer, cell: Cell) -> Vec<u8> {
        let (value, update) = written(updates, writer, cell);
        updates.end(writer, update, true);
        value
    }

    fn is_lost(updates: &Updates, value: &[u8]) -> bool {
        let last = updates.last();
        last.is_lost(CELL, last.sample(100)[&CELL], value)
    }

    #[test]
    fn stamps_are_read_as_they_were_written() {
        let stamp = Stamp { run: 0xab_cdef, writer: 70_000, number: (1 << 40) + 5 };
        let mut text = [0; STAMP_LETTERS];
        stamp.write(&mut text);
        assert_eq!(Stamp::read(&text), Some(stamp));
        assert_eq!(Stamp::read(&text[1..]), None);
        assert_eq!(Stamp::read(b"not a letter: . . . . . ."), None);
    }

    #[test]
    fn what_was_there_before_an_acknowledged_update_is_lost() {
        let updates = Updates::default();
        let [one, other] = [1, 1].map(|seed| updates.writer(seed));
        let first = done(&updates, &one, CELL);
        assert!(!is_lost(&updates, &first));
        let second = done(&updates, &one, CELL);
        assert!(is_lost(&updates, &first) && !is_lost(&updates, &second));
        let third = done(&updates, &other, CELL);
        assert!(is_lost(&updates, &second) && !is_lost(&updates, &third));
        // A value as it was loaded, another run's, and one of another field.
        assert!(is_lost(&updates, &[b'a'; 20]) && is_lost(&updates, b"short"));
        let elsewhere = Updates::default();
        assert!(is_lost(&updates, &done(&elsewhere, &elsewhere.writer(2), CELL)));
        assert!(is_lost(&updates, &done(&updates, &other, Cell { field: 3, ..CELL })));
    }

    #[test]
    fn of_updates_at_the_same_time_each_may_be_the_last() {
        let updates = Updates::default();
        let [one, other] = [1, 1].map(|seed| updates.writer(seed));
        let (first, begun_first) = written(&updates, &one, CELL);
        let second = done(&updates, &other, CELL);
        updates.end(&one, begun_first, true);
        assert!(!is_lost(&updates, &first) && !is_lost(&updates, &second));
    }

    #[test]
    fn an_update_of_unknown_outcome_may_be_there_and_may_not() {
        let updates = Updates::default();
        let writer = updates.writer(1);
        let acknowledged = done(&updates, &writer, CELL);
        let (unknown, update) = written(&updates, &writer, CELL);
        updates.end(&writer, update, false);
        assert!(!is_lost(&updates, &acknowledged) && !is_lost(&updates, &unknown));
        // It may also be done late, behind any number of others.
        (0..2 * LAST).for_each(|_| drop(done(&updates, &writer, CELL)));
        assert!(!is_lost(&updates, &unknown));
    }

    #[test]
    fn an_update_of_long_ago_is_known_to_be_older() {
        let updates = Updates::default();
        let [one, other] = [1, 1].map(|seed| updates.writer(seed));
        let old = done(&updates, &one, CELL);
        let before = done(&updates, &other, CELL);
        (0..LAST).for_each(|_| drop(done(&updates, &one, Cell { record: 8, field: 0 })));
        // When it ended is not known any more, but not that it was behind the other.
        assert!(!is_lost(&updates, &before));
        assert!(!is_lost(&updates, &old));
        let last = done(&updates, &other, CELL);
        assert!(is_lost(&updates, &old) && is_lost(&updates, &before) && !is_lost(&updates, &last));
    }
}
