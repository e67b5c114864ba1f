//! `stats-missing`: the planner knows nothing of the tables, because they were never analysed.

use crate::document::Report;
use crate::event::{Code, Data, Finding, Severity, Subject};
use crate::finding::Facts;
use crate::words::list;

/// Tables that are named.
const NAMED_MAX: usize = 4;

/// By what the first load found: a load that fills tables cannot have analysed them before.
pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.found.iter().filter_map(judge_data).collect()
}

fn judge_data(data: &Data) -> Option<Finding> {
    let never = data.tables.iter().filter(|table| table.analyzed == Some(false));
    let mut named: Vec<String> = never.map(|table| table.name.clone()).collect();
    if named.is_empty() {
        return None;
    }
    let mut facts = Facts::default();
    facts.names("table", &named);
    let others = named.len().saturating_sub(NAMED_MAX);
    if others > 0 {
        named.truncate(NAMED_MAX);
        named.push(format!("{others} more"));
    }
    Some(Finding::new(
        (Code::StatsMissing, Severity::Doubt),
        Subject::of_system(&data.target),
        format!(
            "the planner has no statistics of {}, which have rows and were never analysed: it guesses how many rows a query \
             finds",
            list(&named)
        ),
        "have the tables analysed (ANALYZE) before the load, unless you measure what a server does without it",
        facts,
    ))
}
