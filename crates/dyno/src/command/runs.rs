//! `dyno runs`: what is stored.

use dyno_report::runs::{self, Filter, RunEnd};
use dyno_report::terminal::Terminal;
use serde_json::json;

use super::{print, print_json};
use crate::cli::{EndedArgument, RunsArguments};
use crate::failure::Failure;
use crate::{DONE, place};

pub(crate) fn run(arguments: &RunsArguments) -> Result<u8, Failure> {
    let mut stored = match place::open_stored(&arguments.store) {
        Err(Failure::NothingStored { .. }) => Vec::new(),
        store => store?.runs()?,
    };
    let (all, filter) = (stored.len(), filter(arguments));
    stored.retain(|run| filter.fits(run));
    if arguments.json {
        print_json(&json!({ "schema": "dyno.runs/1", "runs": stored }))?;
    } else if stored.is_empty() && all > 0 {
        print(&runs::none_fits(all))?;
    } else {
        print(&runs::render(&stored, Terminal::stdout()))?;
    }
    Ok(DONE)
}

fn filter(arguments: &RunsArguments) -> Filter {
    Filter {
        target: arguments.target.clone(),
        workload: arguments.workload.clone(),
        text: arguments.text.clone(),
        ended: arguments.ended.map(|ended| match ended {
            EndedArgument::Complete => RunEnd::Complete,
            EndedArgument::Incomplete => RunEnd::Incomplete,
            EndedArgument::No => RunEnd::Not,
        }),
    }
}
