//! `data-check-failed`: the database does not hold what it acknowledged. `data-check-not-made`: nobody looked.

use super::answers;
use super::evidence::series_subject;
use crate::answer::{AS_RECORDED, OF_SPECIFICATION};
use crate::document::{Report, Series};
use crate::event::{Check, Code, Finding, Severity, Subject};
use crate::finding::Facts;
use crate::words::clause;

/// A check that stands for all of a load where none could be made.
pub const DATA_AFTER_LOAD: &str = "data-after-load";
/// The same where dyno does not know what the data have to be.
pub const DATA_UNKNOWN: &str = "data-unknown";

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let own = report.checks.iter().filter(|check| !has_findings_of_answers(report, check));
    own.filter_map(|check| judge_check(report, check)).collect()
}

/// Whether `answer-differs` and `not-validated` tell what a check says: it is of answers, and of a load of passes.
fn has_findings_of_answers(report: &Report, check: &Check) -> bool {
    let is_of_passes = |series: &Series| series.passes.is_some() && answers::is_of(check, series);
    !is_of_data(check) && report.series.iter().any(is_of_passes)
}

/// Whether it compares what is stored, and not the answers to queries.
pub(super) fn is_of_data(check: &Check) -> bool {
    ![OF_SPECIFICATION, AS_RECORDED].contains(&check.name.as_str())
}

fn judge_check(report: &Report, check: &Check) -> Option<Finding> {
    let failed = failed_advice(report, check);
    let (code, severity, advice) = match check.passed {
        Some(true) => return None,
        Some(false) => (Code::DataCheckFailed, Severity::Invalid, failed.as_str()),
        None if check.name == DATA_UNKNOWN => (
            Code::DataCheckNotMade,
            Severity::Doubt,
            "the run does not show that nothing was lost: dyno checks the tables of its own workloads, and those of a folder whose \
             transactions say what they add and remove, if one workload alone changes them; look yourself whether what was acknowledged is there, for example in a hook after the load",
        ),
        None => (
            Code::DataCheckNotMade,
            Severity::Doubt,
            "the run does not show that nothing was lost: make the check possible and run again",
        ),
    };
    let mut facts = Facts::default();
    let name = facts.name("check", &check.name);
    let detail = facts.name("detail", clause(&check.detail));
    let counts = match (&check.expected, &check.found) {
        (Some(expected), Some(found)) => {
            format!(" (expected {}, found {})", facts.name("expected", expected), facts.name("found", found))
        }
        _ => String::new(),
    };
    Some(Finding::new(
        (code, severity),
        subject(report, check),
        format!("{name}: {detail}{counts}"),
        advice,
        facts,
    ))
}

fn failed_advice(report: &Report, check: &Check) -> String {
    let streams = report.run.resolved.phases.iter().flat_map(|phase| &phase.streams);
    let mut folders = streams.filter_map(|stream| stream.folder.as_ref()).map(|folder| &folder.name);
    let of_folder = folders.find(|name| check.workload.rsplit_once('/').is_some_and(|(of, _)| of == **name));
    let (what, anew) = match of_folder {
        Some(name) => (
            format!("nothing else writes to these tables and {name} says what its transactions do"),
            format!("make the data anew with `dyno run {name} --prepare`"),
        ),
        None => ("nothing else writes to these tables".to_owned(), "prepare again".to_owned()),
    };
    format!("do not use the figures: make sure that {what}, {anew}, and look for errors in the server's log")
}

/// The series that a check is of, where it is of one.
fn subject(report: &Report, check: &Check) -> Subject {
    let is_own = |series: &&Series| {
        series.target == check.target && Some(series.name.as_str()) == check.series.as_deref()
    };
    let series = report.series.iter().find(is_own);
    series.map_or_else(|| Subject::of_system(&check.target), |series| series_subject(report, series))
}
