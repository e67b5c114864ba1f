//! The rows of fresh tables. One core makes tens of millions a second, so that loading waits for the server alone.

use dyno_target::product::Dialect;

use super::schema::{ACCOUNTS_PER_BRANCH, TELLERS_PER_BRANCH, Table};
use crate::dataset::{RowRange, RowWriter, Rows};

/// An account's.
const FILLER: &[u8] = &[b' '; 84];

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct TpcbRows {
    table: Table,
    /// Of an account's filler: none where the server pads it to its length.
    blanks: usize,
    /// Of so many accounts one has a balance, which is its number; 0 for none.
    balance_every: u64,
}

impl TpcbRows {
    /// All rows at a scale.
    pub(crate) fn of(table: Table, scale: u32) -> RowRange<Self> {
        let rows = Self { table, blanks: 0, balance_every: 0 };
        RowRange { rows, next: 1, last: table.rows(scale) }
    }

    /// The same size of rows on every product.
    pub(super) fn padded(table: Table, dialect: &Dialect) -> Self {
        Self::with_balances(table, dialect, 0)
    }

    /// The same, and of so many accounts one with a balance, which is its number.
    pub(crate) fn with_balances(table: Table, dialect: &Dialect, balance_every: u64) -> Self {
        Self { table, blanks: if dialect.pads_char { 0 } else { FILLER.len() }, balance_every }
    }

    fn balance(&self, number: u64) -> u64 {
        let has = self.table == Table::Accounts && self.balance_every > 0;
        if has && number.is_multiple_of(self.balance_every) { number } else { 0 }
    }
}

impl Rows for TpcbRows {
    /// Two numbers of 20 digits and the constant columns.
    fn row_bytes_max(&self) -> usize {
        64 + FILLER.len()
    }

    #[inline]
    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        row.integer(number);
        match self.table {
            Table::Branches | Table::History => {}
            Table::Tellers => row.integer((number - 1) / TELLERS_PER_BRANCH + 1),
            Table::Accounts => row.integer((number - 1) / ACCOUNTS_PER_BRANCH + 1),
        }
        row.integer(self.balance(number));
        // pgbench leaves the filler of branches and tellers NULL, and that of accounts blank.
        match self.table {
            Table::Accounts => row.text(|text| text.extend_from_slice(&FILLER[..self.blanks])),
            _ => row.null(),
        }
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
        let mut padded = Vec::with_capacity(200);
        let rows = TpcbRows { table: Table::Accounts, blanks: FILLER.len(), balance_every: 0 };
        RowRange { rows, next: 7, last: 7 }.fill(Form::Lines, &mut padded);
        assert_eq!(padded, format!("7\t1\t0\t{:84}\n", "").as_bytes());
        assert_eq!(all(Table::History, 2, 200).0, 0);
    }

    #[test]
    fn the_buffer_size_does_not_change_the_rows() {
        assert_eq!(all(Table::Accounts, 1, 200), all(Table::Accounts, 1, 65_536));
    }
}
