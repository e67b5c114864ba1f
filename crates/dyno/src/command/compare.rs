//! `dyno compare`: stored runs, or targets of them, set beside each other.

use dyno_report::terminal::Terminal;
use dyno_report::{compare, plans};
use dyno_results::comparison;
use dyno_results::event::Severity;

use super::{print, print_json};
use crate::cli::CompareArguments;
use crate::failure::Failure;
use crate::{DONE, INVALID, place};

pub(crate) fn run(arguments: &CompareArguments) -> Result<u8, Failure> {
    let store = place::open_stored(&arguments.store)?;
    if let Some(query) = &arguments.plan {
        let found = comparison::plans(&store, &arguments.sides, arguments.base.as_deref(), query)?;
        let Some((base, others)) = found.split_first() else {
            let what = format!("none of these has a plan of {query}");
            return Err(Failure::advised(
                what,
                "plans are taken of query sets (--plans); dyno report RUN names the queries",
            ));
        };
        print(&plans::compared(base, others, Terminal::stdout()))?;
        return Ok(DONE);
    }
    let comparison = comparison::of_store(&store, &arguments.sides, arguments.base.as_deref())?;
    if arguments.json {
        print_json(&comparison)?;
    } else {
        print(&compare::render(&comparison, Terminal::stdout()))?;
    }
    let invalid = comparison.findings.iter().any(|finding| finding.severity == Severity::Invalid);
    Ok(if arguments.strict && invalid { INVALID } else { DONE })
}
