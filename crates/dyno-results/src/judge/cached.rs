//! `cached`: the data fit into memory, so that reads say nothing of the disk.

use super::evidence::{headlines, setting_facts};
use crate::document::Report;
use crate::event::{Code, Data, Finding, Severity, Subject};
use crate::finding::Facts;

/// Hit share of the server's own cache from which reads hardly leave it.
const HIT_SHARE_CACHED: f64 = 0.99;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.data.iter().filter_map(|data| judge_data(report, data)).collect()
}

fn judge_data(report: &Report, data: &Data) -> Option<Finding> {
    let mut facts = Facts::default();
    let hit_share = lowest_hit_share(report, data);
    let fits = data.bytes().and_then(|tables| fits(report, data, tables, &mut facts));
    if fits.is_none() && hit_share.is_none_or(|share| share < HIT_SHARE_CACHED) {
        return None;
    }
    let hit = hit_share
        .map(|share| format!("hit share of the server's cache {}", facts.share("cache_hit_share", share)));
    let evidence = match (fits, hit) {
        (Some(fits), Some(hit)) => format!("{fits}; {hit}"),
        (Some(fits), None) => fits,
        (None, hit) => format!("the load stays in memory: {}", hit?),
    };
    Some(Finding::new(
        (Code::Cached, Severity::Note),
        Subject::of_system(&data.target),
        evidence,
        "this is realistic if your data also fit in memory; to measure reads from disk, prepare more \
            data than the host has memory",
        facts,
    ))
}

/// Into which memory the tables fit.
fn fits(report: &Report, data: &Data, tables: u64, facts: &mut Facts) -> Option<String> {
    if let Some(cache) = data.cache_bytes.filter(|cache| tables <= *cache) {
        return Some(format!(
            "{} of data fit into the server's cache of {}",
            facts.bytes("data", tables),
            facts.bytes("cache", cache)
        ));
    }
    if setting_facts(report, &data.target).is_some_and(|facts| facts.bypasses_system_cache) {
        return None;
    }
    let memory = data.caching_memory()?;
    Some(format!(
        "{} of data fit into the host's memory of {}: the operating system caches what the server's \
        cache does not hold",
        facts.bytes("data", tables),
        facts.bytes("memory", memory)
    ))
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
