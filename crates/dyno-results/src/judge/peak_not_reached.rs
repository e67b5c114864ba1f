//! `peak-not-reached`: the highest throughput lies at an end of the ladder, and a higher one may lie beyond.

use super::evidence::{series_name, stage};
use super::words::{clients, rate};
use crate::document::{Peak, Report, Series};
use crate::event::{Finding, Severity};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let peak = series.peak.as_ref()?;
    let tried: Vec<u32> = series
        .ladder
        .iter()
        .filter_map(|id| stage(report, *id))
        .filter(|result| result.complete)
        .map(|result| result.stage.clients)
        .collect();
    let (lowest, highest) = (*tried.first()?, *tried.last()?);
    // One rung is a choice of the user's and no search.
    if lowest == highest {
        return None;
    }
    let (evidence, advice) = if !peak.passed {
        (beyond(peak, highest), "let the ladder go on to more clients, with --clients")
    } else if peak.clients == lowest && lowest > 1 {
        let evidence = format!(
            "throughput was highest ({} TPS) at the ladder's lowest count, {}",
            rate(peak.throughput.mean),
            clients(lowest)
        );
        (evidence, "let the ladder begin with fewer clients, with --clients")
    } else {
        return None;
    };
    Some(Finding {
        code: "peak-not-reached".to_owned(),
        severity: Severity::Doubt,
        about: Some(series_name(report, series)),
        evidence,
        advice: advice.to_owned(),
    })
}

fn beyond(peak: &Peak, highest: u32) -> String {
    format!(
        "throughput had not clearly stopped rising when the ladder ended at {}; highest was {} TPS at {}",
        clients(highest),
        rate(peak.throughput.mean),
        clients(peak.clients)
    )
}
