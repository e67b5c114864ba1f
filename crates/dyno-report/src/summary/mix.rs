//! A mix in the summary: what its workload counts, and each of its transactions, in the stage that stands for the series.

use dyno_results::document::{CountResult, Percentiles, Report, Series, StageResult, TypeResult};
use dyno_results::format;

use crate::text::{DOT, Paint, Sheet, column_width, pad_end, pad_start, visible, width};

/// Between the columns.
const GAP: &str = "  ";

struct Column {
    head: &'static str,
    /// What stands where a transaction has no figure.
    none: &'static str,
    cell: fn(&TypeResult) -> Option<String>,
}

/// A column in which no transaction has a figure is left out.
const COLUMNS: [Column; 9] = [
    Column { head: "TPS", none: format::UNKNOWN, cell: |it| it.per_s.map(format::short) },
    Column { head: "share", none: format::UNKNOWN, cell: |it| it.share.map(format::share) },
    Column { head: "p50", none: format::UNKNOWN, cell: |it| latency(it, |all| all.p50_us) },
    Column { head: "p90", none: format::UNKNOWN, cell: |it| latency(it, |all| all.p90_us) },
    Column { head: "p99", none: format::UNKNOWN, cell: |it| latency(it, |all| all.p99_us) },
    Column { head: "failed", none: "0", cell: |it| counted(it.failed_with_drain) },
    Column { head: "retried", none: "0", cell: |it| counted(it.retries) },
    Column { head: "rolled back", none: "0", cell: |it| counted(it.rolled_back) },
    Column { head: "limit", none: "", cell: limits },
];

/// The figure, and the transactions where there are several or one has limits.
pub(super) fn table(report: &Report, series: &Series, sheet: &mut Sheet) {
    let Some(headline) = &series.headline else { return };
    if let Some(figure) = &headline.figure {
        let beside: String = figure.beside().map(|text| format!("{DOT}{}", visible(&text))).collect();
        let text = format!("{}{beside}", visible(&figure.text()));
        sheet.paragraph("", &text, Paint::strong);
    }
    if let Some(stage) = report.stage(headline.stage).filter(|stage| is_told(stage)) {
        rows(&stage.by_type, sheet);
        if let Some(text) = stage.rolled_back_text() {
            sheet.paragraph("", &text, Paint::faint);
        }
    }
    let counted = report.stage(headline.stage).into_iter().flat_map(|stage| &stage.by_type);
    for (of_type, count) in counted.flat_map(|it| it.counts.iter().map(move |count| (it, count))) {
        sheet.row("", &counted_within(of_type, count));
    }
}

/// `delivery: 120 districts skipped, 0.30 a transaction`
fn counted_within(
    of_type: &TypeResult,
    CountResult { about, count, per_transaction, .. }: &CountResult,
) -> String {
    // Of a smaller one two digits would say nothing.
    let mean = per_transaction
        .filter(|mean| *mean >= 0.005)
        .map(|mean| format!(", {} a transaction", format::short(mean)));
    let (name, about) = (visible(&of_type.name), visible(about));
    format!("{name}: {} {about}{}", format::short_count(*count), mean.unwrap_or_default())
}

/// A single type would only say the same again.
fn is_told(stage: &StageResult) -> bool {
    stage.by_type.len() > 1 || stage.by_type.iter().any(|it| !it.response_limits.is_empty())
}

/// In as many parts under each other as the lines have no room for.
fn rows(types: &[TypeResult], sheet: &mut Sheet) {
    let names: Vec<_> = types.iter().map(|it| visible(&it.name)).collect();
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let told = COLUMNS.iter().filter(|column| types.iter().any(|it| (column.cell)(it).is_some()));
    let columns: Vec<Vec<String>> = told
        .map(|column| {
            let cells = types.iter().map(|it| (column.cell)(it).unwrap_or_else(|| column.none.to_owned()));
            std::iter::once(column.head.to_owned()).chain(cells).collect()
        })
        .collect();
    let mut left = columns.as_slice();
    while !left.is_empty() {
        let (part, rest) = sheet.beside(left, name_width, GAP.len());
        for row in 0..=types.len() {
            let name = row.checked_sub(1).map_or("", |row| &*names[row]);
            let cells =
                part.iter().map(|column| GAP.to_owned() + &pad_start(&column[row], column_width(column)));
            let line = pad_end(name, name_width) + &cells.collect::<String>();
            let line = if row == 0 { sheet.paint.faint(&line) } else { line };
            sheet.row("", &line);
        }
        left = rest;
    }
}

fn latency(of_type: &TypeResult, pick: fn(&Percentiles) -> f64) -> Option<String> {
    of_type.latency().map(pick).map(format::latency_us)
}

fn counted(count: u64) -> Option<String> {
    (count > 0).then(|| format::short_count(count))
}

/// `p90 5.0 s kept`
fn limits(of_type: &TypeResult) -> Option<String> {
    let each = of_type.response_limits.iter().map(|limit| {
        let kept = match limit.kept {
            Some(true) => "kept",
            Some(false) => "not kept",
            None => "unknown",
        };
        format!("p{} {} {kept}", limit.percentile, format::latency_us(limit.limit_us))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(", "))
}
