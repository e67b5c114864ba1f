//! `errors`: transactions that failed, were tried again or ended in the unknown, by the server's codes, and lost
//! connections.

use std::collections::BTreeMap;

use super::evidence::{series_name, stage_name};
use super::words::{count, counted, list, percent, time_us};
use crate::document::{Report, Series, StageResult};
use crate::event::{Finding, Severity, StageKind};

/// From this share of failed transactions on, throughput says little of what was asked for.
const FAILED_SHARE_DOUBT: f64 = 0.01;
/// From here on it says nothing.
const FAILED_SHARE_INVALID: f64 = 0.5;
/// From this share of the clients' time lost to broken connections on, the load was not the one that was asked for.
const LOST_SHARE_DOUBT: f64 = 0.01;
/// From here on, the throughput is that of a server that was away.
const LOST_SHARE_INVALID: f64 = 0.2;
/// SQLSTATEs that are named.
const CODES_SHOWN: usize = 4;
/// Stages that are named.
const STAGES_SHOWN: usize = 3;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

/// A warm-up is in no figure and lowers none, so that it weighs nothing; but what went wrong in it is told.
fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let (warm_ups, measured): (Vec<&StageResult>, Vec<&StageResult>) = report
        .stages
        .iter()
        .filter(|result| result.stage.target == series.target && result.stage.series == series.name)
        .filter(|result| Troubles::of(result).is_any())
        .partition(|result| result.stage.kind == StageKind::WarmUp);
    if warm_ups.is_empty() && measured.is_empty() {
        return None;
    }
    let evidence: Vec<String> =
        [measured.as_slice(), warm_ups.as_slice()].into_iter().filter_map(told).collect();
    Some(Finding {
        code: "errors".to_owned(),
        // The worst stage decides: a hold in which half failed is not made good by a ladder that went well.
        severity: measured.iter().map(|result| severity(result)).max().unwrap_or(Severity::Note),
        about: Some(series_name(report, series)),
        evidence: evidence.join("; "),
        advice:
            "see the run's notices and the server's log for what was said; the figures count only what ended \
                 well"
                .to_owned(),
    })
}

fn severity(result: &StageResult) -> Severity {
    let troubles = Troubles::of(result);
    let clients = result.stage.clients.max(result.stage.clients_end.unwrap_or(0));
    let lost_share = share(troubles.lost_s, result.seconds * f64::from(clients));
    match share((troubles.failed + troubles.unknown) as f64, troubles.ended as f64) {
        failed if failed >= FAILED_SHARE_INVALID => Severity::Invalid,
        _ if lost_share >= LOST_SHARE_INVALID => Severity::Invalid,
        failed if failed >= FAILED_SHARE_DOUBT => Severity::Doubt,
        _ if troubles.aborted > 0 || lost_share >= LOST_SHARE_DOUBT => Severity::Doubt,
        _ => Severity::Note,
    }
}

/// `in the hold of 20 s at 8 clients 20 of 19,800 transactions failed (0.10 %): 57014 (query canceled) 20`
fn told(stages: &[&StageResult]) -> Option<String> {
    let names: Vec<String> = stages.iter().map(|result| stage_name(result)).collect();
    let place = match names.as_slice() {
        [] => return None,
        few if few.len() <= STAGES_SHOWN => list(few),
        [first, ..] => format!("{} stages, {first} the first,", names.len()),
    };
    let mut troubles = Troubles::default();
    stages.iter().for_each(|result| troubles.add(&Troubles::of(result)));
    Some(format!("in {place} {}", troubles.words()))
}

/// What did not go well in some stages, their drains included: a failure that comes late is one all the same.
#[derive(Debug, Default)]
struct Troubles<'a> {
    /// Transactions that ended in any way.
    ended: u64,
    failed: u64,
    unknown: u64,
    retries: u64,
    reconnects: u64,
    lost_s: f64,
    aborted: u64,
    codes: BTreeMap<&'a str, u64>,
}

impl<'a> Troubles<'a> {
    fn of(result: &'a StageResult) -> Self {
        let totals = &result.totals;
        Self {
            ended: totals.done_with_drain + totals.failed_with_drain + totals.unknown_with_drain,
            failed: totals.failed_with_drain,
            unknown: totals.unknown_with_drain,
            retries: totals.retries,
            reconnects: totals.reconnects,
            lost_s: totals.lost_s,
            aborted: u64::from(result.clients_aborted),
            codes: result.errors.iter().map(|(code, times)| (code.as_str(), *times)).collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.ended += other.ended;
        self.failed += other.failed;
        self.unknown += other.unknown;
        self.retries += other.retries;
        self.reconnects += other.reconnects;
        self.lost_s += other.lost_s;
        self.aborted += other.aborted;
        for (code, times) in &other.codes {
            *self.codes.entry(code).or_default() += times;
        }
    }

    fn is_any(&self) -> bool {
        let counted = self.failed + self.unknown + self.retries + self.reconnects + self.aborted;
        counted > 0 || self.lost_s > 0.0 || !self.codes.is_empty()
    }

    fn words(&self) -> String {
        let failed_share = percent(share(self.failed as f64, self.ended as f64));
        let lost = time_us(self.lost_s * 1e6);
        let parts: Vec<String> = [
            (
                self.failed > 0,
                format!(
                    "{} of {} transactions failed ({failed_share})",
                    count(self.failed),
                    count(self.ended)
                ),
            ),
            (self.unknown > 0, format!("the outcome of {} is unknown", count(self.unknown))),
            (self.retries > 0, format!("{} further tries were made", count(self.retries))),
            (
                self.reconnects > 0,
                format!("{} connections were lost and opened again", count(self.reconnects)),
            ),
            (self.lost_s > 0.0, format!("broken connections cost {lost} of the clients' time")),
            (self.aborted > 0, format!("{} gave up", counted(self.aborted, "client"))),
        ]
        .into_iter()
        .filter_map(|(is_so, part)| is_so.then_some(part))
        .collect();
        let words = if parts.is_empty() { "statements failed".to_owned() } else { list(&parts) };
        if self.codes.is_empty() { words } else { format!("{words}: {}", by_code(&self.codes)) }
    }
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
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

/// The conditions that a load most often meets: SQLSTATEs from the PostgreSQL manual's appendix A, and MySQL's numbers.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "23505" => "unique violation",
        "25006" => "read-only transaction",
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
        "1020" => "record has changed",
        "1021" | "1114" => "disk or table full",
        "1040" => "too many connections",
        "1053" => "server shutdown",
        "1062" => "duplicate entry",
        "1146" => "no such table",
        "1153" => "packet too large",
        "1205" => "lock wait timeout",
        "1213" => "deadlock",
        "1290" | "1792" | "1836" => "read-only server",
        "1317" => "query interrupted",
        "1461" => "too many prepared statements",
        _ => return None,
    })
}
