//! The four tables of pgbench for who makes them otherwise than the workload `tpcb`: `dyno pgbench -i`, and `storage` under other names.
//! Text only, runs nothing.

use dyno_target::product::Dialect;

use crate::dataset::{self, Key, Kind, RowRange, RowWriter, Rows, column};

/// Accounts per branch, as in TPC-B.
pub(crate) const ACCOUNTS_PER_BRANCH: u64 = 100_000;
/// Tellers per branch, as in TPC-B.
pub(crate) const TELLERS_PER_BRANCH: u64 = 10;
/// Scale from which pgbench numbers accounts with a `bigint`: above, 32 bits would no longer hold them all.
pub(crate) const BIGINT_SCALE: u32 = 20_000;
/// With what the names of pgbench's tables begin.
pub(crate) const BEGINNING: &str = "pgbench_";
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

    /// The table for data of `scale`. Account numbers are integers below [`BIGINT_SCALE`] and `bigint` from it on.
    pub(crate) fn describe(self, scale: u32) -> dataset::Table {
        let aid = if scale < BIGINT_SCALE { Kind::Integer } else { Kind::BigInteger };
        let number = |name| column(name, Kind::Integer, "");
        let key = |name, kind| column(name, kind, " NOT NULL");
        let filler = |length| column("filler", Kind::Char(length), "");
        let columns = match self {
            Self::Branches => vec![key("bid", Kind::Integer), number("bbalance"), filler(88)],
            Self::Tellers => {
                vec![key("tid", Kind::Integer), number("bid"), number("tbalance"), filler(84)]
            }
            Self::Accounts => vec![key("aid", aid), number("bid"), number("abalance"), filler(84)],
            Self::History => vec![
                number("tid"),
                number("bid"),
                column("aid", aid, ""),
                number("delta"),
                column("mtime", Kind::Timestamp, ""),
                filler(22),
            ],
        };
        let keyed = self.key().is_some();
        dataset::Table {
            rows: self.rows(scale),
            key: keyed.then_some(Key::Primary),
            fill_percent: keyed.then_some(100),
            ..dataset::Table::new(self.name(), columns)
        }
    }

    /// `ALTER TABLE … ADD PRIMARY KEY`; `None` for the history.
    pub(crate) fn key_sql(self) -> Option<String> {
        self.key().map(|column| format!("alter table {} add primary key ({column})", self.name()))
    }
}

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

    /// The same size of rows on every product, and of so many accounts one with a balance, which is its number.
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

    #[test]
    fn account_numbers_are_wide_from_the_scale_that_pgbench_has() {
        let create = |table: Table, scale| table.describe(scale).create(&Dialect::of_wire(false), "");
        assert!(create(Table::Accounts, 19_999).contains("(aid INTEGER NOT NULL, "));
        assert!(create(Table::Accounts, 20_000).contains("(aid BIGINT NOT NULL, "));
        assert!(create(Table::History, 20_000).contains("aid BIGINT, "));
        assert!(Table::Accounts.rows(BIGINT_SCALE - 1) < i32::MAX as u64);
    }

    #[test]
    fn storage_is_named_where_pgbench_names_it() {
        let create = |table: Table| table.describe(1).create(&Dialect::of_wire(false), "");
        assert_eq!(
            create(Table::Branches),
            "CREATE TABLE pgbench_branches (bid INTEGER NOT NULL, bbalance INTEGER, filler CHAR(88)) \
             WITH (fillfactor=100)"
        );
        assert!(!create(Table::History).contains("fillfactor"));
    }

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
