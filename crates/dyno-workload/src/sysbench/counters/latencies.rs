//! sysbench's histogram: 1,024 buckets whose middles are evenly apart on a logarithmic scale from 0.001 to 100,000 ms.

use crate::single_writer::Count;

/// Buckets of the histogram.
pub const BUCKETS: usize = 1024;

/// The middles of the first and the last bucket.
const FIRST_MS: f64 = 1e-3;
const LAST_MS: f64 = 1e5;

/// From one bucket's middle to the next, as a difference of logarithms.
fn step() -> f64 {
    (LAST_MS / FIRST_MS).ln() / (BUCKETS - 1) as f64
}

/// The bucket that a latency falls into; what lies beyond the ends falls into the last at that end.
#[inline]
fn bucket(latency_ns: u64) -> usize {
    let ms = latency_ns as f64 * 1e-6;
    let place = (ms / FIRST_MS).ln() / step();
    // A latency of 0 has place -∞, which becomes 0 as well.
    ((place + 0.5) as usize).min(BUCKETS - 1)
}

/// What one load thread notes of latencies.
#[derive(Debug)]
pub(super) struct LatencyCells {
    buckets: Box<[Count; BUCKETS]>,
    sum_ns: Count,
    /// Of the events since `epoch` began.
    min_ns: Count,
    max_ns: Count,
    epoch: Count,
}

impl Default for LatencyCells {
    fn default() -> Self {
        let cells = Self {
            buckets: Box::new(std::array::from_fn(|_| Count::default())),
            sum_ns: Count::default(),
            min_ns: Count::default(),
            max_ns: Count::default(),
            epoch: Count::default(),
        };
        cells.min_ns.set(u64::MAX);
        cells
    }
}

impl LatencyCells {
    #[inline]
    pub(super) fn add(&self, latency_ns: u64, epoch: u32) {
        self.buckets[bucket(latency_ns)].add(1);
        self.sum_ns.add(latency_ns);
        if self.epoch.get() != u64::from(epoch) {
            self.epoch.set(u64::from(epoch));
            self.min_ns.set(latency_ns);
            self.max_ns.set(latency_ns);
        } else {
            if latency_ns < self.min_ns.get() {
                self.min_ns.set(latency_ns);
            }
            if latency_ns > self.max_ns.get() {
                self.max_ns.set(latency_ns);
            }
        }
    }

    pub(super) fn add_to(&self, sum: &mut Latencies, epoch: u32) {
        for (sum, count) in sum.buckets.iter_mut().zip(self.buckets.iter()) {
            *sum += count.get();
        }
        sum.sum_ns += self.sum_ns.get();
        if self.epoch.get() == u64::from(epoch) && self.min_ns.get() <= self.max_ns.get() {
            let (min, max) = (self.min_ns.get(), self.max_ns.get());
            sum.extremes_ns = Some(sum.extremes_ns.map_or((min, max), |(a, b)| (a.min(min), b.max(max))));
        }
    }
}

/// Latencies of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    buckets: Vec<u64>,
    pub sum_ns: u64,
    /// The shortest and the longest since [`Counters::restart_extremes`](super::Counters::restart_extremes); `None`
    /// where no event has ended since.
    pub extremes_ns: Option<(u64, u64)>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], sum_ns: 0, extremes_ns: None }
    }
}

impl Latencies {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The middle of a bucket, milliseconds.
    pub fn bucket_ms(bucket: usize) -> f64 {
        (bucket as f64 * step()).exp() * FIRST_MS
    }

    /// Counts by bucket; [`BUCKETS`] of them.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// The middle of the bucket that holds the given percentile, milliseconds; 0 where there are no latencies.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        // At least one: the 0th percentile is the shortest.
        let wanted = ((count as f64 * percent / 100.0 + 0.5) as u64).max(1);
        let mut seen = 0;
        let reached = self.buckets.iter().position(|bucket| {
            seen += bucket;
            seen >= wanted
        });
        Self::bucket_ms(reached.unwrap_or(BUCKETS - 1))
    }

    /// Those since `earlier`, an earlier reading of the same; the extremes stay.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let buckets = self.buckets.iter().zip(&earlier.buckets);
        Self {
            buckets: buckets.map(|(now, then)| now.saturating_sub(*then)).collect(),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
            extremes_ns: self.extremes_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_nearest_to_its_middle() {
        for at in [0, 1, 17, 511, 1022, 1023] {
            assert_eq!(bucket((Latencies::bucket_ms(at) * 1e6).round() as u64), at);
        }
        assert_eq!((bucket(0), bucket(1), bucket(u64::MAX)), (0, 0, BUCKETS - 1));
        assert!((Latencies::bucket_ms(0) - 1e-3).abs() < 1e-12);
        assert!((Latencies::bucket_ms(BUCKETS - 1) - 1e5).abs() < 1e-3);
    }

    #[test]
    fn percentiles_are_within_a_bucket_of_the_truth() {
        let cells = LatencyCells::default();
        for us in 1..=10_000_u64 {
            cells.add(us * 1000, 0);
        }
        let mut latencies = Latencies::default();
        cells.add_to(&mut latencies, 0);
        assert_eq!((latencies.count(), latencies.extremes_ns), (10_000, Some((1_000, 10_000_000))));
        for (percent, ms) in [(1.0, 0.1), (50.0, 5.0), (95.0, 9.5), (100.0, 10.0)] {
            let found = latencies.percentile_ms(percent);
            assert!((found / ms).ln().abs() <= step(), "{percent}: {found} instead of {ms}");
        }
        assert_eq!(Latencies::default().percentile_ms(95.0), 0.0);
    }

    #[test]
    fn extremes_begin_anew_with_an_epoch() {
        let cells = LatencyCells::default();
        cells.add(5, 0);
        cells.add(500, 0);
        let extremes = |epoch| {
            let mut latencies = Latencies::default();
            cells.add_to(&mut latencies, epoch);
            latencies.extremes_ns
        };
        assert_eq!((extremes(0), extremes(1)), (Some((5, 500)), None));
        cells.add(50, 1);
        assert_eq!(extremes(1), Some((50, 50)));
    }
}
