//! The ten tests: their names, and what can be said of each without looking at its statements.

/// One of sysbench's OLTP tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Test {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    Delete,
    Insert,
    UpdateIndex,
    UpdateNonIndex,
    SelectRandomPoints,
    SelectRandomRanges,
}

impl Test {
    pub const ALL: [Self; 10] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::Delete,
        Self::Insert,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::SelectRandomPoints,
        Self::SelectRandomRanges,
    ];

    /// sysbench's name for it, `oltp_point_select`.
    pub fn name(self) -> &'static str {
        // The workload's name without its family.
        self.workload().split_at(super::NAME.len() + 1).1
    }

    /// The workload's full name, `sysbench/oltp_point_select`.
    pub fn workload(self) -> &'static str {
        match self {
            Self::PointSelect => "sysbench/oltp_point_select",
            Self::ReadOnly => "sysbench/oltp_read_only",
            Self::ReadWrite => "sysbench/oltp_read_write",
            Self::WriteOnly => "sysbench/oltp_write_only",
            Self::Delete => "sysbench/oltp_delete",
            Self::Insert => "sysbench/oltp_insert",
            Self::UpdateIndex => "sysbench/oltp_update_index",
            Self::UpdateNonIndex => "sysbench/oltp_update_non_index",
            Self::SelectRandomPoints => "sysbench/select_random_points",
            Self::SelectRandomRanges => "sysbench/select_random_ranges",
        }
    }

    /// The test that sysbench calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }

    /// One line for a list.
    pub fn about(self) -> &'static str {
        match self {
            Self::PointSelect => "read: one row by its key",
            Self::ReadOnly => "read: ten rows by key and four ranges, in a transaction",
            Self::ReadWrite => {
                "write: the reads of oltp_read_only and the writes of oltp_write_only, together"
            }
            Self::WriteOnly => "write: two updates, a delete and an insert of the same row, in a transaction",
            Self::Delete => "write: delete a row by its key; finds fewer and fewer rows",
            Self::Insert => "write: insert a row",
            Self::UpdateIndex => "write: update an indexed column of one row",
            Self::UpdateNonIndex => "write: update a column without index of one row",
            Self::SelectRandomPoints => "read: ten values of an indexed column, with IN",
            Self::SelectRandomRanges => "read: ten short ranges of an indexed column, with OR",
        }
    }

    pub fn writes(self) -> bool {
        !matches!(
            self,
            Self::PointSelect | Self::ReadOnly | Self::SelectRandomPoints | Self::SelectRandomRanges
        )
    }

    /// Whether an event is one transaction with BEGIN and COMMIT, unless `skip_trx` is on.
    pub fn is_transactional(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly)
    }

    /// Whether only `sbtest1` is used.
    pub fn uses_first_table_only(self) -> bool {
        matches!(self, Self::SelectRandomPoints | Self::SelectRandomRanges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_found_by_its_name() {
        for test in Test::ALL {
            assert_eq!(Test::from_name(test.name()), Some(test));
            assert_eq!(test.workload(), format!("{}/{}", super::super::NAME, test.name()));
        }
        assert_eq!(Test::PointSelect.name(), "oltp_point_select");
        assert_eq!(Test::SelectRandomRanges.name(), "select_random_ranges");
        assert_eq!(Test::from_name("oltp_common"), None);
    }

    #[test]
    fn what_a_test_is_for_stands_first() {
        for test in Test::ALL {
            let kind = if test.writes() { "write: " } else { "read: " };
            assert!(test.about().starts_with(kind), "{}", test.name());
        }
    }
}
