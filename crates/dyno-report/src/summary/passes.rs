//! The passes of a workload over its queries: a row for each query, a column for each target.

use dyno_results::document::{AnswerCounts, Passes, QueryTimes, Report, Series};
use dyno_results::format;

use crate::subject::TargetNames;
use crate::text::{self, DOT, Paint, Sheet, pad_end, visible};

/// Between the columns.
const GAP: &str = "   ";
const COLUMN_MIN: usize = 10;

/// The passes of the series of one name, where they are such. Whether they were.
pub(super) fn table(
    report: &Report,
    names: &TargetNames<'_>,
    all: &[&Series],
    label: &str,
    heading: &str,
    sheet: &mut Sheet,
) -> bool {
    let passes: Option<Vec<&Passes>> = all.iter().map(|series| series.passes.as_ref()).collect();
    let Some(passes) = passes.filter(|passes| !passes.is_empty()) else { return false };
    let clients =
        passes[0].stages.first().and_then(|id| report.stage(*id)).map_or(1, |pass| pass.stage.clients);
    let counts: Vec<usize> = passes.iter().map(|passes| passes.stages.len()).collect();
    let count = counts.iter().copied().max().unwrap_or(0);
    let of = if count == 1 { "1 pass".to_owned() } else { format!("median of {count} passes") };
    let clients = format::counted(u64::from(clients), "client");
    let what = if heading.starts_with("tpch/") { TPCH } else { "" };
    sheet.paragraph(label, &format!("{heading}{DOT}{clients}{DOT}{of}{what}"), Paint::faint);
    let columns: Vec<String> = all.iter().map(|series| visible(&series.target).into_owned()).collect();
    let width = columns.iter().map(String::len).max().unwrap_or(0).max(COLUMN_MIN);
    let of_queries = passes[0].queries.iter().map(|query| text::width(&visible(&query.query)));
    let name_width = of_queries.max().unwrap_or(0).max(COLUMN_MIN);
    let row = |name: &str, values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| format!("{value:>width$}")).collect();
        format!("{}{GAP}{}", pad_end(name, name_width), values.join(GAP)).trim_end().to_owned()
    };
    if names.are_several() {
        let head = sheet.paint.faint(&row("", &columns));
        sheet.row("", &head);
    }
    for (at, query) in passes[0].queries.iter().enumerate() {
        let of = |passes: &&Passes| passes.queries.get(at).map_or(format::UNKNOWN.to_owned(), time);
        sheet.row("", &row(&visible(&query.query), &passes.iter().map(of).collect::<Vec<_>>()));
    }
    let seconds = |pick: fn(&Passes) -> Option<f64>| -> Vec<String> {
        passes.iter().map(|passes| pick(passes).map_or(format::UNKNOWN.to_owned(), shown)).collect()
    };
    for (name, pick) in [
        ("total", (|passes| passes.total_s) as fn(&Passes) -> Option<f64>),
        ("geo. mean", |passes| passes.geometric_mean_s),
    ] {
        let line = sheet.paint.strong(&row(name, &seconds(pick)));
        sheet.row("", &line);
    }
    // Queries without a scale have none.
    if passes.iter().any(|passes| passes.qph.is_some()) {
        let qph = passes.iter().map(|passes| passes.qph.map_or(format::UNKNOWN.to_owned(), format::short));
        sheet.row("", &row("QPH", &qph.collect::<Vec<_>>()));
    }
    let answers: Vec<String> = passes.iter().map(|passes| answers(passes)).collect();
    sheet.row("", &row("answers", &answers));
    for (series, passes) in all.iter().zip(&passes) {
        let whose =
            if names.are_several() { format!("{}, ", visible(&series.target)) } else { String::new() };
        passes.queries.iter().for_each(|query| not_run(query, &whose, sheet));
    }
    true
}

/// Behind the heading of that family.
const TPCH: &str = " · derived from TPC-H, not comparable to published TPC-H results";

fn shown(seconds: f64) -> String {
    format::latency_us(seconds * 1e6)
}

fn time(query: &QueryTimes) -> String {
    let without = if query.over_limit { "over limit" } else { "not run" };
    query.median_s.map_or(without.to_owned(), shown)
}

/// `pg, Q20 ended in 1 of 3 passes: cancelled after 300 s, at the time limit`
fn not_run(query: &QueryTimes, whose: &str, sheet: &mut Sheet) {
    let ended = query.times_s.iter().flatten().count();
    if ended == query.times_s.len() {
        return;
    }
    let count = if ended == 0 { "no pass".to_owned() } else { format!("{ended} of {}", query.times_s.len()) };
    let why = query.failure.as_ref().map_or(String::new(), |why| format!(": {}", visible(why)));
    sheet.paragraph("", &format!("{whose}{} ended in {count}{why}", visible(&query.query)), Paint::strong);
}

/// `22 valid`, `20 of 22 valid`, `22 alike`; `22 kept` where nothing was compared.
fn answers(Passes { answers, queries, .. }: &Passes) -> String {
    let of_all = |count: usize, what: &str| match queries.len() {
        all if count == all => format!("{count} {what}"),
        all => format!("{count} of {all} {what}"),
    };
    match *answers {
        AnswerCounts { kept: 0, .. } => format::UNKNOWN.to_owned(),
        AnswerCounts { known: 1.., valid, .. } => of_all(valid, "valid"),
        AnswerCounts { differ: differ @ 1.., .. } => format!("{differ} differ"),
        AnswerCounts { alike: alike @ 1.., .. } => of_all(alike, "alike"),
        AnswerCounts { kept, .. } => format!("{kept} kept"),
    }
}
