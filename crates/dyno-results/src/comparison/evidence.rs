//! What a run brings to a comparison: its report, and how well the percentiles of each of its stages are known.
//!
//! The report has no histogram, and without one nobody can say how much of a percentile is chance. So the evidence is
//! gathered from the run's events: a stage's histograms are kept while it goes by, and dropped when it has ended.

use std::collections::BTreeMap;

use super::spread::{LatencyBlocks, LatencySpreads};
use super::work;
use crate::document::{Report, StageResult};
use crate::event::{Event, StageKind, Stamped};
use crate::fold::Fold;
use crate::fold::seconds::Seconds;
use crate::judge::judge;

/// A run as a comparison takes it.
#[derive(Debug, Clone)]
pub struct Evidence {
    report: Report,
    spreads: BTreeMap<u32, LatencySpreads>,
}

impl Evidence {
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn stage(&self, id: u32) -> Option<&StageResult> {
        self.report.stage(id)
    }

    /// All unknown where the stage's histograms were not seen.
    pub(super) fn spreads(&self, stage: u32) -> LatencySpreads {
        self.spreads.get(&stage).copied().unwrap_or_default()
    }
}

/// A stage that has not ended.
#[derive(Debug)]
struct UnderWay {
    generators: u32,
    seconds: Seconds,
    blocks: LatencyBlocks,
}

/// Evidence in the making: takes the events of one run in their order.
#[derive(Debug, Default)]
pub struct Gathering {
    fold: Fold,
    under_way: BTreeMap<u32, UnderWay>,
    spreads: BTreeMap<u32, LatencySpreads>,
}

impl Gathering {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, stamped: &Stamped) {
        self.fold.add(stamped);
        match &stamped.event {
            Event::StageStarted(stage) if stage.kind != StageKind::WarmUp => {
                let (seconds, blocks) = (Seconds::default(), LatencyBlocks::default());
                self.under_way.insert(stage.id, UnderWay { generators: stage.generators, seconds, blocks });
            }
            Event::Interval(interval) => {
                if let Some(stage) = self.under_way.get_mut(&interval.stage) {
                    let closed = stage.seconds.add(stage.generators, interval);
                    closed.iter().for_each(|second| stage.blocks.add(&second.interval));
                }
            }
            Event::StageFinished(finished) => self.reduce(finished.stage),
            _ => {}
        }
    }

    /// The evidence, its findings those of this version's rules.
    pub fn finish(mut self) -> Evidence {
        let unfinished: Vec<u32> = self.under_way.keys().copied().collect();
        unfinished.into_iter().for_each(|stage| self.reduce(stage));
        let report = self.fold.report();
        let findings = judge(&report);
        let mut report = report.judged(findings);
        work::name(&mut report);
        Evidence { report, spreads: self.spreads }
    }

    fn reduce(&mut self, stage: u32) {
        if let Some(UnderWay { generators, mut seconds, mut blocks }) = self.under_way.remove(&stage) {
            seconds.rest(generators).for_each(|second| blocks.add(&second.interval));
            self.spreads.insert(stage, blocks.spreads());
        }
    }
}

#[cfg(test)]
#[path = "tests/evidence.rs"]
mod tests;
