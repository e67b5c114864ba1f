//! `dyno findings`: a stored run is judged again.

use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::event::Severity;
use serde_json::json;

use super::{print, print_json};
use crate::cli::FindingsArguments;
use crate::failure::Failure;
use crate::{DONE, INVALID, place};

pub(crate) fn run(arguments: &FindingsArguments) -> Result<u8, Failure> {
    let store = place::open_stored(&arguments.store)?;
    let report = super::report::judged(&store, &arguments.run)?;
    if arguments.json {
        print_json(
            &json!({ "schema": "dyno.findings/1", "run": report.run.name, "findings": report.findings }),
        )?;
    } else {
        print(&summary::render_findings(&report.findings, Terminal::stdout()))?;
    }
    let invalid = report.findings.iter().any(|finding| finding.severity == Severity::Invalid);
    Ok(if arguments.strict && invalid { INVALID } else { DONE })
}
