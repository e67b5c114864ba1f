//! `contention-by-design`: a workload of which each transaction changes one of fewer rows than there are clients measures
//! waiting for a row's lock.

use super::evidence::{headlines, series_subject};
use crate::document::{Report, Series};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let ids = series.ladder.iter().chain(&series.holds);
    let rows = ids.filter_map(|id| report.stage(*id)?.stage.contended_rows).min()?;
    let too_many = |clients: u32| clients > rows;
    let mut headline: Vec<u32> = headlines(report)
        .into_iter()
        .filter(|(of, _)| std::ptr::eq(*of, series))
        .map(|(_, result)| result.stage.clients)
        .collect();
    // The ladder's own peak may have been moved by it, even where the hold was not.
    headline.extend(series.peak.as_ref().map(|peak| peak.clients));
    let worst = headline.into_iter().filter(|clients| too_many(*clients)).max();
    let rungs: Vec<String> = series
        .ladder
        .iter()
        .filter_map(|id| report.stage(*id))
        .map(|result| result.stage.clients)
        .filter(|clients| too_many(*clients))
        .map(|clients| clients.to_string())
        .collect();
    let mut facts = Facts::default();
    let rows_text = facts.counted("contended_rows", rows.into(), "row");
    let (severity, where_found) = match worst {
        Some(worst) => (Severity::Doubt, facts.counted("clients", worst.into(), "client")),
        None if !rungs.is_empty() => {
            (Severity::Note, format!("the rungs at {} clients", facts.names("rung", &rungs)))
        }
        None => return None,
    };
    Some(Finding::new(
        (Code::ContentionByDesign, severity),
        series_subject(report, series),
        format!(
            "each transaction changes one of {rows_text}, fewer than {where_found}: clients wait for each other's locks"
        ),
        "prepare with a scale of at least the highest client count, unless lock contention is what you want to \
                 measure",
        facts,
    ))
}
