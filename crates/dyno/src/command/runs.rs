//! `dyno runs`: what is stored.

use dyno_report::runs;
use dyno_report::terminal::Terminal;
use serde_json::json;

use super::{print, print_json};
use crate::cli::RunsArguments;
use crate::failure::Failure;
use crate::{DONE, place};

pub(crate) fn run(arguments: &RunsArguments) -> Result<u8, Failure> {
    let stored = place::open_store(&arguments.store)?.runs()?;
    if arguments.json {
        print_json(&json!({ "schema": "dyno.runs/1", "runs": stored }))?;
    } else {
        print(&runs::render(&stored, Terminal::stdout()))?;
    }
    Ok(DONE)
}
