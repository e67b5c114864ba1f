//! What stands on a server: nothing, tables that can be used, damaged ones, or tables that only share the names. Reads
//! only, and little: it looks rows up and scans no table.

use dyno_target::catalog::{self, Names};
use dyno_target::connection::{Connection, QueryError};

use super::options::Options;
use super::schema::{index_name, table, table_name};
use super::{MARKS, TERMS};
use crate::dataset::{
    self, Marks, NotReady, PROBES, State, StateError, Terms, numbers, rows_missing, standing,
};
use dyno_results::format::grouped;

const NAMES: Names<'static> = Names::BeginWith("sbtest");

/// Tables that are sysbench's and hold their rows, as far as the ends and a sample can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// `sbtest1` to this one; at most as many as were asked for.
    pub tables: u32,
    /// Each table has the ids from 1 to this. Some may have more, which `oltp_insert` leaves.
    pub table_size: u64,
    /// Each table has its primary key.
    pub keyed: bool,
    /// Each table has its index `k_N`.
    pub indexed: bool,
}

impl dataset::Found for Found {
    type Wanted = Wanted;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = MARKS;

    fn suits(&self, wanted: Wanted) -> Result<(), NotReady> {
        let other = |found: String, wanted, flag| {
            Err(NotReady::Other { terms: &TERMS, found, wanted: grouped(wanted), flag })
        };
        let lacks = |why: &str| Err(NotReady::Damaged { terms: &TERMS, why: why.to_owned() });
        let (tables, size) = (self.tables, self.table_size);
        match wanted {
            Wanted { tables: Some(wanted), .. } if tables < wanted => {
                other(format!("{tables} tables"), u64::from(wanted), format!("--tables {tables}"))
            }
            Wanted { table_size: Some(wanted), .. } if size != wanted => {
                other(format!("tables of {} rows", grouped(size)), wanted, format!("--table-size {size}"))
            }
            Wanted { key: true, .. } if !self.keyed => lacks("a table has no primary key"),
            Wanted { index: true, .. } if !self.indexed => lacks("a table has no index on k"),
            _ => Ok(()),
        }
    }
}

/// Which tables are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// `None` where any number will do.
    pub tables: Option<u32>,
    pub table_size: Option<u64>,
    /// The primary key and the index on `k` have to be there.
    pub key: bool,
    pub index: bool,
}

/// Looks at `sbtest1` to at most as many tables as the options name, in the schema or database where tables are made.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection, options: &Options) -> Result<State<Found>, StateError> {
    look(connection, options).map_err(StateError::of(&TERMS))
}

fn look(connection: &mut Connection, options: &Options) -> Result<State<Found>, QueryError> {
    // Those behind a gap are not used.
    let of = |number: &u32, all: &[catalog::Table]| all.iter().position(|it| it.name == table_name(*number));
    let mut all = catalog::tables(connection, NAMES)?;
    let used = (1..=options.tables).map_while(|number| Some(all.swap_remove(of(&number, &all)?))).collect();
    let whose = |why| format!("is not sysbench's: {why}");
    let tables = match standing(&MARKS, used, |found| table(1, options).foreign(found).map(whose)) {
        Ok(tables) => tables,
        Err(state) => return Ok(state),
    };
    // Unknown where the server has no such catalog, and then taken for granted.
    let indexes = catalog::indexes(connection, NAMES)?;
    let indexed = |name: &str| indexes.as_ref().is_none_or(|all| all.iter().any(|index| index.name == name));
    let mut found = Found { tables: 0, table_size: u64::MAX, keyed: true, indexed: true };
    for (number, table) in (1..).zip(&tables) {
        let rows = match last_row(connection, &table.name, options.table_size == 0)? {
            Ok(rows) => rows,
            Err(why) => return Ok(State::Damaged { why }),
        };
        found.tables = number;
        found.table_size = found.table_size.min(rows);
        found.keyed &= table.key().next().is_some();
        found.indexed &= indexed(&index_name(number));
    }
    Ok(State::Ready(found))
}

/// The highest id of a table that has all those below it, as far as a sample tells; else what is wrong with it.
fn last_row(
    connection: &mut Connection,
    table: &str,
    may_be_empty: bool,
) -> Result<Result<u64, String>, QueryError> {
    let ends = format!("SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM {table}");
    let [first, last] = numbers::<i64, 2>(connection, &ends)?;
    let last = match u64::try_from(last) {
        Ok(0) if may_be_empty => return Ok(Ok(0)),
        Ok(0) => return Ok(Err(format!("{table} is empty"))),
        Ok(last) if first == 1 => last,
        _ => {
            let (first, last) = (grouped(first), grouped(last));
            return Ok(Err(format!("{table} runs from {first} to {last}, not from 1")));
        }
    };
    let probes = PROBES.min(last);
    let ids = (0..probes).map(|probe| 1 + probe * last / probes);
    Ok(rows_missing(connection, table, "id", ids)?.map_or(Ok(last), Err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_must_be_there() {
        let found = Found { tables: 2, table_size: 1_000, keyed: true, indexed: false };
        let any = Wanted { tables: None, table_size: None, key: true, index: false };
        let ready = |wanted| State::Ready(found).found(wanted).map_err(|error| error.to_string());
        assert_eq!(ready(any), Ok(Some(found)));
        assert_eq!(ready(Wanted { tables: Some(1), table_size: Some(1_000), ..any }), Ok(Some(found)));
        assert!(ready(Wanted { tables: Some(4), ..any }).unwrap_err().contains("has 2 tables, not 4"));
        assert!(
            ready(Wanted { table_size: Some(999), ..any })
                .unwrap_err()
                .contains("tables of 1,000 rows, not 999")
        );
        assert!(ready(Wanted { index: true, ..any }).unwrap_err().contains("no index on k"));
    }
}
