//! A histogram as it is stored: the places that hold something, and no others. A second of load has some hundreds of them
//! among thirty thousand, so that a day is read and added up this way in a fraction of the time and of the memory.
//!
//! It says of the same bytes to the digit what HdrHistogram says of them: the arithmetic is that of its V2 format, for
//! the one layout that dyno writes.

use hdrhistogram::Histogram;

/// Values below this are not told apart, as a power of two: that of [`super::LOWEST_NS`].
const UNIT_MAGNITUDE: u32 = 3;
/// Half of the steps of equal width of a bucket, as a power of two: 2048 of them make three digits.
const HALF_MAGNITUDE: u32 = 10;
const HALF: u32 = 1 << HALF_MAGNITUDE;
/// Places of a histogram up to [`super::LONGEST_NS`]: the first bucket, and 33 that each reach twice as far. One that has not
/// grown ends at [`super::HIGHEST_NS`], with 28.
const PLACES: u64 = 35 * HALF as u64;

/// Places that are recorded into; where there are more, all places are faster.
const RECORDED_MAX: usize = 32;

/// What the encoding begins with, big-endian: its version, the payload's length, an offset, the digits, the bounds and a
/// factor.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
const HEADER_BYTES: usize = 40;
const DIGITS: u32 = 3;

/// Whether the header is of the V2 format, and the payload as long as it says: HdrHistogram makes room for what is said.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let begins = |at: usize, word: u32| bytes.get(at..at + 4) == Some(word.to_be_bytes().as_slice());
    let payload_bytes = bytes.len().saturating_sub(HEADER_BYTES);
    begins(0, COOKIE) && u32::try_from(payload_bytes).is_ok_and(|length| begins(4, length))
}

/// Counts by their place, ascending, none of them zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Sparse {
    counts: Vec<(u32, u64)>,
    total: u64,
}

impl Sparse {
    /// `None` for bytes of another layout, and for broken ones: HdrHistogram knows what is the matter with them.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (header, payload) = bytes.split_at_checked(HEADER_BYTES)?;
        let word = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_be_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let ours = word(0)? == COOKIE
            && word(8)? == 0
            && word(12)? == DIGITS
            && long(16)? == super::LOWEST_NS
            && (super::HIGHEST_NS..2 * super::LONGEST_NS).contains(&long(24)?)
            && long(32)? == 1.0_f64.to_bits();
        let payload = payload.get(..word(4)? as usize).filter(|_| ours)?;
        Self::counts(payload)
    }

    /// What a whole histogram of dyno's layout holds.
    pub(super) fn of(all: &Histogram<u64>) -> Self {
        let counts: Vec<(u32, u64)> = all
            .iter_recorded()
            .map(|value| (place(value.value_iterated_to()), value.count_at_value()))
            .collect();
        Self { counts, total: all.len() }
    }

    /// Numbers of seven bits each, the least first: a count, or how many places without any follow.
    fn counts(payload: &[u8]) -> Option<Self> {
        let mut counts = Vec::with_capacity(payload.len() / 2);
        let (mut place, mut total, mut rest) = (0_u64, 0_u64, payload);
        while !rest.is_empty() {
            let number = number(&mut rest)?;
            match u64::try_from(number) {
                Ok(0) => place += 1,
                Ok(count) if place < PLACES => {
                    counts.push((place as u32, count));
                    total = total.checked_add(count)?;
                    place += 1;
                }
                Ok(_) => return None,
                Err(_) => place = place.checked_add(number.unsigned_abs())?,
            }
        }
        Some(Self { counts, total })
    }

    /// Places that hold something.
    pub(super) fn places(&self) -> usize {
        self.counts.len()
    }

    /// Records a time so many times; false where it would be at one place too many to be recorded this way.
    pub(super) fn record(&mut self, ns: u64, count: u64) -> bool {
        let place = place(ns);
        match self.counts.binary_search_by_key(&place, |(known, _)| *known) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
            Err(_) if self.counts.len() >= RECORDED_MAX => return false,
            Err(at) => {
                if self.counts.is_empty() {
                    self.counts.reserve_exact(RECORDED_MAX);
                }
                self.counts.insert(at, (place, count));
            }
        }
        self.total = self.total.saturating_add(count);
        true
    }

    /// Forgets everything, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.total = 0;
    }

    /// Adds all that the other counted.
    pub(super) fn add(&mut self, other: &Self) {
        let (mut at, mut missing) = (0, Vec::new());
        for (place, count) in &other.counts {
            while self.counts.get(at).is_some_and(|(known, _)| known < place) {
                at += 1;
            }
            match self.counts.get_mut(at) {
                Some((known, sum)) if known == place => *sum = sum.saturating_add(*count),
                _ => missing.push((*place, *count)),
            }
        }
        if !missing.is_empty() {
            self.counts.append(&mut missing);
            // Two ascending runs, which this sort does nothing but merge.
            self.counts.sort_by_key(|(place, _)| *place);
        }
        self.total = self.total.saturating_add(other.total);
    }

    pub(super) fn count(&self) -> u64 {
        self.total
    }

    pub(super) fn percentile(&self, percentile: f64) -> u64 {
        let quantile = (percentile / 100.0).min(1.0);
        let wanted = ((quantile * self.total as f64).ceil() as u64).max(1);
        let mut up_to = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            up_to += count;
            up_to >= wanted
        });
        reached.map_or(0, |(place, _)| if quantile == 0.0 { lowest(*place) } else { highest(*place) })
    }

    pub(super) fn max(&self) -> u64 {
        self.counts.last().map_or(0, |(place, _)| highest(*place))
    }

    pub(super) fn mean(&self) -> f64 {
        let total = self.total as f64;
        let middle = |place: u32| lowest(place) + (width(place) >> 1);
        self.counts
            .iter()
            .fold(0.0, |sum, (place, count)| sum + middle(*place) as f64 * *count as f64 / total)
    }

    pub(super) fn count_at_most(&self, ns: u64) -> u64 {
        self.counts.iter().take_while(|(place, _)| lowest(*place) <= ns).map(|(_, count)| count).sum()
    }

    /// The greatest value of each place with its count, ascending.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(place, count)| (highest(*place), *count))
    }
}

/// The next number, of at most nine bytes of which the last has eight bits; its sign is its lowest bit.
fn number(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for at in 0..9 {
        let byte = u64::from(*rest.get(at)?);
        let more = at < 8 && byte & 0x80 != 0;
        value |= (if at < 8 { byte & 0x7f } else { byte }) << (7 * at);
        if !more {
            *rest = &rest[at + 1..];
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// Where a value within the bounds is counted.
fn place(ns: u64) -> u32 {
    let units = ns >> UNIT_MAGNITUDE;
    // The bucket is known by the highest bit: the first has one half more than the others.
    let bucket = u64::BITS - (units >> (HALF_MAGNITUDE + 1)).leading_zeros();
    (bucket << HALF_MAGNITUDE) + (units >> bucket) as u32
}

/// By which power of two a place's values are told apart.
fn magnitude(place: u32) -> u32 {
    (place >> HALF_MAGNITUDE).saturating_sub(1) + UNIT_MAGNITUDE
}

fn width(place: u32) -> u64 {
    1 << magnitude(place)
}

fn lowest(place: u32) -> u64 {
    let within = place & (HALF - 1);
    // Only the first bucket has a lower half: that of the others is the bucket before.
    let step = if place < HALF { within } else { within + HALF };
    u64::from(step) << magnitude(place)
}

fn highest(place: u32) -> u64 {
    lowest(place) + width(place) - 1
}
