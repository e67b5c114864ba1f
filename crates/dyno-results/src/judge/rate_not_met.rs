//! `rate-not-met`: the server did not keep up with an open load, so that response times grow for as long as it lasts.

use super::evidence::{headlines, series_name, stage_name};
use super::words::{percent, rate};
use crate::document::{Report, StageResult};
use crate::event::{Arrival, Finding, Severity};

/// A shortfall of this share is taken for real.
const SHORTFALL_MIN: f64 = 0.02;
/// Poisson arrivals vary by themselves: how many standard deviations of their count are let pass.
const DEVIATIONS: f64 = 4.0;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    headlines(report)
        .into_iter()
        .filter_map(|(series, result)| {
            Some(Finding {
                code: "rate-not-met".to_owned(),
                severity: Severity::Doubt,
                about: Some(series_name(report, series)),
                evidence: shortfall(result)?,
                advice: "lower the rate or allow more clients; the response times say how long the backlog grew, not \
                         how the server answers"
                    .to_owned(),
            })
        })
        .collect()
}

fn shortfall(result: &StageResult) -> Option<String> {
    let Arrival::Open { rate_per_s, .. } = result.stage.arrival else { return None };
    let due = rate_per_s * result.seconds;
    if due <= 0.0 {
        return None;
    }
    // A transaction that failed was begun in time all the same: the errors rule speaks of it.
    let ended = (result.totals.done + result.totals.failed + result.totals.unknown) as f64;
    let missing = 1.0 - ended / due;
    (missing > SHORTFALL_MIN.max(DEVIATIONS / due.sqrt())).then(|| {
        format!(
            "{} transactions a second ended in {}, where {} were due: {} are missing",
            rate(ended / result.seconds),
            stage_name(result),
            rate(rate_per_s),
            percent(missing)
        )
    })
}
