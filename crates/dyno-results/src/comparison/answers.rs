//! Whether the sides' queries returned the same.

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
    let others = kept(other);
    let against = |one: &'a QueryAnswer| {
        let other = others.iter().find(|it| it.query == one.query).filter(|it| are_comparable(one, it))?;
        match compare_stored(one, other) {
            Compared::Other(differs) => Some((one.query.as_str(), differs)),
            Compared::Alike | Compared::Varies(_) => None,
        }
    };
    kept(base).into_iter().filter_map(against).collect()
}

/// The answers of a side, each query once.
fn kept<'a>(side: &[(&'a Member, &'a Series)]) -> Vec<&'a QueryAnswer> {
    let mut found: Vec<&QueryAnswer> = Vec::new();
    for (member, series) in side {
        let all = member.report().answers.iter();
        for it in all.filter(|it| it.target == member.target && it.series == series.name) {
            if !found.iter().any(|known| known.query == it.answer.query) {
                found.push(&it.answer);
            }
        }
    }
    found
}
