//! The kinds of databases that are reached by a driver: a folder each, and a line here. Nothing else knows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dyno_engine::driver::Driver;
use dyno_wire::endpoint::Password;

use crate::Capabilities;
#[cfg(feature = "adbc")]
use crate::adbc;
use crate::connection::{Connection, QueryError};
use crate::inspect::Inspector;
use crate::product::{Dialect, Product, Recognised};
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

/// What there is to know of a kind.
pub(crate) struct DriverKind {
    /// [`Driver::kind`]
    pub(crate) name: &'static str,
    /// Of its URLs.
    pub(crate) schemes: &'static [&'static str],
    /// How such a target is named.
    pub(crate) example: &'static str,
    /// Reads a target's name; `None` where it names nothing of this kind.
    pub(crate) parse: fn(&str, &Environment) -> Option<Result<DriverTarget, TargetError>>,
    /// The product where nothing says otherwise.
    pub(crate) product: &'static Product,
    pub(crate) recognise: fn(&mut Connection) -> Result<Recognised, QueryError>,
    pub(crate) inspector: &'static Inspector,
}

/// A target that is reached by a driver.
#[derive(Debug, Clone)]
pub struct DriverTarget {
    pub driver: Arc<dyn Driver>,
    /// As it can be named again, without a password.
    pub url: String,
    /// The database's name.
    pub database: String,
    /// What the database is told and nobody is shown.
    pub passwords: Vec<Password>,
    pub capabilities: Capabilities,
}

/// Reads a target's name; `None` where it names nothing that has a driver.
pub(crate) fn parse(text: &str, environment: &Environment) -> Option<Result<DriverTarget, TargetError>> {
    KINDS.iter().find_map(|kind| (kind.parse)(text, environment))
}

/// Whether a text begins as the name of a target does that has a driver.
pub fn is_address(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| schemes().any(|it| it.eq_ignore_ascii_case(scheme)))
}

/// A database's file as it was named, and those beside it whose names are its own with these endings: beside the file itself, where
/// it was named by a link.
pub(crate) fn with_beside(file: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let beside = endings.iter().map(|ending| {
        let mut name = real.clone().into_os_string();
        name.push(ending);
        name.into()
    });
    std::iter::once(file.to_owned()).chain(beside).collect()
}

/// Schemes of URLs.
pub(crate) fn schemes() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.schemes).copied()
}

/// How targets of each kind are named.
pub fn examples() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.example)
}

/// Products of all kinds.
#[cfg(test)]
pub(crate) fn products() -> impl Iterator<Item = &'static Product> {
    KINDS.iter().map(|kind| kind.product)
}

impl Connection {
    /// The SQL of its protocol: as much as is known before the server was asked what it is.
    pub fn dialect(&self) -> Dialect {
        match kind(self) {
            Some(kind) => kind.product.dialect,
            None => Dialect::of_wire(self.is_mysql()),
        }
    }
}

/// The kind of a connection; `None` where it is a server's.
pub(crate) fn kind(connection: &Connection) -> Option<&'static DriverKind> {
    let name = connection.driver()?.kind();
    KINDS.iter().find(|kind| kind.name == name).copied()
}
