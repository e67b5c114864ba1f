//! `errors`: transactions that failed, were tried again or ended in the unknown, by the server's codes, and lost
//! connections.

use std::collections::BTreeMap;

use super::evidence::{series_subject, stage_name};
use crate::document::{OUTLASTS, Report, Series, StageResult, Totals};
use crate::event::{Code, Finding, QueryFailure, Severity, Stage, StageKey, StageKind};
use crate::finding::Facts;
use crate::format;
use crate::spec::Time;
use crate::statistics::saturation::FAILED_SHARE;
use crate::variants;
use crate::words::{clause, first_few, list};

/// From this share of failed transactions on, throughput says nothing of what was asked for.
const FAILED_SHARE_INVALID: f64 = 0.5;
/// From this share of the clients' time lost to broken connections on, the load was not the one that was asked for.
const LOST_SHARE_DOUBT: f64 = 0.01;
/// From here on, the throughput is that of a server that was away.
const LOST_SHARE_INVALID: f64 = 0.2;
/// What a transaction is counted under that dyno had cancelled behind the load, and that the server did not end in time.
pub const OUTLASTED: &str = "not-ended";
/// Codes that are named.
const CODES_SHOWN: usize = 4;
/// Codes of which the remedy is told.
const REMEDIES_SHOWN: usize = 2;
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
        .filter(|result| result.stage.key.system == series.target && result.stage.series == series.name)
        .filter(|result| Troubles::of(report, result).is_any())
        .partition(|result| result.stage.kind == StageKind::WarmUp);
    if warm_ups.is_empty() && measured.is_empty() {
        return None;
    }
    let (mut facts, mut of_warm_ups) = (Facts::default(), Facts::default());
    let evidence = [told(report, &measured, &mut facts), told(report, &warm_ups, &mut of_warm_ups)];
    if measured.is_empty() {
        facts = of_warm_ups;
    }
    let not_run = not_run(report, series, &mut facts);
    // The worst stage decides: a hold in which half failed is not made good by a ladder that went well.
    let severity = measured.iter().map(|result| severity(report, result)).max().unwrap_or(Severity::Note);
    let evidence: Vec<String> = evidence.into_iter().flatten().chain(not_run).collect();
    let advice = advice(report, &measured, &warm_ups);
    let subject = series_subject(report, series);
    Some(Finding::new((Code::Errors, severity), subject, evidence.join("; "), advice, facts))
}

/// `not run: top-100: 0A000: no such operation`; of passes the names alone, because their table has the server's words.
fn not_run(report: &Report, series: &Series, facts: &mut Facts) -> Option<String> {
    let own =
        report.query_failures.iter().filter(|it| it.target == series.target && it.series == series.name);
    let has_table = series.passes.is_some();
    let told = |it: &QueryFailure| match has_table {
        true => facts.name("not_run", &it.query),
        false => format!("{}: {}", facts.name("not_run", &it.query), clause(&it.said)),
    };
    let all: Vec<String> = own.map(told).collect();
    (!all.is_empty()).then(|| format!("not run: {}", first_few(&all)))
}

/// What to do about any error, and about the most frequent ones that have a remedy of their own.
fn advice(report: &Report, measured: &[&StageResult], warm_ups: &[&StageResult]) -> String {
    let mut all = Troubles::default();
    measured.iter().chain(warm_ups).for_each(|result| all.add(&Troubles::of(report, result)));
    let remedies = all.by_frequency().into_iter().filter_map(|(code, _)| Some((code, remedy(code)?)));
    let remedies: String =
        remedies.take(REMEDIES_SHOWN).map(|(code, remedy)| format!("; {code}: {remedy}")).collect();
    let raise = if all.over_limit > 0 { "; raise --time-limit, or make the statements shorter" } else { "" };
    if all.is_of_dyno_alone() {
        return format!("the figures count only transactions that ended{raise}");
    }
    let has_log = !measured.iter().chain(warm_ups).any(|result| is_in_process(report, result));
    let places = if has_log {
        "the run's report and the server's log have the messages"
    } else {
        "the run's report has the messages"
    };
    format!(
        "{places}; the figures count only transactions that \
        succeeded{remedies}{raise}"
    )
}

/// Whether the database is a library in dyno's own process, which has no log.
fn is_in_process(report: &Report, result: &StageResult) -> bool {
    report.targets.iter().any(|target| target.name == result.stage.key.system && target.in_process)
}

/// Whether the table of variants has a row for what one cannot do of it.
fn is_in_table(report: &Report, result: &StageResult) -> bool {
    result.stage.fixed && variants::are_in(report)
}

fn severity(report: &Report, result: &StageResult) -> Severity {
    let troubles = Troubles::of(report, result);
    let clients = result.stage.clients.max(result.stage.clients_end.unwrap_or(0));
    let lost_share = share(troubles.totals.lost_s, result.seconds * f64::from(clients));
    let in_table = is_in_table(report, result);
    let failed = if in_table { 0 } else { troubles.totals.bad_with_drain() };
    // Without the time of one of its queries a pass has no total.
    let without_total = result.stage.pass && failed + troubles.over_limit > 0;
    // What outlasts the load is no failure of the server's, and what it leaves out of the figures is long.
    let outlasting = troubles.outlasting().min(failed);
    let over_limit = if result.stage.pass { 0 } else { troubles.over_limit };
    let missing = failed - outlasting + over_limit;
    match share(missing as f64, (troubles.totals.ended_with_drain() + over_limit) as f64) {
        failed if failed >= FAILED_SHARE_INVALID => Severity::Invalid,
        _ if lost_share >= LOST_SHARE_INVALID => Severity::Invalid,
        failed if failed >= FAILED_SHARE => Severity::Doubt,
        _ if without_total || outlasting > 0 || (troubles.aborted > 0 && !in_table) => Severity::Doubt,
        _ if lost_share >= LOST_SHARE_DOUBT => Severity::Doubt,
        _ => Severity::Note,
    }
}

/// `in the hold of 20 s at 8 clients 20 of 19,800 transactions failed (0.10 %): 57014 (query canceled) 20`
fn told(report: &Report, stages: &[&StageResult], facts: &mut Facts) -> Option<String> {
    let names: Vec<String> = stages.iter().map(|result| stage_name(result)).collect();
    let place = match names.as_slice() {
        [] => return None,
        few if few.len() <= STAGES_SHOWN => list(few),
        [first, ..] => format!("{} stages, {first} the first,", names.len()),
    };
    let mut troubles = Troubles::default();
    stages.iter().for_each(|result| troubles.add(&Troubles::of(report, result)));
    Some(format!("in {place} {}", troubles.words(facts)))
}

/// What did not go well in some stages, their drains included: a failure that comes late is one all the same.
#[derive(Debug, Default)]
struct Troubles<'a> {
    totals: Totals,
    /// Cancelled at the time limit.
    over_limit: u64,
    /// The limit; `None` of passes, whose queries tell of theirs.
    limit: Option<Time>,
    aborted: u64,
    codes: BTreeMap<&'a str, u64>,
}

impl<'a> Troubles<'a> {
    fn of(report: &Report, result: &'a StageResult) -> Self {
        let Stage { pass, key: StageKey { system: ref target, .. }, ref series, .. } = result.stage;
        let mut failures =
            report.query_failures.iter().filter(|it| it.target == *target && it.series == *series);
        // Of one that was cut short, what was under way was cancelled too.
        let limit = report.time_limit_within(result).filter(|_| !pass);
        let is_at_limit = result.complete
            && !is_in_table(report, result)
            && if pass { failures.any(|it| it.over_limit) } else { limit.is_some() };
        Self {
            totals: result.totals,
            over_limit: if is_at_limit { result.totals.cancelled } else { 0 },
            limit,
            aborted: u64::from(result.clients_aborted),
            codes: result.errors.iter().map(|(code, times)| (code.as_str(), *times)).collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.over_limit += other.over_limit;
        self.limit = self.limit.or(other.limit);
        self.aborted += other.aborted;
        for (code, times) in &other.codes {
            *self.codes.entry(code).or_default() += times;
        }
    }

    fn is_any(&self) -> bool {
        let Totals { retries, reconnects, lost_s, .. } = self.totals;
        let counted = self.totals.bad_with_drain() + retries + reconnects + self.aborted + self.over_limit;
        counted > 0 || lost_s > 0.0 || !self.codes.is_empty()
    }

    /// Transactions that went on behind the end of the load, until dyno closed their connections.
    fn outlasting(&self) -> u64 {
        self.codes.get(OUTLASTED).copied().unwrap_or_default()
    }

    /// Whether nothing happened but what dyno did itself.
    fn is_of_dyno_alone(&self) -> bool {
        let Totals { retries, reconnects, .. } = self.totals;
        self.codes.keys().all(|code| *code == OUTLASTED)
            && self.totals.bad_with_drain() <= self.outlasting()
            && retries + reconnects.saturating_sub(self.outlasting()) + self.aborted == 0
    }

    /// Codes with how often they came, the most frequent first.
    fn by_frequency(&self) -> Vec<(&'a str, u64)> {
        let mut sorted: Vec<(&str, u64)> = self.codes.iter().map(|(code, times)| (*code, *times)).collect();
        sorted.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        sorted
    }

    fn words(&self, facts: &mut Facts) -> String {
        let Totals { unknown_with_drain: unknown, retries, reconnects, lost_s, .. } = self.totals;
        let (failed, ended) = (self.totals.failed_with_drain, self.totals.ended_with_drain());
        let mut parts: Vec<String> = Vec::new();
        if failed > 0 {
            let of =
                format!("{} of {} transactions", facts.count("failed", failed), facts.count("ended", ended));
            let share = facts.share("failed_share", share(failed as f64, ended as f64));
            parts.push(format!("{of} failed ({share})"));
        }
        if unknown > 0 {
            parts.push(format!("the outcome of {} is unknown", facts.count("unknown", unknown)));
        }
        if self.over_limit > 0 {
            let over_limit = facts.counted("over_limit", self.over_limit, "transaction");
            parts.push(match self.limit {
                Some(limit) => format!(
                    "{over_limit} {} cancelled at the time limit of {limit}{}",
                    if self.over_limit == 1 { "was" } else { "were" },
                    if limit.0 < OUTLASTS { "" } else { " or behind the load" }
                ),
                None => format!("{over_limit} ended at the time limit"),
            });
        }
        if retries > 0 {
            parts.push(format!("{} retries were made", facts.count("retries", retries)));
        }
        if reconnects > 0 {
            let reconnects = facts.count("reconnects", reconnects);
            parts.push(format!("{reconnects} connections were lost and reopened"));
        }
        if lost_s > 0.0 {
            let lost = facts.us("lost", lost_s * 1e6);
            parts.push(format!("broken connections cost {lost} of the clients' time"));
        }
        if self.aborted > 0 {
            parts.push(format!("{} gave up", facts.counted("aborted", self.aborted, "client")));
        }
        let words = if parts.is_empty() { "statements failed".to_owned() } else { list(&parts) };
        self.by_frequency().iter().for_each(|(code, _)| _ = facts.name("error", code));
        if self.codes.is_empty() { words } else { format!("{words}: {}", by_code(&self.by_frequency())) }
    }
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}

/// `40001 (serialization failure) 300, 57014 (query canceled) 12`, the most frequent first.
fn by_code(sorted: &[(&str, u64)]) -> String {
    let mut shown: Vec<String> = sorted
        .iter()
        .take(CODES_SHOWN)
        .map(|(code, times)| match meaning(code) {
            Some(meaning) => format!("{code} ({meaning}) {}", format::count(*times)),
            None => format!("{code} {}", format::count(*times)),
        })
        .collect();
    if sorted.len() > CODES_SHOWN {
        shown.push(format!("and {} other codes", sorted.len() - CODES_SHOWN));
    }
    shown.join(", ")
}

/// The conditions that a load most often meets: SQLSTATEs of five characters from the PostgreSQL manual's appendix A,
/// numbers of four digits from the MySQL Server Error Message Reference.
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
        OUTLASTED => {
            "still under way long after the load's end, cancelled by dyno, which closed the connection"
        }
        "1020" => "record has changed since last read",
        "1021" => "disk full",
        "1040" => "too many connections",
        "1053" => "server shutdown",
        "1062" => "duplicate entry",
        "1114" => "table full",
        "1146" => "no such table",
        "1153" => "packet too large",
        "1203" => "too many connections of this user",
        "1205" => "lock wait timeout",
        "1213" => "deadlock",
        "1226" => "limit of this user",
        "1290" => "forbidden by an option of the server, such as read_only",
        "1317" => "query interrupted",
        "1461" => "too many prepared statements",
        "1792" => "read-only transaction",
        "1836" => "server is read-only",
        "3024" => "query took too long",
        _ => return None,
    })
}

/// What helps against an error, where that can be said in a sentence.
fn remedy(code: &str) -> Option<&'static str> {
    Some(match code {
        "1020" => {
            "retry the transaction as after a deadlock; MariaDB's innodb_snapshot_isolation requires it"
        }
        "40P01" | "1213" => {
            "transactions lock rows in different orders: fewer clients or more rows make deadlocks rarer"
        }
        "1205" => "a row was locked for longer than innodb_lock_wait_timeout: use fewer clients or more rows",
        "25006" | "1290" | "1792" | "1836" => {
            "the server is read-only: name the primary, or check whether a disk is full"
        }
        "53300" | "1040" | "1203" => "use fewer clients, or raise max_connections (or the user's own limit)",
        "1153" => "raise max_allowed_packet on the server, or send less at a time",
        "1461" => {
            "raise max_prepared_stmt_count to at least clients × statements, or do without prepared statements"
        }
        "53100" | "1021" | "1114" => "give the server more room",
        _ => return None,
    })
}
