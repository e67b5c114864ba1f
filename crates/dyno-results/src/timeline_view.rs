//! A target's timeline as it lies in memory: looked at, cut and thinned without copying what is not wanted. Of a run of a
//! day the columns are hundreds of megabytes.

use std::borrow::Cow;
use std::ops::Range;

use crate::document::{LoadColumns, Metric, PoolLoad, Timeline};

/// [`Timeline`] with its columns borrowed.
#[derive(Debug, Clone)]
pub struct TimelineView<'a> {
    pub target: &'a str,
    pub stream: u32,
    pub load: Cow<'a, LoadColumns>,
    pub metrics: Vec<MetricView<'a>>,
}

/// [`Metric`] with its columns borrowed.
#[derive(Debug, Clone, Copy)]
pub struct MetricView<'a> {
    pub source: &'a str,
    pub key: &'a str,
    pub unit: &'a str,
    pub t_s: &'a [f64],
    pub values: &'a [Option<f64>],
}

impl<'a> TimelineView<'a> {
    #[must_use]
    pub fn of(timeline: &'a Timeline) -> Self {
        let metrics = timeline.metrics.iter().map(|metric| MetricView {
            source: &metric.source,
            key: &metric.key,
            unit: &metric.unit,
            t_s: &metric.t_s,
            values: &metric.values,
        });
        Self {
            target: &timeline.target,
            stream: timeline.stream,
            load: Cow::Borrowed(&timeline.load),
            metrics: metrics.collect(),
        }
    }

    /// A copy of all of it.
    #[must_use]
    pub fn to_timeline(&self) -> Timeline {
        Timeline {
            target: self.target.to_owned(),
            stream: self.stream,
            load: self.load.clone().into_owned(),
            metrics: self.metrics.iter().map(|metric| metric.to_metric(0..metric.t_s.len())).collect(),
        }
    }
}

impl MetricView<'_> {
    /// A copy of these points.
    #[must_use]
    pub fn to_metric(&self, rows: Range<usize>) -> Metric {
        Metric {
            source: self.source.to_owned(),
            key: self.key.to_owned(),
            unit: self.unit.to_owned(),
            t_s: self.t_s[rows.clone()].to_vec(),
            values: self.values[rows].to_vec(),
        }
    }
}

impl LoadColumns {
    /// A copy of these rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> LoadColumns {
        self.map(
            |t_s| t_s[rows.clone()].to_vec(),
            |counts| counts[rows.clone()].to_vec(),
            |values| values[rows.clone()].to_vec(),
        )
    }

    /// The columns that these make of the times and rates, of the counts, and of what may be unknown.
    pub(crate) fn map(
        &self,
        always: impl Fn(&[f64]) -> Vec<f64>,
        counts: impl Fn(&[u32]) -> Vec<u32>,
        known: impl Fn(&[Option<f64>]) -> Vec<Option<f64>>,
    ) -> LoadColumns {
        LoadColumns {
            t_s: always(&self.t_s),
            stage: counts(&self.stage),
            clients: counts(&self.clients),
            tps: always(&self.tps),
            failed_per_s: always(&self.failed_per_s),
            p50_us: known(&self.p50_us),
            p90_us: known(&self.p90_us),
            p95_us: known(&self.p95_us),
            p99_us: known(&self.p99_us),
            p999_us: known(&self.p999_us),
            max_us: known(&self.max_us),
            pool: self.pool.as_ref().map(|pool| PoolLoad {
                in_use: known(&pool.in_use),
                idle: known(&pool.idle),
                waiting: known(&pool.waiting),
                wait_p99_us: known(&pool.wait_p99_us),
            }),
        }
    }
}
