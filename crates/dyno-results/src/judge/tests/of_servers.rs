//! What is the same of all systems of a server is told by codes and facts; no sentence decides it.

use super::*;
use crate::document::Lost;
use crate::event::{Check, Data, SettingFacts, Settings, Target, TargetLost};
use crate::fixture::target;

const SYSTEMS: [&str; 2] = ["heap", "columnar"];

/// Two systems on one server. Of the second something else is told, if they are to differ.
fn of_one_server(differ: bool) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for name in SYSTEMS {
        fixture.push(Event::Target(Target { server: "one".to_owned(), ..target(name) }));
    }
    let mut report = fold(&fixture.events);
    let data = clean_report().found.remove(0);
    for name in SYSTEMS {
        let target = name.to_owned();
        let is_other = differ && name == SYSTEMS[1];
        let either = |one: &str, other: &str| if is_other { other } else { one }.to_owned();
        report.settings.push(Settings {
            target: target.clone(),
            rows: vec![setting("shared_buffers", &either("6GB", "7GB"), true, false)],
            facts: SettingFacts {
                durable_by: Some("fsync is on".to_owned()),
                durability_details: vec![either("wal_level replica", "wal_level minimal")],
                ..SettingFacts::default()
            },
        });
        report.server_changes.push(ServerChanged {
            target: target.clone(),
            restarted: false,
            by_hook: false,
            changes: vec![ServerChange {
                what: "work_mem".to_owned(),
                before: Some("4MB".to_owned()),
                after: Some(either("8MB", "16MB")),
                decides: false,
            }],
        });
        report.found.push(Data {
            target: target.clone(),
            workload: either("tpcb", "ycsb"),
            missing_indexes: vec!["index a_k of a".to_owned()],
            ..data.clone()
        });
        let detail = either("nobody looked", "the table is not there");
        report.checks.push(Check { target: target.clone(), detail, ..check("rows", None) });
        let lost = TargetLost { target, stage: None, reason: "gone".to_owned() };
        report.lost.push(Lost { at_s: 3.0, lost });
    }
    report
}

fn without_texts(findings: Vec<Finding>) -> Vec<Finding> {
    let x = || "x".to_owned();
    findings.into_iter().map(|finding| Finding { evidence: x(), advice: x(), ..finding }).collect()
}

#[test]
fn what_is_of_a_server_is_decided_by_facts() {
    for (differ, count) in [(false, 1), (true, 2)] {
        let report = of_one_server(differ);
        let found: Vec<Finding> = JUDGES.iter().flat_map(|(_, judge)| judge(&report)).collect();
        let told = gathered::of_servers(&report, found.clone());
        let silent = gathered::of_servers(&report, without_texts(found));
        assert_eq!(without_texts(told), silent);
        let of = |code| silent.iter().filter(|it| it.code == code && it.subject.target.is_some()).count();
        for code in [
            Code::SettingsChanged,
            Code::Restarted,
            Code::IndexMissing,
            Code::Durable,
            Code::DataCheckNotMade,
        ] {
            assert_eq!(of(code), count, "{code:?}, differ: {differ}");
        }
        // Each system that was given up is named.
        assert_eq!(of(Code::Incomplete), 2);
    }
}

#[test]
fn what_is_told_twice_of_one_system_is_not_of_its_server() {
    let mut report = of_one_server(false);
    report.checks[1] = report.checks[0].clone();
    let found = judge(&report).into_iter().filter(|finding| finding.code == Code::DataCheckNotMade);
    let about: Vec<_> = found.map(|finding| finding.subject.system).collect();
    assert_eq!(about, [Some("heap".to_owned()), Some("heap".to_owned())]);
}
