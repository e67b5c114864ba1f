//! Findings in the summary, the gravest first. What is found of several targets alike has its advice once.

use dyno_results::event::{Finding, Severity};

use crate::text::{Paint, Sheet, pad_end, uncoloured, visible, width, wrap};

/// Below this width evidence goes under the finding's code instead of beside it.
const EVIDENCE_ROOM_MIN: usize = 40;

pub(super) fn rows(findings: &[Finding], sheet: &mut Sheet) {
    let groups = groups(findings);
    if groups.is_empty() {
        sheet.row("findings", "none");
        return;
    }
    let severity_width = findings.iter().map(|f| severity(f.severity).0.len()).max().unwrap_or(0) + 2;
    let code_width = findings.iter().map(|f| width(&visible(&f.code))).max().unwrap_or(0) + 2;
    let beside = severity_width + code_width;
    let stacked = beside + EVIDENCE_ROOM_MIN > sheet.room();
    let mut label = "findings";
    for group in groups {
        let Some(first) = group.first() else { continue };
        let (word, paint) = severity(first.severity);
        let word = paint(sheet.paint, &pad_end(word, severity_width));
        let head = format!("{word}{}", visible(&first.code));
        if stacked {
            sheet.row(std::mem::take(&mut label), &head);
            sheet.begin_lead("", 2);
        } else {
            sheet.begin_lead(&head, beside);
        }
        for finding in &group {
            let about = finding.subject.about.as_deref().map(|about| format!("{}: ", visible(about)));
            let text = format!("{}{}", about.unwrap_or_default(), visible(&finding.evidence));
            sheet.paragraph(std::mem::take(&mut label), &text, uncoloured);
        }
        advice(&first.advice, sheet);
        sheet.end_lead();
    }
}

/// Findings of the same code and advice together, where the first of them stands.
fn groups(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in sorted {
        let alike = |first: &Finding| {
            (first.severity, &first.code, &first.advice) == (finding.severity, &finding.code, &finding.advice)
        };
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| alike(first))) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

fn advice(advice: &str, sheet: &mut Sheet) {
    let lines = wrap(&visible(advice), sheet.room().saturating_sub(2));
    for (position, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        let arrow = if position == 0 { "→ " } else { "  " };
        let text = sheet.paint.faint(&format!("{arrow}{line}"));
        sheet.row("", &text);
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
