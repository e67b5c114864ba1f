//! `dyno compare`: stored runs, or targets of them, set beside each other.

use dyno_report::compare;
use dyno_report::terminal::Terminal;
use dyno_results::comparison;
use dyno_results::event::Severity;

use super::{print, print_json};
use crate::cli::CompareArguments;
use crate::failure::Failure;
use crate::{DONE, INVALID, place};

pub(crate) fn run(arguments: &CompareArguments) -> Result<u8, Failure> {
    let store = place::open_stored(&arguments.store)?;
    let comparison = comparison::of_store(&store, &arguments.sides, arguments.base.as_deref())?;
    if arguments.json {
        print_json(&comparison)?;
    } else {
        print(&compare::render(&comparison, Terminal::stdout()))?;
    }
    let invalid = comparison.findings.iter().any(|finding| finding.severity == Severity::Invalid);
    Ok(if arguments.strict && invalid { INVALID } else { DONE })
}
