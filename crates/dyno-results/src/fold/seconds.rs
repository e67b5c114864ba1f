//! Brings the intervals of one second together that several generators have of a stage.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::event::Interval;

/// So many seconds wait for each other: a generator that is gone sends nothing more.
const OPEN_MAX: usize = 5;

/// Seconds of a stage of which some generators have not told yet.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// By whether it is of the drain, and by index.
    open: BTreeMap<(bool, u32), Vec<Interval>>,
}

/// A second of a stage, all generators together.
#[derive(Debug)]
pub(crate) struct Second<'a> {
    pub(crate) interval: Cow<'a, Interval>,
    /// False where a generator has not told of it: then nobody knows its rate. All that drain need not have something to tell.
    pub(crate) whole: bool,
}

impl Seconds {
    /// The seconds that this interval of a stage of so many generators closes, in their order.
    pub(crate) fn add<'a>(&mut self, generators: u32, interval: &'a Interval) -> Vec<Second<'a>> {
        if generators <= 1 {
            return vec![Second { interval: Cow::Borrowed(interval), whole: true }];
        }
        self.open.entry((interval.drain, interval.index)).or_default().push(interval.clone());
        let mut closed = Vec::new();
        while let Some((_, parts)) = self.open.first_key_value()
            && (parts.len() >= generators as usize || self.open.len() > OPEN_MAX)
        {
            closed.extend(self.next(generators));
        }
        closed
    }

    /// The seconds that were left open, when the stage has ended.
    pub(crate) fn rest(&mut self, generators: u32) -> impl Iterator<Item = Second<'static>> {
        std::iter::from_fn(move || self.next(generators))
    }

    /// The intervals of these seconds.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Interval> {
        self.open.values().flatten()
    }

    fn next(&mut self, generators: u32) -> Option<Second<'static>> {
        let ((drain, _), mut parts) = self.open.pop_first()?;
        let whole = drain || parts.len() >= generators as usize;
        // Their driver threads stand in this order in each second.
        parts.sort_by_key(|part| part.generator);
        let interval = parts.into_iter().reduce(|mut all, part| {
            all.add(&part);
            all
        })?;
        Some(Second { interval: Cow::Owned(interval), whole })
    }
}
