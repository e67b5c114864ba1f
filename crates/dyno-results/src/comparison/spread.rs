//! How well a figure of one stage is known, from the seconds within it.
//!
//! Seconds resemble their neighbours, for a throughput as for a percentile. A throughput's interval is the report's own.
//! A percentile's is Woodruff's: the share of transactions above it varies from second to second; how well that share is
//! known (the seconds being clusters, their autocorrelation allowed for) says between which percentiles the true one
//! lies, and the merged histogram says what times these are.

use crate::document::Estimate;
use crate::event::{Interval, TypeInterval};
use crate::latency::Latency;
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

/// Times that occurred with their counts, ascending, nanoseconds.
type Counts = Vec<(u64, u64)>;

/// The latencies of a stage in blocks of equal length, as the report takes them: response time where there is one, else
/// service time, of what ended well, the drain included.
#[derive(Debug, Default)]
pub(super) struct LatencyBlocks {
    blocks: Vec<Counts>,
    /// Full intervals in each block, and in the last one.
    per_block: usize,
    in_last: usize,
    longest_ms: f64,
}

impl LatencyBlocks {
    pub(super) fn add(&mut self, interval: &Interval) {
        let counts = interval.types.iter().map(latency).fold(Counts::new(), |sum, latency| {
            if latency.is_empty() { sum } else { merged(&sum, &latency.buckets().collect::<Counts>()) }
        });
        self.longest_ms = self.longest_ms.max(interval.duration_ms);
        let full = !interval.drain && interval.duration_ms >= FULL_SHARE * self.longest_ms;
        match self.blocks.last_mut() {
            Some(last) if !full || self.in_last < self.per_block => {
                *last = merged(last, &counts);
                self.in_last += usize::from(full);
            }
            _ => {
                self.halve_where_full();
                self.blocks.push(counts);
                self.in_last = 1;
            }
        }
    }

    /// Makes room: blocks twice as long, half as many.
    fn halve_where_full(&mut self) {
        if self.blocks.len() >= BLOCKS_MAX {
            self.blocks = self.blocks.chunks(2).map(merged_all).collect();
            self.per_block *= 2;
        }
        self.per_block = self.per_block.max(1);
    }

    pub(super) fn spreads(mut self) -> LatencySpreads {
        // A last block that is not full is no block like the others.
        if self.blocks.len() > 1 && self.in_last < self.per_block {
            let last = self.blocks.pop().unwrap_or_default();
            if let Some(before) = self.blocks.last_mut() {
                *before = merged(before, &last);
            }
        }
        let all = Distribution::of(merged_all(&self.blocks));
        let spread = |share: f64| percentile_spread(&self.blocks, &all, share);
        LatencySpreads { p50: spread(0.5), p95: spread(0.95), p99: spread(0.99), p999: spread(0.999) }
    }
}

fn latency(of_type: &TypeInterval) -> &Latency {
    of_type.response.as_ref().unwrap_or(&of_type.service)
}

fn merged_all(all: &[Counts]) -> Counts {
    match all {
        [] => Counts::new(),
        [only] => only.clone(),
        _ => {
            let (left, right) = all.split_at(all.len() / 2);
            merged(&merged_all(left), &merged_all(right))
        }
    }
}

fn merged(left: &Counts, right: &Counts) -> Counts {
    let mut sum = Counts::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => {
                let next = (a.0, a.1 + b.1);
                left.next();
                right.next();
                Some(next)
            }
            (Some(a), Some(b)) if a.0 > b.0 => right.next().copied(),
            (Some(_), _) => left.next().copied(),
            (None, _) => right.next().copied(),
        };
        match next {
            Some(next) => sum.push(next),
            None => return sum,
        }
    }
}

/// Times with their counts, and how many lie at or under each.
struct Distribution {
    times: Vec<u64>,
    cumulative: Vec<u64>,
}

impl Distribution {
    fn of(counts: Counts) -> Self {
        let mut sum = 0;
        let (times, cumulative) = counts
            .into_iter()
            .map(|(time, count)| {
                sum += count;
                (time, sum)
            })
            .unzip();
        Self { times, cumulative }
    }

    fn total(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// The time at or under which this share lies; `None` from 1 on: what lies beyond was not seen.
    fn at(&self, share: f64) -> Option<f64> {
        if share >= 1.0 {
            return None;
        }
        let rank = ((share * self.total() as f64).ceil()).max(1.0) as u64;
        let index = self.cumulative.partition_point(|sum| *sum < rank);
        self.times.get(index).map(|time| *time as f64)
    }
}

fn percentile_spread(blocks: &[Counts], all: &Distribution, share: f64) -> Option<Spread> {
    let time = all.at(share)?;
    // Many transactions may have this very time, in the histogram's digits. The percentile may then be either edge of
    // them, and the one that is known less well counts.
    let above = scatter(blocks, |of| of as f64 > time)?;
    let from = scatter(blocks, |of| of as f64 >= time)?;
    let (margin, effective) = if above.0 > from.0 { above } else { from };
    let (lowest, highest) = (all.at((share - margin).max(0.0))?, all.at(share + margin)?);
    let degrees = degrees_of_freedom(blocks.len() as f64, effective);
    let t = student(degrees)?;
    Some(Spread { down: (time / lowest).ln() / t, up: (highest / time).ln() / t, degrees })
}

/// Half-width of the interval of the share of transactions with such times, and the effective number of blocks that it
/// rests on.
fn scatter(blocks: &[Counts], is_such: impl Fn(u64) -> bool) -> Option<(f64, f64)> {
    let counts: Vec<(f64, f64)> = blocks
        .iter()
        .map(|block| {
            let first = block.partition_point(|(time, _)| !is_such(*time));
            let sum = |part: &[(u64, u64)]| part.iter().map(|(_, count)| count).sum::<u64>() as f64;
            (sum(&block[first..]), sum(block))
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
