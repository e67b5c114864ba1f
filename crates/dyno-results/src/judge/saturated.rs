//! `saturated`: where a ramp was saturated, and what was at its limit there.

use super::evidence::series_subject;
use crate::document::{Limit, Report, Saturation, Series};
use crate::event::{Code, Finding, Severity, Subject};
use crate::finding::Facts;
use crate::statistics::saturation::LoadStep;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let saturation = series.saturation.as_ref()?;
    let mut facts = Facts::default();
    facts.per_s("throughput", saturation.throughput_per_s);
    for (measure, limits) in [("limit", &saturation.limits), ("taken", &saturation.taken_by_others)] {
        limits.iter().for_each(|limit| _ = facts.name(measure, &limit.resource));
    }
    Some(Finding::new(
        (Code::Saturated, Severity::Note),
        Subject { stage: Some(saturation.stage), ..series_subject(report, series) },
        format!(
            "{} is saturated: {}; {}",
            series.target,
            saturation.evidence,
            at_bound(report, series, saturation)
        ),
        advice(report, series, saturation),
        facts,
    ))
}

/// `at its limit was cpu (…), and disk (…)`
fn at_bound(report: &Report, series: &Series, saturation: &Saturation) -> String {
    let named = |limits: &[Limit]| {
        let each: Vec<String> =
            limits.iter().map(|limit| format!("{} ({})", limit.resource, limit.evidence)).collect();
        (!each.is_empty()).then(|| each.join(", and "))
    };
    let of_others = named(&saturation.taken_by_others)
        .map(|named| format!("others took what was missing, so the cause is not known: {named}"));
    let own = named(&saturation.limits).map(|named| format!("at its limit was {named}"));
    let known: Vec<String> = own.into_iter().chain(of_others).collect();
    if !known.is_empty() {
        return known.join("; ");
    }
    if is_host_read(report, series) {
        "the cause is unknown: nothing that was read was at its limit".to_owned()
    } else {
        "the cause is unknown: its host was not read".to_owned()
    }
}

/// Whether processors of the server's host were read while the ramp ran.
fn is_host_read(report: &Report, series: &Series) -> bool {
    let stages = series.ladder.iter().filter_map(|id| report.stage(*id));
    stages.into_iter().any(|result| result.resources.contains_key("cpu_idle_share"))
}

fn advice(report: &Report, series: &Series, saturation: &Saturation) -> String {
    let last_good = saturation.last_good.and_then(|id| LoadStep::of(report.stage(id)?));
    let size = match last_good {
        Some(step) => format!("size the system by the last good step ({})", step.words()),
        None if saturation.clients <= 1 && saturation.rate_per_s.is_none() => {
            "it has room for only one client".to_owned()
        }
        None => "start the ramp with less load to find what it can handle".to_owned(),
    };
    let remedy = match saturation.limits.first() {
        Some(limit) => remedy(limit),
        None if !saturation.taken_by_others.is_empty() => {
            "stop what else runs on the host and measure again: this is not the server's limit"
        }
        None if is_host_read(report, series) => {
            "check what its sessions waited for (docs/saturation.md), and grant the rights that the run's \
            notices name"
        }
        None => {
            "run dyno on its host or name a node_exporter with --host-metrics, so that dyno can read the \
            host"
        }
    };
    format!("{size}; {remedy}")
}

/// What gives more room.
fn remedy(limit: &Limit) -> &'static str {
    match limit.resource.as_str() {
        "cpu" => "for more throughput: more or faster processors, or less work for each transaction",
        "cpu-quota" => {
            "for more throughput: a larger quota (cpu.max, or the container's limit); the machine itself had \
            processors left"
        }
        "disk" => {
            "for more throughput: a faster disk or a higher limit on it, more memory if it was read, or \
             fewer bytes for each transaction"
        }
        "memory" => "for more throughput: more memory, or smaller caches and fewer connections",
        "log" => "for more throughput: a disk that syncs faster, a larger log, or more work in one commit",
        "locks" => "for more throughput: shorter transactions, or fewer transactions that lock the same rows",
        "connections" => {
            "for more throughput: more connections (--connections, and the server's max_connections), as \
             long as nothing else is at its limit"
        }
        "driver" => {
            "the server may be able to do more: give dyno more threads, more processors, or a machine of its \
            own"
        }
        _ => "for more throughput: more of what was at its limit",
    }
}
