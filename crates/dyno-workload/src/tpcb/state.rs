//! What stands on a target: nothing, data that can be used, damaged data, or tables that only share the names.
//! Reads only, and little: it looks rows up, it never scans the accounts.

use dyno_target::cause::Cause;
use dyno_target::connection::{Connection, QueryError};
use thiserror::Error;

use super::digits::grouped;
use super::schema::Table;

/// Accounts that are looked up, evenly over all, to see that none are missing.
const PROBES: i64 = 100;

/// What [`state`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// None of the four tables is there.
    Missing,
    /// The tables are pgbench's, with their keys, and hold the rows of `scale`: all branches and tellers were
    /// counted, and of the accounts the first, the last and a sample were found. Balances are not judged.
    Ready { scale: u32 },
    /// The tables are pgbench's, but cannot be used.
    Damaged { why: String },
    /// A table has the name of one of pgbench's and is something else.
    NotOurs { table: Table, why: String },
}

/// Looks at the tables on the connection's search path.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection) -> Result<State, StateError> {
    let shape = Shape::read(connection)?;
    if shape.tables.is_empty() {
        return Ok(State::Missing);
    }
    for found in &shape.tables {
        if let Some(why) = found.foreign() {
            return Ok(State::NotOurs { table: found.table, why });
        }
    }
    if let Some(why) = shape.incomplete() {
        return Ok(State::Damaged { why });
    }
    contents(connection)
}

impl State {
    /// The scale of usable data; `wanted` is the scale that was asked for, if any was.
    ///
    /// # Errors
    /// There is no usable data, or it has another scale.
    pub fn ready(self, wanted: Option<u32>) -> Result<u32, NotReady> {
        match self {
            Self::Ready { scale } => match wanted {
                Some(wanted) if wanted != scale => Err(NotReady::OtherScale { found: scale, wanted }),
                _ => Ok(scale),
            },
            Self::Missing => Err(NotReady::missing(wanted)),
            Self::Damaged { why } => Err(NotReady::Damaged { why }),
            Self::NotOurs { table, why } => Err(NotReady::NotOurs { table: table.name(), why }),
        }
    }
}

/// A table as the catalog has it.
#[derive(Debug)]
struct Found {
    table: Table,
    /// `pg_class.relkind`
    kind: String,
    /// Names and types, in order.
    columns: Vec<(String, String)>,
    /// The column of the primary key, where that is a single one.
    key: Option<String>,
}

impl Found {
    /// Why this is no table of pgbench's; `None` where it is one.
    fn foreign(&self) -> Option<String> {
        if !matches!(self.kind.as_str(), "r" | "p") {
            return Some("it is not a table".to_owned());
        }
        let like = |bigint| {
            let expected = self.table.columns(bigint);
            expected.len() == self.columns.len()
                && expected.iter().zip(&self.columns).all(|(a, b)| a.0 == b.0 && a.1 == b.1)
        };
        if like(false) || like(true) {
            return None;
        }
        let columns: Vec<String> = self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        Some(format!("its columns are ({})", columns.join(", ")))
    }
}

/// Those of the four tables that are there.
#[derive(Debug)]
struct Shape {
    tables: Vec<Found>,
}

impl Shape {
    fn read(connection: &mut Connection) -> Result<Self, StateError> {
        let names: Vec<String> = Table::ALL.iter().map(|table| format!("'{}'", table.name())).collect();
        let sql = format!(
            "select c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod) as type, \
                    exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and i.indisvalid \
                            and i.indnatts = 1 and i.indkey[0] = a.attnum)::int as is_key \
             from unnest(array[{}]) as wanted(name) \
             join pg_class c on c.oid = to_regclass(wanted.name) \
             left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
             order by c.relname, a.attnum",
            names.join(", ")
        );
        let rows = connection.query(&sql).map_err(StateError::of)?;
        let mut tables: Vec<Found> = Vec::new();
        for row in rows.iter() {
            let text = |column| row.get(column).unwrap_or_default().to_owned();
            let Some(table) = Table::from_name(&text("relname")) else { continue };
            if tables.last().is_none_or(|last| last.table != table) {
                tables.push(Found { table, kind: text("relkind"), columns: Vec::new(), key: None });
            }
            let Some(found) = tables.last_mut() else { continue };
            found.columns.push((text("attname"), text("type")));
            if row.get("is_key") == Some("1") {
                found.key = Some(text("attname"));
            }
        }
        Ok(Self { tables })
    }

    /// What is not as `pgbench -i` leaves it; `None` where all is.
    fn incomplete(&self) -> Option<String> {
        for table in Table::ALL {
            let Some(found) = self.tables.iter().find(|found| found.table == table) else {
                return Some(format!("{} is missing", table.name()));
            };
            if found.key.as_deref() != table.key() {
                return Some(format!(
                    "{} has no primary key on {}",
                    table.name(),
                    table.key().unwrap_or("any column")
                ));
            }
        }
        None
    }
}

/// Judges the rows of tables whose shape is right.
fn contents(connection: &mut Connection) -> Result<State, StateError> {
    let [branches, last_branch, tellers, last_teller] = numbers(
        connection,
        "select (select count(*) from pgbench_branches), (select coalesce(max(bid), 0) from pgbench_branches), \
                (select count(*) from pgbench_tellers), (select coalesce(max(tid), 0) from pgbench_tellers)",
    )?;
    let damaged = |why: String| Ok(State::Damaged { why });
    let scale = match u32::try_from(branches) {
        Ok(0) => return damaged("pgbench_branches is empty".to_owned()),
        Ok(scale) if last_branch == branches => scale,
        _ => {
            return damaged(format!(
                "pgbench_branches has {} rows and ends with {}",
                grouped(branches),
                grouped(last_branch)
            ));
        }
    };
    let expected = Table::Tellers.rows(scale) as i64;
    if [tellers, last_teller] != [expected, expected] {
        return damaged(format!(
            "pgbench_tellers has {} rows and ends with {}: not the {} of scale {scale}",
            grouped(tellers),
            grouped(last_teller),
            grouped(expected)
        ));
    }
    Ok(match missing_accounts(connection, scale)? {
        None => State::Ready { scale },
        Some(why) => State::Damaged { why },
    })
}

/// Looks up the ends of the accounts and a sample between them; says what is wrong with them.
fn missing_accounts(connection: &mut Connection, scale: u32) -> Result<Option<String>, StateError> {
    let expected = Table::Accounts.rows(scale) as i64;
    let [first, last, probed] = numbers(
        connection,
        &format!(
            "select coalesce((select min(aid) from pgbench_accounts), 0), \
                    coalesce((select max(aid) from pgbench_accounts), 0), \
                    (select count(*) from pgbench_accounts where aid = any (array( \
                       select 1 + i * {expected}::bigint / {PROBES} from generate_series(0, {PROBES} - 1) as i)))"
        ),
    )?;
    Ok(if last == 0 {
        Some("pgbench_accounts is empty".to_owned())
    } else if [first, last] != [1, expected] {
        Some(format!(
            "pgbench_accounts runs from {} to {}, not from 1 to {} as scale {scale} does",
            grouped(first),
            grouped(last),
            grouped(expected)
        ))
    } else if probed != PROBES {
        Some(format!("of {PROBES} accounts looked up, {} are missing", PROBES - probed))
    } else {
        None
    })
}

/// The integers in the only row of a query; 0 where there is none.
fn numbers<const N: usize>(connection: &mut Connection, sql: &str) -> Result<[i64; N], StateError> {
    let rows = connection.query(sql).map_err(StateError::of)?;
    let row = rows.first();
    let number =
        |column| row.and_then(|row| row.text(column)).and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok(std::array::from_fn(number))
}

/// Why the tables could not be looked at.
#[derive(Debug, Error)]
pub enum StateError {
    #[error(
        "the tables of tpcb are there and may not be read: {0}; \
         grant SELECT, INSERT, UPDATE and TRUNCATE on the pgbench tables, or connect as their owner"
    )]
    Denied(#[source] QueryError),
    #[error("cannot look at the tables of tpcb: {0}")]
    Failed(#[source] QueryError),
}

impl StateError {
    fn of(error: QueryError) -> Self {
        if error.cause() == Some(Cause::Denied) { Self::Denied(error) } else { Self::Failed(error) }
    }
}

/// Why the data that is there cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotReady {
    #[error(
        "the tables of tpcb are missing; run again with --prepare, or make them with `pgbench -i -s {scale}`"
    )]
    Missing { scale: u32 },
    #[error(
        "the data of tpcb has scale {found}, not {wanted}; run with --scale {found}, or with --prepare to replace it"
    )]
    OtherScale { found: u32, wanted: u32 },
    #[error("the data of tpcb is damaged: {why}; run again with --prepare to replace it")]
    Damaged { why: String },
    #[error("{table} is not pgbench's: {why}; name another database, or rename the table")]
    NotOurs { table: &'static str, why: String },
}

impl NotReady {
    /// There is no data, and none is to be made; `wanted` is the scale that was asked for, if any was.
    pub(crate) fn missing(wanted: Option<u32>) -> Self {
        Self::Missing { scale: wanted.unwrap_or(50) }
    }
}
