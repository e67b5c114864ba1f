//! How far each side can be believed by itself: what its own findings say, and whether it came to its end.

use super::{Aspect, told, unequal, values};
use crate::comparison::document::Difference;
use crate::comparison::sections::SharedParts;
use crate::comparison::side::{Member, Side};
use crate::event::{Code, Outcome, Severity, Subject};
use crate::words::{clause, distinct, list};

const OUTCOME: Aspect = Aspect {
    name: "outcome",
    severity: Severity::Doubt,
    advice: "run again to the end; what was measured until then is compared here",
};
const DYNO: Aspect = Aspect {
    name: "dyno's version",
    severity: Severity::Doubt,
    advice: "another dyno may load or count otherwise: measure both with the same one",
};
const INVALID: Aspect = Aspect {
    name: "figures that must not be used",
    severity: Severity::Invalid,
    advice: "`dyno findings RUN` says why; put that right and run again",
};
const DOUBTS: Aspect = Aspect {
    name: "doubts of one side only",
    severity: Severity::Doubt,
    advice: "`dyno findings RUN` says why; what is in doubt on one side is in doubt in the ratio",
};
const UNEQUAL_DOUBTS: Aspect = Aspect {
    name: "doubts that are notes of another side",
    severity: Severity::Doubt,
    advice: "`dyno findings RUN` says why; all sides have it, and the ratio is in doubt by as much as they differ in it",
};
const SHARED_DOUBTS: Aspect = Aspect {
    name: "doubts of every side",
    severity: Severity::Note,
    advice: "these weigh on all sides alike, if not equally (`dyno findings RUN`)",
};
/// Compared by other rules.
const ELSEWHERE: [Code; 4] =
    [Code::DurabilityOff, Code::DurabilityRelaxed, Code::DurabilityImplausible, Code::Incomplete];

pub(super) fn differences(sides: &[Side], shared: &[SharedParts<'_>]) -> Vec<Difference> {
    let mut found = vec![
        outcome(sides),
        unequal(sides, &DYNO, values(sides, |member| Some(member.report().run.dyno_version.clone()))),
    ];
    for shared in [None].into_iter().chain(shared.iter().map(Some)) {
        found.push(invalid(sides, shared));
        found.extend(doubts(sides, shared));
    }
    found.into_iter().flatten().collect()
}

/// A doubt even where no side came to its end.
fn outcome(sides: &[Side]) -> Option<Difference> {
    let outcome = |member: &Member| {
        let report = member.report();
        if let Some(lost) = report.lost.iter().find(|lost| lost.lost.target == member.target) {
            return Some(format!("given up in mid-run, {}", clause(&lost.lost.reason)));
        }
        Some(match report.run.outcome {
            Outcome::Complete => "complete".to_owned(),
            Outcome::Incomplete => {
                format!(
                    "incomplete, {}",
                    report.run.reason.as_deref().map_or("the reason is unknown", clause)
                )
            }
        })
    };
    let is_whole = |member: &Member| {
        let report = member.report();
        let is_lost = report.lost.iter().any(|lost| lost.lost.target == member.target);
        report.run.outcome == Outcome::Complete && !is_lost
    };
    let all_whole = sides.iter().flat_map(|side| &side.members).all(is_whole);
    (!all_whole).then(|| told(sides, &OUTCOME, values(sides, outcome)))
}

/// What must not be used of a series; of all of them, where a finding is of the run or of a target.
fn invalid(sides: &[Side], shared: Option<&SharedParts<'_>>) -> Option<Difference> {
    let names = |codes: Vec<Code>| codes.into_iter().map(|code| code.as_str().to_owned()).collect();
    let codes: Vec<Vec<String>> = own(sides, shared, Severity::Invalid).into_iter().map(names).collect();
    of(sides, shared, &INVALID, &codes)
}

/// As [`invalid`], of what is in doubt: on some sides only, beside a note of it on the others, and on every side.
fn doubts(sides: &[Side], shared: Option<&SharedParts<'_>>) -> [Option<Difference>; 3] {
    let doubts = own(sides, shared, Severity::Doubt);
    let notes = own(sides, shared, Severity::Note);
    let known = || doubts.iter().zip(&notes);
    let is_shared = |code: &Code| doubts.iter().all(|codes| codes.contains(code));
    let is_told_by_all =
        |code: &Code| known().all(|(doubts, notes)| doubts.contains(code) || notes.contains(code));
    let codes = distinct(doubts.iter().flatten().copied());
    let (common, others): (Vec<Code>, Vec<Code>) = codes.into_iter().partition(is_shared);
    let (unequal, of_some): (Vec<Code>, Vec<Code>) = others.into_iter().partition(is_told_by_all);
    let of_kind = |aspect: &Aspect, wanted: &[Code]| {
        let of_side = |(doubts, notes): (&Vec<Code>, &Vec<Code>)| {
            let told = |code: &Code| match (doubts.contains(code), notes.contains(code)) {
                (true, _) => Some(code.as_str().to_owned()),
                (false, true) => Some(format!("{} as a note", code.as_str())),
                (false, false) => None,
            };
            wanted.iter().filter_map(told).collect()
        };
        of(sides, shared, aspect, &known().map(of_side).collect::<Vec<Vec<String>>>())
    };
    [of_kind(&DOUBTS, &of_some), of_kind(&UNEQUAL_DOUBTS, &unequal), of_kind(&SHARED_DOUBTS, &common)]
}

/// A difference, where any side has a code.
fn of(
    sides: &[Side],
    shared: Option<&SharedParts<'_>>,
    aspect: &Aspect,
    codes: &[Vec<String>],
) -> Option<Difference> {
    codes.iter().any(|codes| !codes.is_empty()).then(|| {
        let told = told(sides, aspect, codes.iter().map(|codes| text(codes)).collect());
        Difference { series: shared.map(|shared| shared.name.to_owned()), ..told }
    })
}

/// Codes of each side that are of the series; without one those of the run and of targets.
fn own(sides: &[Side], shared: Option<&SharedParts<'_>>, severity: Severity) -> Vec<Vec<Code>> {
    codes(sides, shared.map_or(&[], std::slice::from_ref), severity)
        .into_iter()
        .map(|codes| codes.into_iter().filter(|(_, of_series)| *of_series == shared.is_some()))
        .map(|codes| distinct(codes.map(|(code, _)| code)))
        .collect()
}

fn text(codes: &[String]) -> Option<String> {
    Some(if codes.is_empty() { "none".to_owned() } else { list(codes) })
}

/// Codes of this severity that concern each side, with whether they are of a series.
fn codes(sides: &[Side], shared: &[SharedParts<'_>], severity: Severity) -> Vec<Vec<(Code, bool)>> {
    let of_side = |(index, side): (usize, &Side)| {
        let series = |member: &Member| -> Vec<&str> {
            let of_side = shared.iter().flat_map(|shared| shared.sides.get(index).into_iter().flatten());
            let of_member = of_side.filter(|(other, _)| std::ptr::eq(*other, member));
            of_member.map(|(_, series)| series.name.as_str()).collect()
        };
        let codes = side.members.iter().flat_map(|member| {
            let compared = series(member);
            let findings = member.report().findings.iter().filter(|finding| finding.severity == severity);
            let told = findings.filter(move |finding| {
                !ELSEWHERE.contains(&finding.code) && concerns(&finding.subject, member, &compared)
            });
            told.map(|finding| (finding.code, finding.subject.series.is_some()))
        });
        distinct(codes)
    };
    sides.iter().enumerate().map(of_side).collect()
}

/// Whether a finding is of what is compared: of the run, of this target, or of a series that is compared.
fn concerns(subject: &Subject, member: &Member, compared: &[&str]) -> bool {
    member.report().bears_on(subject, &member.target)
        && subject.series.as_ref().is_none_or(|series| compared.contains(&series.as_str()))
}
