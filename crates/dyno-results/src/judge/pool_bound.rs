//! `pool-bound`: transactions waited longer for a connection than for the server.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult};
use crate::event::{Arrival, Code, Finding, Severity};
use crate::finding::Facts;

/// Connections in use, as a share of the pool, from which on it counts as full.
const POOL_FULL: f64 = 0.95;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "the response times are those of the pool, not of the server: give the clients more connections \
                  (--connections) or less load";
    let paced = loads(report).into_iter().filter(|(_, result)| is_paced(result));
    gather_alike(report, (Code::PoolBound, Severity::Doubt, advice), paced, |_, result, facts| {
        evidence(result, facts)
    })
}

/// Clients that send as soon as they are answered always wait for a connection: `closed-loop-latency` says so.
fn is_paced(result: &StageResult) -> bool {
    match result.stage.arrival {
        Arrival::Closed { think_time_ms } => think_time_ms > 0.0,
        Arrival::Open { .. } => true,
    }
}

fn evidence(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let pool = result.pool.filter(|pool| pool.connections > 0)?;
    let in_use = pool.in_use_mean / f64::from(pool.connections);
    let (wait, service) = (result.wait?, result.service?);
    (in_use >= POOL_FULL && wait.p50_us > service.p50_us).then(|| {
        format!(
            "in {} half of the transactions waited {} or longer for a connection, and the server took {} for them; the \
             pool's {} connections were in use for {} of the time, and {} clients waited on average",
            stage_name(result),
            facts.us("connection_wait_p50", wait.p50_us),
            facts.us("service_p50", service.p50_us),
            facts.count("connections", pool.connections.into()),
            facts.share("pool_in_use", in_use),
            facts.mean("clients_waiting", pool.waiting_mean)
        )
    })
}
