//! How large the data is, and which scale suits a machine. Pure arithmetic.

use crate::benchmark::DataSize;
use crate::dataset::{SizeError, disk};
use dyno_results::format::grouped;

/// Above this the data would be 16 TB, and 32-bit branch and teller numbers come near their end.
pub const SCALE_MAX: u64 = 1_000_000;

/// Size of a unit of scale, tables and keys: 163,935 pages of accounts and 27,422 of its key at scale 100
/// (PostgreSQL 15, 8 KiB pages), rounded up.
const BYTES_PER_SCALE: u64 = 15_750_000;

/// Bytes of tables and keys at `scale`, before any load.
pub fn data_bytes(scale: u32) -> u64 {
    u64::from(scale) * BYTES_PER_SCALE
}

/// The same of a unit in a file of SQLite, whose table is in the order of its key (scale 10).
const BYTES_PER_SCALE_SQLITE: u64 = 9_850_000;

/// Bytes at `scale` by product.
pub(super) fn measured_sizes(scale: u32) -> Vec<DataSize> {
    let in_file = u64::from(scale) * BYTES_PER_SCALE_SQLITE;
    vec![
        DataSize { bytes: data_bytes(scale), protocol: "PostgreSQL", product: Some("PostgreSQL 15") },
        DataSize { bytes: in_file, protocol: "SQLite", product: Some("SQLite") },
    ]
}

/// A scale that suits a machine: eight branches for each processor (the ladder seldom gains beyond that many clients, and
/// TPC-B with fewer branches than clients measures waiting for a branch's row); 50 to 200, or with `quick` two for each
/// processor, 10 to 20. Preparing that should take seconds rather than minutes. Less where it does not fit.
pub fn suggest_scale(
    memory_bytes: Option<u64>,
    cpus: Option<u32>,
    free_disk_bytes: Option<u64>,
    quick: bool,
) -> u32 {
    let cpus = cpus.unwrap_or(1);
    let wanted =
        if quick { cpus.saturating_mul(2).clamp(10, 20) } else { cpus.saturating_mul(8).clamp(50, 200) };
    disk::limited(wanted.into(), BYTES_PER_SCALE, memory_bytes, free_disk_bytes) as u32
}

/// Refuses a scale that cannot be prepared. `free_disk_bytes` is what the server's disk has free with the tables
/// of before already gone; `None` where it is not known.
///
/// # Errors
/// The scale is 0 or above [`SCALE_MAX`], or its data does not fit.
pub fn check_scale(scale: u64, free_disk_bytes: Option<u64>) -> Result<u32, SizeError> {
    let fits = u32::try_from(scale).ok().filter(|scale| (1..=SCALE_MAX).contains(&u64::from(*scale)));
    let Some(scale) = fits else {
        return Err(SizeError::OutOfRange(format!(
            "--scale={scale} is out of range: tpcb takes 1 to {} (a unit is 100,000 accounts, about 16 MB)",
            grouped(SCALE_MAX)
        )));
    };
    disk::check(format!("scale {scale}"), data_bytes(scale), free_disk_bytes, |bytes| {
        Some(bytes / BYTES_PER_SCALE).filter(|fits| *fits > 0).map(|fits| format!("scale {fits}"))
    })?;
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn suggestion_follows_the_processors() {
        let suggest = |cpus, quick| suggest_scale(Some(512 * GB), Some(cpus), Some(4000 * GB), quick);
        assert_eq!([suggest(2, false), suggest(16, false), suggest(128, false)], [50, 128, 200]);
        assert_eq!([suggest(2, true), suggest(8, true), suggest(128, true)], [10, 16, 20]);
    }

    #[test]
    fn suggestion_never_exceeds_memory_or_disk() {
        assert_eq!(suggest_scale(Some(GB), Some(2), None, false), 31);
        assert_eq!(suggest_scale(None, Some(2), Some(GB), false), 15);
        assert_eq!(suggest_scale(Some(1), None, Some(1), true), 1);
        assert_eq!(suggest_scale(None, None, None, false), 50);
    }

    #[test]
    fn absurd_scales_are_refused_with_numbers() {
        assert!(
            matches!(check_scale(0, None), Err(SizeError::OutOfRange(why)) if why.starts_with("--scale=0 is"))
        );
        assert!(check_scale(SCALE_MAX, None).is_ok());
        assert!(check_scale(SCALE_MAX + 1, None).is_err());
        assert!(check_scale(u64::MAX, Some(GB)).is_err());
        let refused = check_scale(10_000, Some(20 * GB)).unwrap_err().to_string();
        assert!(refused.contains("158.6 GB") && refused.contains("20.0 GB free"), "{refused}");
        assert!(refused.ends_with("scale 1201 would fit"), "{refused}");
        assert!(check_scale(1201, Some(20 * GB)).is_ok());
        assert!(check_scale(1, Some(GB)).unwrap_err().to_string().ends_with("use another server"));
    }
}
