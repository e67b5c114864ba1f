//! `incomplete`: the run did not do all that it was asked to, or one of its targets was lost on the way.

use super::evidence::{stage_name, stage_name_in_run};
use crate::document::{Lost, Report, StageResult};
use crate::event::{Finding, Outcome, Severity, Subject};
use crate::format;
use crate::words::{clause, list};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let lost = report.lost.iter().map(|lost| judge_lost(report, lost));
    lost.chain(judge_run(report)).collect()
}

/// Silent where all that is missing is what the lost targets did not do.
fn judge_run(report: &Report) -> Option<Finding> {
    if report.run.outcome == Outcome::Complete {
        return None;
    }
    let reason = report.run.reason.as_deref().map_or("no reason was stored", clause);
    let is_lost = |target: &str| report.lost.iter().any(|lost| lost.lost.target == target);
    let cut: Vec<&StageResult> = report
        .stages
        .iter()
        .filter(|result| !result.complete && !is_lost(&result.stage.key.system))
        .collect();
    let names_lost = report.lost.iter().all(|lost| reason.contains(&lost.lost.target));
    if !report.lost.is_empty() && cut.is_empty() && names_lost {
        return None;
    }
    let cut: Vec<String> = cut
        .iter()
        .map(|result| format!("{} ({})", stage_name_in_run(report, result), result.stage.workload))
        .collect();
    let cut = if cut.is_empty() { String::new() } else { format!("; cut short: {}", list(&cut)) };
    Some(Finding {
        code: "incomplete".to_owned(),
        severity: Severity::Doubt,
        subject: Subject::default(),
        evidence: format!("the run did not end as planned: {reason}{cut}"),
        advice: "what was measured is kept and shown; run again for the rest".to_owned(),
    })
}

/// What a target did before it was lost stands; what the others did is whole.
fn judge_lost(report: &Report, lost: &Lost) -> Finding {
    let name = &lost.lost.target;
    let during = lost.lost.stage.and_then(|id| report.stage(id));
    let during = during.map(|result| format!(", in {}", stage_name(result))).unwrap_or_default();
    let others: Vec<&str> = report
        .targets
        .iter()
        .map(|target| target.name.as_str())
        .filter(|other| report.lost.iter().all(|lost| lost.lost.target != *other))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("; {} went on", list(&others)) };
    Finding {
        code: "incomplete".to_owned(),
        severity: Severity::Doubt,
        subject: Subject { stage: lost.lost.stage, ..Subject::of_system(name) },
        evidence: format!(
            "{name} was given up {} after the run began{during}: {}{others}",
            format::duration_s(lost.at_s),
            clause(&lost.lost.reason)
        ),
        advice: "check that server's log; what was measured before is kept, and the other targets' figures \
                 are not affected"
            .to_owned(),
    }
}
