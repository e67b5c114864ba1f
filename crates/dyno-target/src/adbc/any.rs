//! A database of which nothing is known but that it has a driver of ADBC. Its SQL is taken to be the standard's, with the
//! standard's catalog; what it was not asked stays unknown.

use dyno_engine::driver::BatchForm;
use dyno_results::event;

use crate::connection::{Connection, QueryError};
use crate::inspect::{Inspector, Sizes, known};
use crate::product::{Bulk, Dialect, Mark, Product, Recognised, Views};

pub(super) static PRODUCT: Product = Product {
    name: "Another database with a driver of ADBC",
    mark: Mark::Plain,
    dialect: Dialect {
        bulk: Bulk::Batches { form: BatchForm::Columns, bytes: 16 << 20 },
        // Most databases with such a driver keep tables by column, and many have no indexes.
        key_for_scans: false,
        secondary_indexes: false,
        empty: "DELETE FROM {table}",
        ..Dialect::STANDARD
    },
    durability: &[],
    views: Views::NONE,
    ran: None,
};

pub(super) fn recognise(_: &mut Connection) -> Result<Recognised, QueryError> {
    Ok(Recognised::nothing(PRODUCT.dialect, &[], None))
}

pub(super) static INSPECTOR: Inspector = Inspector { sizes, ..Inspector::UNKNOWN };

fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let mut found = Vec::new();
    for &name in tables {
        let rows = known(connection.query_value(&format!("SELECT count(*) FROM {name}")))?;
        found.push(event::Table { name: name.to_owned(), rows, ..event::Table::default() });
    }
    Ok(Sizes { tables: found, ..Sizes::default() })
}
