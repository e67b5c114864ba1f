//! The final table of a run, from its report alone: target, data, ladders with their peaks, holds, verification
//! and findings; last what stands above the prompt: the comparison of variants, and the figures to quote. It holds no
//! opinion of its own; what the report does not know is shown as unknown.

mod costs;
mod findings;
mod ladder;
mod mix;
pub(crate) mod passes;
mod series;
mod variants;

use std::collections::BTreeMap;
use std::path::Path;

use dyno_results::document::{Report, Series};
use dyno_results::event::{Check, Finding, Outcome};

pub(crate) use self::findings::severity;
use crate::subject::{self, TargetNames};
use crate::terminal::Terminal;
use crate::text::{DOT, Paint, Sheet, pad_end, uncoloured, visible, width};
use dyno_results::format;

/// Notices that are shown in full; more of them are counted.
const NOTICES_MAX: usize = 10;
/// Lines of what a hook said.
const SAID_MAX: usize = 3;

/// Draws the report as text, a newline at its end. No line is wider than the terminal but for the path of the
/// report, which stays whole so that it can be copied.
pub fn render(report: &Report, report_path: Option<&Path>, terminal: Terminal) -> String {
    let paint = Paint { color: terminal.color };
    let labels = report.series.iter().map(|series| series.name.as_str());
    let mut sheet = Sheet::new(terminal.width, paint, labels);
    let names = TargetNames::of(&report.targets);
    incomplete(report, &mut sheet);
    lost(report, &names, &mut sheet);
    targets(report, &names, &mut sheet);
    prepare(report, &names, &mut sheet);
    hooks(report, &names, &mut sheet);
    series::rows(report, &names, &mut sheet);
    verification(report, &names, &mut sheet);
    notices(report, &names, &mut sheet);
    findings::in_short(&report.findings, &report.run.name, &mut sheet);
    if let Some(part) = report.invalid_in_part() {
        let text = format!("invalid in {}; the figures of the others stand", visible(&part));
        sheet.paragraph("", &text, Paint::bad);
    }
    ending(report, report_path, &mut sheet);
    variants::table(report, &mut sheet);
    quotes(report, &mut sheet);
    sheet.into_lines().join("\n") + "\n"
}

/// Draws findings alone, with evidence and advice, the gravest first, a newline at the end.
pub fn render_findings(findings: &[Finding], terminal: Terminal) -> String {
    let mut sheet = Sheet::new(terminal.width, Paint { color: terminal.color }, []);
    findings::in_full(findings, &mut sheet);
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

/// Targets that were given up, with the stage that they were in.
fn lost(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let mut label = "lost";
    for lost in &report.lost {
        let stage = report.stages.iter().find(|stage| Some(stage.stage.id) == lost.lost.stage);
        let during = stage.map_or(String::new(), |stage| {
            let stage = &stage.stage;
            let (series, kind) = (visible(&stage.series), subject::kind(stage.kind));
            format!(" in {series} ({kind}, {})", subject::load(stage))
        });
        let at = format::duration_s(lost.at_s);
        let reason = &lost.lost.reason;
        // The line on the whole run has said why already.
        let reason = if report.run.targets_lost { String::new() } else { format!(": {}", visible(reason)) };
        let text = format!("given up at {at}{during}{reason}");
        names.about(&lost.lost.target, sheet, |sheet| sheet.paragraph(label, &text, Paint::bad));
        label = "";
    }
}

fn targets(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    if report.targets.is_empty() {
        sheet.row("target", format::UNKNOWN);
    }
    let mut label = "target";
    for target in &report.targets {
        let text = subject::target(target, &report.hosts);
        names.about(&target.name, sheet, |sheet| sheet.paragraph(label, &text, uncoloured));
        label = "";
    }
    if let Some(text) = subject::driver(&report.targets, &report.hosts) {
        sheet.paragraph("driver", &text, uncoloured);
    }
}

/// One line for each workload's data, with the time that making it took.
fn prepare(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let mut seconds: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for step in &report.prepare {
        *seconds.entry((&step.target, &step.workload)).or_default() += step.seconds;
    }
    let mut label = "prepare";
    for data in &report.found {
        let took = match seconds.remove(&(data.target.as_str(), data.workload.as_str())) {
            Some(seconds) => format::duration_s(seconds),
            None => "as found".to_owned(),
        };
        names.about(&data.target, sheet, |sheet| beside(sheet, label, &subject::data(data), &took));
        if names.are_several() {
            label = "";
        }
    }
    // Preparation that was stopped before its data could be looked at.
    for ((target, workload), took) in seconds {
        let text = format!("{} on {} · size unknown", visible(workload), visible(target));
        beside(sheet, "prepare", &text, &format::duration_s(took));
    }
}

/// What was done before and after loads, and what could not be.
fn hooks(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let mut label = "hooks";
    for hook in &report.hooks {
        let hook = &hook.hook;
        let paint = if hook.succeeded { uncoloured } else { Paint::bad };
        names.about(&hook.target, sheet, |sheet| {
            sheet.paragraph(label, &subject::hook(hook), paint);
            let said: Vec<&str> = hook.said.iter().flat_map(|said| said.lines()).collect();
            for line in said.iter().skip(said.len().saturating_sub(SAID_MAX)) {
                sheet.paragraph("", &visible(line), Paint::faint);
            }
        });
        label = "";
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

/// The checks, those of each target by themselves.
fn verification(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let has_answers = |series: &Series| {
        series.passes.as_ref().is_some_and(|passes| passes.answers.known + passes.answers.alike > 0)
    };
    if report.checks.is_empty() && report.series.iter().any(has_answers) {
        return;
    }
    if !names.are_several() || report.checks.is_empty() {
        checks(&report.checks.iter().collect::<Vec<_>>(), "verify", sheet);
        return;
    }
    let mut label = "verify";
    for name in names.iter() {
        let own: Vec<&Check> = report.checks.iter().filter(|check| check.target == name).collect();
        names.about(name, sheet, |sheet| checks(&own, label, sheet));
        label = "";
    }
    let of_none = |check: &&Check| !names.iter().any(|name| name == check.target);
    let others: Vec<&Check> = report.checks.iter().filter(of_none).collect();
    if !others.is_empty() {
        checks(&others, "", sheet);
    }
}

/// Passed checks together, then each that failed or could not be made on lines of its own.
fn checks(checks: &[&Check], mut label: &str, sheet: &mut Sheet) {
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
                let shown = |it| Option::map_or(it, format::UNKNOWN.into(), visible);
                let counts = match (check.expected.as_deref(), check.found.as_deref()) {
                    (None, None) => String::new(),
                    (expected, found) => format!(" (expected {}, found {})", shown(expected), shown(found)),
                };
                let text = format!("FAILED {name}: {detail}{counts}");
                sheet.paragraph(label, &text, Paint::bad);
            }
            None => sheet.paragraph(label, &format!("not checked: {name}: {detail}"), Paint::doubt),
        }
        label = "";
    }
}

fn notices(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let mut label = "notice";
    for notice in report.notices.iter().take(NOTICES_MAX) {
        let text = visible(&notice.text);
        match &notice.target {
            Some(target) => names.about(target, sheet, |sheet| sheet.paragraph(label, &text, uncoloured)),
            None => sheet.paragraph(label, &text, uncoloured),
        }
        label = "";
    }
    if report.notices.len() > NOTICES_MAX {
        let more = report.notices.len() - NOTICES_MAX;
        sheet.row("", &format!("and {more} more in the report"));
    }
}

fn ending(report: &Report, report_path: Option<&Path>, sheet: &mut Sheet) {
    let run = &report.run;
    if !run.command.is_empty() {
        sheet.paragraph("command", &visible(&run.command_line()), Paint::faint);
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

/// The figure to quote of each series, or why none: last, where a reader looks first.
fn quotes(report: &Report, sheet: &mut Sheet) {
    for quote in &report.quotes {
        sheet.wide(&format!("quote: {}", visible(&quote.text)), Paint::strong);
    }
}
