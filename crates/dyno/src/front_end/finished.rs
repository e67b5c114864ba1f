//! What dyno says of a front end's run that is stored.

use std::path::Path;

use dyno_results::document::{Percentiles, Report};
use dyno_results::event::{Severity, StageKind};
use dyno_results::format;

/// A few lines beside the other program's report.
pub(super) fn brief(report: &Report, page: Option<&Path>) -> String {
    let mut text = String::new();
    let measured = report.stages.iter().find(|result| result.stage.kind != StageKind::WarmUp);
    let times = measured.and_then(|stage| stage.response.or(stage.service));
    if let Some(times) = &times {
        text.push_str(&format!("dyno: latency {}\n", percentiles(times)));
    }
    // Of a run in which nothing ended well the other program has said why, and there is no figure to doubt.
    let findings = if times.is_some() { &*report.findings } else { &[] };
    let (notes, doubts): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| finding.severity == Severity::Note);
    for finding in doubts {
        let severity = if finding.severity == Severity::Invalid { "invalid" } else { "doubt" };
        text.push_str(&format!("dyno: {severity} {}: {}\n", finding.code.as_str(), finding.evidence));
    }
    if !notes.is_empty() {
        let codes: Vec<_> = notes.iter().map(|finding| finding.code.as_str()).collect();
        text.push_str(&format!("dyno: note {}\n", codes.join(", ")));
    }
    let name = &report.run.name;
    text.push_str(&format!("dyno: stored as {name}; `dyno report {name}` shows it"));
    if let Some(page) = page {
        text.push_str(&format!(", with charts: {}", page.display()));
    }
    text.push('\n');
    text
}

fn percentiles(times: &Percentiles) -> String {
    // One that fewer transactions lie above than one is the maximum by another name.
    let figures = [
        ("p50", times.p50_us, 2),
        ("p90", times.p90_us, 10),
        ("p95", times.p95_us, 20),
        ("p99", times.p99_us, 100),
        ("p99.9", times.p999_us, 1000),
        ("max", times.max_us, 1),
    ];
    let meant = figures.iter().filter(|(_, _, count_min)| times.count >= *count_min);
    meant.map(|(name, us, _)| format!("{name} {}", format::latency_us(*us))).collect::<Vec<_>>().join(", ")
}
