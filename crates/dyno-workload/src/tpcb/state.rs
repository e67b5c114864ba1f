//! What stands on a target: nothing, data that can be used, damaged data, or tables that only share the names.
//! Reads only, and little: it looks rows up, it never scans the accounts.

use dyno_target::connection::{Connection, QueryError};

use super::TERMS;
use super::schema::Table;
use crate::dataset::{self, NotReady, PROBES, State, StateError, Terms, columns_text, numbers};
use dyno_results::format::grouped;

/// Looks at the tables on the connection's search path.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection) -> Result<State<Found>, StateError> {
    look(connection).map_err(StateError::of(&TERMS))
}

fn look(connection: &mut Connection) -> Result<State<Found>, QueryError> {
    let tables = tables(connection)?;
    if tables.is_empty() {
        return Ok(State::Missing);
    }
    for found in &tables {
        if let Some(why) = found.foreign() {
            let table = found.table.name().to_owned();
            return Ok(State::NotOurs { table, whose: format!("is not pgbench's: {why}") });
        }
    }
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

/// A table as the catalog has it.
#[derive(Debug)]
struct FoundTable {
    table: Table,
    /// `pg_class.relkind`
    kind: String,
    /// Names and types, in order.
    columns: Vec<(String, String)>,
    /// The column of the primary key, where that is a single one.
    key: Option<String>,
}

impl FoundTable {
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
        let columns = self.columns.iter().map(|(name, kind)| (name, kind));
        Some(format!("its columns are ({})", columns_text(columns)))
    }
}

/// Those of the four tables that are there.
fn tables(connection: &mut Connection) -> Result<Vec<FoundTable>, QueryError> {
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
    let rows = connection.query(&sql)?;
    let mut tables: Vec<FoundTable> = Vec::new();
    for row in rows.iter() {
        let text = |column| row.get(column).unwrap_or_default().to_owned();
        let name = text("relname");
        let Some(table) = Table::ALL.into_iter().find(|table| table.name() == name) else { continue };
        if tables.last().is_none_or(|last| last.table != table) {
            tables.push(FoundTable { table, kind: text("relkind"), columns: Vec::new(), key: None });
        }
        let Some(found) = tables.last_mut() else { continue };
        found.columns.push((text("attname"), text("type")));
        if row.get("is_key") == Some("1") {
            found.key = Some(text("attname"));
        }
    }
    Ok(tables)
}

/// What is not as `pgbench -i` leaves it; `None` where all is.
fn incomplete(tables: &[FoundTable]) -> Option<String> {
    for table in Table::ALL {
        let Some(found) = tables.iter().find(|found| found.table == table) else {
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
    let expected = Table::Accounts.rows(scale) as i64;
    let [first, last, probed] = numbers::<i64, 3>(
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
    } else if probed as u64 != PROBES {
        Some(format!("of {PROBES} accounts looked up, {} are missing", PROBES - probed as u64))
    } else {
        None
    })
}
