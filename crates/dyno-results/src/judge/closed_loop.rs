//! `closed-loop-latency`: a latency under full load includes the wait for other clients.

use super::evidence::{headlines, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, Series, StageResult};
use crate::event::{Arrival, Code, Finding, Severity};
use crate::finding::Facts;

/// A median that is so many times that with fewer clients has risen.
const RISE: f64 = 1.1;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice =
        "do not size a system by this latency; measure latency at the rate that you expect, with --rate";
    let rule = (Code::ClosedLoopLatency, Severity::Note, advice);
    let saturating = headlines(report).into_iter().filter(|(_, result)| saturates(result));
    gather_alike(report, rule, saturating, |series, result, facts| evidence(report, series, result, facts))
}

fn evidence(report: &Report, series: &Series, result: &StageResult, facts: &mut Facts) -> Option<String> {
    let latency = result.latency()?;
    let waited = result.wait.map(|wait| wait.p50_us).filter(|us| *us >= 1.0);
    let fewer = fewer(report, series, result);
    let rose = fewer.map(|(_, p50_us)| latency.p50_us >= RISE * p50_us);
    // Over a pool the response includes the wait for a connection as well.
    let includes = match (waited, rose) {
        (Some(_), Some(true)) => "so latency includes the wait for a connection and for other clients",
        (Some(_), _) => "so latency includes the wait for a connection",
        (None, Some(true)) => "so latency includes the wait for other clients",
        // With as many processors as clients none waits for another.
        (None, Some(false)) => return None,
        (None, None) => {
            "so latency includes the wait for other clients, if they wait; no step with fewer clients shows that"
        }
    };
    let p50 = facts.us("p50", latency.p50_us);
    let waited = waited
        .map(|us| format!(" ({} of them for a connection)", facts.us("connection_wait_p50", us)))
        .unwrap_or_default();
    let against = fewer
        .map(|(clients, us)| {
            let p50 = facts.us("p50_of_fewer_clients", us);
            format!(", against {p50} with {}", facts.counted("fewer_clients", clients.into(), "client"))
        })
        .unwrap_or_default();
    Some(format!(
        "in {} each client sent its next request immediately after a reply, {includes}: p50 {p50}{waited}{against}",
        stage_name(result)
    ))
}

/// A closed loop without think time, of more than one client, keeps the server as busy as it can.
fn saturates(result: &StageResult) -> bool {
    matches!(result.stage.arrival, Arrival::Closed { think_time_ms } if think_time_ms == 0.0)
        && result.stage.clients > 1
        && !result.stage.is_fixed_work()
}

/// Clients and median of the ladder's lowest rung, where it has fewer clients.
fn fewer(report: &Report, series: &Series, result: &StageResult) -> Option<(u32, f64)> {
    let lowest = series.ladder.first().and_then(|id| report.stage(*id))?;
    (lowest.stage.clients < result.stage.clients)
        .then(|| Some((lowest.stage.clients, lowest.latency()?.p50_us)))?
}
