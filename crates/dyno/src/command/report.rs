//! `dyno report`: a stored run is shown again, judged by the rules of this version.

use dyno_report::terminal::Terminal;
use dyno_report::{page, summary};
use dyno_results::document::Report;
use dyno_results::judge::judge;
use dyno_results::store::Store;

use super::{print, print_json};
use crate::cli::ReportArguments;
use crate::failure::Failure;
use crate::{DONE, place};

pub(crate) fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    let store = place::open_store(&arguments.store)?;
    let report = judged(&store, &arguments.run)?;
    if let Some(path) = &arguments.html {
        place::write_named(path, &page::render(&report)?)?;
    }
    if arguments.json {
        print_json(&report)?;
    } else {
        let beside = place::run_directory(store.path(), &report.run.name).join("report.html");
        let page = arguments.html.clone().or_else(|| beside.is_file().then_some(beside));
        print(&summary::render(&report, page.as_deref(), Terminal::stdout()))?;
    }
    Ok(DONE)
}

/// A stored run with its findings as of now: one that was killed had no time to judge itself, and rules improve.
pub(crate) fn judged(store: &Store, wanted: &str) -> Result<Report, Failure> {
    let mut report = store.report(&store.find(wanted)?)?;
    report.findings = judge(&report);
    Ok(report)
}
