//! `dyno pgbench`: a drop-in for pgbench 18 — its command line, its scripts, its output — on dyno's engine.
//!
//! What pgbench prints is printed here to the letter, since people parse it; what dyno adds goes to standard error, or
//! comes when it is asked for.

pub(crate) mod connect;
mod failed;
mod help;
mod initialize;
mod options;
mod progress;
mod report;
mod run;
mod sources;
mod stored;

use std::ffi::OsString;

use options::Parsed;

use crate::front_end::say;
use crate::{DONE, NOT_STARTED};

/// The version of pgbench that this one is like, as its first line of output has it.
const VERSION: &str = "18.0";

/// Does what the command line asks for, given without the program's name; the exit status.
pub(crate) fn main(arguments: Vec<OsString>) -> u8 {
    let typed = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let environment = |name: &str| std::env::var(name).ok();
    let parsed = match options::parse(arguments, &environment, &mut say) {
        Ok(parsed) => parsed,
        Err(error) => {
            say(error.stderr());
            return NOT_STARTED;
        }
    };
    let ended = match parsed {
        Parsed::Help => run::print(help::HELP).map(|()| DONE),
        Parsed::Version => run::print(help::VERSION).map(|()| DONE),
        Parsed::ListBuiltins => {
            say(&options::builtins());
            Ok(DONE)
        }
        Parsed::ShowScript(script) => {
            say(&options::script_text(script));
            Ok(DONE)
        }
        Parsed::Initialize(connection, tables) => initialize::run(&connection, &tables).map(|()| DONE),
        Parsed::Run(options) => run::run(&options, typed),
    };
    ended.unwrap_or_else(|failed| {
        say(failed.stderr());
        NOT_STARTED
    })
}
