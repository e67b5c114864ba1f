//! How large the data is, and which size suits a machine. Pure arithmetic.

use crate::benchmark::MeasuredSize;
use crate::dataset::{SizeError, disk};
use dyno_results::format::grouped;

/// Ids are 32-bit integers, and the load goes on behind the rows that were loaded.
pub(super) const ROWS_MAX: u64 = 2_000_000_000;
/// Events for each customer, where the number of customers is not named, and the least customers then: with few, clients
/// would meet at their rows, which a foreign key locks.
const EVENTS_PER_CUSTOMER: u64 = 100;
const CUSTOMERS_MIN: u64 = 10_000;

/// Size of a row of `event` and of one of `customer` with their keys, bytes, as a million of each are loaded: by protocol and product,
/// as measured.
const MEASURED: [(&str, &str, [u64; 2]); 2] =
    [("PostgreSQL", "PostgreSQL 15", [72, 93]), ("MySQL", "MySQL 9", [63, 75])];
/// More than any of them, for what has to fit.
const EVENT_BYTES: u64 = 80;
const CUSTOMER_BYTES: u64 = 140;

/// Rows of the two tables as they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Of `event`, with the ids from 1 on; 0 for an empty table that only ingest can begin with.
    pub rows: u64,
    /// Of `customer`, with the ids from 1 on.
    pub customers: u64,
}

impl Size {
    /// So many events, and as many customers, or as suit that.
    ///
    /// # Errors
    /// Rows without customers, or more than there are ids.
    pub fn new(rows: u64, customers: Option<u64>) -> Result<Self, SizeError> {
        let customers = customers.unwrap_or((rows / EVENTS_PER_CUSTOMER).max(CUSTOMERS_MIN));
        if rows > ROWS_MAX {
            return Err(SizeError::OutOfRange(format!(
                "{} rows are too many: ids are 32-bit integers, and events takes at most {}",
                grouped(rows),
                grouped(ROWS_MAX)
            )));
        }
        if !(1..=ROWS_MAX).contains(&customers) {
            return Err(SizeError::OutOfRange(format!(
                "{} customers cannot be: events takes 1 to {}",
                grouped(customers),
                grouped(ROWS_MAX)
            )));
        }
        Ok(Self { rows, customers })
    }

    /// Rows of `event` that suit a machine: half a million for each processor, one to eight million, or where a rough
    /// answer is enough a fifth of that and 200,000 to 800,000. Preparing that should take seconds rather than minutes.
    /// Less where it does not fit.
    pub(super) fn suggested_rows(
        cpus: u32,
        memory_bytes: Option<u64>,
        free_disk_bytes: Option<u64>,
        quick: bool,
    ) -> u64 {
        let cpus = u64::from(cpus);
        let wanted = match quick {
            true => (cpus * 100_000).clamp(200_000, 800_000),
            false => (cpus * 500_000).clamp(1_000_000, 8_000_000),
        };
        disk::limited(wanted, EVENT_BYTES, memory_bytes, free_disk_bytes)
    }

    /// Bytes of both tables with their keys.
    pub fn bytes(&self) -> u64 {
        self.rows * EVENT_BYTES + self.customers * CUSTOMER_BYTES
    }

    /// The same on each product on which it was measured.
    pub(super) fn measured(&self) -> Vec<MeasuredSize> {
        let sizes = MEASURED.iter().map(|&(protocol, product, [event, customer])| MeasuredSize {
            bytes: self.rows * event + self.customers * customer,
            protocol,
            product,
        });
        sizes.collect()
    }

    /// Refuses what does not fit. `free_disk_bytes` is what the server's disk has free with the tables of before already
    /// gone; `None` where it is not known.
    pub(super) fn check_disk(&self, free_disk_bytes: Option<u64>) -> Result<(), SizeError> {
        let what = format!("a size of {} events", grouped(self.rows));
        Ok(disk::check(what, self.bytes(), free_disk_bytes, |bytes| {
            let rows = bytes.saturating_sub(self.customers * CUSTOMER_BYTES) / EVENT_BYTES;
            Some(rows).filter(|rows| *rows > 0).map(grouped)
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn suggested(cpus: u32, memory_bytes: Option<u64>, free_disk_bytes: Option<u64>, quick: bool) -> u64 {
        Size::suggested_rows(cpus, memory_bytes, free_disk_bytes, quick)
    }

    #[test]
    fn a_product_has_the_size_that_was_measured_on_it() {
        let size = Size::new(1_000_000, Some(1_000_000)).unwrap();
        let sizes: Vec<_> = size.measured().iter().map(|one| (one.product, one.bytes)).collect();
        assert_eq!(sizes, [("PostgreSQL 15", 165_000_000), ("MySQL 9", 138_000_000)]);
        assert!(sizes.iter().all(|(_, bytes)| *bytes < size.bytes()));
    }

    #[test]
    fn the_size_suits_the_machine() {
        assert_eq!(
            [1, 4, 64].map(|cpus| suggested(cpus, None, None, false)),
            [1_000_000, 2_000_000, 8_000_000]
        );
        assert_eq!([1, 4, 64].map(|cpus| suggested(cpus, None, None, true)), [200_000, 400_000, 800_000]);
        assert_eq!(suggested(4, Some(80_000_000), None, false), 500_000);
        assert_eq!(suggested(4, None, Some(80_000_000), false), 250_000);
        assert_eq!(suggested(4, Some(1), Some(1), false), 1);
    }

    #[test]
    fn customers_follow_the_rows_unless_they_are_named() {
        let customers = |rows, customers| Size::new(rows, customers).unwrap().customers;
        assert_eq!(customers(70_000_000, None), 700_000);
        assert_eq!((customers(0, None), customers(500, None)), (10_000, 10_000));
        assert_eq!(customers(500, Some(3)), 3);
    }

    #[test]
    fn absurd_sizes_are_refused_with_numbers() {
        assert!(Size::new(ROWS_MAX, None).is_ok());
        assert!(
            matches!(Size::new(u64::MAX, None), Err(SizeError::OutOfRange(why)) if why.contains("at most 2,000,000,000"))
        );
        assert!(
            matches!(Size::new(5, Some(0)), Err(SizeError::OutOfRange(why)) if why.starts_with("0 customers"))
        );
        let size = Size::new(70_000_000, None).unwrap();
        let refused = size.check_disk(Some(5 * GB)).unwrap_err().to_string();
        assert!(refused.contains("70,000,000 events") && refused.contains("5.0 GB free"), "{refused}");
        let fits = (5 * GB - disk::SPARE_BYTES - 700_000 * CUSTOMER_BYTES) / EVENT_BYTES;
        assert!(refused.ends_with(&format!("{} would fit", grouped(fits))), "{refused}");
        assert_eq!(size.check_disk(Some(20 * GB)), Ok(()));
        assert_eq!(size.check_disk(None), Ok(()));
        assert!(size.check_disk(Some(GB)).unwrap_err().to_string().ends_with("use another server"));
    }
}
