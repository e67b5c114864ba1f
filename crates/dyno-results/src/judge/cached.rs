//! `cached`: the data fit into memory, so that reads say nothing of the disk.

use super::evidence::{facts, headlines};
use crate::document::Report;
use crate::event::{Data, Finding, Severity, Subject};
use crate::format;

/// Share of the host's memory up to which the operating system can be taken to cache the data.
const MEMORY_SHARE_CACHES: f64 = 0.8;
/// Hit share of the server's own cache from which reads hardly leave it.
const HIT_SHARE_CACHED: f64 = 0.99;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.data.iter().filter_map(|data| judge_data(report, data)).collect()
}

fn judge_data(report: &Report, data: &Data) -> Option<Finding> {
    let hit_share = lowest_hit_share(report, data);
    let fits = data.bytes().and_then(|tables| {
        if let Some(cache) = data.cache_bytes.filter(|cache| tables <= *cache) {
            return Some(format!(
                "{} of data fit into the server's cache of {}",
                format::bytes(tables),
                format::bytes(cache)
            ));
        }
        if facts(report, &data.target).is_some_and(|facts| facts.bypasses_system_cache) {
            return None;
        }
        let memory =
            data.memory_bytes.filter(|memory| tables as f64 <= MEMORY_SHARE_CACHES * *memory as f64)?;
        Some(format!(
            "{} of data fit into the host's memory of {}: the operating system caches what the server's \
            cache does not hold",
            format::bytes(tables),
            format::bytes(memory)
        ))
    });
    let hit = hit_share.map(|share| format!("hit share of the server's cache {}", format::share(share)));
    let evidence = match (fits, hit) {
        (Some(fits), Some(hit)) => format!("{fits}; {hit}"),
        (Some(fits), None) => fits,
        (None, Some(hit)) if hit_share >= Some(HIT_SHARE_CACHED) => {
            format!("the load stays in memory: {hit}")
        }
        (None, _) => return None,
    };
    Some(Finding {
        code: "cached".to_owned(),
        severity: Severity::Note,
        subject: Subject::of_system(&data.target),
        evidence,
        advice:
            "this is realistic if your data also fit in memory; to measure reads from disk, prepare more \
            data than the host has memory"
                .to_owned(),
    })
}

/// Of the headline stages of this workload, the one that hit least.
fn lowest_hit_share(report: &Report, data: &Data) -> Option<f64> {
    headlines(report)
        .into_iter()
        .filter(|(series, _)| {
            series.target == data.target && series.workload.split('/').next() == Some(data.workload.as_str())
        })
        .filter_map(|(_, result)| result.reading("cache_hit_share"))
        .reduce(f64::min)
}
