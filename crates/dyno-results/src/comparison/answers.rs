//! Whether the sides' queries returned the same.

use std::collections::{HashMap, HashSet};

use super::side::Member;
use crate::answer::{Compared, are_comparable, compare_stored};
use crate::document::Series;
use crate::event::QueryAnswer;

/// The queries whose answers differ between two sides, and in what; in the order of the base. Of each side the first run that kept
/// an answer counts.
pub(super) fn differing<'a>(
    base: &[(&'a Member, &'a Series)],
    other: &[(&'a Member, &'a Series)],
) -> Vec<(&'a str, String)> {
    let others: HashMap<&str, &QueryAnswer> =
        kept(other).into_iter().map(|it| (it.query.as_str(), it)).collect();
    let against = |one: &'a QueryAnswer| {
        let other = others.get(one.query.as_str()).filter(|it| are_comparable(one, it))?;
        match compare_stored(one, other) {
            Compared::Other(differs) => Some((one.query.as_str(), differs)),
            Compared::Alike | Compared::Varies(_) => None,
        }
    };
    kept(base).into_iter().filter_map(against).collect()
}

/// The answers of a side, each query once.
fn kept<'a>(side: &[(&'a Member, &'a Series)]) -> Vec<&'a QueryAnswer> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for (member, series) in side {
        let all = member.report().answers.iter();
        for it in all.filter(|it| it.target == member.target && it.series == series.name) {
            if known.insert(it.answer.query.as_str()) {
                found.push(&it.answer);
            }
        }
    }
    found
}
