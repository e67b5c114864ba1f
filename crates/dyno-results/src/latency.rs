//! Latency histograms: HdrHistogram in nanoseconds, mergeable without loss across threads, intervals and
//! machines, and written as base64 of the V2 encoding.

mod sparse;

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2Serializer};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use self::sparse::Sparse;

/// Resolution below which two values are not told apart, nanoseconds.
const LOWEST_NS: u64 = 8;
/// The longest latency that there is room for from the beginning (one hour): transactions are shorter.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// The longest that is recorded as it is; a longer one counts as this (one day). The first beyond an hour makes the room.
const LONGEST_NS: u64 = 24 * HIGHEST_NS;

/// Times from which on a histogram that is cleared keeps its memory: with fewer, it hardly needs that of all places again.
const KEPT_MIN: u64 = 33;

/// With more places than this that hold something, all of them are kept: then adding is faster.
const PLACES_READ_MAX: usize = 2048;

/// What cannot be told from no time at all is none: a wait that never was would else be some nanoseconds long once it is
/// read back.
fn told_apart(ns: u64) -> u64 {
    if ns < LOWEST_NS { 0 } else { ns }
}

/// A histogram of times in nanoseconds, three significant digits.
#[derive(Debug, Clone)]
pub struct Latency(Counts);

#[derive(Debug, Clone)]
enum Counts {
    /// All places, a quarter of a megabyte: what is recorded into, and what others are added to.
    All(Histogram<u64>),
    /// Only the places that hold something: of few times, and as it was read, with others that were added.
    Read(Sparse),
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty histogram, which takes no memory. Few times that are recorded take half a kilobyte; with times at more than 32
    /// places it allocates about 250 kB once, and nothing behind them.
    #[must_use]
    pub fn new() -> Self {
        Self(Counts::Read(Sparse::default()))
    }

    /// Records a time; above a day it counts as a day.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Records a time `count` times.
    #[inline]
    pub fn record_n(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        // Memory for all places takes more time than many a query.
        let is_recorded = match &mut self.0 {
            Counts::All(_) => false,
            Counts::Read(few) => few.record(ns.min(LONGEST_NS), count),
        };
        if !is_recorded {
            add(self.all(), ns, count);
        }
    }

    /// Adds all that `other` recorded.
    pub fn merge(&mut self, other: &Latency) {
        match (&mut self.0, &other.0) {
            (_, Counts::All(other)) => {
                if !other.is_empty() && self.all().add(other).is_err() {
                    unreachable!("all latency histograms have the same bounds");
                }
            }
            (Counts::Read(sum), Counts::Read(other)) if sum.places() + other.places() <= PLACES_READ_MAX => {
                sum.add(other);
            }
            (_, Counts::Read(other)) => {
                let all = self.all();
                other.buckets().for_each(|(ns, count)| add(all, ns, count));
            }
        }
    }

    /// Forgets everything. The memory is kept if at least [`KEPT_MIN`] times were recorded: a set of queries has hundreds of
    /// histograms for each client, of which few are recorded into in a second, and few times.
    pub fn clear(&mut self) {
        match &mut self.0 {
            Counts::All(all) if all.len() >= KEPT_MIN => all.reset(),
            Counts::All(_) => *self = Self::new(),
            Counts::Read(few) => few.clear(),
        }
    }

    /// Gives back the memory of all places that hold nothing: for what is kept long and looked at seldom.
    pub fn shrink(&mut self) {
        if let Counts::All(all) = &self.0 {
            self.0 = Counts::Read(Sparse::of(all));
        }
    }

    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::All(all) => all.len(),
            Counts::Read(read) => read.count(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The value below or at which `percentile` (0 to 100) of all times lie, nanoseconds; `None` when empty.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let of_place = || match &self.0 {
            Counts::All(all) => all.value_at_percentile(percentile).min(all.max()),
            Counts::Read(read) => read.percentile(percentile),
        };
        (!self.is_empty()).then(of_place).map(told_apart)
    }

    /// The same in microseconds.
    pub fn percentile_us(&self, percentile: f64) -> Option<f64> {
        Some(self.percentile_ns(percentile)? as f64 / 1e3)
    }

    /// Longest time, nanoseconds, to three digits; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        let of_place = || match &self.0 {
            Counts::All(all) => all.max(),
            Counts::Read(read) => read.max(),
        };
        (!self.is_empty()).then(of_place).map(told_apart)
    }

    /// Mean, nanoseconds; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| match &self.0 {
            Counts::All(all) => all.mean(),
            Counts::Read(read) => read.mean(),
        })
    }

    /// How many times were at or under `ns`.
    pub fn count_at_most(&self, ns: u64) -> u64 {
        match &self.0 {
            Counts::All(all) if all.is_empty() => 0,
            Counts::All(all) => all.count_between(0, ns),
            Counts::Read(read) => read.count_at_most(ns),
        }
    }

    /// The values that occurred with their counts, ascending, nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (all, read) = match &self.0 {
            Counts::All(all) => (Some(all), None),
            Counts::Read(read) => (None, Some(read)),
        };
        let all = all.into_iter().flat_map(|all| {
            all.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
        });
        all.chain(read.into_iter().flat_map(Sparse::buckets))
    }

    /// As something that can be recorded into.
    #[inline]
    fn all(&mut self) -> &mut Histogram<u64> {
        if let Counts::Read(read) = &self.0 {
            self.0 = Counts::All(unfolded(read));
        }
        match &mut self.0 {
            Counts::All(all) => all,
            Counts::Read(_) => unreachable!("it was made one with all places just now"),
        }
    }
}

/// Adds to a sum, which is `None` until something was recorded: a histogram is a quarter of a megabyte.
pub fn add_to(sum: &mut Option<Latency>, part: Option<&Latency>) {
    match (sum.as_mut(), part.filter(|part| !part.is_empty())) {
        (_, None) => {}
        (Some(sum), Some(part)) => sum.merge(part),
        (None, Some(part)) => *sum = Some(part.clone()),
    }
}

/// The sum of those that hold something; `None` where none does.
pub fn sum<'a>(parts: impl Iterator<Item = &'a Latency>) -> Option<Cow<'a, Latency>> {
    let mut parts = parts.filter(|part| !part.is_empty());
    let mut sum = Cow::Borrowed(parts.next()?);
    parts.for_each(|part| sum.to_mut().merge(part));
    Some(sum)
}

#[inline]
fn add(all: &mut Histogram<u64>, ns: u64, count: u64) {
    if all.record_n(ns.min(LONGEST_NS), count).is_err() {
        unreachable!("it grows up to the longest time");
    }
}

fn empty() -> Histogram<u64> {
    match Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3) {
        Ok(mut histogram) => {
            histogram.auto(true);
            histogram
        }
        Err(error) => unreachable!("the bounds are constants and fit: {error}"),
    }
}

#[cold]
fn unfolded(read: &Sparse) -> Histogram<u64> {
    let mut all = empty();
    read.buckets().for_each(|(ns, count)| add(&mut all, ns, count));
    all
}

/// Equal is what recorded the same, however it is kept.
impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        let written = match &self.0 {
            Counts::All(all) => V2Serializer::new().serialize(all, &mut bytes),
            Counts::Read(read) => V2Serializer::new().serialize(&unfolded(read), &mut bytes),
        };
        written.map_err(ser::Error::custom)?;
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Base64)
    }
}

/// Takes the text where it stands: a day's events have hundreds of megabytes of it.
struct Base64;

impl Visitor<'_> for Base64 {
    type Value = Latency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a histogram in base64")
    }

    /// Earlier events have `null` where nothing was recorded.
    fn visit_unit<E: de::Error>(self) -> Result<Latency, E> {
        Ok(Latency::new())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Latency, E> {
        let bytes = STANDARD_NO_PAD.decode(text).map_err(E::custom)?;
        if let Some(read) = Sparse::read(&bytes) {
            return Ok(Latency(Counts::Read(read)));
        }
        if !sparse::is_whole(&bytes) {
            return Err(E::custom("not a histogram in the V2 format, or a part of one"));
        }
        let read: Histogram<u64> =
            HdrDeserializer::new().deserialize(&mut bytes.as_slice()).map_err(E::custom)?;
        // Into bounds of our own, so that it merges with every other whoever wrote it.
        let mut all = empty();
        all.add(&read).map_err(E::custom)?;
        Ok(Latency(Counts::All(all)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As it comes out of a store, with only the places that hold something.
    fn read_again(latency: &Latency) -> Latency {
        let read = serde_json::from_str(&serde_json::to_string(latency).unwrap()).unwrap();
        assert!(matches!(read, Latency(Counts::Read(_))));
        read
    }

    #[test]
    fn a_histogram_that_holds_nothing_takes_no_memory() {
        let takes_none = |latency: &Latency| matches!(&latency.0, Counts::Read(read) if read.places() == 0);
        let mut latency = Latency::new();
        assert!(takes_none(&latency));
        latency.merge(&Latency::new());
        latency.clear();
        assert!(takes_none(&latency));
        for (times, keeps) in [(1, false), (32, false), (KEPT_MIN - 1, false), (KEPT_MIN, true), (640, true)]
        {
            let mut all = Latency(Counts::All(empty()));
            for at in 0..times {
                let ns = 7 * (at + 1).pow(4);
                latency.record(ns);
                add(all.all(), ns, 1);
                assert_eq!(
                    (latency.percentile_ns(50.0), latency.mean_ns()),
                    (all.percentile_ns(50.0), all.mean_ns())
                );
            }
            let is_small = matches!(&latency.0, Counts::Read(few) if few.places() <= 32);
            assert_eq!((is_small, &latency), (times <= 32, &all), "{times}");
            latency.clear();
            assert_eq!((latency.count(), takes_none(&latency)), (0, !keeps), "{times}");
            assert_eq!((latency.percentile_ns(0.5), &latency), (None, &Latency::new()));
        }
    }

    #[test]
    fn what_is_recorded_no_time_holds_nothing() {
        let (mut latency, mut other) = (Latency::new(), Latency::new());
        [&mut latency, &mut other].into_iter().for_each(|it| it.record(1_000));
        latency.record_n(5_000, 0);
        let written = |latency: &Latency| serde_json::to_string(latency).unwrap();
        assert_eq!(written(&latency), written(&other));
        assert_eq!(latency.buckets().count(), 1);
    }

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
        assert_eq!(read_again(&latency), latency);
        assert_eq!(serde_json::to_string(&read_again(&latency)).unwrap(), text);
        assert!(serde_json::from_str::<Latency>("\"AAAA\"").is_err());
        let mut none = Latency::new();
        none.record(0);
        assert_eq!((read_again(&none).max_ns(), read_again(&none).percentile_ns(50.0)), (Some(0), Some(0)));
        let (half, _) = text.split_at(text.len() / 2 - text.len() / 2 % 4 + 1);
        assert!(serde_json::from_str::<Latency>(&format!("{half}\"")).is_err(), "cut off");
        // The header of another layout, and a length for which HdrHistogram would take four gigabytes.
        let mut longer = STANDARD_NO_PAD.decode(text.trim_matches('"')).unwrap();
        longer[4..16].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 2]);
        let longer = format!("\"{}\"", STANDARD_NO_PAD.encode(longer));
        let error = serde_json::from_str::<Latency>(&longer).unwrap_err().to_string();
        assert!(error.contains("a part of one"), "{error}");
    }

    #[test]
    fn a_query_of_a_day_is_recorded_as_it_is_and_a_longer_one_as_a_day() {
        let hours = |latency: &Latency| latency.max_ns().unwrap() as f64 / HIGHEST_NS as f64;
        let mut long = Latency::new();
        long.record(20 * HIGHEST_NS);
        assert!((hours(&long) - 20.0).abs() < 0.02, "{}", hours(&long));
        let mut sum = Latency::new();
        sum.record(1000);
        for other in [long.clone(), read_again(&long)] {
            sum.merge(&other);
            assert!((hours(&sum) - 20.0).abs() < 0.02);
        }
        sum.shrink();
        assert_eq!((sum.count(), sum.count_at_most(HIGHEST_NS)), (3, 1));
        assert_eq!(read_again(&sum), sum);
        sum.record(u64::MAX);
        assert!((hours(&sum) - 24.0).abs() < 0.02);
    }

    #[test]
    fn a_histogram_of_other_bounds_is_read_into_ours() {
        let mut other = Histogram::<u64>::new_with_bounds(1, 60_000_000, 2).unwrap();
        other.record_n(1_000_000, 5).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&other, &mut bytes).unwrap();
        let text = format!("\"{}\"", STANDARD_NO_PAD.encode(bytes));
        let mut read: Latency = serde_json::from_str(&text).unwrap();
        read.merge(&Latency::new());
        assert_eq!(read.count(), 5);
        assert!(read.max_ns().unwrap().abs_diff(1_000_000) < 10_000);
    }

    #[test]
    fn empty_has_no_percentile() {
        for empty in [Latency::new(), read_again(&Latency::new())] {
            assert_eq!((empty.percentile_ns(99.0), empty.max_ns(), empty.mean_ns()), (None, None, None));
            assert_eq!((empty.count(), empty.count_at_most(1000)), (0, 0));
        }
    }

    /// Times of all sizes, some of them below and above the bounds.
    fn times() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec(((0_u32..45, 0.5_f64..1.0), 1_u64..1000), 0..60).prop_map(|drawn| {
            drawn
                .iter()
                .map(|((power, part), count)| ((part * 2_f64.powi(*power as i32)) as u64, *count))
                .collect()
        })
    }

    proptest! {
        /// What is read says of itself what HdrHistogram says, bit for bit.
        #[test]
        fn places_that_hold_something_are_all_that_is_needed(times in times(), at in 0_u64..4_000_000_000_000) {
            let mut latency = Latency::new();
            times.iter().for_each(|(ns, count)| latency.record_n(*ns, *count));
            let read = read_again(&latency);
            let mut shrunk = latency.clone();
            shrunk.shrink();
            prop_assert!(matches!(shrunk.0, Counts::Read(_)) && shrunk == latency && shrunk == read);
            prop_assert_eq!((read.count(), shrunk.count()), (latency.count(), latency.count()));
            for percentile in [0.0, 0.1, 50.0, 90.0, 99.0, 99.9, 100.0] {
                prop_assert_eq!(read.percentile_ns(percentile), latency.percentile_ns(percentile));
            }
            prop_assert_eq!(read.max_ns(), latency.max_ns());
            prop_assert_eq!(read.mean_ns().map(f64::to_bits), latency.mean_ns().map(f64::to_bits));
            prop_assert!(read.buckets().eq(latency.buckets()));
            for ns in [at, at >> 12, at >> 24] {
                prop_assert_eq!(read.count_at_most(ns), latency.count_at_most(ns));
            }
        }

        /// Adding what was read is adding what was written.
        #[test]
        fn what_is_read_is_added_without_loss(left in times(), right in times()) {
            let of = |times: &[(u64, u64)]| {
                let mut latency = Latency::new();
                times.iter().for_each(|(ns, count)| latency.record_n(*ns, *count));
                latency
            };
            let mut sum = of(&left);
            sum.merge(&of(&right));
            for mut begun in [of(&left), read_again(&of(&left))] {
                begun.merge(&read_again(&of(&right)));
                prop_assert_eq!(&begun, &sum);
                prop_assert_eq!(begun.mean_ns().map(f64::to_bits), sum.mean_ns().map(f64::to_bits));
                prop_assert_eq!(begun.max_ns(), sum.max_ns());
            }
        }
    }
}
