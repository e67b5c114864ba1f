//! What a thread has measured and has to tell, and how it is handed over.
//!
//! Each thread fills a record of its own; at the interval's end the full record goes to the engine through a
//! channel and an emptied one comes back through another. The load path takes no lock. It allocates
//! nothing but the histograms, each when it gets times at more places than before.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::error::SessionError;
use crate::message::Report;
use crate::record::{ErrorCode, Record, Times};

/// A thread's end of the hand-over.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) current: Box<Record>,
    returned: Receiver<Box<Record>>,
    give_back: Sender<Box<Record>>,
    thread: u32,
    reports: Sender<(u32, Report)>,
    /// Errors of this stage that the engine was told of: by their code, or where they have none by their text.
    told: Vec<(ErrorCode, String)>,
}

impl Recorder {
    /// Of types with so many counts of the workload's own each.
    pub(crate) fn new(thread: u32, types: &[usize], reports: Sender<(u32, Report)>) -> Self {
        let (give_back, returned) = channel();
        // Two more than the one in use: the engine may be late by an interval.
        for _ in 0..2 {
            let _ = give_back.send(Record::new(types.iter().copied()));
        }
        let current = Record::new(types.iter().copied());
        Self { current, returned, give_back, thread, reports, told: Vec::new() }
    }

    /// Begins a stage whose transactions have these times.
    pub(crate) fn begin(&mut self, times: Times, start_ns: u64, end_ns: u64) {
        self.told.clear();
        self.current.begin(0, times, (start_ns, end_ns));
    }

    /// Hands the full record over and begins the next, which ends at `end_ns`.
    pub(crate) fn rotate(&mut self, end_ns: u64) {
        let fresh = |_| Record::new(self.current.types.iter().map(|of_type| of_type.own.len()));
        let mut next = self.returned.try_recv().unwrap_or_else(fresh);
        next.begin(self.current.index + 1, self.current.times, (self.current.end_ns, end_ns));
        let full = std::mem::replace(&mut self.current, next);
        self.report(Report::Record(full, self.give_back.clone()));
    }

    /// Tells the engine of the first error of each kind.
    pub(crate) fn tell(&mut self, error: SessionError) {
        let text = if error.server_error().is_some() { String::new() } else { error.to_string() };
        let kind = (ErrorCode::from(&error), text);
        if !self.told.contains(&kind) {
            self.told.push(kind);
            self.report(Report::Error(error));
        }
    }

    pub(crate) fn report(&self, what: Report) {
        // If the engine is gone, so will this thread be, at its next command.
        let _ = self.reports.send((self.thread, what));
    }
}
