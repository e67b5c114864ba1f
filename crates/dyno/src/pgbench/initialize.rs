//! `-i`: connects, and has the tables made.

use std::io::IsTerminal as _;

use super::failed::Failed;
use super::options::InitializeOptions;
use super::{connect, console};
use crate::interrupt;

pub(super) fn run(options: &InitializeOptions) -> Result<(), Failed> {
    let stop = interrupt::stop_flag();
    let mut opened = connect::open(&options.connection, &mut console::raw)
        .map_err(|failure| Failed::lines(failure.stderr("initialization")))?;
    let terminal = std::io::stderr().is_terminal();
    Ok(options.initialization.run(&mut opened.connection, terminal, &stop, &mut console::raw)?)
}
