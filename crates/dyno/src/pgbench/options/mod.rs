//! The command line of pgbench 18, and what dyno adds to it: what was typed is read in order (`typed`), then checked
//! and given its meaning (`resolve`). Opens no script and no connection.
//!
//! Values, ranges, prefixes and messages are pgbench's own, so that wrappers keep working.

mod getopt;
mod resolve;
mod table;
mod typed;
mod values;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use dyno_results::event::StageKind;
use dyno_results::spec::{End, StageOrder};
use dyno_workload::pgbench::initialize::Initialization;
use dyno_workload::pgbench::load::LoadOptions;
use dyno_workload::script::builtin::{self, Builtin};

use super::failed::PgbenchFailed;
use crate::front_end::{Extras, arrivals};

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Parsed {
    Help,
    Version,
    ListBuiltins,
    ShowScript(&'static Builtin),
    /// `-i`: make the tables.
    Initialize(ConnectionOptions, Box<Initialization>),
    Run(Box<RunOptions>),
}

/// A load to be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunOptions {
    pub(crate) connection: ConnectionOptions,
    /// Never empty, and not all of weight zero.
    pub(crate) scripts: Vec<ScriptChoice>,
    pub(crate) load: LoadOptions,
    pub(crate) end: End,
    pub(crate) vacuum: Vacuum,
    pub(crate) scale: Option<u32>,
    pub(crate) progress: Option<ProgressOptions>,
    pub(crate) extras: Extras,
}

/// Where to connect, as far as it was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConnectionOptions {
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) user: Option<String>,
    /// A name, a connection string or a URL.
    pub(crate) database: Option<String>,
}

/// A script and how often it is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptChoice {
    pub(crate) source: ScriptSource,
    pub(crate) weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptSource {
    Builtin(&'static Builtin),
    File(PathBuf),
    StandardInput,
}

/// What is vacuumed before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vacuum {
    Nothing,
    /// Branches and tellers; history is emptied.
    Usual,
    /// Accounts too.
    All,
}

/// Lines on how it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgressOptions {
    pub(crate) every: Duration,
    /// Seconds of the epoch instead of the run's.
    pub(crate) timestamps: bool,
}

impl RunOptions {
    /// The load, as one stage.
    pub(crate) fn order(&self) -> StageOrder {
        StageOrder::new(StageKind::Hold, self.load.clients, arrivals(self.load.rate), self.end)
    }
}

/// Understands a command line, given without the program's name. `say` gets what pgbench prints to standard error
/// while it reads; an error is not said but returned.
pub(crate) fn parse(
    arguments: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
    say: &mut dyn FnMut(&str),
) -> Result<Parsed, PgbenchFailed> {
    // pgbench knows these two as the first argument only.
    match arguments.first().and_then(|first| first.to_str()) {
        Some("--help" | "-?") => return Ok(Parsed::Help),
        Some("--version" | "-V") => return Ok(Parsed::Version),
        _ => {}
    }
    Ok(match typed::read(arguments, environment, say)? {
        ControlFlow::Break(answered) => answered,
        ControlFlow::Continue(typed) if typed.initialize => resolve::initialize(typed)?,
        ControlFlow::Continue(typed) => Parsed::Run(Box::new(resolve::run(typed)?)),
    })
}

/// What `-b list` prints.
pub(crate) fn builtins() -> String {
    let mut text = "Available builtin scripts:\n".to_owned();
    for script in builtin::ALL {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  {:>13}: {}", script.name, script.description);
    }
    text.push('\n');
    text
}

/// What `--show-script` prints.
pub(crate) fn script_text(script: &Builtin) -> String {
    format!("-- {}: {}\n{}\n", script.name, script.description, script.text)
}

/// Every option's letter and long name, so that help can be checked against it.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = (Option<char>, &'static str)> {
    table::OPTIONS.iter().map(|known| (known.short.map(char::from), known.long))
}

#[cfg(test)]
pub(crate) mod tests;
