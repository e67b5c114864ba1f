//! `driver-bound`: the load generator was the limit, or was late.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;
use crate::format;

/// A driver thread busy for this share of its time has no room for more load, and its queue shows in latencies.
const THREAD_BUSY_MAX: f64 = 0.90;
/// Below this share of its clients at work, a free client waits for half of the arrivals or more, whatever the
/// distribution: a lag in the median is then the driver's own.
const CLIENTS_AT_WORK_MAX: f64 = 0.5;
/// Median schedule lag from which the driver counts as late, microseconds.
const LAG_P50_US_MAX: f64 = 250.0;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "the database may be able to do more than was measured: give the driver more threads or \
                  processors, or a machine of its own";
    let rule = (Code::DriverBound, Severity::Doubt, advice);
    gather_alike(report, rule, loads(report), |_, result, facts| {
        busy(result, facts).or_else(|| late(result, facts))
    })
}

fn busy(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let busy = result.driver_thread_busy_max.filter(|busy| *busy >= THREAD_BUSY_MAX)?;
    Some(format!(
        "a driver thread used a processor for {} of {}; from {} on this counts as its limit",
        facts.share("driver_thread_busy", busy),
        stage_name(result),
        format::share(THREAD_BUSY_MAX)
    ))
}

/// Late although clients were free: at work on average are throughput times service time (Little's law).
fn late(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let lag_us = result.lag.filter(|lag| lag.p50_us > LAG_P50_US_MAX)?.p50_us;
    let clients_end = result.stage.clients_end.unwrap_or(result.stage.clients);
    let clients = f64::midpoint(f64::from(result.stage.clients), f64::from(clients_end));
    // Of clients that share connections no more can be at work than there are of those.
    let connections = result.stage.connections.map(f64::from).filter(|connections| *connections < clients);
    let most = connections.unwrap_or(clients);
    let at_work = result.throughput?.mean * result.service?.mean_us / 1e6 / most;
    (at_work < CLIENTS_AT_WORK_MAX).then(|| {
        format!(
            "in {} half of the transactions were sent at least {} late, while only {} of the {} were busy",
            stage_name(result),
            facts.us("lag_p50", lag_us),
            facts.share("busy", at_work),
            if connections.is_some() { "connections" } else { "clients" }
        )
    })
}
