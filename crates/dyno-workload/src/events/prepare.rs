//! What is made: `customer(id, name, address)` and `event(id, customer_id references customer, action)`, as plain as that:
//! no index but the two keys and what the product itself makes of a foreign key. Ids are the server's, by its own way of
//! numbering. Text only.

use dyno_target::catalog;
use dyno_target::connection::Connection;
use dyno_target::product::{Dialect, ForeignKeys};

use super::mark::{Mark, Recipe};
use super::rows::EventsRows;
use super::size::Size;
use super::state::state;
use super::{NAMES, TERMS, Table};
use crate::benchmark::{Progress, Site};
use crate::dataset::{NewTable, Part, Preparation, PrepareError, State, primary_key};

/// Memory for an index build: enough that four processes of PostgreSQL may take part.
const SORT_MEGABYTES: u32 = 128;
const FOREIGN_KEY: &str = "FOREIGN KEY (customer_id) REFERENCES customer (id)";

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
    let connect = |source| PrepareError::Connect { terms: &TERMS, source };
    let mut first = (site.open)().map_err(connect)?;
    let found = state(&mut first)?.ours()?;
    recipe.size.check_disk(free_disk_bytes(&mut first, site))?;
    // In one statement, so that no half of them is left.
    let drop = (found != State::Missing).then(|| "DROP TABLE IF EXISTS event, customer".to_owned());
    let preparation = Preparation {
        terms: &TERMS,
        target: site.target,
        dialect,
        threads: site.prepare_threads(),
        stop: Some(site.stop),
        sort_megabytes: Some(SORT_MEGABYTES),
        drop: Some(drop.into_iter().collect()),
        tables: Table::ALL.map(|table| new_table(table, dialect, recipe)).into(),
        references: foreign_key(dialect),
        unresolved: (dialect.foreign_keys != ForeignKeys::AfterLoad).then(|| unresolved(recipe.size)),
        finish: finish(dialect, recipe),
    };
    let rows = |part: &Part| EventsRows { table: Table::ALL[part.table], customers: recipe.size.customers };
    preparation.run(&mut first, site.open, rows, progress)
}

/// Free space once the tables of before are gone; how large these are is asked only where it matters.
fn free_disk_bytes(connection: &mut Connection, site: &Site<'_>) -> Option<u64> {
    let free = site.free_disk_bytes?;
    let old = catalog::bytes(connection, NAMES).ok().flatten();
    Some(free.saturating_add(old.map_or(0, |old| old.tables + old.indexes)))
}

fn new_table(table: Table, dialect: &Dialect, recipe: Recipe) -> NewTable {
    let name = table.name();
    let (columns, types, rows) = match table {
        Table::Customer => (
            "id, name, address",
            "name VARCHAR(100) NOT NULL, address VARCHAR(200) NOT NULL",
            recipe.size.customers,
        ),
        Table::Event => (
            "id, customer_id, action",
            "customer_id INTEGER NOT NULL, action VARCHAR(30) NOT NULL",
            recipe.size.rows,
        ),
    };
    let (key, key_after) = primary_key(name, dialect);
    let (id, options) = (dialect.auto_increment.column_type(), dialect.table_options);
    let refers = match (table, dialect.foreign_keys) {
        (Table::Event, ForeignKeys::WithTable) => format!(", {FOREIGN_KEY}"),
        _ => String::new(),
    };
    let (engine, mark) = (dialect.engine("InnoDB"), dialect.comments.create(name, &Mark::unfinished()));
    let create = format!("CREATE TABLE {name} (id {id}, {types}{key}{refers}){engine}{options}{mark}");
    let index = (table == Table::Event).then(|| create_index(dialect, recipe)).flatten();
    let create = vec![create];
    NewTable { name: name.to_owned(), columns, rows, create, numbered: true, key: key_after, index }
}

/// The index on `event.customer_id`, where it was asked for or comes with the foreign key anyway: made on its own and
/// before that it is sorted, and so small and soon done, and MySQL takes it for the foreign key.
fn create_index(dialect: &Dialect, recipe: Recipe) -> Option<String> {
    let wanted = recipe.customer_index || dialect.foreign_key_index;
    // The names that servers would give it themselves.
    let name = if dialect.index_of_table { "customer_id" } else { "event_customer_id_idx" };
    wanted.then(|| format!("CREATE INDEX {name} ON event (customer_id)"))
}

fn foreign_key(dialect: &Dialect) -> Vec<String> {
    let key = format!("ALTER TABLE event ADD {FOREIGN_KEY}");
    match dialect.foreign_keys {
        ForeignKeys::WithTable => Vec::new(),
        ForeignKeys::AfterLoad => vec![key],
        // It is not taken on trust: the rows are checked afterwards, by the keys.
        ForeignKeys::Unchecked { off, on } => vec![off.to_owned(), key, on.to_owned()],
    }
}

/// Counts events of customers that are not there: none, if every customer from 1 to the last is, and no event is of
/// another one.
fn unresolved(Size { customers, .. }: Size) -> String {
    format!(
        "SELECT ({customers} - (SELECT COUNT(*) FROM customer WHERE id BETWEEN 1 AND {customers})) \
              + (SELECT COUNT(*) FROM event WHERE customer_id < 1 OR customer_id > {customers})"
    )
}

/// Marks both tables as whole.
fn finish(dialect: &Dialect, recipe: Recipe) -> Vec<String> {
    let mark = recipe.text();
    Table::ALL.map(|table| dialect.comments.change(table.name(), &mark)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(dialect: &Dialect, customer_index: bool) -> [NewTable; 2] {
        let recipe = Recipe { size: Size { rows: 900, customers: 30 }, customer_index };
        Table::ALL.map(|table| new_table(table, dialect, recipe))
    }

    #[test]
    fn tables_are_plain_and_marked_from_the_start() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(
            tables(&postgres, false)[1].create,
            ["CREATE TABLE event (id SERIAL, customer_id INTEGER NOT NULL, action VARCHAR(30) NOT NULL); \
             COMMENT ON TABLE event IS 'dyno events/1 unfinished'"]
        );
        assert_eq!(
            tables(&mysql, false)[0].create,
            ["CREATE TABLE customer (id INTEGER NOT NULL AUTO_INCREMENT, name VARCHAR(100) NOT NULL, \
             address VARCHAR(200) NOT NULL, PRIMARY KEY (id)) /*! ENGINE = InnoDB */ \
             COMMENT = 'dyno events/1 unfinished'"]
        );
    }

    #[test]
    fn an_index_comes_where_the_product_makes_one_or_the_user_wants_one() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let elsewhere = Dialect { foreign_key_index: false, ..mysql };
        let index = |dialect: &Dialect, wanted| {
            let [customer, event] = tables(dialect, wanted);
            assert_eq!(customer.index, None);
            event.after_load(dialect).join("; ").contains("CREATE INDEX")
        };
        assert_eq!(
            [&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, false)),
            [false, true, false]
        );
        assert_eq!([&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, true)), [true, true, true]);
        let before = Dialect { index_after_load: false, ..mysql };
        assert_eq!((tables(&before, false)[1].before_load(&before).len(), index(&before, false)), (2, false));
    }

    #[test]
    fn numbering_goes_on_behind_the_rows() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(
            tables(&postgres, false)[1].after_load(&postgres),
            [
                "SELECT setval(pg_get_serial_sequence('event', 'id'), 900)",
                "ALTER TABLE event ADD PRIMARY KEY (id)"
            ]
        );
        assert_eq!(tables(&mysql, false)[0].after_load(&mysql), [""; 0]);
    }
}
