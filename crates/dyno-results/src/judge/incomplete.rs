//! `incomplete`: the run did not do all that it was asked to.

use super::evidence::stage_name;
use super::words::list;
use crate::document::Report;
use crate::event::{Finding, Outcome, Severity};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    if report.run.outcome == Outcome::Complete {
        return Vec::new();
    }
    let reason = report.run.reason.as_deref().unwrap_or("no reason was stored");
    let cut: Vec<String> = report
        .stages
        .iter()
        .filter(|result| !result.complete)
        .map(|result| format!("{} ({})", stage_name(result), result.stage.workload))
        .collect();
    let cut = if cut.is_empty() { String::new() } else { format!("; cut short: {}", list(&cut)) };
    vec![Finding {
        code: "incomplete".to_owned(),
        severity: Severity::Doubt,
        about: None,
        evidence: format!("the run did not end as planned: {reason}{cut}"),
        advice: "what was measured is kept and shown; run again for the rest".to_owned(),
    }]
}
