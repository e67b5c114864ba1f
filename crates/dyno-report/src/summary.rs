//! The final table of a run, from its report alone: target, data, ladders with their peaks, holds, verification
//! and findings. It holds no opinion of its own; what the report does not know is shown as unknown.

mod series;

use std::collections::BTreeMap;
use std::path::Path;

use dyno_results::document::Report;
use dyno_results::event::{Check, Finding, Outcome, Severity};

use crate::format;
use crate::subject;
use crate::terminal::Terminal;
use crate::text::{DOT, Paint, Sheet, pad_end, uncoloured, visible, width, wrap};

/// Notices that are shown in full; more of them are counted.
const NOTICES_MAX: usize = 10;
/// Below this width evidence goes under the finding's code instead of beside it.
const EVIDENCE_ROOM_MIN: usize = 40;

/// Draws the report as text, a newline at its end. No line is wider than the terminal but for the path of the
/// report, which stays whole so that it can be copied.
#[must_use]
pub fn render(report: &Report, report_path: Option<&Path>, terminal: Terminal) -> String {
    let paint = Paint { color: terminal.color };
    let labels = report.series.iter().map(|series| series.name.as_str());
    let mut sheet = Sheet::new(terminal.width, paint, labels);
    incomplete(report, &mut sheet);
    targets(report, &mut sheet);
    prepare(report, &mut sheet);
    series::rows(report, &mut sheet);
    checks(&report.checks, &mut sheet);
    notices(report, &mut sheet);
    findings(&report.findings, &mut sheet);
    ending(report, report_path, &mut sheet);
    sheet.into_lines().join("\n") + "\n"
}

/// Draws findings alone, the gravest first, a newline at the end.
#[must_use]
pub fn render_findings(findings: &[Finding], terminal: Terminal) -> String {
    let mut sheet = Sheet::new(terminal.width, Paint { color: terminal.color }, []);
    self::findings(findings, &mut sheet);
    sheet.into_lines().join("\n") + "\n"
}

fn incomplete(report: &Report, sheet: &mut Sheet) {
    if report.run.outcome == Outcome::Complete {
        return;
    }
    let reason = report.run.reason.as_deref().map_or("the reason is unknown".into(), visible);
    let text = format!(
        "INCOMPLETE: {reason}; what was measured in {} is shown",
        format::duration_s(report.run.seconds)
    );
    sheet.paragraph("run", &text, Paint::bad);
}

fn targets(report: &Report, sheet: &mut Sheet) {
    if report.targets.is_empty() {
        sheet.row("target", format::UNKNOWN);
    }
    for target in &report.targets {
        let mut text = subject::target(target, &report.hosts);
        if report.targets.len() > 1 {
            text = format!("{}: {text}", visible(&target.name));
        }
        sheet.paragraph("target", &text, uncoloured);
    }
    if let Some(text) = subject::driver(&report.targets, &report.hosts) {
        sheet.paragraph("driver", &text, uncoloured);
    }
}

/// One line for each workload's data, with the time that making it took.
fn prepare(report: &Report, sheet: &mut Sheet) {
    let mut seconds: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for step in &report.prepare {
        *seconds.entry((&step.target, &step.workload)).or_default() += step.seconds;
    }
    for data in &report.data {
        let took = match seconds.remove(&(data.target.as_str(), data.workload.as_str())) {
            Some(seconds) => format::duration_s(seconds),
            None => "as found".to_owned(),
        };
        let mut text = subject::data(data);
        if report.targets.len() > 1 {
            text = format!("{}: {text}", visible(&data.target));
        }
        beside(sheet, "prepare", &text, &took);
    }
    // Preparation that was stopped before its data could be looked at.
    for ((target, workload), took) in seconds {
        let text = format!("{} on {} · size unknown", visible(workload), visible(target));
        beside(sheet, "prepare", &text, &format::duration_s(took));
    }
}

/// A text with something short at the right edge, or behind it where the line is too narrow for both.
fn beside(sheet: &mut Sheet, label: &str, text: &str, right: &str) {
    /// A right edge further out than this is no longer seen as part of the line.
    const EDGE_MAX: usize = 80;
    let edge = sheet.room().min(EDGE_MAX);
    if width(text) + 2 + width(right) <= edge {
        let padded = pad_end(text, edge - width(right));
        let right = sheet.paint.faint(right);
        sheet.row(label, &format!("{padded}{right}"));
    } else {
        sheet.paragraph(label, &format!("{text}{DOT}{right}"), uncoloured);
    }
}

/// Passed checks together, then each that failed or could not be made on lines of its own.
fn checks(checks: &[Check], sheet: &mut Sheet) {
    let mut label = "verify";
    if checks.is_empty() {
        sheet.row(label, "nothing was checked");
    }
    let passed: Vec<_> = checks
        .iter()
        .filter(|check| check.passed == Some(true))
        .map(|check| visible(&check.detail))
        .collect();
    if !passed.is_empty() {
        sheet.paragraph(label, &passed.join(DOT), uncoloured);
        label = "";
    }
    for check in checks {
        let name = visible(&check.name);
        let detail = visible(&check.detail);
        match check.passed {
            Some(true) => continue,
            Some(false) => {
                let expected = check.expected.as_deref().map_or(format::UNKNOWN.into(), visible);
                let found = check.found.as_deref().map_or(format::UNKNOWN.into(), visible);
                let text = format!("FAILED {name}: {detail} (expected {expected}, found {found})");
                sheet.paragraph(label, &text, Paint::bad);
            }
            None => sheet.paragraph(label, &format!("not checked: {name}: {detail}"), Paint::doubt),
        }
        label = "";
    }
}

fn notices(report: &Report, sheet: &mut Sheet) {
    let mut label = "notice";
    for notice in report.notices.iter().take(NOTICES_MAX) {
        let about = notice.target.as_ref().filter(|_| report.targets.len() > 1);
        let about = about.map_or(String::new(), |target| format!("{}: ", visible(target)));
        sheet.paragraph(label, &format!("{about}{}", visible(&notice.text)), uncoloured);
        label = "";
    }
    if report.notices.len() > NOTICES_MAX {
        let more = report.notices.len() - NOTICES_MAX;
        sheet.row("", &format!("and {more} more in the report"));
    }
}

fn findings(findings: &[Finding], sheet: &mut Sheet) {
    if findings.is_empty() {
        sheet.row("findings", "none");
        return;
    }
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let severity_width =
        sorted.iter().map(|finding| severity(finding.severity).0.len()).max().unwrap_or(0) + 2;
    let code_width = sorted.iter().map(|finding| width(&visible(&finding.code))).max().unwrap_or(0) + 2;
    let indent = severity_width + code_width;
    let stacked = indent + EVIDENCE_ROOM_MIN > sheet.room();
    let indent = if stacked { 2 } else { indent };
    for (index, finding) in sorted.into_iter().enumerate() {
        let (word, paint) = severity(finding.severity);
        let head = format!(
            "{}{}",
            paint(sheet.paint, &pad_end(word, severity_width)),
            pad_end(&visible(&finding.code), code_width)
        );
        let about = finding.about.as_deref().map_or(String::new(), |about| format!("{}: ", visible(about)));
        let room = sheet.room().saturating_sub(indent);
        let evidence = wrap(&format!("{about}{}", visible(&finding.evidence)), room);
        let advice = wrap(&visible(&finding.advice), room.saturating_sub(2));
        let mut label = if index == 0 { "findings" } else { "" };
        let mut head = Some(head);
        if stacked {
            sheet.row(label, &head.take().unwrap_or_default());
            label = "";
        }
        for line in evidence {
            let lead = head.take().unwrap_or_else(|| " ".repeat(indent));
            sheet.row(label, &format!("{lead}{line}"));
            label = "";
        }
        for (position, line) in advice.iter().filter(|line| !line.is_empty()).enumerate() {
            let arrow = if position == 0 { "→ " } else { "  " };
            let text = sheet.paint.faint(&format!("{arrow}{line}"));
            sheet.row("", &format!("{}{text}", " ".repeat(indent)));
        }
    }
}

/// The word for a severity and its colour.
pub(crate) fn severity(severity: Severity) -> (&'static str, fn(Paint, &str) -> String) {
    match severity {
        Severity::Note => ("note", Paint::faint),
        Severity::Doubt => ("doubt", Paint::doubt),
        Severity::Invalid => ("invalid", Paint::bad),
    }
}

fn ending(report: &Report, report_path: Option<&Path>, sheet: &mut Sheet) {
    let run = &report.run;
    if !run.command.is_empty() {
        sheet.paragraph("command", &visible(&run.command.join(" ")), Paint::faint);
    }
    let text = format!("run {}{DOT}{}", visible(&run.name), format::duration_s(run.seconds));
    match report_path {
        Some(path) => {
            sheet.whole("report", &visible(&path.to_string_lossy()));
            let text = sheet.paint.faint(&text);
            sheet.row("", &text);
        }
        None => sheet.row("report", &text),
    }
}
