//! `errors`: transactions that failed, were tried again or ended in the unknown, by SQLSTATE.

use std::collections::BTreeMap;

use super::evidence::{series_name, stage};
use super::words::{count, list, percent};
use crate::document::{Report, Series, StageResult};
use crate::event::{Finding, Severity};

/// From this share of failed transactions on, throughput says little of what was asked for.
const FAILED_SHARE_DOUBT: f64 = 0.01;
/// From here on it says nothing.
const FAILED_SHARE_INVALID: f64 = 0.5;
/// SQLSTATEs that are named.
const CODES_SHOWN: usize = 4;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let stages: Vec<&StageResult> =
        series.ladder.iter().chain(&series.holds).filter_map(|id| stage(report, *id)).collect();
    let sum = |pick: fn(&StageResult) -> u64| stages.iter().map(|result| pick(result)).sum::<u64>();
    let failed = sum(|result| result.totals.failed);
    // What hung until the end of a drain counts as well: nobody knows of it either.
    let unknown = sum(|result| result.totals.unknown_with_drain);
    let retries = sum(|result| result.totals.retries);
    let reconnects = sum(|result| result.totals.reconnects);
    let aborted = sum(|result| u64::from(result.clients_aborted));
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for (code, times) in stages.iter().flat_map(|result| &result.errors) {
        *codes.entry(code).or_default() += times;
    }
    if failed + unknown + retries + reconnects + aborted == 0 && codes.is_empty() {
        return None;
    }
    let ended = failed + unknown + sum(|result| result.totals.done);
    // The worst stage decides: a hold in which half failed is not made good by a ladder that went well.
    let worst = stages.iter().map(|result| failed_share(result)).fold(0.0, f64::max);
    let severity = match worst {
        _ if worst >= FAILED_SHARE_INVALID => Severity::Invalid,
        _ if worst >= FAILED_SHARE_DOUBT || aborted > 0 => Severity::Doubt,
        _ => Severity::Note,
    };
    let parts: Vec<String> = [
        (
            failed,
            format!("{} of {} transactions failed ({})", count(failed), count(ended), share(failed, ended)),
        ),
        (unknown, format!("the outcome of {} is unknown", count(unknown))),
        (retries, format!("{} further tries were made", count(retries))),
        (reconnects, format!("{} connections were lost", count(reconnects))),
        (aborted, format!("{} clients gave up", count(aborted))),
    ]
    .into_iter()
    .filter_map(|(number, part)| (number > 0).then_some(part))
    .collect();
    let mut evidence = if parts.is_empty() { "statements failed".to_owned() } else { list(&parts) };
    if !codes.is_empty() {
        evidence.push_str(&format!(": {}", by_code(&codes)));
    }
    Some(Finding {
        code: "errors".to_owned(),
        severity,
        about: Some(series_name(report, series)),
        evidence,
        advice:
            "see the run's notices and the server's log for what was said; the figures count only what ended \
                 well"
                .to_owned(),
    })
}

fn failed_share(result: &StageResult) -> f64 {
    let bad = result.totals.failed + result.totals.unknown;
    let all = bad + result.totals.done;
    if all == 0 { 0.0 } else { bad as f64 / all as f64 }
}

fn share(part: u64, all: u64) -> String {
    percent(if all == 0 { 0.0 } else { part as f64 / all as f64 })
}

/// `40001 (serialization failure) 300, 57014 (query canceled) 12`, the most frequent first.
fn by_code(codes: &BTreeMap<&str, u64>) -> String {
    let mut sorted: Vec<(&str, u64)> = codes.iter().map(|(code, times)| (*code, *times)).collect();
    sorted.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let mut shown: Vec<String> = sorted
        .iter()
        .take(CODES_SHOWN)
        .map(|(code, times)| match meaning(code) {
            Some(meaning) => format!("{code} ({meaning}) {}", count(*times)),
            None => format!("{code} {}", count(*times)),
        })
        .collect();
    if sorted.len() > CODES_SHOWN {
        shown.push(format!("and {} other codes", sorted.len() - CODES_SHOWN));
    }
    shown.join(", ")
}

/// The conditions that a load most often meets, from the PostgreSQL manual's appendix A.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "23505" => "unique violation",
        "40001" => "serialization failure",
        "40P01" => "deadlock",
        "42P01" => "undefined table",
        "53100" => "disk full",
        "53200" => "out of memory",
        "53300" => "too many connections",
        "55P03" => "lock not available",
        "57014" => "query canceled",
        "57P01" => "admin shutdown",
        "57P02" => "crash shutdown",
        _ => return None,
    })
}
