//! `incomplete`: the run did not do all that it was asked to, or one of its targets was lost on the way.

use super::evidence::{stage_name, stage_name_in_run};
use crate::document::{Lost, Report, StageResult};
use crate::event::{Code, Finding, Outcome, Severity, Subject};
use crate::finding::Facts;
use crate::words::clause;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let lost = report.lost.iter().map(|lost| judge_lost(report, lost));
    lost.chain(judge_run(report)).collect()
}

/// Silent where all that is missing is what the lost targets did not do.
fn judge_run(report: &Report) -> Option<Finding> {
    if report.run.outcome == Outcome::Complete {
        return None;
    }
    let is_lost = |target: &str| report.lost.iter().any(|lost| lost.lost.target == target);
    let cut: Vec<&StageResult> = report
        .stages
        .iter()
        .filter(|result| !result.complete && !is_lost(&result.stage.key.system))
        .collect();
    if report.run.targets_lost && cut.is_empty() {
        return None;
    }
    let mut facts = Facts::default();
    let reason = report.run.reason.as_deref().map(|reason| facts.name("reason", clause(reason)));
    let reason = reason.unwrap_or_else(|| "no reason was stored".to_owned());
    let cut: Vec<String> = cut
        .iter()
        .map(|result| format!("{} ({})", stage_name_in_run(report, result), result.stage.workload))
        .collect();
    let cut = if cut.is_empty() {
        String::new()
    } else {
        format!("; cut short: {}", facts.names("cut_short", &cut))
    };
    Some(Finding::new(
        (Code::Incomplete, Severity::Doubt),
        Subject::default(),
        format!("the run did not end as planned: {reason}{cut}"),
        "what was measured is kept and shown; run again for the rest",
        facts,
    ))
}

/// What a target did before it was lost stands; what the others did is whole.
fn judge_lost(report: &Report, lost: &Lost) -> Finding {
    let mut facts = Facts::default();
    let name = facts.name("given_up", &lost.lost.target);
    let given_up_at = facts.s("given_up_at", lost.at_s);
    let reason = facts.name("reason", clause(&lost.lost.reason));
    let during = lost.lost.stage.and_then(|id| report.stage(id));
    let during = during.map(|result| format!(", in {}", stage_name(result))).unwrap_or_default();
    let others: Vec<&str> = report
        .targets
        .iter()
        .map(|target| target.name.as_str())
        .filter(|other| report.lost.iter().all(|lost| lost.lost.target != *other))
        .collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; {} went on", facts.names("went_on", &others))
    };
    Finding::new(
        (Code::Incomplete, Severity::Doubt),
        Subject { stage: lost.lost.stage, ..Subject::of_system(&name) },
        format!("{name} was given up {given_up_at} after the run began{during}: {reason}{others}"),
        "check that server's log; what was measured before is kept, and the other targets' figures \
                 are not affected",
        facts,
    )
}
