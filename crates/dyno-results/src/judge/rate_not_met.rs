//! `rate-not-met`: the server did not keep up with an open load, so that response times grow for as long as it lasts.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, SHORTFALL, StageResult};
use crate::event::{Arrival, Code, Finding, Severity, StageKind};
use crate::finding::Facts;
use crate::statistics::saturation::SHORTFALL_DEVIATIONS;
use crate::words::list;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "lower the rate or allow more clients; the response times show how the backlog grew, not how fast the \
                  server answers";
    // A ladder of rates is there to go beyond what can be met: where it did is what `saturated` says.
    let loads = loads(report).into_iter().filter(|(_, result)| result.stage.kind != StageKind::Ladder);
    gather_alike(report, (Code::RateNotMet, Severity::Doubt, advice), loads, |_, result, facts| {
        evidence(result, facts)
    })
}

fn evidence(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let parts = [shortfall(result, facts), never_begun(result, facts), skipped(result, facts)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("in {} {}", stage_name(result), list(&parts)))
}

fn shortfall(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let due_per_s = mean_rate_per_s(result)?;
    let due = due_per_s * result.seconds;
    if due <= 0.0 {
        return None;
    }
    // A transaction that failed was begun in time all the same: the errors rule speaks of it.
    let ended = (result.totals.done + result.totals.failed + result.totals.unknown) as f64;
    let missing = 1.0 - ended / due;
    (missing > SHORTFALL.max(SHORTFALL_DEVIATIONS / due.sqrt())).then(|| {
        format!(
            "{} transactions a second ended where {} were due ({} are missing)",
            facts.per_s("ended", ended / result.seconds),
            facts.per_s("due", due_per_s),
            facts.share("missing", missing)
        )
    })
}

/// However few: they have no response time, and would have had the longest.
fn never_begun(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let due = if result.not_begun == 1 {
        "transaction that was due was"
    } else {
        "transactions that were due were"
    };
    (result.not_begun > 0)
        .then(|| format!("{} {due} never begun", facts.count("not_begun", result.not_begun)))
}

/// However few, for the same reason.
fn skipped(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let were = if result.skipped == 1 { "transaction was" } else { "transactions were" };
    (result.skipped > 0)
        .then(|| format!("{} {were} skipped for being too late", facts.count("skipped", result.skipped)))
}

/// The rate that was asked for, over the time that the load lasted: a ramp that was cut short did not get to its end.
fn mean_rate_per_s(result: &StageResult) -> Option<f64> {
    let Arrival::Open { rate_per_s, .. } = result.stage.arrival else { return None };
    let Some(end_per_s) = result.stage.rate_end_per_s else { return Some(rate_per_s) };
    let done_share = result.stage.planned_s.map_or(1.0, |planned_s| (result.seconds / planned_s).min(1.0));
    Some(rate_per_s + (end_per_s - rate_per_s) * done_share / 2.0)
}
