//! What stands on a server: nothing, tables that can be used, damaged ones, or tables that only share the names. Reads
//! only, and little: it looks rows up and scans no table.

use std::collections::{HashMap, HashSet};

use dyno_target::cause::Cause;
use dyno_target::connection::{Connection, QueryError, TextRow};
use thiserror::Error;

use crate::tpcb::grouped;

use super::options::Options;
use super::schema::{COLUMNS, index_name, table_name};

/// Rows that are looked up in each table, evenly over all, to see that none are missing.
const PROBES: u64 = 100;

/// What [`state`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is no `sbtest1`.
    Missing,
    Ready(Found),
    /// The tables are sysbench's, but cannot be used.
    Damaged {
        why: String,
    },
    /// A table has the name of one of sysbench's and is something else.
    NotOurs {
        table: String,
        why: String,
    },
}

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

impl State {
    /// Tables that can be used; `wanted` says how many of which size, if the user did, and whether they have the keys
    /// that the options name.
    ///
    /// # Errors
    /// There are none, or others.
    pub fn ready(self, wanted: Wanted) -> Result<Found, NotReady> {
        let found = match self {
            Self::Ready(found) => found,
            Self::Missing => return Err(NotReady::Missing),
            Self::Damaged { why } => return Err(NotReady::Damaged { why }),
            Self::NotOurs { table, why } => return Err(NotReady::NotOurs { table, why }),
        };
        match wanted {
            Wanted { tables: Some(wanted), .. } if found.tables < wanted => {
                Err(NotReady::FewerTables { found: found.tables, wanted })
            }
            Wanted { table_size: Some(wanted), .. } if found.table_size != wanted => {
                Err(NotReady::OtherSize { found: found.table_size, wanted })
            }
            Wanted { key: true, .. } if !found.keyed => {
                Err(NotReady::Damaged { why: "a table has no primary key".to_owned() })
            }
            Wanted { index: true, .. } if !found.indexed => {
                Err(NotReady::Damaged { why: "a table has no index on k".to_owned() })
            }
            _ => Ok(found),
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
pub fn state(connection: &mut Connection, options: &Options) -> Result<State, StateError> {
    let catalog = Catalog::read(connection)?;
    let mut found = Found { tables: 0, table_size: u64::MAX, keyed: true, indexed: true };
    for table in 1..=options.tables {
        let name = table_name(table);
        let columns = catalog.columns(&name);
        if columns.is_empty() {
            break;
        }
        if let Some(why) = foreign(&columns) {
            return Ok(State::NotOurs { table: name, why });
        }
        let rows = match last_row(connection, &name, options.table_size == 0)? {
            Ok(rows) => rows,
            Err(why) => return Ok(State::Damaged { why }),
        };
        found.tables = table;
        found.table_size = found.table_size.min(rows);
        found.keyed &= catalog.keyed.contains(&name);
        found.indexed &= catalog.indexes.contains(&index_name(table));
    }
    Ok(if found.tables == 0 { State::Missing } else { State::Ready(found) })
}

/// What the catalog says of tables with such names.
#[derive(Debug)]
struct Catalog {
    /// Names and types of a table's columns, in order.
    columns: HashMap<String, Vec<(String, String)>>,
    /// Tables with a primary key.
    keyed: HashSet<String>,
    indexes: HashSet<String>,
}

impl Catalog {
    /// Keys are looked for where a user who may only read finds them: `table_constraints` is not such a place.
    fn read(connection: &mut Connection) -> Result<Self, StateError> {
        let (schema, keyed, indexes) = match connection.is_mysql() {
            true => (
                "DATABASE()",
                "SELECT DISTINCT table_name FROM information_schema.statistics \
                 WHERE table_schema = DATABASE() AND index_name = 'PRIMARY'",
                "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE()",
            ),
            false => (
                "current_schema()",
                "SELECT c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid \
                 JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = current_schema() AND k.contype = 'p'",
                "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()",
            ),
        };
        let of_tables = format!(
            "SELECT table_name, column_name, data_type FROM information_schema.columns \
             WHERE table_schema = {schema} AND table_name LIKE 'sbtest%' ORDER BY table_name, ordinal_position"
        );
        let [of_tables, keyed, indexes] =
            [&*of_tables, keyed, indexes].map(|sql| connection.query(sql).map_err(StateError::of));
        let text = |row: &TextRow, at: usize| row.text(at).unwrap_or_default().to_owned();
        let mut columns: HashMap<_, Vec<_>> = HashMap::new();
        for row in &of_tables? {
            columns.entry(text(row, 0)).or_default().push((text(row, 1), text(row, 2)));
        }
        Ok(Self {
            columns,
            keyed: keyed?.iter().map(|row| text(row, 0)).collect(),
            indexes: indexes?.iter().map(|row| text(row, 0)).collect(),
        })
    }

    /// Names and types.
    fn columns(&self, table: &str) -> Vec<(&str, &str)> {
        let of_table = self.columns.get(table).into_iter().flatten();
        of_table.map(|(column, kind)| (column.as_str(), kind.as_str())).collect()
    }
}

/// Why a table with these columns is none of sysbench's; `None` where it is one.
fn foreign(columns: &[(&str, &str)]) -> Option<String> {
    // Integers and strings have as many names as there are products.
    let kinds = ["int", "int", "char", "char"];
    let ours = columns.len() == COLUMNS.len()
        && columns.iter().zip(COLUMNS.iter().zip(kinds)).all(|(found, (name, kind))| {
            found.0.eq_ignore_ascii_case(name) && found.1.to_ascii_lowercase().contains(kind)
        });
    let list = || columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>().join(", ");
    (!ours).then(|| format!("its columns are ({})", list()))
}

/// The highest id of a table that has all those below it, as far as a sample tells; else what is wrong with it.
fn last_row(
    connection: &mut Connection,
    table: &str,
    may_be_empty: bool,
) -> Result<Result<u64, String>, StateError> {
    let ends = format!("SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM {table}");
    let [first, last] = numbers(connection, &ends)?;
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
    let ids: Vec<String> = (0..probes).map(|probe| (1 + probe * last / probes).to_string()).collect();
    let [there] =
        numbers(connection, &format!("SELECT COUNT(*) FROM {table} WHERE id IN ({})", ids.join(", ")))?;
    let missing = probes.saturating_sub(u64::try_from(there).unwrap_or(0));
    Ok(match missing {
        0 => Ok(last),
        missing => Err(format!("of {probes} rows of {table} that were looked up, {missing} are missing")),
    })
}

/// The integers in the only row of a query; 0 where there is none.
fn numbers<const N: usize>(connection: &mut Connection, sql: &str) -> Result<[i64; N], StateError> {
    let rows = connection.query(sql).map_err(StateError::of)?;
    let number = |at| rows.first().and_then(|row| row.text(at)?.parse().ok()).unwrap_or(0);
    Ok(std::array::from_fn(number))
}

/// Why the tables could not be looked at.
#[derive(Debug, Error)]
pub enum StateError {
    #[error(
        "the tables of sysbench are there and may not be read: {0}; \
         grant SELECT, INSERT, UPDATE and DELETE on them, or connect as their owner"
    )]
    Denied(#[source] QueryError),
    #[error("cannot look at the tables of sysbench: {0}")]
    Failed(#[source] QueryError),
}

impl StateError {
    fn of(error: QueryError) -> Self {
        if error.cause() == Some(Cause::Denied) { Self::Denied(error) } else { Self::Failed(error) }
    }
}

/// Why the tables that are there cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotReady {
    #[error("the tables of sysbench are missing; run again with --prepare")]
    Missing,
    #[error(
        "there are {found} tables of sysbench, not {wanted}; run with --tables {found}, or with --prepare to make them"
    )]
    FewerTables { found: u32, wanted: u32 },
    #[error(
        "the tables of sysbench have {} rows, not {}; run with --table-size {found}, or with --prepare to replace them",
        grouped(*.found),
        grouped(*.wanted)
    )]
    OtherSize { found: u64, wanted: u64 },
    #[error("the tables of sysbench are damaged: {why}; run again with --prepare to replace them")]
    Damaged { why: String },
    #[error("{table} is not sysbench's: {why}; name another database, or rename the table")]
    NotOurs { table: String, why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_their_columns() {
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
        let ready = |wanted| State::Ready(found).ready(wanted).map_err(|error| error.to_string());
        assert_eq!(ready(any), Ok(found));
        assert_eq!(ready(Wanted { tables: Some(1), table_size: Some(1_000), ..any }), Ok(found));
        assert!(
            ready(Wanted { tables: Some(4), ..any }).unwrap_err().contains("2 tables of sysbench, not 4")
        );
        assert!(ready(Wanted { table_size: Some(999), ..any }).unwrap_err().contains("1,000 rows, not 999"));
        assert!(ready(Wanted { index: true, ..any }).unwrap_err().contains("no index on k"));
        assert_eq!(State::Missing.ready(any), Err(NotReady::Missing));
    }
}
