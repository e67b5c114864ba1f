//! Findings in words, the gravest first. A summary has what is invalid in full, each doubt on one line and of the notes
//! their names; `dyno findings` has all in full. What is found of several targets alike has its advice once.

use dyno_results::event::{Finding, Severity};

use crate::text::{Paint, Sheet, cut, pad_end, uncoloured, visible, width, wrap};

/// Below this width evidence goes under the finding's code instead of beside it.
const EVIDENCE_ROOM_MIN: usize = 40;
/// Stands before the names of the notes.
const NOTES: &str = "notes";

/// All of them, with evidence and advice.
pub(super) fn in_full(findings: &[Finding], sheet: &mut Sheet) {
    let groups = groups(findings, |one, other| (one.code, one.remedy) == (other.code, other.remedy));
    let columns = Columns::of(&groups);
    let mut label = begin(findings, sheet);
    for group in &groups {
        full(group, &columns, &mut label, sheet);
    }
}

/// What a reader of the figures must know at once, and how the rest is seen: short, so that the figures stay in sight.
pub(super) fn in_short(findings: &[Finding], run: &str, sheet: &mut Sheet) {
    let groups = groups(findings, |one, other| one.code == other.code);
    let (grave, notes) = groups.split_at(groups.partition_point(|it| it.severity() > Severity::Note));
    let columns = Columns::of(grave);
    let mut label = begin(findings, sheet);
    for group in grave {
        match group.severity() {
            Severity::Invalid => full(group, &columns, &mut label, sheet),
            Severity::Doubt | Severity::Note => line(group, &columns, &mut label, sheet),
        }
    }
    if !notes.is_empty() {
        let names: Vec<_> = notes.iter().map(|group| group.first.code.as_str()).collect();
        sheet.begin_lead(&sheet.paint.faint(NOTES), columns.severity.max(NOTES.len() + 2));
        sheet.paragraph(std::mem::take(&mut label), &names.join(", "), uncoloured);
        sheet.end_lead();
    }
    if !groups.is_empty() {
        sheet.paragraph("", &format!("evidence and advice: dyno findings {}", visible(run)), Paint::faint);
    }
}

/// The label of the first row; where there is none to come, it is drawn here.
fn begin(findings: &[Finding], sheet: &mut Sheet) -> &'static str {
    if findings.is_empty() {
        sheet.row("findings", "none");
    }
    "findings"
}

/// Findings of one kind.
struct Group<'a> {
    first: &'a Finding,
    others: Vec<&'a Finding>,
}

impl Group<'_> {
    fn severity(&self) -> Severity {
        self.first.severity
    }
}

/// Findings that are alike together, where the first of them stands, the gravest first.
fn groups(findings: &[Finding], alike: impl Fn(&Finding, &Finding) -> bool) -> Vec<Group<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in sorted {
        let same =
            |group: &&mut Group<'_>| group.severity() == finding.severity && alike(group.first, finding);
        match groups.iter_mut().find(same) {
            Some(group) => group.others.push(finding),
            None => groups.push(Group { first: finding, others: Vec::new() }),
        }
    }
    groups
}

/// How wide what stands before the evidence is.
struct Columns {
    severity: usize,
    code: usize,
}

impl Columns {
    fn of(groups: &[Group<'_>]) -> Self {
        let widest = |of: fn(&Group<'_>) -> usize| groups.iter().map(of).max().map_or(0, |width| width + 2);
        Self {
            severity: widest(|group| severity(group.severity()).0.len()),
            code: widest(|group| width(group.first.code.as_str())),
        }
    }

    fn both(&self) -> usize {
        self.severity + self.code
    }

    /// `doubt    shared-host`
    fn head(&self, group: &Group<'_>, paint: Paint) -> String {
        let (word, painted) = severity(group.severity());
        format!("{}{}", painted(paint, &pad_end(word, self.severity)), group.first.code.as_str())
    }
}

/// Evidence of each, and the advice.
fn full(group: &Group<'_>, columns: &Columns, label: &mut &str, sheet: &mut Sheet) {
    let head = columns.head(group, sheet.paint);
    if columns.both() + EVIDENCE_ROOM_MIN > sheet.room() {
        sheet.row(std::mem::take(label), &head);
        sheet.begin_lead("", 2);
    } else {
        sheet.begin_lead(&head, columns.both());
    }
    for finding in std::iter::once(&group.first).chain(&group.others) {
        sheet.paragraph(std::mem::take(label), &said(finding), uncoloured);
    }
    advice(&group.first.advice, sheet);
    sheet.end_lead();
}

/// As much of the first one's evidence as one line has room for, and how many others there are.
fn line(group: &Group<'_>, columns: &Columns, label: &mut &str, sheet: &mut Sheet) {
    let head = pad_end(&columns.head(group, sheet.paint), columns.both());
    let more = match group.others.len() {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    let room = sheet.room().saturating_sub(columns.both() + width(&more));
    sheet.row(std::mem::take(label), &format!("{head}{}{more}", cut(&said(group.first), room)));
}

/// `pg: the evidence`
fn said(finding: &Finding) -> String {
    let about = finding.subject.about.as_deref().map(|about| format!("{}: ", visible(about)));
    format!("{}{}", about.unwrap_or_default(), visible(&finding.evidence))
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
