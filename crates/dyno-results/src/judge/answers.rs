//! `answer-differs`, `answer-varies`, `not-validated` and `too-few-repeats`: how far the times of a query set can be believed.

use super::evidence::series_subject;
use crate::answer::AS_RECORDED;
use crate::document::{Passes, QueryTimes, Report, Series};
use crate::event::{Check, Code, Finding, Severity};
use crate::finding::Facts;
use crate::passes::{PASSES_MIN, other_data};
use crate::words::{clause, distinct, first_few};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let of_series = |series: &Series| {
        let found = series.passes.as_ref().map(|passes| {
            [
                differs(report, series, passes),
                varies(report, series, passes),
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
    (code, severity): (Code, Severity),
    (facts, evidence, advice): (Facts, String, String),
) -> Finding {
    Finding::new((code, severity), series_subject(report, series), evidence, advice, facts)
}

fn differs(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let mut facts = Facts::default();
    let mut differing: Vec<String> = Vec::new();
    for query in &passes.queries {
        let Some(why) = &query.differs else { continue };
        differing.push(format!("{}: {why}", facts.name("query", &query.query)));
    }
    if differing.is_empty() {
        // Of queries that returned nothing only the check knows.
        differing.extend(recorded_check(report, series, Some(false), &mut facts));
    }
    (!differing.is_empty()).then(|| {
        let evidence = first_few(&differing);
        let advice =
            "do not use the times of these queries: look at the data and at the product's known errors"
                .to_owned();
        finding(report, series, (Code::AnswerDiffers, Severity::Invalid), (facts, evidence, advice))
    })
}

fn varies(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let mut facts = Facts::default();
    let told = |query: &QueryTimes| {
        let why = query.varies.as_ref().filter(|_| query.differs.is_none())?;
        Some(format!("{}: {why}", facts.name("query", &query.query)))
    };
    let varying: Vec<String> = passes.queries.iter().filter_map(told).collect();
    (!varying.is_empty()).then(|| {
        let evidence = format!(
            "answers differ in what the text of their query leaves open, and agree in everything else: {}",
            first_few(&varying)
        );
        let advice =
            "the times stand; give the query an order without ties to have all of its answer compared"
                .to_owned();
        finding(report, series, (Code::AnswerVaries, Severity::Note), (facts, evidence, advice))
    })
}

/// Whether a check is of the answers of a series. Streams of one workload may have checks each; those of earlier versions name
/// only the workload.
pub(super) fn is_of(check: &Check, series: &Series) -> bool {
    let names_it = match &check.series {
        Some(name) => *name == series.name,
        None => check.workload == series.workload,
    };
    check.target == series.target && names_it
}

/// What the comparison with recorded answers says, where that is how it ended.
fn recorded_check(
    report: &Report,
    series: &Series,
    passed: Option<bool>,
    facts: &mut Facts,
) -> Option<String> {
    let is_it = |check: &&Check| is_of(check, series) && check.name == AS_RECORDED && check.passed == passed;
    let check = report.checks.iter().find(is_it)?;
    facts.name("check", &check.name);
    Some(clause(&check.detail).to_owned())
}

fn not_validated(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let is_looked_at =
        |query: &&QueryTimes| query.validated.is_some() || query.compared || query.median_s.is_none();
    let without: Vec<&str> =
        passes.queries.iter().filter(|it| !is_looked_at(it)).map(|it| it.query.as_str()).collect();
    let mut facts = Facts::default();
    let not_made = recorded_check(report, series, None, &mut facts);
    facts.names("query", &without);
    let of = match without.as_slice() {
        [] => String::new(),
        all if all.len() == passes.queries.len() => "no answer was compared".to_owned(),
        few @ ([_] | [_, _] | [_, _, _]) => format!("the answers to {} were not compared", few.join(", ")),
        [first, second, others @ ..] => {
            format!("the answers to {first}, {second} and {} more were not compared", others.len())
        }
    };
    let of = (!of.is_empty())
        .then(|| format!("{of} with one that is known to be right, nor with that of another target"));
    let others = of.is_some().then(|| has_other_data(report, series, &mut facts)).flatten();
    let evidence: Vec<String> = not_made.into_iter().chain(of).chain(others).collect();
    (!evidence.is_empty()).then(|| {
        let advice = "run beside another target, or compare with the answers of an earlier run (--record FILE, then --answers \
                      FILE); tpch has known ones at --scale 1 with --parameters validation";
        let told = (facts, evidence.join("; "), advice.to_owned());
        finding(report, series, (Code::NotValidated, Severity::Note), told)
    })
}

/// Why answers of the same series of other targets are not compared with: their data are others.
fn has_other_data(report: &Report, series: &Series, facts: &mut Facts) -> Option<String> {
    let of_others = report.answers.iter().filter(|it| it.series == series.name && it.target != series.target);
    let targets = distinct(of_others.map(|it| it.target.as_str()));
    let why = |target: &&str| other_data(&report.stages, series, target);
    let others: Vec<&str> = targets.into_iter().filter(|target| why(target).is_some()).collect();
    let first = others.first().and_then(why)?;
    Some(format!("not with those of {}: {first}", facts.names("system", &others)))
}

fn few(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let is_whole = |id: &&u32| report.stage(**id).is_some_and(|pass| pass.complete);
    let count = passes.stages.iter().filter(is_whole).count();
    (count < PASSES_MIN).then(|| {
        let mut facts = Facts::default();
        let noun = if count == 1 { "pass" } else { "passes" };
        let counted = format!("{} {noun}", facts.count("passes", count as u64));
        let evidence = format!("the times are of {counted}: how well their median is known cannot be said");
        let advice = format!("measure at least {PASSES_MIN} passes: --repeat {PASSES_MIN}");
        finding(report, series, (Code::TooFewRepeats, Severity::Doubt), (facts, evidence, advice))
    })
}
