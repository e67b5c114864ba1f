//! Thins curves to what a screen can show: at most so many points in a span of time, and every spike stays.
//!
//! Points are put into buckets of neighbours. A bucket becomes two points, at the times of its first and its last: of each
//! column its smallest and its greatest value, in the order in which they came. No bucket reaches over a gap, over a
//! value that is unknown, or from one stage into another, as long as there are fewer of these than there may be buckets.

use std::ops::Range;

use std::borrow::Cow;

use crate::document::{LoadColumns, Metric, Timeline};

/// A gap is a time between two points this many times as long as it usually is.
const GAP_STEPS: f64 = 2.5;
/// Times between points that are looked at to know how long one usually is.
const STEPS_LOOKED_AT: usize = 65;

/// A span of time, seconds since the run started, both ends within it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub from_s: f64,
    pub to_s: f64,
}

impl Span {
    /// All of it.
    pub const ALL: Self = Self { from_s: f64::NEG_INFINITY, to_s: f64::INFINITY };

    /// The points within it, and one more on each side, so that a curve reaches the edge of what is drawn.
    fn rows(self, t_s: &[f64]) -> Range<usize> {
        let begin = t_s.partition_point(|t_s| *t_s < self.from_s).saturating_sub(1);
        let end = (t_s.partition_point(|t_s| *t_s <= self.to_s) + 1).min(t_s.len());
        begin..end.max(begin)
    }
}

/// The timeline within the span, of at most `points` points (two at least) in each curve.
pub fn timeline(timeline: &Timeline<'_>, span: Span, points: usize) -> Timeline<'static> {
    Timeline {
        target: timeline.target.to_string().into(),
        stream: timeline.stream,
        load: Cow::Owned(load(&timeline.load, span, points)),
        metrics: timeline.metrics.iter().map(|of| metric(of, span, points)).collect(),
    }
}

/// The load within the span, of at most `points` rows (two at least).
pub fn load(load: &LoadColumns, span: Span, points: usize) -> LoadColumns {
    let rows = span.rows(&load.t_s);
    if rows.len() <= points {
        return load.rows(rows);
    }
    let gap_s = gap_s(&load.t_s[rows.clone()]);
    let buckets = buckets(rows, points, |row| {
        load.stage[row] != load.stage[row - 1] || load.t_s[row] - load.t_s[row - 1] > gap_s
    });
    let ends = |column: &[u32]| pairs(&buckets, |rows| [column[rows.start], column[rows.end - 1]]);
    let always = |column: &[f64]| {
        pairs(&buckets, |rows| extremes(rows, |row| Some(column[row])).map(Option::unwrap_or_default))
    };
    let known = |column: &[Option<f64>]| pairs(&buckets, |rows| extremes(rows, |row| column[row]));
    LoadColumns { t_s: times(&buckets, &load.t_s), ..load.map(always, ends, known) }
}

/// The metric within the span, of at most `points` points (two at least).
pub fn metric(metric: &Metric<'_>, span: Span, points: usize) -> Metric<'static> {
    let rows = span.rows(&metric.t_s);
    if rows.len() <= points {
        return metric.rows(rows);
    }
    let gap_s = gap_s(&metric.t_s[rows.clone()]);
    let buckets = buckets(rows, points, |row| {
        metric.values[row].is_none() != metric.values[row - 1].is_none()
            || metric.t_s[row] - metric.t_s[row - 1] > gap_s
    });
    Metric {
        t_s: times(&buckets, &metric.t_s).into(),
        values: pairs(&buckets, |rows| extremes(rows, |row| metric.values[row])).into(),
        ..metric.rows(0..0)
    }
}

/// What is a gap among these times, seconds: the median of their steps, some of which are looked at, times a factor.
fn gap_s(t_s: &[f64]) -> f64 {
    let stride = (t_s.len() / STEPS_LOOKED_AT).max(1);
    let mut steps: Vec<f64> = (1..t_s.len()).step_by(stride).map(|row| t_s[row] - t_s[row - 1]).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).map_or(f64::INFINITY, |step_s| step_s * GAP_STEPS)
}

/// Cuts rows into buckets that together become at most `points` points. `breaks` says of a row that it belongs to no bucket
/// with the row before.
fn buckets(rows: Range<usize>, points: usize, breaks: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let buckets_max = (points / 2).max(1);
    let mut segments: Vec<Range<usize>> = Vec::new();
    let mut begin = rows.start;
    for row in rows.start + 1..rows.end {
        if breaks(row) {
            segments.push(begin..row);
            begin = row;
        }
    }
    segments.push(begin..rows.end);
    if segments.len() > buckets_max {
        segments = vec![rows.clone()];
    }
    // Every segment may end in a bucket that is not full. With that many set aside, the others fit however they are cut.
    let full_max = buckets_max - segments.len();
    let size = if full_max == 0 { usize::MAX } else { rows.len().div_ceil(full_max) };
    let mut buckets = Vec::with_capacity(buckets_max);
    for segment in segments {
        let mut begin = segment.start;
        while begin < segment.end {
            let end = begin.saturating_add(size).min(segment.end);
            buckets.push(begin..end);
            begin = end;
        }
    }
    buckets
}

fn times(buckets: &[Range<usize>], t_s: &[f64]) -> Vec<f64> {
    pairs(buckets, |rows| [t_s[rows.start], t_s[rows.end - 1]])
}

/// What a bucket becomes: two values, or one where it has one row.
fn pairs<T: Copy>(buckets: &[Range<usize>], of: impl Fn(Range<usize>) -> [T; 2]) -> Vec<T> {
    let mut values = Vec::with_capacity(buckets.len() * 2);
    for rows in buckets {
        let pair = of(rows.clone());
        values.extend_from_slice(if rows.len() == 1 { &pair[..1] } else { &pair });
    }
    values
}

/// The smallest and the greatest value in the order in which they came; twice `None` where none is known.
fn extremes(rows: Range<usize>, value: impl Fn(usize) -> Option<f64>) -> [Option<f64>; 2] {
    let mut known = rows.filter_map(|row| Some((row, value(row)?)));
    let Some(first) = known.next() else { return [None, None] };
    let (mut least, mut greatest) = (first, first);
    for (row, value) in known {
        if value < least.1 {
            least = (row, value);
        }
        if value > greatest.1 {
            greatest = (row, value);
        }
    }
    let [earlier, later] = if least.0 <= greatest.0 { [least, greatest] } else { [greatest, least] };
    [Some(earlier.1), Some(later.1)]
}

#[cfg(test)]
mod tests;
