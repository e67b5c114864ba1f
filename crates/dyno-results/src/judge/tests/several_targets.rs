//! Runs over several targets: who is meant is named, and who was lost takes nothing from the others.

use super::*;
use crate::event::{Data, SettingFacts, Settings, Subject, Target, TargetLost};
use crate::fixture::target;

/// A hold of 10 s on each of `pg` and `my`, one after the other.
fn in_turn(same_host: Option<bool>) -> Fixture {
    let mut fixture = Fixture::started("2026-11-20-1");
    for name in ["pg", "my"] {
        fixture.push(Event::Target(Target { same_host, ..target(name) }));
    }
    for name in ["pg", "my"] {
        fixture.target = name;
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &[1000; 10]));
    }
    fixture
}

fn all(report: &Report, code: &str) -> Vec<Finding> {
    judge(report).into_iter().filter(|finding| finding.code == code).collect()
}

#[test]
fn series_are_named_with_their_targets() {
    let findings = all(&fold(&in_turn(None).events), "closed-loop-latency");
    let about: Vec<_> = findings.iter().filter_map(|finding| finding.subject.about.as_deref()).collect();
    assert_eq!(about, ["pg/write", "my/write"]);
    let subjects = findings.iter().map(|finding| &finding.subject);
    let named: Vec<_> = subjects
        .map(|subject| (subject.target.as_deref(), subject.series.as_deref(), subject.stage))
        .collect();
    assert_eq!(named, [(Some("pg"), Some("write"), Some(0)), (Some("my"), Some("write"), Some(1))]);
}

#[test]
fn a_lost_target_is_named_and_the_others_are_whole() {
    let mut fixture = in_turn(None);
    let id = fixture.start_stage(&FixtureStage::write(StageKind::Hold, 8, &[]));
    fixture.push(Event::TargetLost(TargetLost {
        target: "my".to_owned(),
        stage: Some(id),
        reason: "the server has gone away.".to_owned(),
    }));
    fixture.push(Event::Finished(Finished {
        outcome: Outcome::Incomplete,
        reason: Some("the server has gone away".to_owned()),
        targets_lost: true,
        seconds: 20.0,
    }));
    let report = fold(&fixture.events);
    let findings = all(&report, "incomplete");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].subject.about.as_deref(), findings[0].severity), (Some("my"), Severity::Doubt));
    assert_eq!(
        findings[0].evidence,
        "my was given up 20 s after the run began, in the hold of 0 s at 8 clients: the server has gone away; pg went on"
    );
}

#[test]
fn a_run_that_was_stopped_after_a_loss_is_incomplete_as_well() {
    let mut fixture = in_turn(None);
    fixture.push(Event::TargetLost(TargetLost {
        target: "my".to_owned(),
        stage: None,
        reason: "gone".to_owned(),
    }));
    fixture.target = "pg";
    fixture.start_stage(&FixtureStage::write(StageKind::Hold, 8, &[]));
    fixture.push(Event::Finished(Finished {
        outcome: Outcome::Incomplete,
        reason: Some("interrupted: my".to_owned()),
        targets_lost: false,
        seconds: 20.0,
    }));
    let findings = all(&fold(&fixture.events), "incomplete");
    let about: Vec<_> = findings.iter().map(|finding| finding.subject.about.as_deref()).collect();
    assert_eq!(about, [Some("my"), None]);
    assert!(findings[1].evidence.contains("cut short: pg: the hold of 0 s at 8 clients"), "{findings:?}");
}

#[test]
fn servers_beside_the_driver_are_told_of_one_another() {
    let mut fixture = in_turn(Some(true));
    let roles = ["driver", "pg", "my"].map(str::to_owned).to_vec();
    fixture.push(Event::Host(Host { roles, cpus: Some(2), ..Host::default() }));
    let findings = all(&fold(&fixture.events), "shared-host");
    assert_eq!(findings.len(), 2);
    let told = "driver and pg share 2 processors; the driver took 28% of them; my also ran there, without \
                load, with its memory and its background work";
    assert_eq!(findings[0].evidence, told);
    assert!(findings[1].evidence.starts_with("driver and my share 2 processors"));
}

/// Systems of which the first two are on `one`, and the third is on `two`.
#[test]
fn what_is_of_a_server_is_said_once_for_its_systems() {
    let mut fixture = Fixture::started("2026-11-20-1");
    let systems = [("heap", "one"), ("indexed", "one"), ("other", "two")];
    let roles = ["driver", "heap", "indexed", "other"].map(str::to_owned).to_vec();
    fixture.push(Event::Host(Host { roles, cpus: Some(2), ..Host::default() }));
    for (name, server) in systems {
        let server = server.to_owned();
        fixture.push(Event::Target(Target { same_host: Some(true), server, ..target(name) }));
        let facts = SettingFacts { durable_by: Some("fsync".to_owned()), ..SettingFacts::default() };
        fixture.push(Event::Settings(Settings { target: name.to_owned(), rows: Vec::new(), facts }));
        fixture.push(Event::Data(Data {
            target: name.to_owned(),
            workload: "tpcb".to_owned(),
            scale: None,
            database_bytes: None,
            cache_bytes: None,
            memory_bytes: None,
            tables: Vec::new(),
            caches: std::collections::BTreeMap::new(),
            indirect: None,
            missing_indexes: Vec::new(),
            settings_set: None,
            after: None,
            phase: None,
        }));
    }
    for (name, _) in systems {
        fixture.target = name;
        fixture.play(&FixtureStage::write(StageKind::Hold, 8, &[1000; 10]));
    }
    let report = fold(&fixture.events);
    let about = |report: &Report, code: &str| {
        let found = all(report, code);
        found.into_iter().filter_map(|finding| finding.subject.target).collect::<Vec<_>>()
    };
    assert_eq!(about(&report, "durable"), ["one", "other"]);
    assert_eq!(about(&report, "shared-host"), ["one", "other"]);
    let beside = all(&report, "shared-host").remove(0).evidence;
    assert!(
        beside.starts_with("driver and one share") && beside.contains("; two also ran there"),
        "{beside}"
    );
    // Of each series there is one.
    assert_eq!(about(&report, "closed-loop-latency"), ["heap", "indexed", "other"]);
    let subject = Subject::of_server("one");
    assert_eq!(systems.map(|(name, _)| report.bears_on(&subject, name)), [true, true, false]);
    // Each series has the places of those that weigh on it: the run's, its server's, its system's and its own.
    let findings = judge(&report);
    let judged = report.clone().judged(findings);
    for series in &judged.series {
        let by_place: Vec<&Finding> = series.findings.iter().map(|place| &judged.findings[*place]).collect();
        assert_eq!(by_place, judged.findings_of(series).collect::<Vec<_>>(), "{}", series.target);
        let codes: Vec<&str> = by_place.iter().map(|finding| finding.code.as_str()).collect();
        assert!(
            ["durable", "shared-host", "closed-loop-latency"].iter().all(|code| codes.contains(code)),
            "{codes:?}"
        );
    }

    // One of them differs, and each is named.
    let mut apart = report;
    apart.settings[1].facts.durable_by = Some("full_page_writes".to_owned());
    assert_eq!(about(&apart, "durable"), ["heap", "indexed", "other"]);
}

#[test]
fn servers_on_a_host_of_their_own_are_found_to_share_it() {
    let mut fixture = in_turn(Some(false));
    let roles = ["pg", "my"].map(str::to_owned).to_vec();
    fixture.push(Event::Host(Host { roles, cpus: Some(16), ..Host::default() }));
    let report = fold(&fixture.events);
    let findings = all(&report, "shared-host");
    assert_eq!(findings.len(), 2);
    assert_eq!((findings[0].subject.about.as_deref(), findings[0].severity), (Some("pg"), Severity::Note));
    assert!(
        findings[0].evidence.starts_with("pg and my share 16 processors; my also ran there"),
        "{findings:?}"
    );

    // Under load at the same time they take from each other.
    let mut together = report;
    together.stages[1].start_s = together.stages[0].start_s;
    let findings = all(&together, "shared-host");
    assert_eq!(findings[0].severity, Severity::Doubt);
    assert!(findings[0].evidence.ends_with("; my ran there under load at the same time"), "{findings:?}");
}

#[test]
fn of_many_servers_on_a_host_some_are_named() {
    let mut fixture = in_turn(Some(false));
    let more: Vec<String> = (1..=10).map(|number| format!("more{number}")).collect();
    let roles = ["pg", "my"].map(str::to_owned).into_iter().chain(more.clone()).collect();
    fixture.push(Event::Host(Host { roles, cpus: Some(16), ..Host::default() }));
    let mut report = fold(&fixture.events);
    for name in more {
        let mut target = report.targets[1].clone();
        (target.name, target.server) = (name.clone(), name);
        report.targets.push(target);
    }
    let findings = all(&report, "shared-host");
    assert_eq!(findings.len(), 12);
    let said = &findings[0].evidence;
    let names = "pg, my, more1, more2, more3, more4, more5 and 5 others share 16 processors; my, more1, ";
    assert!(said.starts_with(names) && said.contains("more6 and 4 others also ran there"), "{said}");
}

#[test]
fn servers_apart_share_nothing() {
    let mut fixture = in_turn(Some(false));
    for role in ["pg", "my"] {
        fixture.push(Event::Host(Host { roles: vec![role.to_owned()], cpus: Some(16), ..Host::default() }));
    }
    assert_eq!(all(&fold(&fixture.events), "shared-host"), []);
}
