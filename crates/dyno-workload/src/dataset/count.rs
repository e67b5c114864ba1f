//! How many rows tables have, and how many they must have.

use std::fmt;

use dyno_results::format::grouped;
use dyno_target::connection::Connection;

use super::{TableError, numbers};

/// How many rows of a table its generator makes, and what loads of before may have changed of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRows {
    Exactly(u64),
    /// Loads add rows.
    AtLeast(u64),
    /// Loads add rows, or remove them, and nobody knows how many.
    Any,
}

impl ExpectedRows {
    pub fn allows(self, found: u64) -> bool {
        match self {
            Self::Exactly(rows) => found == rows,
            Self::AtLeast(rows) => found >= rows,
            Self::Any => true,
        }
    }
}

/// `1,000`, `at least 1,000`
impl fmt::Display for ExpectedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(rows) => f.write_str(&grouped(*rows)),
            Self::AtLeast(rows) => write!(f, "at least {}", grouped(*rows)),
            Self::Any => f.write_str("any number"),
        }
    }
}

/// Counts the rows of each of some tables, by reading all of them; who calls has lifted the limits of statements.
pub(crate) fn count_rows(connection: &mut Connection, tables: &[String]) -> Result<Vec<u64>, TableError> {
    let mut count = |table: &String| {
        let counted = numbers(connection, &format!("SELECT COUNT(*) FROM {table}"));
        let [rows] = counted.map_err(TableError::of(table))?;
        Ok(rows)
    };
    tables.iter().map(&mut count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rows_and_strange_ones_are_told_from_those_of_loads() {
        let allowed = |expected: ExpectedRows| [0, 999, 1_000, 1_001].map(|found| expected.allows(found));
        assert_eq!(allowed(ExpectedRows::Exactly(1_000)), [false, false, true, false]);
        assert_eq!(allowed(ExpectedRows::AtLeast(1_000)), [false, false, true, true]);
        assert_eq!(allowed(ExpectedRows::Any), [true; 4]);
        assert_eq!(ExpectedRows::AtLeast(1_000).to_string(), "at least 1,000");
    }
}
