//! Judges a run: how far its numbers can be believed, and why. One rule a file, a table of rules, no state.
//!
//! A rule is a pure function of the report without its timelines, so that an old run can be judged again and a long one
//! while it goes. Where its evidence is missing a rule stays silent or says so; it never guesses. Codes, thresholds and
//! advice are listed in `docs/findings.md`.

mod cached;
mod closed_loop;
mod contention;
mod data_check;
mod driver_bound;
mod durability;
mod errors;
mod evidence;
mod gathered;
mod incomplete;
mod no_work;
mod noisy;
mod peak_not_reached;
mod pool_bound;
mod rate_not_met;
mod restarted;
mod saturated;
pub(crate) mod settings_changed;
mod shared_host;
mod too_short;

use crate::document::Report;
use crate::event::Finding;

/// A rule: what it finds in a report.
type Rule = fn(&Report) -> Vec<Finding>;

/// Every rule, in the order in which findings of equal weight are shown.
const RULES: &[Rule] = &[
    data_check::judge,
    incomplete::judge,
    restarted::judge,
    errors::judge,
    no_work::judge,
    durability::judge,
    driver_bound::judge,
    shared_host::judge,
    peak_not_reached::judge,
    rate_not_met::judge,
    pool_bound::judge,
    noisy::judge,
    too_short::judge,
    contention::judge,
    cached::judge,
    saturated::judge,
    closed_loop::judge,
    settings_changed::judge,
];

/// All findings of a run, the gravest first. Findings that the report already holds play no part. A run that is
/// about to end is judged by its [`report_ending`](crate::fold::Fold::report_ending): otherwise it counts as killed.
#[must_use]
pub fn judge(report: &Report) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(report)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

#[cfg(test)]
mod tests;
