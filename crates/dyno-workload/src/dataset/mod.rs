//! What all families of workloads have in common: how their tables are found, made, filled and checked. A family says
//! what its tables are, which rows they have and what must hold of them. Opens no socket of its own.

pub(crate) mod bulk;
mod count;
pub(crate) mod disk;
mod error;
mod mark;
mod prepare;
pub(crate) mod rows;
mod state;
mod steps;
mod table;
mod verdict;
mod worker_pool;

use std::str::FromStr;

use dyno_target::connection::{Connection, QueryError};

pub use count::ExpectedRows;
pub(crate) use count::count_rows;
pub use disk::DoesNotFit;
pub use error::{PrepareError, SizeError, StateError, TableError, Terms};
pub use mark::missing_indexes;
pub(crate) use mark::{Mark, Marks};
pub(crate) use prepare::{Part, Preparation};
pub(crate) use rows::{RowRange, RowWriter, Rows};
pub use state::{Found, NotReady, State};
pub(crate) use state::{PROBES, columns_text, rows_missing, standing, state_of_recipes, together};
pub(crate) use table::{Column, ForeignKey, Index, Key, Kind, Table, column};
pub(crate) use verdict::{Verdict, checks, range};
pub(crate) use worker_pool::JobError;
pub use worker_pool::OpenConnection;

/// The numbers in each row of an answer.
pub(crate) fn rows_of_numbers<T: FromStr + Default + Copy, const N: usize>(
    connection: &mut Connection,
    sql: &str,
) -> Result<Vec<[T; N]>, QueryError> {
    let mut numbers = Vec::new();
    for row in connection.query(sql)?.iter() {
        let mut values = [T::default(); N];
        for (at, value) in values.iter_mut().enumerate() {
            let text = row.text(at).unwrap_or_default();
            let wanted = std::any::type_name::<T>();
            let bad = |_| QueryError::Value { value: text.to_owned(), wanted, statement: sql.to_owned() };
            *value = text.parse().map_err(bad)?;
        }
        numbers.push(values);
    }
    Ok(numbers)
}

/// The numbers in the only row of an answer.
pub(crate) fn numbers<T: FromStr + Default + Copy, const N: usize>(
    connection: &mut Connection,
    sql: &str,
) -> Result<[T; N], QueryError> {
    Ok(rows_of_numbers(connection, sql)?.first().copied().unwrap_or([T::default(); N]))
}
