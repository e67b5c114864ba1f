//! The four tables: names, columns, types, sizes and keys as `pgbench -i` makes them. Text only, runs nothing.

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

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Branches => "pgbench_branches",
            Self::Tellers => "pgbench_tellers",
            Self::Accounts => "pgbench_accounts",
            Self::History => "pgbench_history",
        }
    }

    /// Rows at `scale` before any load.
    #[must_use]
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

    /// Columns with their types as `format_type` prints them. Account numbers are `integer` below
    /// [`BIGINT_SCALE`] and `bigint` from it on.
    pub(super) fn columns(self, bigint: bool) -> Vec<(&'static str, &'static str)> {
        let (number, aid) = ("integer", if bigint { "bigint" } else { "integer" });
        match self {
            Self::Branches => vec![("bid", number), ("bbalance", number), ("filler", "character(88)")],
            Self::Tellers => {
                vec![("tid", number), ("bid", number), ("tbalance", number), ("filler", "character(84)")]
            }
            Self::Accounts => {
                vec![("aid", aid), ("bid", number), ("abalance", number), ("filler", "character(84)")]
            }
            Self::History => vec![
                ("tid", number),
                ("bid", number),
                ("aid", aid),
                ("delta", number),
                ("mtime", "timestamp without time zone"),
                ("filler", "character(22)"),
            ],
        }
    }

    /// `CREATE TABLE` for data of `scale`.
    pub(super) fn create_sql(self, scale: u32) -> String {
        let columns: Vec<String> = self
            .columns(scale >= BIGINT_SCALE)
            .iter()
            .map(|(name, kind)| match self.key() == Some(name) {
                true => format!("{name} {kind} not null"),
                false => format!("{name} {kind}"),
            })
            .collect();
        let options = if self == Self::History { "" } else { " with (fillfactor=100)" };
        format!("create table {}({}){options}", self.name(), columns.join(", "))
    }

    /// `ALTER TABLE … ADD PRIMARY KEY`; `None` for the history.
    pub(crate) fn key_sql(self) -> Option<String> {
        self.key().map(|column| format!("alter table {} add primary key ({column})", self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_numbers_are_wide_from_the_scale_that_pgbench_has() {
        assert!(Table::Accounts.create_sql(19_999).contains("(aid integer not null, "));
        assert!(Table::Accounts.create_sql(20_000).contains("(aid bigint not null, "));
        assert!(Table::History.create_sql(20_000).contains("aid bigint, "));
        assert!(Table::Accounts.rows(BIGINT_SCALE - 1) < i32::MAX as u64);
    }

    #[test]
    fn storage_is_named_where_pgbench_names_it() {
        assert_eq!(
            Table::Branches.create_sql(1),
            "create table pgbench_branches(bid integer not null, bbalance integer, filler character(88)) \
             with (fillfactor=100)"
        );
        assert!(!Table::History.create_sql(1).contains("fillfactor"));
    }
}
