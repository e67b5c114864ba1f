//! What differs between the sides so that a ratio would be taken for one of the databases and is none: the finding
//! `not-comparable`, one for each such thing, with both values.
//!
//! Pure, as findings are. A thing that is unknown on every side is no difference; known on one and unknown on another
//! it is a doubt.

mod data;
mod load;
mod plans;
mod queries;
mod repeats;
mod server;
mod trust;

use super::document::Difference;
use super::sections::SharedParts;
use super::side::{Member, Side};
use crate::event::{Code, Fact, FactValue, Facts, Finding, Severity, Subject};
use crate::finding::Scope;
use crate::words::{distinct, list};

/// What a comparison of the thing comes to where it differs.
struct Aspect {
    /// `scale`: names the difference for machines and begins the sentence for readers.
    name: &'static str,
    severity: Severity,
    advice: &'static str,
}

/// All differences that matter, the gravest first; those of plans are behind all that make sides not comparable.
pub(super) fn differences(sides: &[Side], shared: &[SharedParts<'_>]) -> Vec<Difference> {
    let mut all = data::differences(sides);
    all.extend(shared.iter().flat_map(|shared| load::differences(sides, shared)));
    all.extend(server::differences(sides));
    all.extend(trust::differences(sides, shared));
    all.sort_by_key(|difference| std::cmp::Reverse(difference.severity));
    all.extend(shared.iter().filter_map(|shared| plans::differences(sides, shared)));
    all
}

pub(super) fn finding(difference: &Difference) -> Finding {
    // One for each side, in their order.
    let values = difference.values.iter().map(|value| Fact {
        measure: difference.aspect.into(),
        value: FactValue::Name { text: value.as_deref().unwrap_or("unknown").to_owned() },
    });
    let subject =
        Subject { about: difference.series.clone(), series: difference.series.clone(), ..Subject::default() };
    let rule = (difference.code, difference.severity);
    let finding =
        Finding::new(rule, subject, difference.text.clone(), difference.advice, Facts(values.collect()));
    debug_assert!(finding.is_of(Scope::Comparison), "no rule for {finding:?}");
    finding
}

/// A text for each side: `8`, or `8 and 16` where its own runs differ. `None` where none of them knows.
fn values(sides: &[Side], of: impl Fn(&Member) -> Option<String>) -> Vec<Option<String>> {
    sides.iter().map(|side| joined(side.members.iter().filter_map(&of))).collect()
}

/// The different ones of these, in a sentence.
fn joined(values: impl Iterator<Item = String>) -> Option<String> {
    let distinct = distinct(values);
    (!distinct.is_empty()).then(|| list(&distinct))
}

/// A difference where the sides have not all the same value.
fn unequal(sides: &[Side], aspect: &Aspect, values: Vec<Option<String>>) -> Option<Difference> {
    let first = values.first()?;
    if values.iter().all(|value| value == first) {
        return None;
    }
    let mut difference = told(sides, aspect, values);
    let known: Vec<&String> = difference.values.iter().flatten().collect();
    if known.windows(2).all(|pair| pair[0] == pair[1]) {
        // All that is known agrees, and the rest may.
        difference.severity = difference.severity.min(Severity::Doubt);
    }
    Some(difference)
}

/// As [`unequal`]; a side to which the thing does not apply, or of which it is not known, is no difference.
fn unequal_where_known(sides: &[Side], aspect: &Aspect, values: Vec<Option<String>>) -> Option<Difference> {
    let (present, known): (Vec<&Side>, Vec<Option<String>>) = sides
        .iter()
        .zip(&values)
        .filter(|(_, value)| value.is_some())
        .map(|(side, value)| (side, value.clone()))
        .unzip();
    let present: Vec<Side> = present.into_iter().cloned().collect();
    let difference = unequal(&present, aspect, known)?;
    Some(Difference { values, ..difference })
}

/// No more than a note where the products differ, and with them this.
fn noted_among_products(difference: Option<Difference>, same_products: bool) -> Option<Difference> {
    let severity = |of: Severity| if same_products { of } else { Severity::Note };
    difference.map(|difference| Difference { severity: severity(difference.severity), ..difference })
}

/// `scale: 10 (a, b), 100 (c)`
fn told(sides: &[Side], aspect: &Aspect, values: Vec<Option<String>>) -> Difference {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (side, value) in sides.iter().zip(&values) {
        let value = value.as_deref().unwrap_or("unknown");
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(&side.name),
            None => groups.push((value, vec![&side.name])),
        }
    }
    let groups: Vec<String> =
        groups.iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
    Difference {
        code: Code::NotComparable,
        aspect: aspect.name,
        severity: aspect.severity,
        series: None,
        text: format!("{}: {}", aspect.name, groups.join(", ")),
        values,
        advice: aspect.advice,
    }
}

#[cfg(test)]
#[path = "tests/differences.rs"]
mod tests;
