//! Judges a run: how far its numbers can be believed, and why. One rule a file, no state; the table of their codes is in
//! `finding.rs`.
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
mod response_limit;
mod restarted;
mod saturated;
pub(crate) mod settings_changed;
mod shared_host;
mod spilling;
mod stats_missing;
mod too_short;
mod unpaired;

use std::collections::HashMap;

use self::When::{Always, AtTheEnd};
pub use self::data_check::{DATA_AFTER_LOAD, DATA_UNKNOWN};
pub use self::durability::only_reads;
pub use self::errors::OUTLASTED;
use crate::document::Report;
use crate::event::{Code, Finding, Severity};
use crate::finding::Scope;

/// What a rule finds in a report.
type Judge = fn(&Report) -> Vec<Finding>;

/// When a rule may speak.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Always,
    /// What it tells may still change while a run goes on.
    AtTheEnd,
}

/// Every rule, in the order in which findings of equal weight are shown.
const JUDGES: &[(When, Judge)] = &[
    (Always, data_check::judge),
    (AtTheEnd, answers::judge),
    (Always, plan_changed::judge),
    (Always, incomplete::judge),
    (Always, restarted::judge),
    (Always, errors::judge),
    (Always, no_work::judge),
    (Always, durability::judge),
    (Always, driver_bound::judge),
    (Always, shared_host::judge),
    (Always, noisy_host::judge),
    (AtTheEnd, noisy_host::judge_unknown),
    (AtTheEnd, peak_not_reached::judge),
    (Always, rate_not_met::judge),
    (Always, response_limit::judge),
    (Always, pool_bound::judge),
    (AtTheEnd, unpaired::judge),
    (AtTheEnd, noisy::judge),
    (AtTheEnd, too_short::judge),
    (Always, contention::judge),
    (Always, cached::judge),
    (Always, cold_not_cold::judge),
    (Always, spilling::judge),
    (Always, stats_missing::judge),
    (Always, index_missing::judge),
    (Always, saturated::judge),
    (Always, closed_loop::judge),
    (Always, settings_changed::judge),
];

/// Findings of a run that goes on, the gravest first: what only its end can tell is left out.
pub fn judge_so_far(report: &Report) -> Vec<Finding> {
    by(JUDGES.iter().filter(|(when, _)| *when == Always), report)
}

/// All findings of a run, the gravest first. Findings that the report already holds play no part. A run that is
/// about to end is judged by its [`report_ending`](crate::fold::Fold::report_ending): otherwise it counts as killed.
pub fn judge(report: &Report) -> Vec<Finding> {
    by(JUDGES.iter(), report)
}

fn by<'a>(judges: impl Iterator<Item = &'a (When, Judge)>, report: &Report) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        judges.flat_map(|(_, judge)| gathered::of_servers(report, judge(report))).collect();
    debug_assert!(
        findings.iter().all(|finding| finding.is_of(Scope::Run)),
        "no rule for one of {findings:?}"
    );
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    number_remedies(&mut findings);
    findings
}

/// Says which of them have the same advice.
fn number_remedies(findings: &mut [Finding]) {
    let mut advices: HashMap<(Code, Severity), Vec<String>> = HashMap::new();
    for finding in findings {
        let known = advices.entry((finding.code, finding.severity)).or_default();
        let place = known.iter().position(|advice| *advice == finding.advice);
        finding.remedy = place.unwrap_or(known.len()) as u32;
        if place.is_none() {
            known.push(finding.advice.clone());
        }
    }
}

#[cfg(test)]
mod tests;
