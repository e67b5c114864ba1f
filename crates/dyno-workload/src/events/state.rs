//! What stands on a server: nothing, dyno's tables whole or not, or tables that are somebody else's. Reads only, and
//! little: it looks rows up and scans no table.

use dyno_target::connection::{Connection, QueryError, TextRow};

use super::benchmark::EventsWishes;
use super::mark::{Mark, Recipe};
use super::size::Size;
use super::{TERMS, Table};
use crate::dataset::{self, NotReady, PROBES, State, StateError, Terms, columns_text, rows_missing};
use dyno_results::format::grouped;

/// Tables that hold their rows, as far as the ends and a sample can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// As it was made.
    pub size: Size,
    /// There is an index on `event.customer_id`: asked for, or brought by the foreign key.
    pub customer_index: bool,
    /// The highest id of an event: [`Size::rows`], or more once events were inserted.
    pub last_event: u64,
}

impl Found {
    pub(crate) fn recipe(&self) -> String {
        Recipe { size: self.size, customer_index: self.customer_index }.of_rows()
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    pub wishes: EventsWishes,
    /// There has to be an event.
    pub events: bool,
}

impl dataset::Found for Found {
    type Wanted = Wanted;

    const TERMS: &'static Terms = &TERMS;

    fn suits(&self, Wanted { wishes, events }: Wanted) -> Result<(), NotReady> {
        let Size { rows, customers } = self.size;
        let sizes = [
            (wishes.rows, rows, "events", "--rows"),
            (wishes.customers, customers, "customers", "--customers"),
        ];
        for (wanted, found, unit, flag) in sizes {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                let flag = format!("{flag} {found}");
                let found = format!("{} {unit}", grouped(found));
                return Err(NotReady::Other { terms: &TERMS, found, wanted: grouped(wanted), flag });
            }
        }
        let why = match (wishes.customer_index && !self.customer_index, events && self.last_event == 0) {
            (true, _) => {
                "event has no index on customer_id; run again with --prepare to replace the tables, \
                 or without --customer-index"
            }
            (_, true) => "there are no events to join; run with --rows and --prepare, or events/ingest first",
            _ => return Ok(()),
        };
        Err(NotReady::Lacking { why })
    }
}

/// Looks at the tables that the names `customer` and `event` stand for on this connection.
///
/// # Errors
/// A table may not be read, or the connection is lost.
pub fn state(connection: &mut Connection) -> Result<State<Found>, StateError> {
    look(connection).map_err(StateError::of(&TERMS))
}

fn look(connection: &mut Connection) -> Result<State<Found>, QueryError> {
    let mut marks = Vec::new();
    for (table, is_table, comment) in comments(connection)? {
        match Mark::parse(&comment).filter(|_| is_table) {
            Some(mark) => marks.push(mark),
            None => {
                let whose = format!("dyno has not made it ({})", describe(connection, table, is_table)?);
                return Ok(State::NotOurs { table: table.name().to_owned(), whose });
            }
        }
    }
    Ok(match marks.as_slice() {
        [] => State::Missing,
        _ if marks.contains(&Mark::OtherFormat) => {
            State::damaged("they were made by another version of dyno")
        }
        _ if marks.contains(&Mark::Unfinished) => State::Unfinished,
        [Mark::Whole(customer), Mark::Whole(event)] if customer == event => contents(connection, customer)?,
        [_] => State::damaged("one of the two is missing"),
        _ => State::damaged("they were not made together"),
    })
}

/// The tables that are there, whether each is a plain table, and its comment.
fn comments(connection: &mut Connection) -> Result<Vec<(Table, bool, String)>, QueryError> {
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
    let rows = connection.query(sql)?;
    let text = |row: &TextRow, at: usize| row.text(at).unwrap_or_default().to_owned();
    let found = |row: &TextRow| {
        let table = Table::ALL.into_iter().find(|table| Some(table.name()) == row.text(0))?;
        Some((table, row.text(1) == Some("BASE TABLE"), text(row, 2)))
    };
    Ok(rows.iter().filter_map(found).collect())
}

/// What somebody else's table is, for its owner to know it by.
fn describe(connection: &mut Connection, table: Table, is_table: bool) -> Result<String, QueryError> {
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
    let rows = connection.query(&sql)?;
    let column = |row: &TextRow, at| row.text(at).unwrap_or_default().to_owned();
    let columns = columns_text(rows.iter().map(|row| (column(row, 0), column(row, 1))));
    let kind = if is_table { "a table" } else { "a view or the like" };
    Ok(format!("{kind} with the columns {columns}"))
}

fn contents(connection: &mut Connection, recipe: &Recipe) -> Result<State<Found>, QueryError> {
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
        return Ok(State::damaged("event has no foreign key to customer"));
    }
    let size = recipe.size;
    for (table, rows) in [(Table::Customer, size.customers), (Table::Event, size.rows)] {
        let probes = PROBES.min(rows);
        // The first and the last are always among them.
        let ids = (0..probes).map(|probe| 1 + probe * (rows - 1) / (probes - 1).max(1));
        if let Some(why) = rows_missing(connection, table.name(), ids)? {
            return Ok(State::Damaged { why });
        }
    }
    let last_event = number(connection, "SELECT COALESCE(MAX(id), 0) FROM event")?;
    Ok(State::Ready(Found {
        size,
        customer_index: has_customer_index(connection)?.unwrap_or(recipe.customer_index),
        last_event,
    }))
}

/// Whether an index of `event` begins with `customer_id`; `None` where the server does not say.
fn has_customer_index(connection: &mut Connection) -> Result<Option<bool>, QueryError> {
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
        Err(error) => Err(error),
    }
}

fn number(connection: &mut Connection, sql: &str) -> Result<u64, QueryError> {
    Ok(connection.query_value(sql)?.unwrap_or(0))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_must_be_there() {
        let size = Size { rows: 1_000, customers: 50 };
        let found = Found { size, customer_index: false, last_event: 1_200 };
        let ready = |found: Found, wishes, events| {
            State::Ready(found).found(Wanted { wishes, events }).map_err(|error| error.to_string())
        };
        let any = EventsWishes::default();
        let refusal = |wishes| ready(found, wishes, true).unwrap_err();
        let same = EventsWishes { rows: Some(1_000), customers: Some(50), ..any };
        assert_eq!(ready(found, same, true), Ok(Some(found)));
        assert!(refusal(EventsWishes { rows: Some(999), ..any }).contains("has 1,000 events, not 999"));
        assert!(refusal(EventsWishes { customers: Some(5), ..any }).contains("--customers 50"));
        let indexed = EventsWishes { customer_index: true, ..any };
        assert!(refusal(indexed).contains("no index"));
        let brought = Found { customer_index: true, ..found };
        assert_eq!(ready(brought, indexed, true), Ok(Some(brought)), "by the foreign key");
        let empty = Found { last_event: 0, ..found };
        assert!(ready(empty, any, true).unwrap_err().contains("no events to join"));
        assert_eq!(ready(empty, any, false), Ok(Some(empty)));
        assert!(State::<Found>::Missing.found(Wanted::default()) == Ok(None));
    }
}
