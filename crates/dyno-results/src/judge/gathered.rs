//! One finding for a series of what a rule finds in several of its stages: a hold that is repeated twenty times is no twenty
//! findings. The gravest of them is told, and in how many of the others it is the same. So it is with the systems of one server.

use std::collections::HashMap;

use super::evidence::series_subject;
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity, StageKind, Subject};
use crate::finding::Facts;
use crate::words::{distinct, list};

/// Stages that are named by their number.
const NUMBERS_SHOWN: usize = 8;

/// What a rule found in one stage.
pub(super) struct InStage<'a> {
    pub(super) series: &'a Series,
    pub(super) result: &'a StageResult,
    pub(super) severity: Severity,
    pub(super) facts: Facts,
    pub(super) evidence: String,
    pub(super) advice: String,
}

/// As [`gather`] of a rule that says the same of every stage in which it finds something.
pub(super) fn gather_alike<'a>(
    report: &Report,
    (code, severity, advice): (Code, Severity, &str),
    stages: impl IntoIterator<Item = (&'a Series, &'a StageResult)>,
    evidence: impl Fn(&'a Series, &'a StageResult, &mut Facts) -> Option<String>,
) -> Vec<Finding> {
    let found = stages.into_iter().filter_map(|(series, result)| {
        let mut facts = Facts::default();
        let (evidence, advice) = (evidence(series, result, &mut facts)?, advice.to_owned());
        Some(InStage { series, result, severity, facts, evidence, advice })
    });
    gather(report, code, found)
}

/// A finding for each series in which anything was found, in the order of the series.
pub(super) fn gather<'a>(
    report: &Report,
    code: Code,
    found: impl Iterator<Item = InStage<'a>>,
) -> Vec<Finding> {
    let mut of_series: Vec<Vec<InStage<'a>>> = Vec::new();
    for one in found {
        match of_series.iter_mut().find(|known| std::ptr::eq(known[0].series, one.series)) {
            Some(known) => known.push(one),
            None => of_series.push(vec![one]),
        }
    }
    of_series.into_iter().filter_map(|found| told(report, code, found)).collect()
}

/// The findings of a rule, of which what is the same of all systems of a server is said once, of the server: those of one code
/// with the same facts.
pub(super) fn of_servers(report: &Report, found: Vec<Finding>) -> Vec<Finding> {
    let server = |finding: &Finding| {
        let system = finding.subject.system.as_deref().filter(|_| finding.subject.series.is_none())?;
        report.server(system).map(str::to_owned)
    };
    let mut groups: Vec<Vec<Finding>> = Vec::new();
    // A run of many servers has many findings: each is looked for among those of its server.
    let mut places: HashMap<(String, Code), Vec<usize>> = HashMap::new();
    for finding in found {
        let Some(server) = server(&finding) else {
            groups.push(vec![finding]);
            continue;
        };
        let places = places.entry((server, finding.code)).or_default();
        match places.iter().find(|place| groups[**place][0].facts == finding.facts) {
            Some(place) => groups[*place].push(finding),
            None => {
                places.push(groups.len());
                groups.push(vec![finding]);
            }
        }
    }
    let of_group = |group: Vec<Finding>| {
        let systems = distinct(group.iter().map(|finding| finding.subject.system.as_deref())).len();
        let is_of_all =
            |server: &String| systems == report.targets.iter().filter(|it| it.server == *server).count();
        match Some(&group[0]).filter(|_| systems > 1).and_then(server).filter(is_of_all) {
            Some(server) => {
                let severity = group.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Note);
                vec![Finding { severity, subject: Subject::of_server(&server), ..group[0].clone() }]
            }
            None => group,
        }
    };
    groups.into_iter().flat_map(of_group).collect()
}

fn told(report: &Report, code: Code, found: Vec<InStage<'_>>) -> Option<Finding> {
    let mut facts = Facts::default();
    let elsewhere = elsewhere(&found, &mut facts);
    // Of several that are as grave the first.
    let gravest = found
        .into_iter()
        .reduce(|gravest, other| if other.severity > gravest.severity { other } else { gravest })?;
    facts.0.splice(..0, gravest.facts.0);
    Some(Finding::new(
        (code, gravest.severity),
        Subject { stage: Some(gravest.result.stage.id), ..series_subject(report, gravest.series) },
        format!("{}{elsewhere}", gravest.evidence),
        gravest.advice,
        facts,
    ))
}

/// `; found in 3 of 5 holds (1, 2 and 4)`, of rungs where a ladder is all there is; nothing where it is found in one alone.
fn elsewhere(found: &[InStage<'_>], facts: &mut Facts) -> String {
    let [first, _, ..] = found else { return String::new() };
    let series = first.series;
    let all = if series.holds.is_empty() { &series.ladder } else { &series.holds };
    let number = |one: &InStage<'_>| all.iter().position(|id| *id == one.result.stage.id).map(|at| at + 1);
    let mut numbers: Vec<String> = found.iter().filter_map(number).map(|number| number.to_string()).collect();
    let which = if numbers.len() == all.len() {
        "all".to_owned()
    } else {
        if numbers.len() > NUMBERS_SHOWN {
            numbers.truncate(NUMBERS_SHOWN - 1);
            numbers.push("others".to_owned());
        }
        list(&numbers)
    };
    let stages = match first.result.stage.kind {
        StageKind::Ladder => "rungs",
        _ if first.result.stage.pass => "passes",
        _ => "holds",
    };
    let found_in = facts.count("found_in", found.len() as u64);
    format!("; found in {found_in} of {} {stages} ({which})", facts.count(stages, all.len() as u64))
}
