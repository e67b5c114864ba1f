//! `data-check-failed`: the database does not hold what it acknowledged. `data-check-not-made`: nobody looked.

use crate::answer::{AS_RECORDED, OF_SPECIFICATION};
use crate::document::Report;
use crate::event::{Check, Finding, Severity, Subject};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    // Those of answers have findings of their own.
    let of_data = |check: &&Check| ![OF_SPECIFICATION, AS_RECORDED].contains(&check.name.as_str());
    report.checks.iter().filter(of_data).filter_map(judge_check).collect()
}

fn judge_check(check: &Check) -> Option<Finding> {
    let (code, severity, advice) = match check.passed {
        Some(true) => return None,
        Some(false) => (
            "data-check-failed",
            Severity::Invalid,
            "do not use the figures: make sure that nothing else writes to these tables, prepare again, and look for \
             errors in the server's log",
        ),
        None => (
            "data-check-not-made",
            Severity::Doubt,
            "the run does not show that nothing was lost: make the check possible and run again",
        ),
    };
    let counts = match (&check.expected, &check.found) {
        (Some(expected), Some(found)) => format!(" (expected {expected}, found {found})"),
        _ => String::new(),
    };
    Some(Finding {
        code: code.to_owned(),
        severity,
        subject: Subject::of_target(&check.target),
        evidence: format!("{}: {}{counts}", check.name, check.detail.trim_end_matches('.')),
        advice: advice.to_owned(),
    })
}
