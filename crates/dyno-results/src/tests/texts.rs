//! Sentences are for readers: with other words in findings and notices, everything that is decided is the same.

use std::sync::Arc;

use serde_json::Value;

use crate::comparison::{Evidence, Member, Side, compare};
use crate::document::Report;
use crate::event::{
    Event, Notice, QueryFailure, SettingFacts, Settings, Severity, StageKind, Stamped, Target,
};
use crate::fixture::{Fixture, FixtureStage, check, target};
use crate::fold::fold;
use crate::judge::judge;
use crate::summary::Doubts;

/// A run of two systems on one server, with findings of every severity, a query that failed and a notice of it.
fn run(name: &str, durable: bool) -> Vec<Stamped> {
    let mut fixture = Fixture::started(name);
    for system in ["pg", "columnar"] {
        fixture.push(Event::Target(Target {
            server: "server".to_owned(),
            same_host: Some(durable),
            ..target(system)
        }));
        let off = || vec!["fsync is off".to_owned()];
        fixture.push(Event::Settings(Settings {
            target: system.to_owned(),
            rows: Vec::new(),
            facts: SettingFacts {
                durable_by: durable.then(|| "fsync is on".to_owned()),
                crash_corrupts: if durable { Vec::new() } else { off() },
                ..SettingFacts::default()
            },
        }));
    }
    for system in ["pg", "columnar"] {
        fixture.target = system;
        for clients in [1, 2, 4] {
            let tps = [u64::from(clients) * 100; 10];
            fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &tps));
        }
        fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[10, 700, 20, 900, 30]));
    }
    let (target, series, query) = ("columnar".to_owned(), "write".to_owned(), "Q1".to_owned());
    let said = "no such function".to_owned();
    fixture.push(Event::QueryFailure(QueryFailure { target, series, query, said, over_limit: false }));
    let text = "Q1 failed: no such function; durability-off".to_owned();
    fixture.push(Event::Notice(Notice { target: Some("columnar".to_owned()), stage: None, text }));
    fixture.push(Event::Check(check("history-holds-every-commit", Some(durable))));
    for finding in judge(&fold(&fixture.events)) {
        fixture.push(Event::Finding(finding));
    }
    fixture.finish();
    fixture.events
}

/// The run with an `x` for every evidence, advice and notice, and what stood there, the longest first.
fn without_words(events: &[Stamped]) -> (Vec<Stamped>, Vec<String>) {
    let mut events = events.to_vec();
    let mut texts = Vec::new();
    for stamped in &mut events {
        let said = match &mut stamped.event {
            Event::Finding(finding) => vec![&mut finding.evidence, &mut finding.advice],
            Event::Notice(notice) => vec![&mut notice.text],
            _ => Vec::new(),
        };
        texts.extend(said.into_iter().map(|text| std::mem::replace(text, "x".to_owned())));
    }
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    (events, texts)
}

/// Everything that is told of a run and of its comparison with another, from the findings that they hold.
fn told(runs: &[Vec<Stamped>; 2]) -> Vec<Value> {
    let judged = |events: &Vec<Stamped>| {
        let report = fold(events);
        let findings = report.findings.clone();
        report.judged(findings)
    };
    let reports: Vec<Report> = runs.iter().map(judged).collect();
    let side = |(report, name): (&Report, &str)| Side {
        name: name.to_owned(),
        members: vec![Member {
            evidence: Arc::new(Evidence::of_report(report.clone())),
            target: "pg".to_owned(),
        }],
        series: None,
    };
    let sides: Vec<Side> = reports.iter().zip(["a", "b"]).map(side).collect();
    let mut told = vec![serde_json::to_value(compare(&sides, 0).unwrap()).unwrap()];
    for report in &reports {
        assert!(report.variants.is_some() && !report.quotes.is_empty());
        told.push(serde_json::to_value(report).unwrap());
        told.push(serde_json::to_value(Doubts::of(report)).unwrap());
    }
    told
}

/// Puts an `x` in the place of each of the texts, in whatever sentence they stand.
fn replace(value: &mut Value, texts: &[String]) {
    match value {
        Value::String(said) => {
            *said = texts.iter().fold(said.clone(), |said, text| said.replace(text.as_str(), "x"));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, texts)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, texts)),
        _ => {}
    }
}

#[test]
fn nothing_is_decided_by_the_words_of_a_finding_or_a_notice() {
    let runs = [run("a", true), run("b", false)];
    let all = runs.iter().flatten().filter_map(|stamped| match &stamped.event {
        Event::Finding(finding) => Some(finding.severity),
        _ => None,
    });
    let severities: Vec<Severity> = all.collect();
    for severity in [Severity::Invalid, Severity::Doubt, Severity::Note] {
        assert!(severities.contains(&severity), "{severities:?}");
    }
    let [(a, of_a), (b, of_b)] = [without_words(&runs[0]), without_words(&runs[1])];
    let mut texts = [of_a, of_b].concat();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut expected = told(&runs);
    expected.iter_mut().for_each(|value| replace(value, &texts));
    let found = told(&[a, b]);
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found);
    }
    assert!(found[0].to_string().contains("durability"), "the sides differ in what findings say");
}
