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
    changed.changes.iter().for_each(|change| _ = facts.name("changed", &change.what));
    if changed.restarted {
        facts.name("changed", "server");
    }
    let restarted = changed.restarted.then(|| "the server was restarted, or is another one".to_owned());
    let others = changed.changes.iter().map(|change| {
        let [before, after] =
            [&change.before, &change.after].map(|value| value.as_deref().unwrap_or("default"));
        format!("{} {before} → {after}", change.what)
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
