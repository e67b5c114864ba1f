//! A series in the summary: its ladder with the peak beside it, and its holds.

use dyno_results::document::{Peak, Percentiles, Report, Series, StageResult};
use dyno_results::event::{Arrival, StageKind};

use crate::format;
use crate::ladder::{self, Overflow, Rung, RungState};
use crate::subject;
use crate::text::{DOT, Paint, Sheet, pad_end, uncoloured, visible, width};

/// Between the columns of a hold.
const GAP: &str = "   ";
/// SQLSTATEs that are named; the rest is counted together.
const ERRORS_MAX: usize = 5;

/// All series of a report, in its order.
pub(super) fn rows(report: &Report, sheet: &mut Sheet) {
    if report.series.is_empty() {
        sheet.row("load", "nothing was measured");
    }
    let columns = HoldColumns::of(report, sheet.room());
    for series in &report.series {
        let mut label = series.name.as_str();
        let mut heading = visible(&series.workload).into_owned();
        if report.targets.len() > 1 {
            heading = format!("{}: {heading}", visible(&series.target));
        }
        ladder(report, series, &heading, &mut label, sheet);
        let holds = stages(report, &series.holds);
        if holds.is_empty() && series.ladder.is_empty() {
            sheet.row(label, &format!("{heading}{DOT}nothing was measured"));
            continue;
        }
        if !label.is_empty() {
            // Without a ladder nothing has named the series yet.
            let heading = sheet.paint.faint(&heading);
            sheet.row(label, &heading);
        }
        for stage in holds {
            hold(stage, &columns, sheet);
        }
    }
}

fn stages<'a>(report: &'a Report, ids: &[u32]) -> Vec<&'a StageResult> {
    ids.iter().filter_map(|id| report.stages.iter().find(|stage| stage.stage.id == *id)).collect()
}

/// The ladder's table; `label` is used up by the first line.
fn ladder(report: &Report, series: &Series, heading: &str, label: &mut &str, sheet: &mut Sheet) {
    let peak = series.peak.as_ref();
    let rungs: Vec<Rung> =
        stages(report, &series.ladder).into_iter().map(|stage| rung(stage, peak)).collect();
    let blocks = ladder::table(&rungs, sheet.room(), Overflow::Fold, sheet.paint);
    let Some(rows_width) = blocks.first().and_then(|rows| rows.first()).map(|row| width(row)) else { return };
    let peak_text = match (peak, rungs.len()) {
        (None, _) => "peak unknown".to_owned(),
        // One client count is a choice and no search for a peak.
        (Some(only), 1) => only_words(only),
        (Some(peak), _) => peak_words(peak),
    };
    let beside =
        blocks.len() == 1 && rows_width + GAP.len() + width(&peak_text).max(width(heading)) <= sheet.room();
    if !beside {
        let heading = sheet.paint.faint(heading);
        sheet.row(std::mem::take(label), &heading);
    }
    for block in blocks {
        for (index, row) in block.into_iter().enumerate() {
            let side = match index {
                0 if beside => sheet.paint.faint(heading),
                1 if beside => sheet.paint.strong(&peak_text),
                _ => String::new(),
            };
            let line = if side.is_empty() { row } else { format!("{row}{GAP}{side}") };
            sheet.row(std::mem::take(label), &line);
        }
    }
    if !beside {
        sheet.paragraph("", &peak_text, Paint::strong);
    }
    if rungs.iter().any(|rung| rung.state == RungState::CutShort) {
        sheet.paragraph("", "* stopped before its time was up", Paint::doubt);
    }
}

fn rung(stage: &StageResult, peak: Option<&Peak>) -> Rung {
    let state = if !stage.complete {
        RungState::CutShort
    } else if peak.is_some_and(|peak| peak.stage == stage.stage.id) {
        RungState::Peak
    } else {
        RungState::Measured
    };
    Rung {
        clients: stage.stage.clients,
        tps: stage.throughput.map(|throughput| throughput.mean),
        failed: stage.totals.failed_with_drain + stage.totals.unknown_with_drain,
        state,
    }
}

/// `85.3k ±1.9% at 8`
fn only_words(only: &Peak) -> String {
    let error = format::relative_error(&only.throughput);
    format!("{} {error} at {}", format::short(only.throughput.mean), only.clients)
}

/// `peak 85.3k ±1.9% at 8`, and how far that is the peak.
fn peak_words(peak: &Peak) -> String {
    let figure =
        format!("{} {}", format::short(peak.throughput.mean), format::relative_error(&peak.throughput));
    if !peak.passed {
        return format!("highest {figure} at {}, the peak may lie beyond", peak.clients);
    }
    let alike: Vec<String> = peak
        .clients_indistinguishable
        .iter()
        .filter(|&&clients| clients != peak.clients)
        .map(u32::to_string)
        .collect();
    let alike = if alike.is_empty() { String::new() } else { format!(" ({} alike)", alike.join(", ")) };
    format!("peak {figure} at {}{alike}", peak.clients)
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
fn hold(stage: &StageResult, columns: &HoldColumns, sheet: &mut Sheet) {
    let label = match stage.stage.kind {
        StageKind::Ramp => "ramp",
        _ => "hold",
    };
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
                sheet.row("", row);
            }
        }
    }
    queries(stage, sheet);
    types(stage, sheet);
    troubles(stage, sheet);
}

/// One row in a closed loop, where the three times are one; three rows in an open one.
fn latency_rows(stage: &StageResult) -> Vec<String> {
    match stage.stage.arrival {
        Arrival::Closed { .. } => vec![percentiles(stage.service.as_ref())],
        Arrival::Open { .. } => vec![
            format!("response   {}", percentiles(stage.response.as_ref())),
            format!("service    {}", percentiles(stage.service.as_ref())),
            format!("lag        {}", percentiles(stage.lag.as_ref())),
        ],
    }
}

fn percentiles(percentiles: Option<&Percentiles>) -> String {
    let figure =
        |pick: fn(&Percentiles) -> f64| pad_end(&format::latency_us_or_unknown(percentiles.map(pick)), 6);
    let text = format!(
        "p50 {}{GAP}p99 {}{GAP}p99.9 {}",
        figure(|p| p.p50_us),
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

/// Each transaction type by itself, where there is more than one.
fn types(stage: &StageResult, sheet: &mut Sheet) {
    if stage.by_type.len() < 2 {
        return;
    }
    let name_width = stage.by_type.iter().map(|kind| width(&visible(&kind.name))).max().unwrap_or(0);
    for kind in &stage.by_type {
        let share = kind.done as f64 / stage.totals.done as f64;
        let latency = kind.response.as_ref().or(kind.service.as_ref());
        let row = format!(
            "{}{GAP}{}{GAP}{}",
            pad_end(&visible(&kind.name), name_width),
            pad_end(&format::share(share), 5),
            percentiles(latency)
        );
        let row = sheet.paint.faint(&row);
        sheet.row("", &row);
    }
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
        let ended_badly = totals.failed_with_drain + totals.unknown_with_drain;
        let grave = ended_badly + u64::from(stage.clients_aborted) + stage.not_begun + stage.skipped > 0;
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
