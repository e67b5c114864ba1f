//! Names of systems and targets are only names: with others, every output is the same but for them.

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
use dyno_results::event::{Event, Stamped};
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

/// Every output of the run by its name.
fn outputs(names: [&str; 4], shared: bool) -> Vec<(&'static str, String)> {
    let events = events(names, shared);
    let (mut fold, mut gathering) = (Fold::new(), Gathering::new());
    for stamped in &events {
        fold.add(stamped);
        gathering.add(stamped);
    }
    let report = fold.report();
    let findings = judge(&report);
    let report = report.judged(findings);
    let (mut document, mut table) = (Vec::new(), Vec::new());
    json::write(&report, Layout::Pretty, &mut document).unwrap();
    csv::write(&report.run.started_at, &fold.timelines(), &report.stages, &mut table).unwrap();
    let evidence = Arc::new(gathering.finish());
    let side = |target: &str| Side {
        name: target.to_owned(),
        members: vec![Member { evidence: Arc::clone(&evidence), target: target.to_owned() }],
        series: None,
    };
    let compared = comparison::compare(&[side(names[0]), side(names[1])], 0).unwrap();
    let terminal = || Terminal::plain(120);
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
        let told = outputs(NAMES, shared);
        for others in OTHERS {
            for ((output, told), (_, found)) in told.iter().zip(outputs(others, shared)) {
                let pairs = NAMES.iter().zip(others);
                let expected = pairs.fold(told.clone(), |text, (name, other)| text.replace(name, other));
                let differs = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
                assert_eq!(differs, None, "{output} with {others:?}, shared: {shared}");
                assert_eq!(expected, found, "{output} with {others:?}, shared: {shared}");
            }
        }
    }
}
