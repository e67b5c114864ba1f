//! `closed-loop-latency`: a latency under full load is the queue's, not the server's.

use super::evidence::{headlines, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, Series, StageResult};
use crate::event::{Arrival, Finding, Severity};
use crate::format;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice =
        "do not size a system by this latency; measure latency at the rate that you expect, with --rate";
    let rule = ("closed-loop-latency", Severity::Note, advice);
    let saturating = headlines(report).into_iter().filter(|(_, result)| saturates(result));
    gather_alike(report, rule, saturating, |series, result| evidence(report, series, result))
}

fn evidence(report: &Report, series: &Series, result: &StageResult) -> Option<String> {
    // Over a pool the response includes the wait for a connection as well.
    let latency = result.latency()?;
    let awaited = if result.pool.is_some() { "a connection and for other clients" } else { "other clients" };
    let alone = alone(report, series, result)
        .map(|(clients, p50)| format!(", against {p50} with {clients}"))
        .unwrap_or_default();
    let waited = result
        .wait
        .filter(|wait| wait.p50_us >= 1.0)
        .map(|wait| format!(" ({} of them for a connection)", format::latency_us(wait.p50_us)))
        .unwrap_or_default();
    Some(format!(
        "in {} each client sent its next request immediately after a reply, so latency includes the wait for {awaited}: \
         p50 {}{waited}{alone}",
        stage_name(result),
        format::latency_us(latency.p50_us)
    ))
}

/// A closed loop without think time, of more than one client, keeps the server as busy as it can.
fn saturates(result: &StageResult) -> bool {
    matches!(result.stage.arrival, Arrival::Closed { think_time_ms } if think_time_ms == 0.0)
        && result.stage.clients > 1
        && !result.stage.is_fixed_work()
}

/// Median at the ladder's lowest rung, where it has fewer clients.
fn alone(report: &Report, series: &Series, result: &StageResult) -> Option<(String, String)> {
    let lowest = series.ladder.first().and_then(|id| report.stage(*id))?;
    (lowest.stage.clients < result.stage.clients).then(|| {
        Some((format::clients(lowest.stage.clients), format::latency_us(lowest.latency()?.p50_us)))
    })?
}
