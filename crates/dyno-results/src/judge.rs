//! Judges a run: how far its numbers can be believed, and why. One rule a file, a table of rules, no state.
//!
//! A rule is a pure function of the report without its timelines, so that an old run can be judged again and a long one
//! while it goes. Where its evidence is missing a rule stays silent or says so; it never guesses. Codes, thresholds and
//! advice are listed in `docs/findings.md`.

mod answers;
mod cached;
mod closed_loop;
mod cold_not_cold;
mod contention;
mod data_check;
mod driver_bound;
mod durability;
mod errors;
pub(crate) mod evidence;
mod gathered;
mod incomplete;
mod index_missing;
mod no_work;
mod noisy;
mod noisy_host;
mod peak_not_reached;
mod plan_changed;
mod pool_bound;
mod rate_not_met;
mod restarted;
mod saturated;
pub(crate) mod settings_changed;
mod shared_host;
mod spilling;
mod stats_missing;
mod too_short;
mod unpaired;

pub use self::data_check::{DATA_AFTER_LOAD, DATA_UNKNOWN};
pub use self::durability::only_reads;
pub use self::errors::{OUTLASTED, OUTLASTS};
pub(crate) use self::noisy_host::CODE as NOISY_HOST;
use crate::document::Report;
use crate::event::Finding;

/// A rule: what it finds in a report.
type Rule = fn(&Report) -> Vec<Finding>;

/// Every rule, in the order in which findings of equal weight are shown.
const RULES: &[Rule] = &[
    data_check::judge,
    answers::judge,
    plan_changed::judge,
    incomplete::judge,
    restarted::judge,
    errors::judge,
    no_work::judge,
    durability::judge,
    driver_bound::judge,
    shared_host::judge,
    noisy_host::judge,
    noisy_host::judge_unknown,
    peak_not_reached::judge,
    rate_not_met::judge,
    pool_bound::judge,
    unpaired::judge,
    noisy::judge,
    too_short::judge,
    contention::judge,
    cached::judge,
    cold_not_cold::judge,
    spilling::judge,
    stats_missing::judge,
    index_missing::judge,
    saturated::judge,
    closed_loop::judge,
    settings_changed::judge,
];

/// Rules that tell of what may still come while a run goes on.
const OF_THE_END: &[Rule] = &[
    answers::judge,
    noisy_host::judge_unknown,
    peak_not_reached::judge,
    unpaired::judge,
    noisy::judge,
    too_short::judge,
];

/// Findings of a run that goes on, the gravest first: what only its end can tell is left out.
#[must_use]
pub fn judge_so_far(report: &Report) -> Vec<Finding> {
    let of_the_end = |rule: &Rule| OF_THE_END.iter().any(|other| std::ptr::fn_addr_eq(*other, *rule));
    by(RULES.iter().filter(|rule| !of_the_end(rule)), report)
}

/// All findings of a run, the gravest first. Findings that the report already holds play no part. A run that is
/// about to end is judged by its [`report_ending`](crate::fold::Fold::report_ending): otherwise it counts as killed.
#[must_use]
pub fn judge(report: &Report) -> Vec<Finding> {
    by(RULES.iter(), report)
}

fn by<'a>(rules: impl Iterator<Item = &'a Rule>, report: &Report) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        rules.flat_map(|rule| gathered::of_servers(report, rule(report))).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

#[cfg(test)]
mod tests;
