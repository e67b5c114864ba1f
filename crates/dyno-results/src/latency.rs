//! Latency histograms: HdrHistogram in nanoseconds, mergeable without loss across threads, intervals and
//! machines, and written as base64 of the V2 encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// Resolution below which two values are not told apart, nanoseconds.
const LOWEST_NS: u64 = 8;
/// The longest latency that is recorded as it is; a longer one counts as this (one hour).
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A histogram of times in nanoseconds, three significant digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty histogram. This allocates about 250 kB; recording afterwards allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        match Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3) {
            Ok(histogram) => Self(histogram),
            Err(error) => unreachable!("the bounds are constants and fit: {error}"),
        }
    }

    /// Records a time; above an hour it counts as an hour.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Records a time `count` times.
    pub fn record_n(&mut self, ns: u64, count: u64) {
        self.0.saturating_record_n(ns, count);
    }

    /// Adds all that `other` recorded.
    pub fn merge(&mut self, other: &Latency) {
        if !other.is_empty() && self.0.add(&other.0).is_err() {
            unreachable!("all latency histograms have the same bounds");
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.0.reset();
        }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value below or at which `percentile` (0 to 100) of all times lie, nanoseconds; `None` when empty.
    #[must_use]
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_percentile(percentile).min(self.0.max()))
    }

    /// Longest time, nanoseconds, to three digits; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.max())
    }

    /// Shortest time, nanoseconds, to three digits; `None` when empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.min())
    }

    /// Mean, nanoseconds; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.mean())
    }

    /// How many times were at or under `ns`.
    #[must_use]
    pub fn count_at_most(&self, ns: u64) -> u64 {
        if self.is_empty() { 0 } else { self.0.count_between(0, ns) }
    }

    /// The values that occurred with their counts, ascending, nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).map_err(ser::Error::custom)?;
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(de::Error::custom)?;
        let read: Histogram<u64> =
            HdrDeserializer::new().deserialize(&mut bytes.as_slice()).map_err(de::Error::custom)?;
        if (read.low(), read.high(), read.sigfig()) == (LOWEST_NS, HIGHEST_NS, 3) {
            return Ok(Self(read));
        }
        // Into bounds of our own, so that it merges with every other whoever wrote it.
        let mut latency = Latency::new();
        latency.0.add(&read).map_err(de::Error::custom)?;
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_known_values() {
        let mut latency = Latency::new();
        for us in 1..=1000 {
            latency.record(us * 1000);
        }
        let p50 = latency.percentile_ns(50.0).unwrap();
        assert!(p50.abs_diff(500_000) <= 500, "{p50}");
        assert_eq!(latency.count(), 1000);
        assert_eq!(latency.count_at_most(500_000), 500);
    }

    #[test]
    fn written_and_read_again_is_the_same() {
        let mut latency = Latency::new();
        for ns in [9, 100, 12_345, 1_000_000_007, HIGHEST_NS * 2] {
            latency.record(ns);
        }
        let text = serde_json::to_string(&latency).unwrap();
        assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        assert!(serde_json::from_str::<Latency>("\"AAAA\"").is_err());
    }

    #[test]
    fn empty_has_no_percentile() {
        assert_eq!(Latency::new().percentile_ns(99.0), None);
        assert_eq!(Latency::new().max_ns(), None);
    }
}
