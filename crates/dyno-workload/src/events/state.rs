//! What stands on a server: nothing, dyno's tables whole or not, or tables that are somebody else's. Reads only, and
//! little: it looks rows up and scans no table.

use dyno_target::catalog::{self, ForeignKey};
use dyno_target::connection::{Connection, QueryError};

use super::family::EventsOptions;
use super::recipe::{MARKS, Recipe};
use super::size::Size;
use super::{NAMES, TERMS, Table};
use crate::dataset::{
    self, Mark, Marks, NotReady, PROBES, State, StateError, Terms, columns_text, rows_missing, standing,
};
use dyno_results::format::grouped;
use dyno_results::spec::Count;

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
    pub options: EventsOptions,
    /// There has to be an event.
    pub events: bool,
}

impl dataset::Found for Found {
    type Wanted = Wanted;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = MARKS;

    fn suits(&self, Wanted { options, events }: Wanted) -> Result<(), NotReady> {
        let Size { rows, customers } = self.size;
        let sizes = [
            (options.rows, rows, "events", "--rows"),
            (options.customers, customers, "customers", "--customers"),
        ];
        for (wanted, found, unit, flag) in sizes {
            if let Some(Count(wanted)) = wanted.filter(|wanted| wanted.0 != found) {
                let flag = format!("{flag} {found}");
                let found = format!("{} {unit}", grouped(found));
                return Err(NotReady::Other { terms: &TERMS, found, wanted: grouped(wanted), flag });
            }
        }
        let why = match (options.customer_index && !self.customer_index, events && self.last_event == 0) {
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
    let tables = match standing(&MARKS, catalog::tables(connection, NAMES)?, foreign) {
        Ok(tables) => tables,
        Err(state) => return Ok(state),
    };
    Ok(match tables.as_slice() {
        [_] => State::damaged("one of the two is missing"),
        [one, other]
            if recipe(one) == recipe(other)
                && let Some(recipe) = recipe(one) =>
        {
            contents(connection, &recipe)?
        }
        _ => State::damaged("they were not made together"),
    })
}

/// What somebody else's table is, for its owner to know it by; `None` for one of dyno's.
fn foreign(table: &catalog::Table) -> Option<String> {
    let kind = if table.is_table { "a table" } else { "a view or the like" };
    let whose = || format!("dyno has not made it ({kind} with the columns {})", columns_text(&table.columns));
    let marked = match MARKS.parse(&table.comment) {
        Some(Mark::Whole(_)) => recipe(table).is_some(),
        // Such tables are dropped unasked: a mark that outlived its own table is not enough.
        Some(Mark::Unfinished) => has_columns(table),
        mark => mark.is_some(),
    };
    (!marked || !table.is_table).then(whose)
}

fn has_columns(table: &catalog::Table) -> bool {
    let ours = match table.name == Table::Event.name() {
        true => ["id", "customer_id", "action"],
        false => ["id", "name", "address"],
    };
    table.columns.iter().map(|column| column.name.as_str()).eq(ours)
}

fn recipe(table: &catalog::Table) -> Option<Recipe> {
    match MARKS.parse(&table.comment)? {
        Mark::Whole(text) => Recipe::parse(&text),
        _ => None,
    }
}

fn contents(connection: &mut Connection, recipe: &Recipe) -> Result<State<Found>, QueryError> {
    let refers = |key: &ForeignKey| key.column == "customer_id" && key.refers_to == "customer";
    if catalog::foreign_keys(connection, NAMES)?.is_some_and(|keys| !keys.iter().any(refers)) {
        return Ok(State::damaged("event has no foreign key to customer"));
    }
    let size = recipe.size;
    for (table, rows) in [(Table::Customer, size.customers), (Table::Event, size.rows)] {
        let probes = PROBES.min(rows);
        // The first and the last are always among them.
        let ids = (0..probes).map(|probe| 1 + probe * (rows - 1) / (probes - 1).max(1));
        if let Some(why) = rows_missing(connection, table.name(), "id", ids)? {
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
    let indexes = catalog::indexes(connection, NAMES)?;
    Ok(indexes.map(|indexes| indexes.iter().any(|index| index.first_column == "customer_id")))
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
        let ready = |found: Found, options, events| {
            State::Ready(found).found(Wanted { options, events }).map_err(|error| error.to_string())
        };
        let any = EventsOptions::default();
        let refusal = |options| ready(found, options, true).unwrap_err();
        let same = EventsOptions { rows: Some(Count(1_000)), customers: Some(Count(50)), ..any };
        assert_eq!(ready(found, same, true), Ok(Some(found)));
        assert!(
            refusal(EventsOptions { rows: Some(Count(999)), ..any }).contains("has 1,000 events, not 999")
        );
        assert!(refusal(EventsOptions { customers: Some(Count(5)), ..any }).contains("--customers 50"));
        let indexed = EventsOptions { customer_index: true, ..any };
        assert!(refusal(indexed).contains("no index"));
        let brought = Found { customer_index: true, ..found };
        assert_eq!(ready(brought, indexed, true), Ok(Some(brought)), "by the foreign key");
        let empty = Found { last_event: 0, ..found };
        assert!(ready(empty, any, true).unwrap_err().contains("no events to join"));
        assert_eq!(ready(empty, any, false), Ok(Some(empty)));
        assert!(State::<Found>::Missing.found(Wanted::default()) == Ok(None));
    }
}
