//! The kinds of databases that are reached by a driver, as far as inspection knows them: what there is to know of one. A connection
//! holds its driver, and that its kind.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use dyno_engine::driver::Driver;
use dyno_wire::endpoint::Password;

use super::{Ask, Inspector};
use crate::capabilities::Capabilities;
use crate::connection::Connection;
use crate::product::{Dialect, Product, Recognised};
use crate::settings::{Environment, TargetError};

/// What there is to know of a kind.
pub(crate) struct DriverKind {
    /// Of its URLs.
    pub(crate) schemes: &'static [&'static str],
    /// How such a target is named.
    pub(crate) example: &'static str,
    pub(crate) capabilities: Capabilities,
    /// Reads a target's name; `None` where it names nothing of this kind.
    pub(crate) parse: fn(&str, &Environment) -> Option<Result<DriverTarget, TargetError>>,
    /// The product where nothing says otherwise.
    pub(crate) product: &'static Product,
    pub(crate) recognise: Ask<Recognised>,
    pub(crate) inspector: &'static Inspector,
}

impl fmt::Debug for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverKind").field("example", &self.example).finish_non_exhaustive()
    }
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

/// The kind of a connection; `None` where it is a server's.
pub(super) fn of(connection: &Connection) -> Option<&'static DriverKind> {
    let kind: &'static dyn Any = connection.driver()?.kind();
    kind.downcast_ref()
}

impl Connection {
    /// The SQL of its protocol: as much as is known before the server was asked what it is.
    pub fn dialect(&self) -> Dialect {
        match of(self) {
            Some(kind) => kind.product.dialect,
            None => Dialect::of_wire(self.is_mysql()),
        }
    }
}
