//! `response-limit`: response times were longer than the workload allows.

use super::evidence::{headlines, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult, TypeResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;
use crate::words::list;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "take fewer clients or a lower rate until the limits are kept: by the workload's own rules its figures count only then";
    let stages = headlines(report);
    gather_alike(report, (Code::ResponseLimit, Severity::Doubt, advice), stages, |_, result, facts| {
        evidence(result, facts)
    })
}

fn evidence(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let broken: Vec<String> = result.by_type.iter().flat_map(|of_type| of_one(of_type, facts)).collect();
    (!broken.is_empty()).then(|| format!("in {} {}", stage_name(result), list(&broken)))
}

/// `p90 of payment was 6.1 s, over its limit of 5.0 s`
fn of_one(of_type: &TypeResult, facts: &mut Facts) -> Vec<String> {
    let mut broken = Vec::new();
    for limit in of_type.response_limits.iter().filter(|limit| limit.kept == Some(false)) {
        let Some(found_us) = limit.found_us else { continue };
        let percentile = facts.mean("percentile", limit.percentile);
        let name = facts.name("transaction", &of_type.name);
        let found = facts.us("response_time", found_us);
        let most = facts.us("limit", limit.limit_us);
        broken.push(format!("p{percentile} of {name} was {found}, over its limit of {most}"));
    }
    broken
}
