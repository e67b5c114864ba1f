//! `restarted`: the server was not the same from the beginning of the run to its end.

use crate::document::Report;
use crate::event::{Code, Finding, ServerChanged, Severity, Subject};
use crate::finding::Facts;
use crate::words::list;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.server_changes.iter().filter_map(judge_target).collect()
}

fn judge_target(changed: &ServerChanged) -> Option<Finding> {
    let mut facts = Facts::default();
    if changed.by_hook {
        facts.name("changed_by", "hook");
    }
    let restarted = changed.restarted.then(|| {
        facts.name("changed", "server");
        "the server was restarted, or is another one".to_owned()
    });
    let others = changed.changes.iter().map(|change| {
        let what = facts.name("changed", &change.what);
        let [before, after] = [("before", &change.before), ("after", &change.after)]
            .map(|(when, value)| facts.name(when, value.as_deref().unwrap_or("default")));
        format!("{what} {before} → {after}")
    });
    let evidence: Vec<String> = restarted.into_iter().chain(others).collect();
    if evidence.is_empty() {
        return None;
    }
    let evidence = list(&evidence);
    let decides = changed.changes.iter().any(|change| change.decides);
    let (severity, evidence, advice) = if changed.by_hook {
        (
            Severity::Note,
            format!("a hook between stages changed {evidence}"),
            "compare only stages that ran before it, or only stages that ran after it",
        )
    } else {
        (
            if decides { Severity::Invalid } else { Severity::Doubt },
            format!("between the beginning of the run and the end of its load: {evidence}"),
            "run again on a server that nobody changes during the run; if it was restarted, its log says why",
        )
    };
    Some(Finding::new(
        (Code::Restarted, severity),
        Subject::of_system(&changed.target),
        evidence,
        advice,
        facts,
    ))
}
