//! How much data suits a machine and fits its disk. Pure arithmetic.

use thiserror::Error;

/// What the server needs beside the data while it is loaded: its log, up to `max_wal_size` (1 GB by default), and what an
/// index is sorted in.
pub(crate) const SPARE_BYTES: u64 = 1 << 30;

/// Data does not fit the server's disk.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{what} needs about {needed} with what loading takes, and the server's disk has {free} free; {advice}"
)]
pub struct DoesNotFit {
    what: String,
    /// With its unit, `157.5 GB`.
    needed: String,
    free: String,
    advice: String,
}

/// Refuses `what` where it takes so many bytes and does not fit. `free_bytes` is what the server's disk has free with the tables of
/// before already gone, `None` where it is not known; `fits` says of how many bytes would fit what that is.
pub(crate) fn check(
    what: impl Into<String>,
    bytes: u64,
    free_bytes: Option<u64>,
    fits: impl Fn(u64) -> Option<String>,
) -> Result<(), DoesNotFit> {
    let needed = bytes + SPARE_BYTES;
    let Some(free) = free_bytes.filter(|free| needed > *free) else { return Ok(()) };
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let advice = match fits(free.saturating_sub(SPARE_BYTES)) {
        Some(fits) => format!("{fits} would fit"),
        None => "make room on it or use another server".to_owned(),
    };
    Err(DoesNotFit { what: what.into(), needed: gigabytes(needed), free: gigabytes(free), advice })
}

/// As much as is wanted in units of so many bytes, and at least 1, within half the memory, so that by default the database
/// is measured and not its disk, and a quarter of the free disk, which leaves room for the log and for what the load
/// writes. What is not known does not limit.
pub(crate) fn limited(
    wanted: u64,
    unit_bytes: u64,
    memory_bytes: Option<u64>,
    free_disk_bytes: Option<u64>,
) -> u64 {
    let within = |bytes: Option<u64>, part: u64| bytes.map_or(u64::MAX, |bytes| bytes / part / unit_bytes);
    wanted.min(within(memory_bytes, 2)).min(within(free_disk_bytes, 4)).max(1)
}
