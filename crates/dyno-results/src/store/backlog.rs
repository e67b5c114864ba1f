//! Events that could not be written yet: kept until they can be, so that a moment without room on the disk costs nothing. Where
//! it lasts, seconds and readings are dropped, and how long that went on is told.

use std::ops::RangeInclusive;

use super::checksum::of_event;
use crate::event::{Event, Stamped};

/// Dropped is what would be kept beyond this: some thousand seconds of load.
pub(super) const BYTES_MAX: usize = 16 << 20;
/// Between two tries to write, as the events tell the time, milliseconds.
const RETRY_MS: u64 = 1000;

/// A row of the table of events.
#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    pub(super) kind: &'static str,
    pub(super) body: String,
    pub(super) checksum: i64,
}

impl EventRow {
    /// Blocks hold what the others say.
    pub(super) fn is_rare(&self) -> bool {
        !matches!(self.kind, "interval" | "sample")
    }
}

/// A stretch of a run of which some events are not in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub at_ms: RangeInclusive<u64>,
    /// Seconds of load and readings that are missing.
    pub events: u64,
}

/// Rows in their order.
#[derive(Debug)]
pub(super) struct Backlog {
    pub(super) rows: Vec<EventRow>,
    bytes: usize,
    pub(super) bytes_max: usize,
    gap: Option<Gap>,
    retry_at_ms: u64,
    /// `seq` of the row that was added last, -1 before the first.
    before: i64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self { rows: Vec::new(), bytes: 0, bytes_max: BYTES_MAX, gap: None, retry_at_ms: 0, before: -1 }
    }
}

impl Backlog {
    pub(super) fn add(&mut self, run: &str, stamped: &Stamped, body: String) {
        // Without the beginning of a stage its seconds would mean nothing.
        let may_drop = matches!(stamped.event, Event::Interval(_) | Event::Sample(_));
        if may_drop && !self.rows.is_empty() && self.bytes + body.len() > self.bytes_max {
            let known = self.gap.take();
            let from_ms = known.as_ref().map_or(stamped.at_ms, |gap| *gap.at_ms.start());
            let events = known.map_or(0, |gap| gap.events) + 1;
            self.gap = Some(Gap { at_ms: from_ms..=stamped.at_ms, events });
            return;
        }
        self.bytes += body.len();
        let (seq, at_ms, kind) = (stamped.seq, stamped.at_ms, stamped.event.kind());
        let texts = [kind, &body].map(str::as_bytes);
        let checksum = of_event(run, self.before, seq.cast_signed(), at_ms.cast_signed(), texts);
        self.before = seq.cast_signed();
        self.rows.push(EventRow { seq, at_ms, kind, body, checksum });
    }

    /// Whether it is time for another try.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        now_ms >= self.retry_at_ms
    }

    pub(super) fn failed(&mut self, now_ms: u64, waited_ms: u64) {
        // Who waits for a lock holds all events up meanwhile.
        self.retry_at_ms = now_ms + RETRY_MS.max(waited_ms * 10);
    }

    /// All of it is written.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.bytes = 0;
        self.retry_at_ms = 0;
    }

    /// What was dropped before the last time that all was written.
    pub(super) fn take_gap(&mut self) -> Option<Gap> {
        if self.rows.is_empty() { self.gap.take() } else { None }
    }

    pub(super) fn has_gap(&self) -> bool {
        self.gap.is_some()
    }
}
