//! How well a figure of one stage is known, from the seconds within it.
//!
//! Seconds resemble their neighbours, for a throughput as for a percentile. A throughput's interval is the report's own.
//! A percentile's is Woodruff's: the share of transactions above it varies from second to second; how well that share is
//! known (the seconds being clusters, their autocorrelation allowed for) says between which percentiles the true one
//! lies, and the merged histogram says what times these are.

use std::borrow::Cow;

use crate::document::Estimate;
use crate::event::Interval;
use crate::latency::{self, Latency, add_to};
use crate::statistics::repeats::error_of_median;
use crate::statistics::throughput::{degrees_of_freedom, half_width, student};

/// Blocks that are kept of a stage; a longer one has blocks of two seconds, of four, ….
const BLOCKS_MAX: usize = 256;
/// An interval shorter than this share of the longest belongs to the block before it.
const FULL_SHARE: f64 = 0.5;

/// Standard error of a figure's logarithm, downwards and upwards, with the degrees of freedom that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) down: f64,
    pub(super) up: f64,
    pub(super) degrees: f64,
}

impl Spread {
    /// Of a mean with its interval; `None` where it has none, or nothing ended.
    pub(super) fn of_estimate(estimate: &Estimate) -> Option<Self> {
        let (half_width, effective) = (estimate.half_width?, estimate.effective_samples?);
        if estimate.mean <= 0.0 {
            return None;
        }
        let degrees = degrees_of_freedom(f64::from(estimate.samples), effective);
        // Half of what lies between its ends is then the estimate's half-width: what the report says, and this, are one.
        let error = (half_width / estimate.mean).asinh() / student(degrees)?;
        Some(Self { down: error, up: error, degrees })
    }

    /// Of the median of repeats.
    pub(super) fn of_repeats(values: &[f64]) -> Self {
        let error = error_of_median(values);
        Self { down: error, up: error, degrees: values.len() as f64 - 1.0 }
    }
}

/// How well the percentiles of a stage are known; `None` where too little ended to say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LatencySpreads {
    pub(super) p50: Option<Spread>,
    pub(super) p95: Option<Spread>,
    pub(super) p99: Option<Spread>,
    pub(super) p999: Option<Spread>,
}

/// The latencies of a stage in blocks of equal length, as the report takes them: response time where there is one, else
/// service time, of what ended well, the drain included.
#[derive(Debug, Default)]
pub(super) struct LatencyBlocks {
    /// `None` where nothing ended.
    blocks: Vec<Option<Latency>>,
    /// Full intervals in each block, and in the last one.
    per_block: usize,
    in_last: usize,
    longest_ns: u64,
}

impl LatencyBlocks {
    pub(super) fn add(&mut self, interval: &Interval) {
        let times = interval.latency();
        self.longest_ns = self.longest_ns.max(interval.duration_ns);
        let full = !interval.drain && interval.duration_ns as f64 >= FULL_SHARE * self.longest_ns as f64;
        match self.blocks.last_mut() {
            Some(last) if !full || self.in_last < self.per_block => {
                add_to(last, times.as_deref());
                self.in_last += usize::from(full);
            }
            _ => {
                self.halve_where_full();
                let mut block = times.map(Cow::into_owned);
                // What is kept long needs no room for times that did not occur.
                block.iter_mut().for_each(Latency::shrink);
                self.blocks.push(block);
                self.in_last = 1;
            }
        }
    }

    /// Makes room: blocks twice as long, half as many.
    fn halve_where_full(&mut self) {
        if self.blocks.len() >= BLOCKS_MAX {
            self.blocks = self
                .blocks
                .chunks(2)
                .map(|two| Some(latency::sum(two.iter().flatten())?.into_owned()))
                .collect();
            self.per_block *= 2;
        }
        self.per_block = self.per_block.max(1);
    }

    pub(super) fn spreads(mut self) -> LatencySpreads {
        // A last block that is not full is no block like the others.
        if self.blocks.len() > 1 && self.in_last < self.per_block {
            let last = self.blocks.pop().unwrap_or_default();
            if let Some(before) = self.blocks.last_mut() {
                add_to(before, last.as_ref());
            }
        }
        let Some(all) = latency::sum(self.blocks.iter().flatten()) else { return LatencySpreads::default() };
        let spread = |share: f64| percentile_spread(&self.blocks, &all, share);
        LatencySpreads { p50: spread(0.5), p95: spread(0.95), p99: spread(0.99), p999: spread(0.999) }
    }
}

/// The time at or under which this share lies, nanoseconds; `None` from 1 on: what lies beyond was not seen.
fn time_at(all: &Latency, share: f64) -> Option<f64> {
    // A share of nothing is the lowest time that occurred.
    let percentile = (share < 1.0).then_some(share.max(f64::EPSILON) * 100.0)?;
    Some(all.percentile_ns(percentile)?.max(1) as f64)
}

fn percentile_spread(blocks: &[Option<Latency>], all: &Latency, share: f64) -> Option<Spread> {
    let time = time_at(all, share)?;
    // Many transactions may have this very time, in the histogram's digits. The percentile may then be either edge of
    // them, and the one that is known less well counts.
    let above = scatter(blocks, |of| of as f64 > time)?;
    let from = scatter(blocks, |of| of as f64 >= time)?;
    let (margin, effective) = if above.0 > from.0 { above } else { from };
    let (lowest, highest) = (time_at(all, share - margin)?, time_at(all, share + margin)?);
    let degrees = degrees_of_freedom(blocks.len() as f64, effective);
    let t = student(degrees)?;
    Some(Spread { down: (time / lowest).ln() / t, up: (highest / time).ln() / t, degrees })
}

/// Half-width of the interval of the share of transactions with such times, and the effective number of blocks that it
/// rests on.
fn scatter(blocks: &[Option<Latency>], is_such: impl Fn(u64) -> bool) -> Option<(f64, f64)> {
    let counts: Vec<(f64, f64)> = blocks
        .iter()
        .map(|block| {
            let such = block.iter().flat_map(Latency::buckets).filter(|(time, _)| is_such(*time));
            (
                such.map(|(_, count)| count).sum::<u64>() as f64,
                block.as_ref().map_or(0, Latency::count) as f64,
            )
        })
        .collect();
    let total: f64 = counts.iter().map(|(_, of)| of).sum();
    let share = counts.iter().map(|(such, _)| such).sum::<f64>() / total;
    // What a block has beyond its part: the sum of it is nothing, its scatter is the share's.
    let beyond: Vec<f64> = counts.iter().map(|(such, of)| such - share * of).collect();
    let (half_width, effective) = half_width(&beyond)?;
    Some((half_width / (total / blocks.len() as f64), effective))
}

#[cfg(test)]
#[path = "tests/spread.rs"]
mod tests;
