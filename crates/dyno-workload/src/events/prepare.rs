//! What is made: `customer(id, name, address)` and `event(id, customer_id references customer, action)`, as plain as that:
//! no index but the two keys and what the product itself makes of a foreign key. Ids are the server's, by its own way of
//! numbering.

use dyno_target::connection::Connection;
use dyno_target::product::Dialect;

use super::recipe::{MARKS, Recipe};
use super::rows::EventsRows;
use super::size::Size;
use super::state::{Found, state};
use super::{NAMES, TERMS, Table};
use crate::benchmark::{Progress, Site};
use crate::dataset::{self, ForeignKey, Index, Kind, Part, Preparation, PrepareError, column};

/// Memory for an index build: enough that four processes of PostgreSQL may take part.
const SORT_MEGABYTES: u64 = 128;

/// Drops dyno's tables, where they are there, and makes new ones.
///
/// # Errors
/// No connection can be opened, a table of the same name is not dyno's, the rows do not fit, the server refuses a step,
/// or [`Site::stop`] was set; the tables are then marked as unfinished, and [`state`] says so.
pub(super) fn prepare(
    site: &Site<'_>,
    dialect: &Dialect,
    recipe: Recipe,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let mut first = open(site)?;
    state(&mut first)?.ours(&TERMS)?;
    recipe
        .size
        .check_disk(site.free_disk_bytes_without(&mut first, NAMES).unwrap_or(site.free_disk_bytes))?;
    let tables = Table::ALL.map(|table| describe(table, dialect, recipe)).into();
    let preparation = Preparation {
        sort_megabytes: Some(SORT_MEGABYTES),
        ..Preparation::new::<Found>(site, dialect, tables, MARKS.whole(&recipe.text()))
    };
    preparation.run(&mut first, site.open, |part| rows(Table::ALL[part.table], recipe.size), progress)
}

/// Adds so many events behind the last one, as they would have been made at first with more rows.
///
/// # Errors
/// No connection can be opened, there are no ids left, they do not fit, the server refuses a step, or [`Site::stop`] was
/// set; what was added until then stays.
pub(super) fn append(
    site: &Site<'_>,
    dialect: &Dialect,
    found: &Found,
    count: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let last = found.last_event + count;
    let more = Size::new(last, Some(found.size.customers))?;
    Size { rows: count, customers: 0 }.check_disk(site.free_disk_bytes)?;
    let recipe = Recipe { size: more, customer_index: found.customer_index };
    let event = describe(Table::Event, dialect, recipe);
    let tables = vec![dataset::Table { loaded: found.last_event, ..event }];
    let mut first = open(site)?;
    let rows = |_: &Part| rows(Table::Event, found.size);
    let preparation = Preparation::new::<Found>(site, dialect, tables, String::new());
    preparation.append(&mut first, site.open, rows, progress)
}

fn rows(table: Table, size: Size) -> EventsRows {
    EventsRows { table, customers: size.customers }
}

fn open(site: &Site<'_>) -> Result<Connection, PrepareError> {
    (site.open)().map_err(|source| PrepareError::Connect { terms: &TERMS, source })
}

fn describe(table: Table, dialect: &Dialect, recipe: Recipe) -> dataset::Table {
    let Size { rows, customers } = recipe.size;
    let id = column("id", Kind::Number, "");
    match table {
        Table::Customer => {
            let name = column("name", Kind::Varchar(100), " NOT NULL");
            let address = column("address", Kind::Varchar(200), " NOT NULL");
            dataset::Table { rows: customers, ..dataset::Table::new(table.name(), vec![id, name, address]) }
        }
        Table::Event => {
            let customer = column("customer_id", Kind::Integer, " NOT NULL");
            let action = column("action", Kind::Varchar(30), " NOT NULL");
            let columns = vec![id, customer, action];
            // Asked for, or coming with the foreign key anyway: made on its own and before that it is sorted, and so
            // small and soon done, and MySQL takes it for the foreign key. It has the name that a server would give it.
            let wanted = recipe.customer_index || dialect.foreign_key_index;
            let name = if dialect.index_of_table { "customer_id" } else { "event_customer_id_idx" };
            let index =
                wanted.then(|| Index { name: name.to_owned(), columns: "customer_id".into(), unique: false });
            let indexes = index.into_iter().collect();
            let foreign_keys = vec![ForeignKey {
                columns: "customer_id".into(),
                table: "customer".into(),
                key: "id".into(),
                rows: Some(customers),
            }];
            dataset::Table { rows, indexes, foreign_keys, ..dataset::Table::new(table.name(), columns) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(dialect: &Dialect, customer_index: bool) -> [dataset::Table; 2] {
        let recipe = Recipe { size: Size { rows: 900, customers: 30 }, customer_index };
        Table::ALL.map(|table| describe(table, dialect, recipe))
    }

    #[test]
    fn tables_are_plain_and_marked_from_the_start() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let mark = MARKS.unfinished();
        assert_eq!(
            tables(&postgres, false)[1].create(&postgres, &mark),
            "CREATE TABLE event (id SERIAL, customer_id INTEGER NOT NULL, action VARCHAR(30) NOT NULL); \
             COMMENT ON TABLE event IS 'dyno events/1 unfinished'"
        );
        assert_eq!(
            tables(&mysql, false)[0].create(&mysql, &mark),
            "CREATE TABLE customer (id INTEGER NOT NULL AUTO_INCREMENT, name VARCHAR(100) NOT NULL, \
             address VARCHAR(200) NOT NULL, PRIMARY KEY (id)) COMMENT = 'dyno events/1 unfinished' \
             /*! ENGINE = InnoDB */"
        );
    }

    #[test]
    fn an_index_comes_where_the_product_makes_one_or_the_user_wants_one() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let elsewhere = Dialect { foreign_key_index: false, ..mysql };
        let index = |dialect: &Dialect, wanted| {
            let [customer, event] = tables(dialect, wanted);
            assert_eq!(customer.indexes, []);
            !event.indexes.is_empty()
        };
        assert_eq!(
            [&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, false)),
            [false, true, false]
        );
        assert_eq!([&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, true)), [true, true, true]);
    }
}
