//! `-i`: connects, and has the tables made.

use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;

use dyno_workload::pgbench::initialize::InitializeError;

use super::failed::PgbenchFailed;
use super::options::InitializeOptions;
use super::{connect, console};
use crate::interrupt;

pub(super) fn run(options: &InitializeOptions) -> Result<(), PgbenchFailed> {
    let mut opened = connect::open(&options.connection, &mut console::raw)
        .map_err(|failure| PgbenchFailed::lines(failure.stderr("initialization")))?;
    let stop = interrupt::stop_flag();
    let terminal = std::io::stderr().is_terminal();
    let made = options.initialization.run(&mut opened.connection, terminal, &stop, &mut console::raw);
    // What the server says of a statement that was cancelled is no news.
    let stopped = made.is_err() && stop.load(Ordering::Relaxed);
    Ok(if stopped { Err(InitializeError::Stopped) } else { made }?)
}
