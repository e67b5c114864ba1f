//! `rate-not-met`: the server did not keep up with an open load, so that response times grow for as long as it lasts.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult};
use crate::event::{Arrival, Finding, Severity, StageKind};
use crate::format;
use crate::words::list;

/// A shortfall of this share is taken for real.
const SHORTFALL_MIN: f64 = 0.02;
/// Poisson arrivals vary by themselves: how many standard deviations of their count are let pass.
const DEVIATIONS: f64 = 4.0;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "lower the rate or allow more clients; the response times show how the backlog grew, not how fast the \
                  server answers";
    // A ladder of rates is there to go beyond what can be met: where it did is what `saturated` says.
    let loads = loads(report).into_iter().filter(|(_, result)| result.stage.kind != StageKind::Ladder);
    gather_alike(report, ("rate-not-met", Severity::Doubt, advice), loads, |_, result| evidence(result))
}

fn evidence(result: &StageResult) -> Option<String> {
    let parts: Vec<String> =
        [shortfall(result), never_begun(result), skipped(result)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("in {} {}", stage_name(result), list(&parts)))
}

fn shortfall(result: &StageResult) -> Option<String> {
    let due_per_s = mean_rate_per_s(result)?;
    let due = due_per_s * result.seconds;
    if due <= 0.0 {
        return None;
    }
    // A transaction that failed was begun in time all the same: the errors rule speaks of it.
    let ended = (result.totals.done + result.totals.failed + result.totals.unknown) as f64;
    let missing = 1.0 - ended / due;
    (missing > SHORTFALL_MIN.max(DEVIATIONS / due.sqrt())).then(|| {
        format!(
            "{} transactions a second ended where {} were due ({} are missing)",
            format::long(ended / result.seconds),
            format::long(due_per_s),
            format::share(missing)
        )
    })
}

/// However few: they have no response time, and would have had the longest.
fn never_begun(result: &StageResult) -> Option<String> {
    let due = if result.not_begun == 1 {
        "transaction that was due was"
    } else {
        "transactions that were due were"
    };
    (result.not_begun > 0).then(|| format!("{} {due} never begun", format::count(result.not_begun)))
}

/// However few, for the same reason.
fn skipped(result: &StageResult) -> Option<String> {
    let were = if result.skipped == 1 { "transaction was" } else { "transactions were" };
    (result.skipped > 0)
        .then(|| format!("{} {were} skipped for being too late", format::count(result.skipped)))
}

/// The rate that was asked for, over the time that the load lasted: a ramp that was cut short did not get to its end.
fn mean_rate_per_s(result: &StageResult) -> Option<f64> {
    let Arrival::Open { rate_per_s, .. } = result.stage.arrival else { return None };
    let Some(end_per_s) = result.stage.rate_end_per_s else { return Some(rate_per_s) };
    let done_share = result.stage.planned_s.map_or(1.0, |planned_s| (result.seconds / planned_s).min(1.0));
    Some(rate_per_s + (end_per_s - rate_per_s) * done_share / 2.0)
}
