//! The four tables of pgbench for who makes them otherwise than the workload `tpcb`: `dyno pgbench -i`. Text only, runs nothing.

use crate::dataset::{RowRange, RowWriter, Rows};

/// Accounts per branch, as in TPC-B.
pub(crate) const ACCOUNTS_PER_BRANCH: u64 = 100_000;
/// Tellers per branch, as in TPC-B.
pub(crate) const TELLERS_PER_BRANCH: u64 = 10;
/// Scale from which pgbench numbers accounts with a `bigint`: above, 32 bits would no longer hold them all.
pub(crate) const BIGINT_SCALE: u32 = 20_000;
/// All tables, as DROP, TRUNCATE and VACUUM take them; in pgbench's order.
pub(crate) const ALL_TABLES: &str = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// One of the four tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Branches,
    Tellers,
    Accounts,
    History,
}

impl Table {
    /// In the order in which they are made.
    pub const ALL: [Self; 4] = [Self::History, Self::Tellers, Self::Accounts, Self::Branches];

    pub fn name(self) -> &'static str {
        match self {
            Self::Branches => "pgbench_branches",
            Self::Tellers => "pgbench_tellers",
            Self::Accounts => "pgbench_accounts",
            Self::History => "pgbench_history",
        }
    }

    /// Rows at `scale` before any load.
    pub fn rows(self, scale: u32) -> u64 {
        let branches = u64::from(scale);
        match self {
            Self::Branches => branches,
            Self::Tellers => branches * TELLERS_PER_BRANCH,
            Self::Accounts => branches * ACCOUNTS_PER_BRANCH,
            Self::History => 0,
        }
    }

    /// The column that identifies a row; the history has none.
    fn key(self) -> Option<&'static str> {
        match self {
            Self::Branches => Some("bid"),
            Self::Tellers => Some("tid"),
            Self::Accounts => Some("aid"),
            Self::History => None,
        }
    }

    /// `ALTER TABLE … ADD PRIMARY KEY`; `None` for the history.
    pub(crate) fn key_sql(self) -> Option<String> {
        self.key().map(|column| format!("alter table {} add primary key ({column})", self.name()))
    }
}

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct TpcbRows(Table);

impl TpcbRows {
    /// All rows at a scale.
    pub(crate) fn of(table: Table, scale: u32) -> RowRange<Self> {
        RowRange { rows: Self(table), next: 1, last: table.rows(scale) }
    }
}

impl Rows for TpcbRows {
    /// Three numbers of 20 digits.
    fn row_bytes_max(&self) -> usize {
        64
    }

    #[inline]
    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        row.integer(number);
        match self.0 {
            Table::Branches | Table::History => {}
            Table::Tellers => row.integer((number - 1) / TELLERS_PER_BRANCH + 1),
            Table::Accounts => row.integer((number - 1) / ACCOUNTS_PER_BRANCH + 1),
        }
        row.integer(0_u64);
        // pgbench leaves the filler of branches and tellers NULL, and the server pads that of accounts, which is blank.
        match self.0 {
            Table::Accounts => row.text(|_| ()),
            _ => row.null(),
        }
        row.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::rows::Form;

    fn all(table: Table, scale: u32, capacity: usize) -> (u64, String) {
        let mut rows = TpcbRows::of(table, scale);
        let (mut buffer, mut text, mut count) = (Vec::with_capacity(capacity), Vec::new(), 0);
        loop {
            buffer.clear();
            match rows.fill(Form::Lines, &mut buffer) {
                0 => return (count, String::from_utf8(text).unwrap()),
                added => count += added,
            }
            assert!(buffer.len() <= capacity, "the buffer must not grow");
            text.extend_from_slice(&buffer);
        }
    }

    #[test]
    fn rows_are_those_of_pgbench() {
        assert_eq!(all(Table::Branches, 2, 200), (2, "1\t0\t\\N\n2\t0\t\\N\n".to_owned()));
        let (count, tellers) = all(Table::Tellers, 2, 200);
        assert_eq!(count, 20);
        assert!(
            tellers.starts_with("1\t1\t0\t\\N\n") && tellers.contains("\n10\t1\t0\t\\N\n11\t2\t0\t\\N\n")
        );
        let (count, accounts) = all(Table::Accounts, 2, 4096);
        assert_eq!(count, 200_000);
        assert!(accounts.contains("\n100000\t1\t0\t\n100001\t2\t0\t\n"));
        assert!(accounts.ends_with("\n200000\t2\t0\t\n"));
        assert_eq!(all(Table::History, 2, 200).0, 0);
    }

    #[test]
    fn the_buffer_size_does_not_change_the_rows() {
        assert_eq!(all(Table::Accounts, 1, 200), all(Table::Accounts, 1, 65_536));
    }
}
