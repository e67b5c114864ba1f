//! Judges a run: how far its numbers can be believed, and why. One rule a file, a table of rules, no state.
//!
//! A rule is a pure function of the report, so that an old run can be judged again. Where its evidence is missing a
//! rule stays silent; it never guesses. Codes, thresholds and advice are listed in `docs/findings.md`.

use crate::document::Report;
use crate::event::Finding;

/// A rule: what it finds in a report.
type Rule = fn(&Report) -> Vec<Finding>;

/// Every rule, in the order in which its findings are shown among findings of equal weight.
const RULES: &[Rule] = &[];

/// All findings of a run, the gravest first. Those that the report already holds play no part.
#[must_use]
pub fn judge(report: &Report) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(report)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}
