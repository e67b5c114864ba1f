//! Names of systems and targets are only names, and the sentences of findings and notices only words: with others, every output is
//! the same but for them.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used)]

mod stream;

use std::path::Path;
use std::sync::Arc;

use dyno_report::json::{self, Layout};
use dyno_report::openmetrics::{self, Exposition, Format};
use dyno_report::terminal::Terminal;
use dyno_report::{compare, csv, summary};
use dyno_results::comparison::{self, Gathering, Member, Side};
use dyno_results::event::{Event, Finding, Stamped};
use dyno_results::fold::Fold;
use dyno_results::judge::judge;
use serde_json::Value;

use self::stream::Plan;

/// Names that occur nowhere else: of two systems, and of the two targets.
const NAMES: [&str; 4] = ["qzkq", "jxw", "tgbv", "rdxy"];
/// The same, as long. A system is called as the other one's target, a name is the beginning of another, and one looks like a
/// path.
const OTHERS: [[&str; 4]; 3] =
    [["a/b1", "a/b", "a/b2", "/a/b"], ["same", "sam", "sa/m", "same"], ["driv", "dri", "driv", "aaaa"]];

/// A run of two systems with these names, on two targets or both on the first.
fn events([first, second, one, two]: [&str; 4], shared: bool) -> Vec<Stamped> {
    let second_server = if shared { one } else { two };
    let plan = Plan { two_targets: true, errors: true, ladder: vec![1, 2, 4], ..Plan::default() };
    let rename = |name: &mut Value| match name.as_str() {
        Some("pg") => *name = first.into(),
        Some("my") => *name = second.into(),
        _ => {}
    };
    let renamed = |stamped: &Stamped| -> Stamped {
        let mut event = serde_json::to_value(stamped).unwrap();
        if event["event"] == "target" {
            event["server"] = if event["name"] == "pg" { one } else { second_server }.into();
            rename(&mut event["name"]);
        }
        for field in ["target", "system"] {
            event.get_mut(field).into_iter().for_each(rename);
        }
        event.get_mut("roles").and_then(Value::as_array_mut).into_iter().flatten().for_each(rename);
        serde_json::from_value(event).unwrap()
    };
    let mut events: Vec<Stamped> = plan.events().iter().map(renamed).collect();
    // The judge finds anew.
    events.retain(|stamped| !matches!(stamped.event, Event::Finding(_)));
    events
}

/// Has the words of each finding, difference and notice read and replaced.
type Reword<'a> = &'a mut dyn FnMut(&mut String);

/// Every output of the run by its name.
fn outputs(names: [&str; 4], shared: bool, width: usize, reword: Reword<'_>) -> Vec<(&'static str, String)> {
    let events = events(names, shared);
    let (mut fold, mut gathering) = (Fold::new(), Gathering::new());
    for stamped in &events {
        fold.add(stamped);
        gathering.add(stamped);
    }
    let report = fold.report();
    let findings = judge(&report);
    let mut report = report.judged(findings);
    // One that has another advice than others of its code.
    let first = report.findings[0].clone();
    report.findings.push(Finding { advice: "something else".to_owned(), remedy: 9, ..first });
    for finding in &mut report.findings {
        reword(&mut finding.evidence);
        reword(&mut finding.advice);
    }
    report.notices.iter_mut().for_each(|notice| reword(&mut notice.text));
    let (mut document, mut table) = (Vec::new(), Vec::new());
    json::write(&report, Layout::Pretty, &mut document).unwrap();
    csv::write(&report.run.started_at, &fold.timelines(), &report.stages, &mut table).unwrap();
    let evidence = Arc::new(gathering.finish());
    let side = |target: &str| Side {
        name: target.to_owned(),
        members: vec![Member { evidence: Arc::clone(&evidence), target: target.to_owned() }],
        series: None,
    };
    let mut compared = comparison::compare(&[side(names[0]), side(names[1])], 0).unwrap();
    for difference in &mut compared.differences {
        reword(&mut difference.text);
        let mut advice = difference.advice.to_owned();
        reword(&mut advice);
        difference.advice = advice.leak();
    }
    for finding in &mut compared.findings {
        reword(&mut finding.evidence);
        reword(&mut finding.advice);
    }
    let terminal = || Terminal::plain(width);
    // In the middle of the run there is a stage under way.
    let mut live = Fold::new();
    events[..events.len() / 2].iter().for_each(|stamped| live.add(stamped));
    vec![
        ("terminal", summary::render(&report, Some(Path::new("report.html")), terminal())),
        ("findings", summary::render_findings(&report.findings, terminal())),
        ("JSON", String::from_utf8(document).unwrap()),
        ("CSV", String::from_utf8(table).unwrap()),
        ("OpenMetrics", openmetrics::render(&Exposition::of(&live), Format::OpenMetrics)),
        ("compare", compare::render(&compared, terminal())),
        ("compare as JSON", serde_json::to_string_pretty(&compared).unwrap()),
    ]
}

#[test]
fn other_names_change_the_names_alone() {
    for shared in [false, true] {
        let told = outputs(NAMES, shared, 120, &mut |_| ());
        for others in OTHERS {
            let with_others = outputs(others, shared, 120, &mut |_| ());
            for ((output, told), (_, found)) in told.iter().zip(with_others) {
                let pairs = NAMES.iter().zip(others);
                let expected = pairs.fold(told.clone(), |text, (name, other)| text.replace(name, other));
                let differs = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
                assert_eq!(differs, None, "{output} with {others:?}, shared: {shared}");
                assert_eq!(expected, found, "{output} with {others:?}, shared: {shared}");
            }
        }
    }
}

#[test]
fn other_words_change_the_words_alone() {
    // However it is wrapped.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for shared in [false, true] {
        let mut texts = Vec::new();
        let told = outputs(NAMES, shared, 120, &mut |text| texts.push(words(text)));
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        // As JSON has them, and cut to a line.
        let quoted = |text: &String| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
        let cut = |text: &String| {
            let ends = text.char_indices().rev().map(|(end, _)| end).take_while(|end| *end > 10);
            ends.map(|end| format!("{}…", &text[..end])).collect::<Vec<_>>()
        };
        let forms = |text: &String| [vec![text.clone(), quoted(text)], cut(text)].concat();
        let forms: Vec<String> = texts.iter().flat_map(forms).collect();
        let without = outputs(NAMES, shared, 120, &mut |text| *text = "x".to_owned());
        for ((output, told), (_, found)) in told.into_iter().zip(without) {
            let expected = forms.iter().fold(words(&told), |told, form| told.replace(form, "x"));
            let found = words(&found);
            let same = expected.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
            let around =
                |text: &str| text.chars().skip(same.saturating_sub(60)).take(160).collect::<String>();
            assert!(expected == found, "{output}: {}\n{}", around(&expected), around(&found));
        }
    }
}
