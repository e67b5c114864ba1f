//! docs/events.md says what the types say: every kind of event has its section, every field is named in it, and its
//! examples are events.

use std::collections::{BTreeMap, BTreeSet};

use dyno_results::event::{
    Arrival, Check, Code, Cold, Data, Distribution, EarlierTime, Embedded, Event, Fact, FactUnit, FactValue,
    Facts, Figure, Finding, Finished, Hook, HookTime, Host, Interval, LogSyncs, NotDone, Notice, Outcome,
    OwnCount, Per, Pool, PrepareStep, Queries, QueriesRunning, ResponseLimit, RunningQuery, Sample,
    ServerChanged, Setting, SettingFacts, Settings, Severity, Stage, StageFinished, StageKey, StageKind,
    Stamped, Started, Subject, Table, Target, TargetLost, TypeInterval,
};
use dyno_results::plan::{Plan, PlanNode};
use dyno_results::spec::RunSpec;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../docs/events.md");

/// Fields whose own fields are the user's, the server's or described elsewhere.
const FREE: [&str; 4] = ["spec", "resolved", "values", "errors"];

/// One event of each kind, with everything known that can be. A new field must be added here, or this does not compile.
fn every_event() -> Vec<Event> {
    let text = || "x".to_owned();
    let some = || Some(text());
    vec![
        Event::Started(Started {
            run: text(),
            dyno_version: text(),
            started_at: text(),
            command: vec![],
            spec: RunSpec::default(),
            resolved: RunSpec::default(),
            seed: 0,
        }),
        Event::Target(Target {
            name: text(),
            server: text(),
            url: text(),
            product: some(),
            version: some(),
            version_text: some(),
            tls: some(),
            same_host: Some(true),
            embedded: Some(Embedded { profile: text(), source: text(), unsafe_profile: false }),
            connections_max: Some(1),
            host_source: some(),
            isolation: some(),
            disk_kind: some(),
            in_process: true,
        }),
        Event::Host(Host::default()),
        Event::Settings(Settings {
            target: text(),
            rows: vec![Setting {
                name: text(),
                value: text(),
                unit: some(),
                default: some(),
                source: some(),
                changed: false,
                durability: false,
            }],
            facts: SettingFacts {
                crash_corrupts: vec![text()],
                crash_loses_last: vec![text()],
                durable_by: some(),
                durability_details: vec![text()],
                durability_advice: some(),
                log_written_through: true,
                bypasses_system_cache: true,
                checkpoint_setting: some(),
            },
        }),
        Event::Data(Data {
            target: text(),
            workload: text(),
            scale: Some(1.0),
            database_bytes: Some(1),
            cache_bytes: Some(1),
            memory_bytes: Some(1),
            caches: BTreeMap::new(),
            indirect: None,
            missing_indexes: Vec::new(),
            settings_set: None,
            after: None,
            phase: None,
            tables: vec![Table {
                name: text(),
                rows: Some(1),
                rows_counted: true,
                table_bytes: Some(1),
                index_bytes: Some(1),
                logged: Some(true),
                indexed: None,
                analyzed: Some(true),
            }],
        }),
        Event::Prepare(PrepareStep {
            target: text(),
            workload: text(),
            step: text(),
            seconds: 1.0,
            rows: Some(1),
            bytes: Some(1),
        }),
        Event::StageStarted(stage(Arrival::Closed { think_time_ms: 0.0 })),
        Event::StageStarted(stage(Arrival::Open { rate_per_s: 1.0, distribution: Distribution::Poisson })),
        Event::Interval(interval()),
        Event::Sample(Sample { source: text(), target: text(), values: BTreeMap::new() }),
        Event::StageFinished(StageFinished {
            stage: 0,
            seconds: 1.0,
            drain_s: 0.0,
            complete: true,
            clients_aborted: 0,
            not_begun: 0,
            realtime: Some(false),
        }),
        Event::QueriesRunning(QueriesRunning {
            stage: 1,
            queries: vec![RunningQuery {
                query: text(),
                seconds: 1.0,
                read_share: Some(0.5),
                earlier: Some(EarlierTime { seconds: 1.0, run: text() }),
            }],
        }),
        Event::Check(Check {
            target: text(),
            workload: text(),
            series: some(),
            name: text(),
            passed: Some(true),
            expected: some(),
            found: some(),
            detail: text(),
        }),
        Event::Plan(Plan {
            target: text(),
            series: text(),
            query: text(),
            sql: text(),
            when: HookTime::After,
            executed: true,
            reason: some(),
            nodes: vec![PlanNode { details: vec![text()], ..PlanNode::default() }],
            text: some(),
        }),
        Event::Hook(Hook {
            target: text(),
            about: text(),
            phase: Some(0),
            when: HookTime::Before,
            action: text(),
            seconds: 0.0,
            succeeded: true,
            said: some(),
            cold: Some(Cold { dropped: vec![text()], kept: vec![text()] }),
        }),
        Event::TargetLost(TargetLost { target: text(), stage: Some(0), reason: text() }),
        Event::NotDone(NotDone { target: text(), what: text(), series: true, said: text() }),
        Event::ServerChanged(ServerChanged {
            target: text(),
            restarted: true,
            by_hook: false,
            changes: Vec::new(),
        }),
        Event::LogSyncs(LogSyncs { target: text(), before: 1.0, after: 2.0 }),
        Event::Finding(Finding {
            code: Code::SharedHost,
            severity: Severity::Note,
            subject: Subject {
                about: some(),
                target: some(),
                system: some(),
                server: some(),
                series: some(),
                stage: Some(0),
            },
            facts: Facts(vec![
                Fact { measure: "x".into(), value: FactValue::Figure { value: 1.0, unit: FactUnit::S } },
                Fact { measure: "x".into(), value: FactValue::Name { text: text() } },
            ]),
            evidence: text(),
            advice: text(),
            remedy: 1,
        }),
        Event::Notice(Notice { target: some(), stage: Some(0), text: text() }),
        Event::Finished(Finished {
            outcome: Outcome::Complete,
            reason: some(),
            targets_lost: true,
            seconds: 1.0,
        }),
    ]
}

fn stage(arrival: Arrival) -> Stage {
    Stage {
        id: 0,
        key: StageKey { phase: 1, round: 1, step: 1, stream: 1, ..StageKey::default() },
        series: String::new(),
        kind: StageKind::Hold,
        workload: String::new(),
        caveat: Some(String::new()),
        clients: 1,
        clients_end: Some(1),
        connections: Some(1),
        threads: 1,
        protocol: String::new(),
        poller: Some("uring".to_owned()),
        arrival,
        rate_end_per_s: Some(1.0),
        planned_s: Some(1.0),
        planned_transactions: Some(1),
        contended_rows: Some(1),
        pause_s: Some(1.0),
        pass: true,
        query_set: true,
        fixed: true,
        only_reads: None,
        generators: 3,
        types: vec![],
        figure: Some(Figure {
            about: String::new(),
            of: String::new(),
            per: Per::Minute,
            at_most: Some(1.0),
            note: Some(String::new()),
        }),
        response_limits: vec![ResponseLimit { of: String::new(), percentile: 90.0, limit_us: 1.0 }],
        counts: vec![OwnCount { of: String::new(), key: String::new(), about: String::new() }],
    }
}

fn interval() -> Interval {
    let mut of_type =
        TypeInterval { queries: Some(Queries::default()), own: vec![1], ..TypeInterval::default() };
    of_type.times_mut().for_each(|times| times.record(1));
    Interval {
        stage: 0,
        index: 0,
        start_ns: 0,
        duration_ns: 1_000_000_000,
        clients: 1,
        types: vec![of_type],
        driver_cpu_ns: vec![],
        reconnects: 0,
        lost_ns: 0,
        backlog: 0,
        generator: 1,
        skipped: 1,
        pool: Some(Pool {
            connections: 1,
            in_use_mean: 0.0,
            in_use_max: 0,
            waiting_mean: 0.0,
            waiting_max: 0,
        }),
        errors: BTreeMap::new(),
        drain: false,
    }
}

/// The names of all fields, those of parts included.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                if !FREE.contains(&name.as_str()) {
                    fields(value, names);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

/// The text under a heading of the third level.
fn section(heading: &str) -> Option<&'static str> {
    let (_, behind) = DOCUMENT.split_once(&format!("\n### {heading}\n"))?;
    Some(behind.split("\n### ").next().unwrap_or(behind))
}

#[test]
fn every_kind_and_every_field_is_described() {
    for event in every_event() {
        let kind = event.kind();
        let Some(section) = section(kind) else { panic!("{kind} has no section") };
        let mut names = BTreeSet::new();
        fields(&serde_json::to_value(&event).unwrap(), &mut names);
        names.remove("event");
        for name in names {
            assert!(section.contains(&format!("`{name}`")), "`{name}` of {kind} is not described");
        }
    }
    for field in ["seq", "at_ms", "event"] {
        assert!(DOCUMENT.contains(&format!("| `{field}` |")), "{field}");
    }
}

#[test]
fn the_examples_are_events() {
    let mut read = 0;
    for line in DOCUMENT.lines().filter(|line| line.starts_with("{\"seq\"")) {
        let example: Value = serde_json::from_str(line).unwrap();
        let kind = example["event"].as_str().unwrap();
        assert!(
            section(kind).is_some_and(|section| section.contains(line)),
            "{kind} stands where it belongs"
        );
        // A histogram that is cut short is none.
        if kind != "interval" {
            let stamped: Stamped = serde_json::from_str(line).unwrap();
            assert_eq!(stamped.event.kind(), kind);
            read += 1;
        }
    }
    assert!(read >= 14, "{read}");
}
