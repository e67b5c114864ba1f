//! Where a load is run: how a target is named, reached, inspected and watched, and the servers that dyno starts
//! itself. Knows no workload, and opens no socket for the load: that is the engine's.

#[cfg(feature = "adbc")]
mod adbc;
mod capabilities;
pub mod catalog;
mod clickhouse;
pub mod connection;
mod deadline;
mod drivers;
pub mod embedded;
pub mod explain;
pub mod files;
mod hive;
pub mod host;
pub mod inspect;
pub mod interruption;
pub mod mysql;
pub mod probe;
pub mod product;
mod reach;
pub mod settings;
mod sql_text;
mod sqlite;
pub mod statements;
mod target;
mod tls;

pub use capabilities::{Capabilities, ErrorCodes, Feature};
pub use connection::Connection;
pub use drivers::{examples as driver_examples, is_address as is_driver_address, kinds, usual_dialects};
pub use dyno_wire::server_error::cause;
pub use inspect::DriverTarget;
pub use mysql::MySqlSettings;
pub use settings::{Environment, TargetError, TargetSettings};
pub use target::Target;
