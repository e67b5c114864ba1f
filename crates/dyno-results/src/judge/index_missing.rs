//! `index-missing`: the data were made with keys and indexes that are not there any more.

use crate::document::Report;
use crate::event::{Data, Finding, Severity, Subject};
use crate::words::list;

/// Before the first load: what is dropped behind it is in no figure.
pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.found.iter().filter(|data| !data.missing_indexes.is_empty()).map(judge_data).collect()
}

fn judge_data(data: &Data) -> Finding {
    Finding {
        code: "index-missing".to_owned(),
        severity: Severity::Doubt,
        subject: Subject::of_system(&data.target),
        evidence: format!(
            "the data of {} were made with {}, which the catalogue does not have any more: a query that would use it finds its rows \
             in another way",
            data.workload,
            list(&data.missing_indexes)
        ),
        advice: "prepare the data again (--prepare), unless you measure what a server does without it"
            .to_owned(),
    }
}
