//! What stands on a server: nothing, dyno's tables whole or not, or tables that are somebody else's. Reads only, and
//! little: it looks rows up and scans no table.

use dyno_target::cause::Cause;
use dyno_target::connection::{Connection, QueryError, TextRow};
use thiserror::Error;

use crate::tpcb::grouped;

use super::mark::{Mark, Recipe};
use super::schema::Table;
use super::size::Size;

/// Rows that are looked up in each table, evenly over all, to see that none are missing.
const PROBES: u64 = 100;

/// What [`state`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Missing,
    /// dyno's own tables, whose preparation was broken off: nobody can miss them.
    Unfinished,
    Ready(Found),
    /// dyno's own tables, which cannot be used.
    Damaged {
        why: String,
    },
    /// A table has the name of one of dyno's and was not made by it.
    NotOurs {
        table: Table,
        /// What it is: `a table with the columns id bigint, title text`.
        what: String,
    },
}

/// Tables that hold their rows, as far as the ends and a sample can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// As it was made.
    pub size: Size,
    /// An index on `event.customer_id` was asked for when they were made.
    pub customer_index_asked: bool,
    /// There is one: asked for, or brought by the foreign key.
    pub customer_index: bool,
    /// The highest id of an event: [`Size::rows`], or more once events were inserted.
    pub last_event: u64,
}

impl Found {
    pub(crate) fn recipe(&self) -> String {
        Recipe { size: self.size, customer_index: self.customer_index }.of_rows()
    }
}

/// What is asked for; `None` where anything will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    pub rows: Option<u64>,
    pub customers: Option<u64>,
    /// The index has to be there.
    pub customer_index: bool,
    /// There has to be an event.
    pub events: bool,
}

impl State {
    /// Tables that can be used.
    ///
    /// # Errors
    /// There are none, or others.
    pub fn ready(self, wanted: &Wanted) -> Result<Found, NotReady> {
        let found = match self {
            Self::Ready(found) => found,
            Self::Missing => return Err(NotReady::Missing),
            Self::Unfinished => return Err(NotReady::Unfinished),
            Self::Damaged { why } => return Err(NotReady::Damaged { why }),
            Self::NotOurs { table, what } => return Err(NotReady::NotOurs { table: table.name(), what }),
        };
        let size = found.size;
        match *wanted {
            Wanted { rows: Some(wanted), .. } if wanted != size.rows => {
                Err(NotReady::OtherRows { found: size.rows, wanted })
            }
            Wanted { customers: Some(wanted), .. } if wanted != size.customers => {
                Err(NotReady::OtherCustomers { found: size.customers, wanted })
            }
            Wanted { customer_index: true, .. } if !found.customer_index => Err(NotReady::NoIndex),
            Wanted { events: true, .. } if found.last_event == 0 => Err(NotReady::NoEvents),
            _ => Ok(found),
        }
    }
}

/// Looks at the tables that the names `customer` and `event` stand for on this connection.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection) -> Result<State, StateError> {
    let mut marks = Vec::new();
    for (table, is_table, comment) in comments(connection)? {
        match Mark::parse(&comment).filter(|_| is_table) {
            Some(mark) => marks.push(mark),
            None => return Ok(State::NotOurs { table, what: describe(connection, table, is_table)? }),
        }
    }
    let damaged = |why: &str| Ok(State::Damaged { why: why.to_owned() });
    match marks.as_slice() {
        [] => Ok(State::Missing),
        _ if marks.contains(&Mark::OtherFormat) => damaged("they were made by another version of dyno"),
        _ if marks.contains(&Mark::Unfinished) => Ok(State::Unfinished),
        [Mark::Whole(customer), Mark::Whole(event)] if customer == event => contents(connection, customer),
        [_] => damaged("one of the two is missing"),
        _ => damaged("they were not made together"),
    }
}

/// The tables that are there, whether each is a plain table, and its comment.
fn comments(connection: &mut Connection) -> Result<Vec<(Table, bool, String)>, StateError> {
    // What a name stands for on the search path, not what this user's own schema holds: that is what statements meet.
    let sql = match connection.is_mysql() {
        true => {
            "SELECT table_name, table_type, table_comment FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name IN ('customer', 'event')"
        }
        false => {
            "SELECT relname, CASE WHEN relkind IN ('r', 'p') THEN 'BASE TABLE' ELSE 'other' END, \
             obj_description(oid, 'pg_class') \
             FROM pg_class WHERE oid = to_regclass('customer') OR oid = to_regclass('event')"
        }
    };
    let rows = connection.query(sql).map_err(StateError::of)?;
    let text = |row: &TextRow, at: usize| row.text(at).unwrap_or_default().to_owned();
    let found = |row: &TextRow| {
        Some((Table::from_name(row.text(0)?)?, row.text(1) == Some("BASE TABLE"), text(row, 2)))
    };
    Ok(rows.iter().filter_map(found).collect())
}

/// What somebody else's table is, for its owner to know it by.
fn describe(connection: &mut Connection, table: Table, is_table: bool) -> Result<String, StateError> {
    let name = table.name();
    let sql = match connection.is_mysql() {
        true => format!(
            "SELECT column_name, column_type FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = '{name}' ORDER BY ordinal_position"
        ),
        false => format!(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute \
             WHERE attrelid = to_regclass('{name}') AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ),
    };
    let rows = connection.query(&sql).map_err(StateError::of)?;
    let column = |row: &TextRow| [row.text(0), row.text(1)].map(Option::unwrap_or_default).join(" ");
    let columns: Vec<String> = rows.iter().map(column).collect();
    let kind = if is_table { "a table" } else { "a view or the like" };
    Ok(format!("{kind} with the columns {}", columns.join(", ")))
}

fn contents(connection: &mut Connection, recipe: &Recipe) -> Result<State, StateError> {
    let foreign_key = match connection.is_mysql() {
        true => {
            "SELECT COUNT(*) FROM information_schema.key_column_usage WHERE table_schema = DATABASE() \
             AND table_name = 'event' AND column_name = 'customer_id' AND referenced_table_name = 'customer'"
        }
        false => {
            "SELECT COUNT(*) FROM pg_constraint WHERE contype = 'f' AND convalidated \
             AND conrelid = to_regclass('event') AND confrelid = to_regclass('customer')"
        }
    };
    if number(connection, foreign_key)? == 0 {
        return Ok(State::Damaged { why: "event has no foreign key to customer".to_owned() });
    }
    let size = recipe.size;
    for (table, rows) in [(Table::Customer, size.customers), (Table::Event, size.rows)] {
        if let Some(why) = missing_rows(connection, table, rows)? {
            return Ok(State::Damaged { why });
        }
    }
    let last_event = number(connection, "SELECT COALESCE(MAX(id), 0) FROM event")?;
    Ok(State::Ready(Found {
        size,
        customer_index_asked: recipe.customer_index,
        customer_index: has_customer_index(connection)?.unwrap_or(recipe.customer_index),
        last_event,
    }))
}

/// Whether an index of `event` begins with `customer_id`; `None` where the server does not say.
fn has_customer_index(connection: &mut Connection) -> Result<Option<bool>, StateError> {
    let sql = match connection.is_mysql() {
        true => {
            "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
             AND table_name = 'event' AND column_name = 'customer_id' AND seq_in_index = 1"
        }
        false => {
            "SELECT COUNT(*) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] \
             WHERE indrelid = to_regclass('event') AND attname = 'customer_id' AND indisvalid AND indpred IS NULL"
        }
    };
    match connection.query_value::<u64>(sql) {
        Ok(count) => Ok(count.map(|count| count > 0)),
        // A relative that has no such catalog.
        Err(QueryError::Server { error, .. }) if !error.ends_session() => Ok(None),
        Err(error) => Err(StateError::of(error)),
    }
}

/// What is wrong with a table that was made with so many rows, as far as a sample tells.
fn missing_rows(connection: &mut Connection, table: Table, rows: u64) -> Result<Option<String>, StateError> {
    if rows == 0 {
        return Ok(None);
    }
    let name = table.name();
    let probes = PROBES.min(rows);
    // The first and the last are always among them.
    let id = |probe: u64| (1 + probe * (rows - 1) / (probes - 1).max(1)).to_string();
    let ids: Vec<String> = (0..probes).map(id).collect();
    let there = number(connection, &format!("SELECT COUNT(*) FROM {name} WHERE id IN ({})", ids.join(", ")))?;
    Ok((there < probes).then(|| {
        let missing = probes - there;
        format!("of {probes} rows of {name} that were looked up, {missing} are missing")
    }))
}

fn number(connection: &mut Connection, sql: &str) -> Result<u64, StateError> {
    Ok(connection.query_value(sql).map_err(StateError::of)?.unwrap_or(0))
}

/// Why the tables could not be looked at.
#[derive(Debug, Error)]
pub enum StateError {
    #[error(
        "the tables of events are there and may not be read: {0}; \
         grant SELECT and INSERT on customer and event, or connect as their owner"
    )]
    Denied(#[source] QueryError),
    #[error("cannot look at the tables of events: {0}")]
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
    #[error("the tables of events (customer and event) are missing; run again with --prepare")]
    Missing,
    #[error("the preparation of events was broken off; run again with --prepare")]
    Unfinished,
    #[error(
        "the tables of events were made with {} events, not {}; \
         run with --rows {found}, or with --prepare to replace them", grouped(*.found), grouped(*.wanted)
    )]
    OtherRows { found: u64, wanted: u64 },
    #[error(
        "the tables of events were made with {} customers, not {}; \
         run with --customers {found}, or with --prepare to replace them", grouped(*.found), grouped(*.wanted)
    )]
    OtherCustomers { found: u64, wanted: u64 },
    #[error(
        "event has no index on customer_id; run again with --prepare to replace the tables, or without --customer-index"
    )]
    NoIndex,
    #[error("there are no events to join; run with --rows and --prepare, or events/ingest first")]
    NoEvents,
    #[error("the tables of events are damaged: {why}; run again with --prepare to replace them")]
    Damaged { why: String },
    #[error(
        "{table} is there and dyno has not made it ({what}); it is left as it is: name another database, made for this"
    )]
    NotOurs { table: &'static str, what: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_must_be_there() {
        let size = Size { rows: 1_000, customers: 50 };
        let found = Found { size, customer_index_asked: false, customer_index: false, last_event: 1_200 };
        let ready = |wanted| State::Ready(found).ready(&wanted).map_err(|error| error.to_string());
        let any = Wanted::default();
        assert_eq!(ready(Wanted { rows: Some(1_000), customers: Some(50), events: true, ..any }), Ok(found));
        assert!(ready(Wanted { rows: Some(999), ..any }).unwrap_err().contains("with 1,000 events, not 999"));
        assert!(ready(Wanted { customers: Some(5), ..any }).unwrap_err().contains("--customers 50"));
        assert!(ready(Wanted { customer_index: true, ..any }).unwrap_err().contains("no index"));
        let brought = State::Ready(Found { customer_index: true, ..found });
        assert!(brought.ready(&Wanted { customer_index: true, ..any }).is_ok(), "by the foreign key");
        let empty = State::Ready(Found { last_event: 0, ..found });
        assert_eq!(empty.ready(&Wanted { events: true, ..any }), Err(NotReady::NoEvents));
        assert_eq!(State::Missing.ready(&any), Err(NotReady::Missing));
    }
}
