//! A series in the summary: its ladders, its holds, and what they cost; of several targets side by side.

use dyno_results::document::{Headline, Percentiles, Report, Series, StageResult};
use dyno_results::event::{Arrival, Pool};

use super::{costs, ladder, mix, passes};
use crate::subject::{self, TargetNames};
use crate::text::{DOT, Paint, Sheet, pad_end, uncoloured, visible, width};
use dyno_results::format;

/// Between the columns of a hold.
const GAP: &str = "   ";
/// SQLSTATEs that are named; the rest is counted together.
const ERRORS_MAX: usize = 5;

/// All series of a report, in its order. Series of one name stand together, whatever target they are of.
pub(super) fn rows(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    if report.series.is_empty() {
        sheet.row("load", "nothing was measured");
    }
    let columns = HoldColumns::of(report, sheet.room().saturating_sub(names.columns()));
    for (index, first) in report.series.iter().enumerate() {
        if report.series[..index].iter().any(|before| before.name == first.name) {
            continue;
        }
        let mut all: Vec<&Series> = report.series.iter().filter(|series| series.name == first.name).collect();
        all.sort_by_key(|series| names.place(&series.target));
        one_name(report, names, &all, &columns, sheet);
    }
    costs::sizes(report, names, sheet);
}

/// The series of one name, one for each target that has it.
fn one_name(
    report: &Report,
    names: &TargetNames<'_>,
    all: &[&Series],
    columns: &HoldColumns,
    sheet: &mut Sheet,
) {
    let Some(first) = all.first() else { return };
    let mut label = first.name.as_str();
    let mut workloads: Vec<_> = all.iter().map(|series| visible(&series.workload)).collect();
    workloads.dedup();
    let heading = workloads.join(", ");
    if passes::table(report, names, all, label, &heading, sheet) {
        return;
    }
    if names.are_several() {
        ladder::of_several(report, names, all, &heading, &mut label, sheet);
    } else {
        ladder::of_one(report, first, &heading, &mut label, sheet);
    }
    if all.iter().all(|series| series.holds.is_empty() && series.ladder.is_empty()) {
        sheet.row(label, &format!("{heading}{DOT}nothing was measured"));
        return;
    }
    if !label.is_empty() {
        // Without a ladder nothing has named the series yet.
        let heading = sheet.paint.faint(&heading);
        sheet.row(label, &heading);
    }
    let rounds = all.iter().map(|series| series.holds.len()).max().unwrap_or(0);
    for round in 0..rounds {
        let mut kind = None;
        for series in all {
            let Some(stage) = series.holds.get(round).and_then(|id| report.stage(*id)) else { continue };
            // Said once for all targets that held the same.
            let said = kind.replace(stage.stage.kind) == Some(stage.stage.kind);
            let label = if said { "" } else { subject::kind(stage.stage.kind) };
            names.about(&series.target, sheet, |sheet| {
                hold(stage, label, columns, sheet);
                // Of several targets the table that follows says what these come to.
                if !names.are_several() {
                    pool(stage, sheet);
                    costs::line(stage, sheet);
                    costs::others(stage.cpu_taken_share, sheet);
                }
                gap(stage, sheet);
                troubles(stage, sheet);
            });
        }
    }
    let mut label = "median";
    for series in all {
        let Some(headline) = series.headline.as_ref().filter(|headline| headline.stages.len() > 1) else {
            continue;
        };
        names.about(&series.target, sheet, |sheet| {
            median(headline, std::mem::take(&mut label), columns, sheet);
        });
    }
    for series in all {
        names.about(&series.target, sheet, |sheet| mix::table(report, series, sheet));
    }
    if names.are_several() {
        costs::table(report, names, all, sheet);
    }
}

pub(super) fn stages<'a>(report: &'a Report, ids: &[u32]) -> Vec<&'a StageResult> {
    ids.iter().filter_map(|id| report.stage(*id)).collect()
}

/// What makes the columns of all holds of a report stand under each other.
struct HoldColumns {
    load: usize,
    throughput: usize,
    /// Whether latency stands beside throughput in all of them, or under it.
    one_line: bool,
}

impl HoldColumns {
    fn of(report: &Report, room: usize) -> Self {
        let holds: Vec<&StageResult> =
            report.series.iter().flat_map(|series| stages(report, &series.holds)).collect();
        let widest =
            |text: &dyn Fn(&StageResult) -> usize| holds.iter().map(|stage| text(stage)).max().unwrap_or(0);
        let load = widest(&|stage| width(&load_words(stage)));
        let throughput = widest(&|stage| width(&throughput_words(stage)));
        let latency = widest(&|stage| latency_rows(stage).iter().map(|row| width(row)).max().unwrap_or(0));
        Self { load, throughput, one_line: load + throughput + latency + 2 * GAP.len() <= room }
    }
}

fn load_words(stage: &StageResult) -> String {
    let seconds = format::duration_s(stage.seconds);
    match stage.stage.planned_s {
        Some(planned) if !stage.complete => {
            format!("{}{DOT}{seconds} of {}", subject::load(&stage.stage), format::duration_s(planned))
        }
        _ => format!("{}{DOT}{seconds}", subject::load(&stage.stage)),
    }
}

fn throughput_words(stage: &StageResult) -> String {
    stage.throughput.as_ref().map_or_else(|| "TPS unknown".to_owned(), format::throughput)
}

/// A hold: load, throughput and latency on one line where they fit, and below what else must be known of it.
fn hold(stage: &StageResult, label: &str, columns: &HoldColumns, sheet: &mut Sheet) {
    let load = pad_end(&load_words(stage), columns.load);
    let throughput = sheet.paint.strong(&pad_end(&throughput_words(stage), columns.throughput));
    let first = format!("{load}{GAP}{throughput}");
    let latencies = latency_rows(stage);
    match latencies.as_slice() {
        [only] if columns.one_line => {
            sheet.row(label, &format!("{first}{GAP}{only}"));
        }
        rows => {
            if width(&first) <= sheet.room() {
                sheet.row(label, &first);
            } else {
                sheet.paragraph(label, &load_words(stage), uncoloured);
                sheet.paragraph("", &throughput_words(stage), Paint::strong);
            }
            for row in rows {
                whole_row(row, sheet);
            }
        }
    }
    queries(stage, sheet);
}

/// What repeats come to, under them: their median, and the interval over them.
fn median(headline: &Headline, label: &str, columns: &HoldColumns, sheet: &mut Sheet) {
    let load = pad_end(&format!("of {} repeats", headline.stages.len()), columns.load);
    let throughput = pad_end(&format::throughput(&headline.throughput), columns.throughput);
    let row = format!(
        "{load}{GAP}{}{GAP}{}",
        sheet.paint.strong(&throughput),
        percentiles(headline.latency.as_ref())
    );
    if width(&row) <= sheet.room() {
        sheet.row(label, &row);
    } else {
        sheet.paragraph(label, &row, uncoloured);
    }
}

/// One row in a closed loop whose clients have a connection each, where the three times are one; else three rows.
fn latency_rows(stage: &StageResult) -> Vec<String> {
    match stage.stage.arrival {
        Arrival::Closed { .. } if stage.response.is_none() => vec![percentiles(stage.service.as_ref())],
        _ => vec![
            format!("response   {}", percentiles(stage.response.as_ref())),
            format!("service    {}", percentiles(stage.service.as_ref())),
            format!("lag        {}", percentiles(stage.lag.as_ref())),
        ],
    }
}

/// The connections that clients shared, and how long they waited for one.
pub(super) fn pool(stage: &StageResult, sheet: &mut Sheet) {
    let Some(pool) = &stage.pool else { return };
    whole_row(&format!("wait       {}", percentiles(stage.wait.as_ref())), sheet);
    sheet.paragraph("", &pool_words(pool), Paint::faint);
}

/// `40 connections · 39.8 in use, 40 at most · 12.1 clients waiting, 31 at most`
fn pool_words(pool: &Pool) -> String {
    format!(
        "{}{DOT}{} in use, {} at most{DOT}{} clients waiting, {} at most",
        format::counted(u64::from(pool.connections), "connection"),
        format::short(pool.in_use_mean),
        format::count(u64::from(pool.in_use_max)),
        format::short(pool.waiting_mean),
        format::count(u64::from(pool.waiting_max))
    )
}

/// A row whose columns are given up for wrapped text where they do not fit: no figure is cut.
fn whole_row(row: &str, sheet: &mut Sheet) {
    if width(row) <= sheet.room() {
        sheet.row("", row);
    } else {
        sheet.paragraph("", row, uncoloured);
    }
}

fn percentiles(percentiles: Option<&Percentiles>) -> String {
    let figure =
        |pick: fn(&Percentiles) -> f64| pad_end(&format::latency_us_or_unknown(percentiles.map(pick)), 6);
    let text = format!(
        "p50 {}{GAP}p90 {}{GAP}p99 {}{GAP}p99.9 {}",
        figure(|p| p.p50_us),
        figure(|p| p.p90_us),
        figure(|p| p.p99_us),
        figure(|p| p.p999_us)
    );
    text.trim_end().to_owned()
}

/// Queries per second by what they did, where the workload tells.
fn queries(stage: &StageResult, sheet: &mut Sheet) {
    let Some(queries) = &stage.queries else { return };
    let mut row = format!(
        "{} queries/s{DOT}{} reads{DOT}{} writes{DOT}{} other",
        format::short(queries.per_s),
        format::short(queries.reads_per_s),
        format::short(queries.writes_per_s),
        format::short(queries.other_per_s)
    );
    if let Some(share) = queries.in_vain_share.filter(|share| *share > 0.0) {
        row.push_str(&format!("{DOT}{} of writes touched no row", format::share(share)));
    }
    sheet.paragraph("", &row, Paint::faint);
}

/// Of several seconds: a single one may be chance.
fn gap(stage: &StageResult, sheet: &mut Sheet) {
    let Some(gap_s) = stage.longest_gap_s.filter(|gap_s| *gap_s > 1.0) else { return };
    let recovery = match stage.recovery_s {
        Some(recovery_s) => format!("recovered after {}", format::duration_s(recovery_s)),
        None => "not recovered".to_owned(),
    };
    let row = format!("longest gap: {}{DOT}{recovery}", format::duration_s(gap_s));
    sheet.paragraph("", &row, Paint::doubt);
}

/// What did not go well, with counts; the drain included.
fn troubles(stage: &StageResult, sheet: &mut Sheet) {
    let totals = &stage.totals;
    let mut parts = Vec::new();
    let mut tell = |count: u64, words: &str| {
        if count > 0 {
            parts.push(format!("{} {words}", format::count(count)));
        }
    };
    tell(totals.failed_with_drain, "failed");
    tell(totals.unknown_with_drain, "of unknown outcome");
    tell(totals.cancelled, "cancelled");
    tell(totals.retries, "retried");
    tell(totals.reconnects, "reconnected");
    tell(
        u64::from(stage.clients_aborted),
        if stage.clients_aborted == 1 { "client gave up" } else { "clients gave up" },
    );
    tell(stage.not_begun, "arrivals never begun");
    tell(stage.skipped, "arrivals skipped");
    if totals.lost_s > 0.0 {
        parts.push(format!("{} of clients' time lost", format::latency_us(totals.lost_s * 1e6)));
    }
    if !stage.errors.is_empty() {
        parts.push(errors_by_code(stage));
    }
    if !parts.is_empty() {
        let grave =
            totals.bad_with_drain() + u64::from(stage.clients_aborted) + stage.not_begun + stage.skipped > 0;
        let paint = if grave { Paint::bad } else { Paint::doubt };
        sheet.paragraph("", &format!("errors: {}", parts.join(DOT)), paint);
    }
}

/// The most frequent codes first: `40001 ×12, 23505 ×3`.
fn errors_by_code(stage: &StageResult) -> String {
    let mut codes: Vec<(&String, u64)> = stage.errors.iter().map(|(code, count)| (code, *count)).collect();
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: u64 = codes.iter().skip(ERRORS_MAX).map(|(_, count)| count).sum();
    let mut parts: Vec<String> = codes
        .iter()
        .take(ERRORS_MAX)
        .map(|(code, count)| format!("{} ×{}", visible(code), format::count(*count)))
        .collect();
    if rest > 0 {
        parts.push(format!("others ×{}", format::count(rest)));
    }
    parts.join(", ")
}
