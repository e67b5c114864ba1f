//! Which product a server is, and what follows from it. Many products speak one of the two protocols; each that dyno was run
//! against is a small file here: how it is recognised by what the server says, what its SQL lacks or wants, and where it
//! keeps the settings and counters that matter. The others are a line each in `not_run`. A server that says nothing
//! certain stays unrecognised and gets its protocol's own dialect. `docs/products.md` lists all of them.

mod dialect;
mod mariadb;
pub(crate) mod mysql;
mod not_run;
mod oceanbase;
pub(crate) mod postgresql;

pub use dialect::{
    Access, Analyze, AutoIncrement, Bulk, Catalog, Column, Comments, Describe, Dialect, ForeignKeys,
    ISOLATION_LEVELS, Names, Table,
};

/// What is known of a product.
#[derive(Debug)]
pub struct Product {
    pub name: &'static str,
    pub mark: Mark,
    pub dialect: Dialect,
    /// Settings that decide whether an acknowledged commit survives a crash. Only those that this product heeds: many a
    /// relative shows settings of its model that do nothing.
    pub durability: &'static [&'static str],
    pub views: Views,
    /// The versions that it was run against; `None` where none could be had.
    pub ran: Option<&'static str>,
}

/// By what a product is told from the others that speak its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Its words in `version()`, and those that its version follows.
    Version { says: &'static str, version_after: &'static str },
    /// Its words in `@@version_comment` (MySQL's protocol), and those that its version follows.
    Comment { says: &'static str, version_after: &'static str },
    /// A function that only it has (PostgreSQL's protocol).
    Function(&'static str),
    /// The prefix of settings that only it has (PostgreSQL's protocol).
    SettingPrefix(&'static str),
    /// An extension of PostgreSQL.
    Extension(&'static str),
    /// A variable that only it has, with its version (MySQL's protocol).
    Variable(&'static str),
    /// The protocol's own product, which is what remains where nothing says otherwise and the version reads as its own.
    Plain,
}

/// Where a product on MySQL's protocol is looked at. Each is SQL; one that a server refuses leaves its answer unknown.
/// PostgreSQL's relatives have PostgreSQL's views, or those of them that they have, and need none of this.
#[derive(Debug, Clone, Copy)]
pub struct Views {
    /// All settings as `name`, `value`, `default_value`, `source` and `changed` (1 or 0).
    pub settings: Option<&'static str>,
    /// The size of the server's own cache in bytes.
    pub cache: Option<&'static str>,
    /// Counters beside `SHOW GLOBAL STATUS`: statements of one row, whose columns are keys of `docs/telemetry.md`.
    pub counters: &'static [&'static str],
}

impl Views {
    pub(crate) const NONE: Self = Self { settings: None, cache: None, counters: &[] };
}

/// What a server was recognised as.
#[derive(Debug, Clone)]
pub struct Recognised {
    /// `None` where it is none that is known for certain.
    pub product: Option<&'static Product>,
    /// As reports name it, `PostgreSQL with citus 12.1-1`.
    pub name: Option<String>,
    pub version: Option<String>,
    /// The server's own words.
    pub version_text: Option<String>,
    /// The product's, less what this server has turned off.
    pub dialect: Dialect,
    /// Settings that decide whether an acknowledged commit survives a crash, as far as they are known.
    pub durability: &'static [&'static str],
}

impl Recognised {
    /// A server of whose product nothing is certain.
    pub(crate) fn nothing(
        dialect: Dialect,
        durability: &'static [&'static str],
        version_text: Option<String>,
    ) -> Self {
        Self { product: None, name: None, version: None, version_text, dialect, durability }
    }

    pub(crate) fn as_product(
        product: &'static Product,
        version: Option<String>,
        version_text: String,
    ) -> Self {
        Self {
            product: Some(product),
            name: Some(product.name.to_owned()),
            version,
            version_text: Some(version_text),
            dialect: product.dialect,
            durability: product.durability,
        }
    }
}

/// All products on PostgreSQL's protocol.
pub fn on_postgres() -> impl Iterator<Item = &'static Product> {
    std::iter::once(&postgresql::POSTGRESQL).chain(not_run::ON_POSTGRES)
}

/// All products on MySQL's protocol. seekdb says `OceanBase` as well, so it comes first.
pub fn on_mysql() -> impl Iterator<Item = &'static Product> {
    let own = [&mysql::MYSQL, &mariadb::MARIADB, &oceanbase::SEEKDB, &oceanbase::OCEANBASE];
    own.into_iter().chain(not_run::ON_MYSQL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_one_name_and_the_dialect_of_its_protocol() {
        let names: Vec<&str> = on_postgres().chain(on_mysql()).map(|product| product.name).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        let like =
            |product: &Product, dialect: Dialect| std::ptr::eq(product.dialect.catalog, dialect.catalog);
        assert!(on_mysql().all(|product| like(product, Dialect::MYSQL)));
        assert!(on_postgres().all(|product| like(product, Dialect::POSTGRESQL)));
    }
}
