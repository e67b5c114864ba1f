//! What stands on a target: nothing, data that can be used, damaged data, or tables that only share the names.
//! Reads only, and little: it looks rows up, it never scans the accounts.

use dyno_target::catalog;
use dyno_target::connection::{Connection, QueryError};

use super::schema::Table;
use super::{MARKS, NAMES, TERMS};
use crate::dataset::{
    self, Marks, NotReady, PROBES, State, StateError, Terms, numbers, rows_missing, standing,
};
use dyno_results::format::grouped;

/// Looks at the tables on the connection's search path.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection) -> Result<State<Found>, StateError> {
    look(connection).map_err(StateError::of(&TERMS))
}

fn look(connection: &mut Connection) -> Result<State<Found>, QueryError> {
    let foreign = |found: &catalog::Table| {
        let table = Table::ALL.into_iter().find(|table| table.name() == found.name)?;
        table.describe(1).foreign(found).map(|why| format!("is not pgbench's: {why}"))
    };
    let tables = match standing(&MARKS, catalog::tables(connection, NAMES)?, foreign) {
        Ok(tables) => tables,
        Err(state) => return Ok(state),
    };
    match incomplete(&tables) {
        Some(why) => Ok(State::Damaged { why }),
        None => contents(connection),
    }
}

/// Data of a scale: all branches and tellers were counted, and of the accounts the first, the last and a sample were
/// found. Balances are not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub scale: u32,
}

impl dataset::Found for Found {
    /// A scale, where one was asked for.
    type Wanted = Option<u32>;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = MARKS;

    fn suits(&self, wanted: Option<u32>) -> Result<(), NotReady> {
        let scale = self.scale;
        wanted.filter(|wanted| *wanted != scale).map_or(Ok(()), |wanted| {
            let (found, flag) = (format!("scale {scale}"), format!("--scale {scale}"));
            Err(NotReady::Other { terms: &TERMS, found, wanted: wanted.to_string(), flag })
        })
    }

    fn missing(wanted: Option<u32>) -> NotReady {
        let scale = wanted.unwrap_or(50);
        NotReady::Missing { terms: &TERMS, or_else: format!(", or make them with `pgbench -i -s {scale}`") }
    }
}

/// What is not as `pgbench -i` leaves it; `None` where all is.
fn incomplete(tables: &[catalog::Table]) -> Option<String> {
    Table::ALL.into_iter().find_map(|table| {
        let name = table.name();
        let Some(found) = tables.iter().find(|found| found.name == name) else {
            return Some(format!("{name} is missing"));
        };
        let key = table.key();
        (!found.key().eq(key))
            .then(|| format!("{name} has no primary key on {}", key.unwrap_or("any column")))
    })
}

/// Judges the rows of tables whose shape is right.
fn contents(connection: &mut Connection) -> Result<State<Found>, QueryError> {
    let [branches, last_branch, tellers, last_teller] = numbers::<i64, 4>(
        connection,
        "select (select count(*) from pgbench_branches), (select coalesce(max(bid), 0) from pgbench_branches), \
                (select count(*) from pgbench_tellers), (select coalesce(max(tid), 0) from pgbench_tellers)",
    )?;
    let scale = match u32::try_from(branches) {
        Ok(0) => return Ok(State::damaged("pgbench_branches is empty")),
        Ok(scale) if last_branch == branches => scale,
        _ => {
            return Ok(State::damaged(format!(
                "pgbench_branches has {} rows and ends with {}",
                grouped(branches),
                grouped(last_branch)
            )));
        }
    };
    let expected = Table::Tellers.rows(scale) as i64;
    if [tellers, last_teller] != [expected, expected] {
        return Ok(State::damaged(format!(
            "pgbench_tellers has {} rows and ends with {}: not the {} of scale {scale}",
            grouped(tellers),
            grouped(last_teller),
            grouped(expected)
        )));
    }
    Ok(match missing_accounts(connection, scale)? {
        None => State::Ready(Found { scale }),
        Some(why) => State::Damaged { why },
    })
}

/// Looks up the ends of the accounts and a sample between them; says what is wrong with them.
fn missing_accounts(connection: &mut Connection, scale: u32) -> Result<Option<String>, QueryError> {
    let expected = Table::Accounts.rows(scale);
    let ends = "select coalesce((select min(aid) from pgbench_accounts), 0), \
                       coalesce((select max(aid) from pgbench_accounts), 0)";
    let [first, last] = numbers::<i64, 2>(connection, ends)?;
    if last == 0 {
        return Ok(Some("pgbench_accounts is empty".to_owned()));
    }
    if [first, last] != [1, expected as i64] {
        return Ok(Some(format!(
            "pgbench_accounts runs from {} to {}, not from 1 to {} as scale {scale} does",
            grouped(first),
            grouped(last),
            grouped(expected)
        )));
    }
    let sample = (0..PROBES).map(|probe| 1 + probe * expected / PROBES);
    rows_missing(connection, Table::Accounts.name(), "aid", sample)
}
