//! How well a cost is known, and a share of errors, from the seconds of the one stage that they are of.
//!
//! Both are ratios of two sums: what was used, or what failed, over the transactions that ended. The seconds are looked at for
//! how far each is off the ratio of all, which is next to nothing where what is used follows the load, and much where it
//! comes in bursts, as a checkpoint's writes do. Seconds resemble their neighbours: that is allowed for as for a throughput.

use super::spread::Spread;
use crate::document::{Load, Metric, StageResult, Timeline};
use crate::statistics::throughput::{degrees_of_freedom, half_width, student};

/// Fewer failed transactions than this say no more than their number.
const FAILED_MIN: f64 = 10.0;
/// Of more seconds neighbours are put together: how long they resemble each other shows all the same, and sooner.
const BLOCKS_MAX: usize = 512;

/// How well a cost of a stage is known that is this metric divided by the throughput. `None` where that cannot be said.
pub(super) fn cost(timeline: &Timeline, stage: &StageResult, key: &str) -> Option<Spread> {
    let metric = metric(timeline, key)?;
    let rows = rows(&timeline.load, stage);
    let (from_s, to_s) = (stage.start_s, stage.start_s + stage.seconds);
    let points =
        metric.t_s.partition_point(|t_s| *t_s <= from_s)..metric.t_s.partition_point(|t_s| *t_s <= to_s);
    let pairs = points.filter_map(|point| {
        Some((metric.values[point]?, throughput_at(&timeline.load, rows.clone(), metric.t_s[point])?))
    });
    ratio(&pairs.collect::<Vec<_>>())
}

/// How well the share of a stage's transactions that failed is known. `None` where too few did.
pub(super) fn errors(timeline: &Timeline, stage: &StageResult) -> Option<Spread> {
    let load = &timeline.load;
    let pairs: Vec<(f64, f64)> = rows(load, stage)
        .filter(|row| load.stage[*row] == stage.stage.id)
        .map(|row| (load.failed_per_s[row], load.failed_per_s[row] + load.tps[row]))
        .collect();
    // What is in no second, as what ended in the drain or in the unknown, is not in these either.
    let told = stage.totals.failed as f64 >= FAILED_MIN && stage.totals.unknown_with_drain == 0;
    if told { ratio(&pairs) } else { None }
}

/// The one that a stage's resources show under this key: of the server's own host, or of the database.
fn metric<'a>(timeline: &'a Timeline, key: &str) -> Option<&'a Metric> {
    let of =
        |source: &str| timeline.metrics.iter().find(|metric| metric.key == key && metric.source == source);
    of("host").or_else(|| of("database"))
}

fn rows(load: &Load, stage: &StageResult) -> std::ops::Range<usize> {
    let end_s = stage.start_s + stage.seconds;
    load.t_s.partition_point(|t_s| *t_s < stage.start_s)..load.t_s.partition_point(|t_s| *t_s <= end_s)
}

/// Throughput at a time between the middles of two seconds.
fn throughput_at(load: &Load, rows: std::ops::Range<usize>, t_s: f64) -> Option<f64> {
    let (times, tps) = (load.t_s.get(rows.clone())?, load.tps.get(rows)?);
    let after = times.partition_point(|time| *time < t_s);
    Some(match (after.checked_sub(1), tps.get(after)) {
        (Some(before), Some(later)) => {
            let part = (t_s - times[before]) / (times[after] - times[before]);
            tps[before] + part * (later - tps[before])
        }
        (Some(before), None) => tps[before],
        (None, Some(later)) => *later,
        (None, None) => return None,
    })
}

/// The spread of the ratio of two sums (Cochran 1977, 6.4, with neighbours that resemble each other).
fn ratio(pairs: &[(f64, f64)]) -> Option<Spread> {
    let each = pairs.len().div_ceil(BLOCKS_MAX).max(1);
    let sum = |block: &[(f64, f64)]| {
        block.iter().fold((0.0, 0.0), |(used, done), pair| (used + pair.0, done + pair.1))
    };
    let blocks: Vec<(f64, f64)> = pairs.chunks_exact(each).map(sum).collect();
    let (used, done) = sum(&blocks);
    if used <= 0.0 || done <= 0.0 {
        return None;
    }
    let off: Vec<f64> = blocks.iter().map(|block| block.0 - used / done * block.1).collect();
    let (half_width, effective) = half_width(&off)?;
    let n = blocks.len() as f64;
    let degrees = degrees_of_freedom(n, effective);
    let error = half_width / student(degrees)? / (used / n);
    Some(Spread { down: error, up: error, degrees })
}

#[cfg(test)]
#[path = "tests/seconds.rs"]
mod tests;
