//! What stands on a server: nothing, tables that can be used, damaged ones, or tables that only share the names. Reads
//! only, and little: it looks rows up and scans no table.

use dyno_target::catalog::{self, Column, Names};
use dyno_target::connection::{Connection, QueryError};

use super::TERMS;
use super::options::Options;
use super::schema::{COLUMNS, index_name, table_name};
use crate::dataset::{self, NotReady, PROBES, State, StateError, Terms, columns_text, numbers, rows_missing};
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
    let tables = catalog::tables(connection, NAMES)?;
    // Unknown where the server has no such catalog, and then taken for granted.
    let indexes = catalog::indexes(connection, NAMES)?;
    let indexed = |name: &str| indexes.as_ref().is_none_or(|all| all.iter().any(|index| index.name == name));
    let mut found = Found { tables: 0, table_size: u64::MAX, keyed: true, indexed: true };
    for table in 1..=options.tables {
        let name = table_name(table);
        let Some(standing) = tables.iter().find(|standing| standing.name == name) else { break };
        if let Some(why) = foreign(&standing.columns) {
            return Ok(State::NotOurs { table: name, whose: format!("is not sysbench's: {why}") });
        }
        let rows = match last_row(connection, &name, options.table_size == 0)? {
            Ok(rows) => rows,
            Err(why) => return Ok(State::Damaged { why }),
        };
        found.tables = table;
        found.table_size = found.table_size.min(rows);
        found.keyed &= standing.key().next().is_some();
        found.indexed &= indexed(&index_name(table));
    }
    Ok(if found.tables == 0 { State::Missing } else { State::Ready(found) })
}

/// Why a table with these columns is none of sysbench's; `None` where it is one.
fn foreign(columns: &[Column]) -> Option<String> {
    // Integers and strings have as many names as there are products.
    let kinds = ["int", "int", "char", "char"];
    let ours = columns.len() == COLUMNS.len()
        && columns.iter().zip(COLUMNS.iter().zip(kinds)).all(|(found, (name, kind))| {
            found.name.eq_ignore_ascii_case(name) && found.kind.to_ascii_lowercase().contains(kind)
        });
    let columns = || columns_text(columns.iter().map(|column| (&column.name, &column.kind)));
    (!ours).then(|| format!("its columns are ({})", columns()))
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
    Ok(rows_missing(connection, table, ids)?.map_or(Ok(last), Err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_their_columns() {
        let column = |(name, kind): (&str, &str)| Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            is_key: false,
        };
        let foreign = |columns: &[(&str, &str)]| {
            super::foreign(&columns.iter().copied().map(column).collect::<Vec<_>>())
        };
        let ours = [("id", "integer"), ("k", "integer"), ("c", "character"), ("pad", "character")];
        assert_eq!(foreign(&ours), None);
        assert_eq!(foreign(&[("ID", "BIGINT"), ("k", "int"), ("c", "char"), ("pad", "VARCHAR")]), None);
        assert_eq!(foreign(&ours[..3]).unwrap(), "its columns are (id integer, k integer, c character)");
        assert!(foreign(&[("id", "integer"), ("k", "integer"), ("pad", "char"), ("c", "char")]).is_some());
    }

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
