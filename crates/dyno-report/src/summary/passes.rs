//! The passes of a workload over its queries: a row for each query, a column for each target.

use dyno_results::document::{AnswerCounts, Passes, QueryTimes, Report, Series, SpeedUp};
use dyno_results::{format, words};

use crate::subject::TargetNames;
use crate::text::{self, DOT, Paint, Sheet, pad_end, pad_start, uncoloured, visible};

/// Between the columns.
const GAP: &str = "   ";
const COLUMN_MIN: usize = 10;

/// The passes of the series of one name, of the targets that have any. Whether there are such.
pub(super) fn table(
    report: &Report,
    names: &TargetNames<'_>,
    all: &[&Series],
    label: &str,
    heading: &str,
    sheet: &mut Sheet,
) -> bool {
    let with_passes = all.iter().filter_map(|series| Some((*series, series.passes.as_ref()?)));
    let (all, passes): (Vec<&Series>, Vec<&Passes>) = with_passes.unzip();
    if passes.is_empty() {
        return false;
    }
    let mut queries: Vec<&str> = Vec::new();
    for QueryTimes { query, .. } in passes.iter().flat_map(|passes| &passes.queries) {
        if !queries.contains(&query.as_str()) {
            queries.push(query);
        }
    }
    // Figures over other queries are of other work.
    let are_same = passes.iter().all(|passes| passes.queries.len() == queries.len());
    let clients =
        passes[0].stages.first().and_then(|id| report.stage(*id)).map_or(1, |pass| pass.stage.clients);
    let counts: Vec<usize> = passes.iter().map(|passes| passes.stages.len()).collect();
    let count = counts.iter().copied().max().unwrap_or(0);
    let of = if count == 1 { "one pass".to_owned() } else { format!("median of {count} passes") };
    let clients = format::counted(u64::from(clients), "client");
    let caveat = all.first().and_then(|series| series.caveat.as_deref());
    let what = caveat.map(|caveat| format!("{DOT}{caveat}")).unwrap_or_default();
    sheet.paragraph(label, &format!("{heading}{DOT}{clients}{DOT}{of}{what}"), Paint::faint);
    let columns: Vec<String> = all.iter().map(|series| visible(&series.target).into_owned()).collect();
    let of_query = |name: &&str| {
        let own = |passes: &&Passes| passes.queries.iter().find(|own| own.query == *name).map(time);
        let of = |passes| own(passes).unwrap_or(format::UNKNOWN.to_owned());
        (visible(name).into_owned(), passes.iter().map(of).collect())
    };
    let of_queries: Vec<Row> = queries.iter().map(of_query).collect();
    let totals = totals(&passes, are_same);
    let mut below: Vec<Row> =
        vec![("answers".to_owned(), passes.iter().map(|passes| answers(passes)).collect())];
    let of_others = |series: &&Series| series.headline.as_ref().and_then(|headline| headline.cpu_taken_share);
    if all.iter().any(|series| of_others(series).is_some()) {
        let shares =
            all.iter().map(|series| of_others(series).map_or(format::UNKNOWN.to_owned(), format::share));
        below.push(("others' CPU".to_owned(), shares.collect()));
    }
    let rows = || of_queries.iter().chain(&totals).chain(&below);
    let widest = |texts: Vec<&String>| texts.into_iter().map(|text| text::width(text)).max().unwrap_or(0);
    let width = widest(rows().flat_map(|(_, cells)| cells).chain(&columns).collect()).max(COLUMN_MIN);
    let name_width = widest(rows().map(|(name, _)| name).collect()).max(COLUMN_MIN);
    let row = |name: &str, values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| pad_start(value, width)).collect();
        format!("{}{GAP}{}", pad_end(name, name_width), values.join(GAP)).trim_end().to_owned()
    };
    if names.are_several() {
        let head = sheet.paint.faint(&row("", &columns));
        sheet.row("", &head);
    }
    of_queries.iter().for_each(|(name, cells)| sheet.row("", &row(name, cells)));
    for (name, cells) in &totals {
        let line = sheet.paint.strong(&row(name, cells));
        sheet.row("", &line);
    }
    below.iter().for_each(|(name, cells)| sheet.row("", &row(name, cells)));
    for (series, passes) in all.iter().zip(&passes) {
        let whose =
            if names.are_several() { format!("{}, ", visible(&series.target)) } else { String::new() };
        passes.queries.iter().for_each(|query| not_run(query, &whose, sheet));
    }
    let (base, mut label) = (&all[0].target, "speed-up");
    for (series, passes) in all.iter().zip(&passes) {
        for found in passes.speed_ups.iter().filter(|found| found.base == *base) {
            let text = speed_up(&series.target, base, found);
            sheet.paragraph(std::mem::take(&mut label), &text, uncoloured);
        }
    }
    true
}

/// What a row is called, and what it has for each target.
type Row = (String, Vec<String>);
/// A figure of passes with the half-width of its interval, and how it is written.
type Total = (&'static str, fn(&Passes) -> Option<(f64, Option<f64>)>, fn(f64) -> String);

/// The figures over all queries, with their intervals where passes are enough to have any.
fn totals(passes: &[&Passes], are_same: bool) -> Vec<Row> {
    let rows: [Total; 3] = [
        ("total", |passes| Some((passes.total_s?, passes.total_half_width_s)), shown),
        ("geo. mean", |passes| Some((passes.geometric_mean_s?, passes.geometric_mean_half_width_s)), shown),
        ("QPH", |passes| Some((passes.qph?, passes.qph_half_width)), format::short),
    ];
    // Queries without a scale have no QPH.
    let is_there =
        |name: &str| name != "QPH" || (are_same && passes.iter().any(|passes| passes.qph.is_some()));
    let of = |(name, pick, shown): Total| {
        let cell = |passes: &&Passes| match pick(passes).filter(|_| are_same) {
            Some((figure, Some(half_width))) if half_width > figure / 2.0 => {
                format!("{} ±>50%", shown(figure))
            }
            Some((figure, Some(half_width))) => {
                format!("{} {}", shown(figure), format::relative(figure, half_width))
            }
            Some((figure, None)) => shown(figure),
            None => format::UNKNOWN.to_owned(),
        };
        (name.to_owned(), passes.iter().map(cell).collect())
    };
    rows.into_iter().filter(|(name, ..)| is_there(name)).map(of).collect()
}

/// `duck to pg: 8.3× (5.1–13), 22 queries`
pub(crate) fn speed_up(own: &str, base: &str, found: &SpeedUp) -> String {
    let mean = found.mean.map_or(format::UNKNOWN.to_owned(), |mean| format::times(mean) + "×");
    let interval = found.interval.map(|bounds| bounds.map(format::times));
    let interval = interval.map_or(String::new(), |[low, high]| format!(" ({low}–{high})"));
    let queries = format::queries(found.ratios.len());
    let without = match words::list(&found.without) {
        none if none.is_empty() => none,
        names => format!(", without {} (not run on both, or answers differ)", visible(&names)),
    };
    format!("{} to {}: {mean}{interval}, {queries}{without}", visible(own), visible(base))
}

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

/// `22 valid`, `20 of 22 valid`, `22 alike`; `22 kept` where nothing was compared. `9 alike (5 in part)`: of so many the text leaves
/// something open, and they agree in the rest.
fn answers(Passes { answers, queries, .. }: &Passes) -> String {
    let of_all = |count: usize, what: &str| match queries.len() {
        all if count == all => format!("{count} {what}"),
        all => format!("{count} of {all} {what}"),
    };
    let in_part = queries
        .iter()
        .filter(|query| query.compared || query.validated.is_some())
        .filter(|query| query.varies.is_some() && query.differs.is_none())
        .count();
    let in_part = if in_part == 0 { String::new() } else { format!(" ({in_part} in part)") };
    match *answers {
        AnswerCounts { kept: 0, .. } => format::UNKNOWN.to_owned(),
        AnswerCounts { known: 1.., valid, .. } => of_all(valid, "valid") + &in_part,
        AnswerCounts { differ: differ @ 1.., .. } => format!("{differ} differ"),
        AnswerCounts { alike: alike @ 1.., .. } => of_all(alike, "alike") + &in_part,
        AnswerCounts { kept, .. } => format!("{kept} kept"),
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::document::QueryRatio;

    use super::*;

    #[test]
    fn a_speed_up_is_told_with_its_interval_and_what_does_not_count() {
        let ratio = |query: &str| QueryRatio { query: query.to_owned(), ratio: 8.31 };
        let mut found = SpeedUp {
            base: "pg".to_owned(),
            mean: Some(8.31),
            interval: Some([5.12, 13.4]),
            ratios: vec![ratio("Q1"), ratio("Q2")],
            without: Vec::new(),
        };
        assert_eq!(speed_up("duck", "pg", &found), "duck to pg: 8.3× (5.1–13), 2 queries");
        (found.mean, found.interval) = (None, None);
        found.without = ["Q1", "Q\u{1b}2"].map(str::to_owned).to_vec();
        found.ratios.clear();
        let text = speed_up("duck", "pg", &found);
        assert_eq!(
            text,
            r"duck to pg: –, 0 queries, without Q1 and Q\e2 (not run on both, or answers differ)"
        );
    }
}
