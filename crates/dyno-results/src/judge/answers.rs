//! `answer-differs`, `not-validated` and `too-few-repeats`: how far the times of a query set can be believed.

use super::evidence::series_subject;
use crate::document::{Passes, QueryTimes, Report, Series};
use crate::event::{Finding, Severity};
use crate::words::first_few;

/// Fewer passes than this do not show how much they scatter.
const PASSES_MIN: usize = 3;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let of_series = |series: &Series| {
        let found = series.passes.as_ref().map(|passes| {
            [
                differs(report, series, passes),
                not_validated(report, series, passes),
                few(report, series, passes),
            ]
        });
        found.into_iter().flatten().flatten().collect::<Vec<_>>()
    };
    report.series.iter().flat_map(of_series).collect()
}

fn finding(
    report: &Report,
    series: &Series,
    (code, severity): (&str, Severity),
    texts: [String; 2],
) -> Finding {
    let [evidence, advice] = texts;
    Finding { code: code.to_owned(), severity, subject: series_subject(report, series), evidence, advice }
}

fn differs(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let differing: Vec<String> = passes
        .queries
        .iter()
        .filter_map(|query| Some(format!("{}: {}", query.query, query.differs.as_ref()?)))
        .collect();
    (!differing.is_empty()).then(|| {
        let evidence = first_few(&differing);
        let advice =
            "do not use the times of these queries: look at the data and at the product's known errors"
                .to_owned();
        finding(report, series, ("answer-differs", Severity::Invalid), [evidence, advice])
    })
}

fn not_validated(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let is_looked_at =
        |query: &&QueryTimes| query.validated.is_some() || query.compared || query.median_s.is_none();
    let without: Vec<&str> =
        passes.queries.iter().filter(|it| !is_looked_at(it)).map(|it| it.query.as_str()).collect();
    (!without.is_empty()).then(|| {
        let of = match without.as_slice() {
            all if all.len() == passes.queries.len() => "no answer was compared".to_owned(),
            few @ ([_] | [_, _] | [_, _, _]) => format!("the answers to {} were not compared", few.join(", ")),
            [first, second, others @ ..] => {
                format!("the answers to {first}, {second} and {} more were not compared", others.len())
            }
            [] => String::new(),
        };
        let evidence = format!("{of} with one that is known to be right, nor with that of another target");
        let advice = "run beside another target, or compare with the answers of an earlier run (--record FILE, then --answers \
                      FILE); tpch has known ones at --scale 1 with --parameters validation";
        finding(report, series, ("not-validated", Severity::Note), [evidence, advice.to_owned()])
    })
}

fn few(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let is_whole = |id: &&u32| report.stage(**id).is_some_and(|pass| pass.complete);
    let count = passes.stages.iter().filter(is_whole).count();
    (count < PASSES_MIN).then(|| {
        let counted = if count == 1 { "1 pass".to_owned() } else { format!("{count} passes") };
        let evidence =
            format!("the times are of {counted}: how much they differ from pass to pass is not known");
        let advice = format!("measure at least {PASSES_MIN} passes: --repeat {PASSES_MIN}");
        finding(report, series, ("too-few-repeats", Severity::Doubt), [evidence, advice])
    })
}
