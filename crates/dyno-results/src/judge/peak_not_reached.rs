//! `peak-not-reached`: the highest throughput lies at an end of the ladder, and a higher one may lie beyond.

use super::evidence::{series_name, stage};
use crate::document::{Report, Series, StageResult};
use crate::event::{Arrival, Finding, Severity};
use crate::words::{clients, rate};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let peak = series.peak.as_ref()?;
    let tried: Vec<&StageResult> =
        series.ladder.iter().filter_map(|id| stage(report, *id)).filter(|result| result.complete).collect();
    let (lowest, highest) = (*tried.first()?, *tried.last()?);
    let at_peak = stage(report, peak.stage)?;
    // One rung is a choice of the user's and no search.
    if load(lowest) == load(highest) {
        return None;
    }
    let of_rates = matches!(highest.stage.arrival, Arrival::Open { .. });
    // Where it gave way there is no more to be had, whatever the peak's own rule says.
    let passed = peak.passed || series.saturation.is_some();
    if !passed && highest.met_its_rate() {
        // No peak was looked for.
        return None;
    }
    let (evidence, advice) = if !passed {
        let evidence = format!(
            "throughput had not clearly stopped rising when the ladder ended at {}; highest was {} TPS at {}",
            words(highest),
            rate(peak.throughput.mean),
            words(at_peak)
        );
        let advice = if of_rates {
            "extend the ramp to a higher rate, with --ramp"
        } else {
            "extend the ladder to more clients, with --clients or --ramp"
        };
        (evidence, advice)
    } else if !of_rates && peak.clients == lowest.stage.clients && peak.clients > 1 {
        let evidence = format!(
            "throughput was highest ({} TPS) at the ladder's lowest count, {}",
            rate(peak.throughput.mean),
            words(lowest)
        );
        (evidence, "start the ladder with fewer clients, with --clients or --ramp")
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

/// What was raised from rung to rung.
fn load(result: &StageResult) -> (u32, Option<u64>) {
    match result.stage.arrival {
        Arrival::Open { rate_per_s, .. } => (result.stage.clients, Some(rate_per_s.to_bits())),
        Arrival::Closed { .. } => (result.stage.clients, None),
    }
}

fn words(result: &StageResult) -> String {
    match result.stage.arrival {
        Arrival::Open { rate_per_s, .. } => format!("{}/s", rate(rate_per_s)),
        Arrival::Closed { .. } => clients(result.stage.clients),
    }
}
