//! ClickHouse over its HTTP interface. Each session is a kept connection over which one request follows another; there are no
//! transactions, and nothing of a session is kept on the server.

mod dialect;
mod error;
mod facts;
mod http;
mod inspect;
mod rows;
mod session;
mod settings;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use dyno_engine::driver::{Driver, DriverSession, Statement};
use dyno_wire::server_error::DriverError;

use crate::connection::QueryError;
use crate::inspect::{DriverKind, DriverTarget};
use crate::product::Recognised;
use crate::{Capabilities, Feature};
use http::Server;
use session::{ClickHouseSession, ServerTraits};
use settings::{ClickHouseSettings, SCHEME, SCHEME_TLS};

pub(crate) static KIND: DriverKind = DriverKind {
    schemes: &[SCHEME, SCHEME_TLS],
    example: "clickhouse://user@host:8123/database?max_threads=4",
    capabilities: Capabilities {
        features: &[Feature::Dates],
        ..Capabilities::new("ClickHouse", "ch", session::SYNTAX)
    },
    parse: |text, environment| {
        let settings = ClickHouseSettings::parse(text, environment)?;
        Some(settings.map(|settings| DriverTarget {
            url: settings.url(),
            database: settings.database.clone(),
            passwords: settings.password.iter().cloned().collect(),
            capabilities: KIND.capabilities,
            driver: Arc::new(ClickHouse { settings, server: OnceLock::new(), traits: OnceLock::new() }),
        }))
    },
    product: &dialect::CLICKHOUSE,
    recognise,
    inspector: &inspect::INSPECTOR,
};

fn recognise(connection: &mut crate::Connection) -> Result<Recognised, QueryError> {
    let version: Option<String> = connection.query_value("SELECT version()")?;
    let text = format!("ClickHouse {}", version.as_deref().unwrap_or_default());
    let is_old = version.as_deref().and_then(number).is_some_and(|version| version < CORRELATED_SUBQUERIES);
    let mut recognised = Recognised::as_product(&dialect::CLICKHOUSE, version, text);
    recognised.dialect.correlates_since = is_old.then_some("25.8");
    Ok(recognised)
}

/// From this version on a subquery may name a column of the query around it.
const CORRELATED_SUBQUERIES: [u32; 2] = [25, 8];

/// `26.9.1.1`
fn number(version: &str) -> Option<[u32; 2]> {
    let (year, rest) = version.split_once('.')?;
    Some([year.parse().ok()?, rest.split('.').next()?.parse().ok()?])
}

#[derive(Debug)]
struct ClickHouse {
    settings: ClickHouseSettings,
    /// With the system's certificates, which take long to read.
    server: OnceLock<Arc<Server>>,
    /// Once the server was asked.
    traits: OnceLock<ServerTraits>,
}

impl ClickHouse {
    fn server(&self) -> Result<Arc<Server>, DriverError> {
        if let Some(server) = self.server.get() {
            return Ok(Arc::clone(server));
        }
        let server = Arc::new(Server::new(&self.settings)?);
        Ok(Arc::clone(self.server.get_or_init(|| server)))
    }
}

impl Driver for ClickHouse {
    fn kind(&self) -> &'static (dyn Any + Sync) {
        &KIND
    }

    fn place(&self) -> String {
        self.settings.authority()
    }

    fn server(&self) -> Option<(&str, u16)> {
        Some((&self.settings.host, self.settings.port))
    }

    fn escapes_by_backslash(&self) -> bool {
        true
    }

    fn open(&self, statements: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError> {
        let server = self.server()?;
        let traits = match self.traits.get() {
            Some(traits) => *traits,
            None => {
                let traits = session::traits(&server)?;
                *self.traits.get_or_init(|| traits)
            }
        };
        Ok(Box::new(ClickHouseSession::new(server, traits, statements)?))
    }

    /// The session's connection, one to stop what it does, and one to ask at the same time how far it is.
    fn files_per_session(&self) -> u32 {
        3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_of_a_target_share_its_certificates() {
        let settings = ClickHouseSettings::parse("clickhouses://h", &crate::Environment::empty()).unwrap();
        let settings = settings.unwrap();
        let driver = ClickHouse { settings, server: OnceLock::new(), traits: OnceLock::new() };
        assert!(Arc::ptr_eq(&driver.server().unwrap(), &driver.server().unwrap()));
    }
}
