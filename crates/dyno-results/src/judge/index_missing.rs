//! `index-missing`: the data were made with keys and indexes that are not there any more.

use crate::document::Report;
use crate::event::{Code, Data, Finding, Severity, Subject};
use crate::finding::Facts;

/// Before the first load: what is dropped behind it is in no figure.
pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.found.iter().filter(|data| !data.missing_indexes.is_empty()).map(judge_data).collect()
}

fn judge_data(data: &Data) -> Finding {
    let mut facts = Facts::default();
    let workload = facts.name("workload", &data.workload);
    let missing = facts.names("missing", &data.missing_indexes);
    Finding::new(
        (Code::IndexMissing, Severity::Doubt),
        Subject::of_system(&data.target),
        format!(
            "the data of {workload} were made with {missing}, which the catalogue does not have any more: a query that would use it finds its rows \
             in another way"
        ),
        "prepare the data again (--prepare), unless you measure what a server does without it",
        facts,
    )
}
