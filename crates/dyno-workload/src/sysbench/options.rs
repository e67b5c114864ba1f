//! What the ten tests can be told, by the names and with the defaults of sysbench 1.0.20. Plain data: the command line
//! is read elsewhere.

use crate::benchmark::BenchmarkError;
use serde::Deserialize;
use thiserror::Error;

use super::distribution::Distribution;
use super::plan::TransactionPlan;
use super::test::Test;

/// Options of the tests; one of them uses only some.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// `sbtest1` to `sbtestN`.
    pub tables: u32,
    /// Rows of each table, with ids from 1.
    pub table_size: u64,
    /// Ids that a range of the range SELECTs spans.
    pub range_size: u32,
    /// Statements of each kind in an event.
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    /// Off: no range SELECT of any kind.
    pub range_selects: bool,
    /// The server numbers the rows. Off: the client does, and `oltp_insert` begins with empty tables.
    pub auto_inc: bool,
    /// No BEGIN and no COMMIT: each statement is a transaction of its own.
    pub skip_trx: bool,
    /// A plain index on `id` instead of the primary key.
    pub secondary: bool,
    /// The index `k_N` on `k`.
    pub create_secondary: bool,
    /// MySQL's ENGINE clause.
    pub mysql_storage_engine: String,
    /// Values in the IN list of `select_random_points`.
    pub random_points: u32,
    /// Ranges of `select_random_ranges`, and how far each reaches above its lower end.
    pub number_of_ranges: u32,
    pub delta: u32,
    /// What ids and values of `k` are drawn from.
    pub distribution: Distribution,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            auto_inc: true,
            skip_trx: false,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".to_owned(),
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            distribution: Distribution::default(),
        }
    }
}

/// Ids are 32-bit integers on every server.
const TABLE_SIZE_MAX: u64 = i32::MAX as u64;

impl Options {
    /// Looks whether `test` can be run so.
    ///
    /// # Errors
    /// Says which options do not fit, and what would.
    pub fn check(&self, test: Test) -> Result<(), OptionsError> {
        if self.tables == 0 {
            return Err(OptionsError::NoTable);
        }
        if self.table_size == 0 && test != Test::Insert || self.table_size > TABLE_SIZE_MAX {
            return Err(OptionsError::TableSize { table_size: self.table_size });
        }
        if test.uses_first_table_only() && self.tables > 1 {
            return Err(OptionsError::OneTableOnly { test: test.name(), tables: self.tables });
        }
        if let Some(why) = self.distribution.unusable() {
            return Err(OptionsError::Distribution { why });
        }
        let plan = TransactionPlan::new(test, self, None);
        if plan.is_empty() {
            return Err(OptionsError::NothingToDo { test: test.name() });
        }
        let statements = u64::from(plan.kinds()) * u64::from(self.tables);
        if statements > STATEMENTS_MAX {
            return Err(OptionsError::TooManyTables {
                tables: self.tables,
                kinds: plan.kinds(),
                fit: STATEMENTS_MAX / u64::from(plan.kinds()),
            });
        }
        let parameters = plan.parameters_max();
        if parameters > PARAMETERS_MAX {
            return Err(OptionsError::TooManyParameters { test: test.name(), parameters });
        }
        Ok(())
    }
}

/// Statements are numbered with 16 bits; a few numbers are kept for BEGIN, COMMIT and ROLLBACK.
const STATEMENTS_MAX: u64 = u16::MAX as u64 - 16;
/// As many as a statement may have in the engine and on every server.
const PARAMETERS_MAX: usize = dyno_engine::request::PARAMETERS_MAX;

/// Options that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionsError {
    #[error("there is no table to work on: give --tables=1 or more")]
    NoTable,
    #[error("--table-size={table_size} is out of range: it takes 1 to {TABLE_SIZE_MAX}")]
    TableSize { table_size: u64 },
    #[error("{test} works on one table, not on {tables}: give --tables=1")]
    OneTableOnly { test: &'static str, tables: u32 },
    #[error("{why}")]
    Distribution { why: String },
    #[error("these options leave no statement in an event of {test}")]
    NothingToDo { test: &'static str },
    #[error(
        "{tables} tables with {kinds} statements each are more than a connection can hold: \
         give --tables={fit} or fewer"
    )]
    TooManyTables { tables: u32, kinds: u32, fit: u64 },
    #[error(
        "a statement of {test} would have {parameters} parameters, and {PARAMETERS_MAX} is the most: \
         give fewer --random-points or --number-of-ranges"
    )]
    TooManyParameters { test: &'static str, parameters: usize },
    #[error("--ignore-errors {errors}: errors have {wanted} on {protocol}, and none of these is one")]
    OtherErrors { errors: String, wanted: &'static str, protocol: &'static str },
}

impl From<OptionsError> for BenchmarkError {
    fn from(error: OptionsError) -> Self {
        Self::Wrong(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_suit_every_test() {
        for test in Test::ALL {
            assert_eq!(Options::default().check(test), Ok(()), "{}", test.name());
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |test, change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check(test).unwrap_err().to_string()
        };
        assert!(refused(Test::ReadOnly, |o| o.tables = 0).contains("--tables=1"));
        assert!(refused(Test::PointSelect, |o| o.table_size = 0).contains("--table-size=0"));
        assert!(refused(Test::PointSelect, |o| o.table_size = 1 << 31).contains("2147483647"));
        assert!(refused(Test::SelectRandomPoints, |o| o.tables = 2).contains("one table"));
        assert!(refused(Test::UpdateIndex, |o| o.index_updates = 0).contains("no statement"));
        assert!(refused(Test::ReadWrite, |o| o.tables = 30_000).contains("--tables=7"));
        assert!(refused(Test::SelectRandomPoints, |o| o.random_points = 70_000).contains("70000"));
        assert!(
            refused(Test::ReadOnly, |o| o.distribution = Distribution::Pareto { h: 1.0 }).contains("pareto")
        );
        let empty = Options { table_size: 0, auto_inc: false, ..Options::default() };
        assert_eq!(empty.check(Test::Insert), Ok(()));
    }
}
