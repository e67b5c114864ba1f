//! What was found out about an invariant of a family's data. Pure.

use std::borrow::Cow;

use dyno_results::event::Check;

use dyno_results::format::grouped;

/// A check before it is known on which target and for which workload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub name: Cow<'static, str>,
    /// `None` where it cannot be decided.
    pub passed: Option<bool>,
    pub expected: Option<String>,
    pub found: Option<String>,
    pub detail: String,
}

impl Verdict {
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        passed: bool,
        expected: String,
        found: String,
        detail: String,
    ) -> Self {
        Self { name: name.into(), passed: Some(passed), expected: Some(expected), found: Some(found), detail }
    }

    /// None of what was counted may be.
    pub(crate) fn none(name: impl Into<Cow<'static, str>>, found: u64, detail: String) -> Self {
        Self::new(name, found == 0, "0".to_owned(), grouped(found), detail)
    }

    pub(crate) fn undecided(name: impl Into<Cow<'static, str>>, detail: String) -> Self {
        Self { name: name.into(), passed: None, expected: None, found: None, detail }
    }

    /// Durability as the clients see it: of so many `changes` (`commits`) what was acknowledged is there, and what is
    /// there was asked for; of those of `unknown` outcome any number.
    pub(crate) fn durable(
        name: &'static str,
        changes: &str,
        acknowledged: u64,
        unknown: u64,
        found: i128,
    ) -> Self {
        let (low, high) = (i128::from(acknowledged), i128::from(acknowledged) + i128::from(unknown));
        let of_unknown = match unknown {
            0 => String::new(),
            unknown => format!(" ({} more of unknown outcome)", grouped(unknown)),
        };
        let told = format!("{} {changes} acknowledged{of_unknown}, {} found", grouped(low), grouped(found));
        let detail = if found < low {
            format!("{told}: {} are lost", grouped(low - found))
        } else if found > high {
            format!("{told}: {} too many", grouped(found - high))
        } else {
            told
        };
        Self::new(name, (low..=high).contains(&found), range(low, high), grouped(found), detail)
    }
}

/// `3 to 4`, or only `3`.
pub(crate) fn range(low: i128, high: i128) -> String {
    if low == high { grouped(low) } else { format!("{} to {}", grouped(low), grouped(high)) }
}

/// The checks of a load of `workload` on `target`.
pub(crate) fn checks(target: &str, workload: &str, verdicts: Vec<Verdict>) -> Vec<Check> {
    let check = |verdict: Verdict| Check {
        target: target.to_owned(),
        workload: workload.to_owned(),
        series: None,
        name: verdict.name.into_owned(),
        passed: verdict.passed,
        expected: verdict.expected,
        found: verdict.found,
        detail: verdict.detail,
    };
    verdicts.into_iter().map(check).collect()
}
