//! `-i`: connects, and has the tables made.

use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;

use dyno_workload::pgbench::initialize::{Initialization, InitializeError};

use super::connect;
use super::failed::PgbenchFailed;
use super::options::ConnectionOptions;
use crate::front_end::say;
use crate::interrupt;

pub(super) fn run(connection: &ConnectionOptions, tables: &Initialization) -> Result<(), PgbenchFailed> {
    let (mut connection, _) = connect::open(connection, "initialization", &mut say)?;
    let stop = interrupt::stop_flag();
    let terminal = std::io::stderr().is_terminal();
    let made = tables.run(&mut connection, terminal, &stop, &mut say);
    // What the server says of a statement that was cancelled is no news.
    let stopped = made.is_err() && stop.load(Ordering::Relaxed);
    let made = if stopped { Err(InitializeError::Stopped) } else { made };
    made.map_err(|error| PgbenchFailed::new(&error).with("detail", error.detail()))
}
