//! How a thread's measurements are handed over.
//!
//! Each thread fills a record of its own; at the interval's end the full record goes to the engine through a
//! channel and an emptied one comes back through another. The load path takes no lock and allocates nothing.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::record::{Record, Times};

/// A thread's end of the hand-over.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) current: Box<Record>,
    returned: Receiver<Box<Record>>,
    give_back: Sender<Box<Record>>,
    types: usize,
    times: Times,
}

impl Recorder {
    pub(crate) fn new(types: usize) -> Self {
        let (give_back, returned) = channel();
        // Two more than the one in use: the engine may be late by an interval.
        for _ in 0..2 {
            let _ = give_back.send(Record::new(types, Times::Closed));
        }
        let current = Record::new(types, Times::Closed);
        Self { current, returned, give_back, types, times: Times::Closed }
    }

    /// Begins a stage: there are histograms only of the times that it has.
    pub(crate) fn begin(&mut self, times: Times, start_ns: u64, end_ns: u64) {
        if self.times != times {
            self.times = times;
            while self.returned.try_recv().is_ok() {}
            for _ in 0..2 {
                let _ = self.give_back.send(Record::new(self.types, times));
            }
            self.current = Record::new(self.types, times);
        }
        self.current.clear();
        (self.current.index, self.current.start_ns, self.current.end_ns) = (0, start_ns, end_ns);
    }

    /// Takes the full record and begins the next, which ends at `end_ns`.
    pub(crate) fn rotate(&mut self, end_ns: u64) -> Box<Record> {
        let mut next = match self.returned.try_recv() {
            Ok(record) if record.times() == Some(self.times) => record,
            _ => Record::new(self.types, self.times),
        };
        next.clear();
        (next.index, next.start_ns, next.end_ns) = (self.current.index + 1, self.current.end_ns, end_ns);
        std::mem::replace(&mut self.current, next)
    }

    /// Where the engine puts records that it has read.
    pub(crate) fn give_back(&self) -> Sender<Box<Record>> {
        self.give_back.clone()
    }
}
