//! The kinds of databases that are reached by a driver: a folder each, and a line here. Nothing else knows them.

use crate::Capabilities;
#[cfg(feature = "adbc")]
use crate::adbc;
use crate::inspect::{DriverKind, DriverTarget};
use crate::product::Dialect;
use crate::settings::{Environment, TargetError};
use crate::{clickhouse, hive, sqlite};

/// All of them.
static KINDS: &[&DriverKind] = &[
    &sqlite::KIND,
    &clickhouse::KIND,
    &hive::KIND,
    #[cfg(feature = "adbc")]
    &adbc::DUCKDB,
    #[cfg(feature = "adbc")]
    &adbc::ANY,
];

/// What targets of each kind can do.
pub fn kinds() -> impl Iterator<Item = Capabilities> {
    let of_wire = [Capabilities::POSTGRESQL, Capabilities::MYSQL];
    of_wire.into_iter().chain(KINDS.iter().map(|kind| kind.capabilities))
}

/// Reads a target's name; `None` where it names nothing that has a driver.
pub(crate) fn parse(text: &str, environment: &Environment) -> Option<Result<DriverTarget, TargetError>> {
    KINDS.iter().find_map(|kind| (kind.parse)(text, environment))
}

/// The dialects of the three products that most people have, by the names of their protocols in small letters.
pub fn usual_dialects() -> [(&'static str, Dialect); 3] {
    let of_wire = Dialect::of_wire;
    [("postgresql", of_wire(false)), ("mysql", of_wire(true)), ("sqlite", sqlite::KIND.product.dialect)]
}

/// Whether a text begins as the name of a target does that has a driver.
pub fn is_address(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| schemes().any(|it| it.eq_ignore_ascii_case(scheme)))
}

/// Schemes of URLs.
pub(crate) fn schemes() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.schemes).copied()
}

/// How targets of each kind are named.
pub fn examples() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::{on_mysql, on_postgres};

    #[test]
    fn each_product_is_in_the_document_with_what_it_was_run_against() {
        let document = include_str!("../../../docs/products.md");
        for product in on_postgres().chain(on_mysql()).chain(KINDS.iter().map(|kind| kind.product)) {
            let mut rows = document.lines().filter(|line| line.starts_with(&format!("| {} |", product.name)));
            let row = rows.next().unwrap_or_else(|| panic!("{} is missing", product.name));
            let ran = product.ran.unwrap_or("not run");
            assert!(row.contains(ran), "{} was run against {ran:?}: {row}", product.name);
            for name in product.durability {
                assert!(document.contains(name), "{}: {name} is missing", product.name);
            }
        }
    }
}
