//! The four tables: names, columns, types, sizes and keys as `pgbench -i` makes them. Text only, runs nothing.

use crate::dataset::{self, Key, Kind, column};

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
    pub(super) fn key(self) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use dyno_target::product::Dialect;

    use super::*;

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
}
