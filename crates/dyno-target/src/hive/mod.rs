//! HiveServer2's protocol, which Spark's Thrift server speaks: Thrift over TCP. Each session is a session of the server on a
//! connection of its own; there are no transactions.

mod dialect;
mod error;
mod inspect;
mod load;
mod place;
mod rows;
mod session;
mod settings;
mod tables;
mod thrift;
mod wire;

use std::any::Any;
use std::sync::Arc;

use dyno_engine::driver::{Driver, DriverSession, Statement};
use dyno_wire::server_error::DriverError;

use crate::connection::QueryError;
use crate::inspect::{DriverKind, DriverTarget, known};
use crate::product::Recognised;
use crate::{Capabilities, Connection, ErrorCodes, Feature};
use session::HiveSession;
use settings::{HiveSettings, SCHEME};

pub(crate) static KIND: DriverKind = DriverKind {
    schemes: &[SCHEME],
    example: "hive2://user@host:10000/database?auth=nosasl",
    capabilities: Capabilities {
        error_codes: ErrorCodes::SqlStates,
        features: &[Feature::Dates],
        ..Capabilities::new("Hive", "hive", session::SYNTAX)
    },
    parse: |text, environment| {
        let settings = HiveSettings::parse(text, environment)?;
        Some(settings.map(|settings| DriverTarget {
            url: settings.url(),
            database: settings.database.clone(),
            passwords: settings.password.iter().cloned().collect(),
            capabilities: KIND.capabilities,
            driver: Arc::new(Hive { settings }),
        }))
    },
    product: &dialect::SPARK,
    recognise,
    inspector: &inspect::INSPECTOR,
};

/// What only Spark has is a name of the application. Anything else is asked in Spark's words, too.
fn recognise(connection: &mut Connection) -> Result<Recognised, QueryError> {
    let version = known(connection.query_value::<String>("SELECT version()"))?;
    match inspect::setting_value(connection, "spark.app.id")? {
        Some(_) => {
            // `4.0.1 29434ea766b0fc3c3bf6eaadb43a8f931133649e`
            let version = version.and_then(|it| it.split(' ').next().map(str::to_owned));
            let text = format!("{} {}", dialect::SPARK.name, version.as_deref().unwrap_or_default());
            Ok(Recognised::as_product(&dialect::SPARK, version, text.trim_end().to_owned()))
        }
        None => Ok(Recognised::nothing(dialect::SPARK.dialect, &[], version)),
    }
}

#[derive(Debug)]
struct Hive {
    settings: HiveSettings,
}

impl Driver for Hive {
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
        Ok(Box::new(HiveSession::open(&self.settings, statements)?))
    }

    /// The session's connection, and one to stop what it does.
    fn files_per_session(&self) -> u32 {
        2
    }
}
