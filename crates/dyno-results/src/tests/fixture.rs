//! Fixtures for tests: a clean run on which every rule is silent but for its notes, and the means to put
//! faults into it.

use std::collections::BTreeMap;

use crate::document::Report;
use crate::event::{
    Arrival, Check, Code, Data, Distribution, Event, Facts, Figure, Finding, Finished, Hook, HookTime, Host,
    Interval, NotDone, Notice, Outcome, OwnCount, Per, Pool, PrepareStep, ResponseLimit, Sample, Setting,
    SettingFacts, Settings, Severity, Stage, StageFinished, StageKey, StageKind, Stamped, Started, Subject,
    Table, Target, TargetLost, TypeInterval,
};
use crate::fold::fold;
use crate::latency::Latency;
use crate::spec::RunSpec;

pub(crate) const GIB: u64 = 1 << 30;

/// The events of a run in the making, with a clock of its own.
pub(crate) struct Fixture {
    pub(crate) events: Vec<Stamped>,
    now_ms: u64,
    /// Counters and gauges of the database and of its host, sampled at each second of load.
    readings: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// What counters grow by in a second.
    growth: Vec<(&'static str, &'static str, f64)>,
    stages: u32,
    /// Whose stages and samples come next.
    pub(crate) target: &'static str,
}

/// A stage to be played, one transaction type.
pub(crate) struct FixtureStage<'a> {
    pub(crate) series: &'a str,
    pub(crate) kind: StageKind,
    pub(crate) workload: &'a str,
    pub(crate) clients: u32,
    /// Transactions done in each second.
    pub(crate) tps: &'a [u64],
    pub(crate) service_us: u64,
    /// Rate and schedule lag (microseconds) of an open loop.
    pub(crate) open: Option<(f64, u64)>,
    /// Connections that the clients share, and how long one waits for its own (microseconds).
    pub(crate) pool: Option<(Pool, u64)>,
}

impl<'a> FixtureStage<'a> {
    pub(crate) fn write(kind: StageKind, clients: u32, tps: &'a [u64]) -> Self {
        Self {
            series: "write",
            kind,
            workload: "tpcb/tpcb-like",
            clients,
            tps,
            service_us: 1000,
            open: None,
            pool: None,
        }
    }

    pub(crate) fn read(kind: StageKind, clients: u32, tps: &'a [u64]) -> Self {
        let (series, workload) = ("read", "tpcb/select-only");
        Self { series, workload, service_us: 100, ..Self::write(kind, clients, tps) }
    }
}

impl Fixture {
    /// A run that has just started.
    pub(crate) fn started(run: &str) -> Self {
        let mut fixture = Self {
            events: Vec::new(),
            now_ms: 0,
            readings: BTreeMap::new(),
            growth: Vec::new(),
            stages: 0,
            target: "pg",
        };
        fixture.push(Event::Started(Started {
            run: run.to_owned(),
            dyno_version: "0.1.0".to_owned(),
            started_at: "2026-11-20T08:00:00Z".to_owned(),
            command: vec!["dyno".to_owned(), "run".to_owned()],
            spec: RunSpec::default(),
            resolved: RunSpec::default(),
            seed: 7,
        }));
        fixture
    }

    pub(crate) fn push(&mut self, event: Event) {
        let seq = self.events.len() as u64;
        self.events.push(Stamped { seq, at_ms: self.now_ms, event });
    }

    /// Sets a reading of `host` or `database` as it will be sampled from now on.
    pub(crate) fn read(&mut self, source: &'static str, key: &str, value: f64) {
        self.readings.entry(source).or_default().insert(key.to_owned(), value);
    }

    /// Lets a counter grow by so much in each second of load.
    pub(crate) fn grow(&mut self, source: &'static str, key: &'static str, per_second: f64) {
        self.readings.entry(source).or_default().entry(key.to_owned()).or_insert(0.0);
        self.growth.retain(|(of, known, _)| (*of, *known) != (source, key));
        self.growth.push((source, key, per_second));
    }

    /// Adds to a counter once.
    pub(crate) fn bump(&mut self, source: &'static str, key: &str) {
        *self.readings.entry(source).or_default().entry(key.to_owned()).or_insert(0.0) += 1.0;
    }

    fn sample(&mut self) {
        for (source, values) in self.readings.clone() {
            self.push(Event::Sample(Sample {
                source: source.to_owned(),
                target: self.target.to_owned(),
                values,
            }));
        }
    }

    /// A stage may begin in the instant in which the one before it ended.
    fn is_sampled_now(&self) -> bool {
        let now = self.events.iter().rev().take_while(|stamped| stamped.at_ms == self.now_ms);
        now.into_iter()
            .any(|stamped| matches!(&stamped.event, Event::Sample(sample) if sample.target == self.target))
    }

    pub(crate) fn second_passes(&mut self) {
        self.now_ms += 1000;
        for (source, key, per_second) in self.growth.clone() {
            *self.readings.entry(source).or_default().entry(key.to_owned()).or_insert(0.0) += per_second;
        }
    }

    pub(crate) fn start_stage(&mut self, load: &FixtureStage<'_>) -> u32 {
        let id = self.stages;
        self.stages += 1;
        self.push(Event::StageStarted(Stage {
            id,
            key: self.key(load),
            series: load.series.to_owned(),
            kind: load.kind,
            workload: load.workload.to_owned(),
            clients: load.clients,
            connections: load.pool.map(|(pool, _)| pool.connections),
            threads: 2,
            arrival: match load.open {
                Some((rate_per_s, _)) => Arrival::Open { rate_per_s, distribution: Distribution::Poisson },
                None => Arrival::Closed { think_time_ms: 0.0 },
            },
            planned_s: Some(load.tps.len() as f64),
            types: vec!["only".to_owned()],
            ..Stage::default()
        }));
        id
    }

    /// As a campaign would set it that runs each series in a phase of its own.
    fn key(&self, load: &FixtureStage<'_>) -> StageKey {
        let stages = self.events.iter().filter_map(|stamped| match &stamped.event {
            Event::StageStarted(stage) => Some(stage),
            _ => None,
        });
        let all: Vec<&Stage> = stages.collect();
        let is_step = |kind: StageKind| matches!(kind, StageKind::WarmUp | StageKind::Ladder);
        let is_alike = |stage: &&&Stage| {
            stage.key.system == self.target
                && stage.series == load.series
                && is_step(stage.kind) == is_step(load.kind)
        };
        let before = all.iter().filter(is_alike).count() as u32;
        let series = crate::words::distinct(all.iter().map(|stage| stage.series.as_str()));
        let phase = series.iter().position(|name| *name == load.series).unwrap_or(series.len()) as u32;
        let (round, step) = if is_step(load.kind) { (0, before) } else { (before + 1, 0) };
        StageKey { system: self.target.to_owned(), phase, round, step, stream: 0 }
    }

    /// Plays a whole stage: its intervals, samples between them, and its end.
    pub(crate) fn play(&mut self, load: &FixtureStage<'_>) -> u32 {
        let id = self.start_stage(load);
        if !self.is_sampled_now() {
            self.sample();
        }
        for (index, done) in load.tps.iter().enumerate() {
            self.second_passes();
            self.push(Event::Interval(interval(load, id, index, *done)));
            self.sample();
        }
        self.finish_stage(id, load.tps.len());
        id
    }

    pub(crate) fn finish_stage(&mut self, stage: u32, seconds: usize) {
        self.push(Event::StageFinished(StageFinished {
            stage,
            seconds: seconds as f64,
            drain_s: 0.0,
            complete: true,
            clients_aborted: 0,
            not_begun: 0,
            realtime: None,
        }));
    }

    pub(crate) fn finish(&mut self) {
        self.push(Event::Finished(Finished {
            outcome: Outcome::Complete,
            reason: None,
            targets_lost: false,
            seconds: self.now_ms as f64 / 1000.0,
        }));
    }
}

/// A full second of a stage.
pub(crate) fn interval(load: &FixtureStage<'_>, stage: u32, index: usize, done: u64) -> Interval {
    let latency = |us: u64| {
        let mut latency = Latency::new();
        latency.record_n(us * 1000, done);
        // Of a long run all seconds stand in memory.
        latency.shrink();
        latency
    };
    let lag_us = load.open.or(load.pool.map(|(_, wait_us)| (0.0, wait_us))).map(|(_, lag_us)| lag_us);
    Interval {
        stage,
        index: index as u32,
        start_ns: index as u64 * 1_000_000_000,
        duration_ns: 1_000_000_000,
        clients: load.clients,
        types: vec![TypeInterval {
            done,
            statements: done,
            service: latency(load.service_us),
            response: lag_us.map_or_else(Latency::new, |lag_us| latency(load.service_us + lag_us)),
            lag: lag_us.map_or_else(Latency::new, latency),
            wait: load.pool.map_or_else(Latency::new, |(_, wait_us)| latency(wait_us)),
            ..TypeInterval::default()
        }],
        driver_cpu_ns: vec![300_000_000, 250_000_000],
        reconnects: 0,
        lost_ns: 0,
        backlog: 0,
        generator: 0,
        skipped: 0,
        errors: BTreeMap::new(),
        pool: load.pool.map(|(pool, _)| pool),
        drain: false,
    }
}

/// A run of which each hold is a mix: in each second 30 orders of 2 ms, 8 ms in the last of ten seconds, of which one is rolled back, and
/// 20 payments of 1 ms. 58 orders that are not are possible a second; p90 of an order may be 5 ms, that of a payment so much.
pub(crate) fn mix_fixture(payment_us: f64, holds: usize) -> Fixture {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| {
        !matches!(
            stamped.event,
            Event::StageStarted(_) | Event::Interval(_) | Event::StageFinished(_) | Event::Finished(_)
        )
    });
    for _ in 0..holds {
        let load = FixtureStage::write(StageKind::Hold, 4, &[20; 10]);
        let id = fixture.start_stage(&load);
        let Some(Event::StageStarted(stage)) = fixture.events.last_mut().map(|stamped| &mut stamped.event)
        else {
            unreachable!("a stage has begun");
        };
        stage.types = vec!["order".to_owned(), "payment".to_owned()];
        let (about, of) = ("new orders".to_owned(), "order".to_owned());
        stage.figure = Some(Figure { about, of, per: Per::Minute, at_most: Some(3480.0), note: None });
        stage.response_limits = [("order", 5000.0), ("payment", payment_us)]
            .map(|(of, limit_us)| ResponseLimit { of: of.to_owned(), percentile: 90.0, limit_us })
            .to_vec();
        let count = |of: &str, key: &str| OwnCount {
            of: of.to_owned(),
            key: key.to_owned(),
            about: format!("{key} of a {of}"),
        };
        stage.counts = vec![count("order", "lines"), count("payment", "late"), count("order", "far")];
        for (index, done) in load.tps.iter().enumerate() {
            fixture.second_passes();
            let mut second = interval(&load, id, index, *done);
            second.types[0].type_index = 1;
            second.types[0].own = vec![index as u64];
            let mut order =
                TypeInterval { done: 30, rolled_back: 1, own: vec![290, 3], ..TypeInterval::default() };
            order.service.record_n(if index == 9 { 8_000_000 } else { 2_000_000 }, 30);
            second.types.insert(0, order);
            fixture.push(Event::Interval(second));
        }
        fixture.finish_stage(id, load.tps.len());
    }
    fixture.finish();
    fixture
}

/// The run with what was done in each second divided among three generators, whose intervals come in no order.
pub(crate) fn divided(events: &[Stamped]) -> Vec<Stamped> {
    let mut divided: Vec<Stamped> = Vec::new();
    let mut late: Option<Event> = None;
    for stamped in events {
        let parts = match &stamped.event {
            Event::StageStarted(stage) => {
                vec![Event::StageStarted(Stage { generators: 3, ..stage.clone() })]
            }
            Event::Interval(interval) => {
                let [first, second, third] = [0, 1, 2].map(|at| Event::Interval(part(interval, at)));
                [third, first].into_iter().chain(late.replace(second)).collect()
            }
            other => late.take().into_iter().chain([other.clone()]).collect(),
        };
        for event in parts {
            divided.push(Stamped { seq: divided.len() as u64, at_ms: stamped.at_ms, event });
        }
    }
    divided
}

/// What one of three generators did of an interval.
fn part(whole: &Interval, generator: u32) -> Interval {
    let share = |count: u64| count / 3 + u64::from(u64::from(generator) < count % 3);
    let latency = |all: &Latency| {
        let mut own = Latency::new();
        all.buckets().for_each(|(ns, count)| own.record_n(ns, share(count)));
        own
    };
    let of_type = |all: &TypeInterval| {
        let mut own = all.clone();
        own.counts_mut().for_each(|count| *count = share(*count));
        own.times_mut().for_each(|times| *times = latency(times));
        own.own.iter_mut().for_each(|count| *count = share(*count));
        own
    };
    let thread = whole.driver_cpu_ns.get(generator as usize);
    Interval {
        generator,
        clients: share(whole.clients.into()) as u32,
        types: whole.types.iter().map(of_type).collect(),
        driver_cpu_ns: thread.copied().into_iter().collect(),
        reconnects: share(whole.reconnects),
        lost_ns: share(whole.lost_ns),
        backlog: share(whole.backlog),
        skipped: share(whole.skipped),
        pool: whole.pool.map(|pool| if generator == 0 { pool } else { Pool::default() }),
        errors: whole.errors.iter().map(|(code, count)| (code.clone(), share(*count))).collect(),
        ..whole.clone()
    }
}

pub(crate) fn setting(name: &str, value: &str, changed: bool, durability: bool) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        unit: None,
        default: None,
        source: None,
        changed,
        durability,
    }
}

pub(crate) fn check(name: &str, passed: Option<bool>) -> Check {
    Check {
        target: "pg".to_owned(),
        workload: "tpcb".to_owned(),
        series: None,
        name: name.to_owned(),
        passed,
        expected: Some("126304".to_owned()),
        found: Some("126304".to_owned()),
        detail: "every acknowledged commit was looked for".to_owned(),
    }
}

/// A remote server on defaults, durable, with data larger than its memory; a write ladder that passed its peak at 8
/// clients, and a hold of 20 s in which a checkpoint began.
pub(crate) fn clean_fixture() -> Fixture {
    let mut fixture = Fixture::started("2026-11-20-1");
    describe(&mut fixture);
    fixture.read("host", "cpus", 8.0);
    fixture.grow("host", "server_cpu_seconds_total", 4.0);
    fixture.grow("database", "blocks_hit_total", 900.0);
    fixture.grow("database", "blocks_read_total", 100.0);
    fixture.grow("database", "tuples_updated_total", 3000.0);
    fixture.grow("database", "tuples_inserted_total", 1000.0);
    fixture.grow("database", "wal_bytes_total", 8e6);
    fixture.read("database", "checkpoints_timed_total", 3.0);
    fixture.read("database", "checkpoints_requested_total", 0.0);
    for (clients, level) in [(1, 250), (2, 480), (4, 820), (8, 1000), (16, 900)] {
        let service_us = if clients == 1 { 400 } else { 1000 };
        let tps = wobble(level, 5);
        fixture.play(&FixtureStage { service_us, ..FixtureStage::write(StageKind::Ladder, clients, &tps) });
    }
    hold(&mut fixture, &FixtureStage::write(StageKind::Hold, 8, &wobble(990, 20)));
    fixture.push(Event::Check(check("history-holds-every-commit", Some(true))));
    fixture.finish();
    fixture
}

/// A hold in the middle of which a checkpoint begins.
fn hold(fixture: &mut Fixture, load: &FixtureStage<'_>) {
    let id = fixture.start_stage(load);
    for (index, done) in load.tps.iter().enumerate() {
        if index == load.tps.len() / 2 {
            fixture.bump("database", "checkpoints_timed_total");
        }
        fixture.second_passes();
        fixture.push(Event::Interval(interval(load, id, index, *done)));
        fixture.sample();
    }
    fixture.finish_stage(id, load.tps.len());
}

fn describe(fixture: &mut Fixture) {
    fixture.push(Event::Target(target("pg")));
    fixture.push(Event::Host(Host { roles: vec!["driver".to_owned()], cpus: Some(4), ..Host::default() }));
    fixture.push(Event::Settings(Settings {
        target: "pg".to_owned(),
        rows: vec![
            setting("fsync", "on", false, true),
            setting("synchronous_commit", "on", false, true),
            setting("full_page_writes", "on", false, true),
            setting("data_checksums", "off", false, true),
            setting("wal_level", "replica", false, true),
        ],
        facts: SettingFacts {
            durable_by: Some("fsync, synchronous_commit and full_page_writes are on".to_owned()),
            durability_details: vec!["wal_level replica".to_owned(), "data_checksums off".to_owned()],
            checkpoint_setting: Some("checkpoint_timeout".to_owned()),
            ..SettingFacts::default()
        },
    }));
    fixture.push(Event::Data(Data {
        target: "pg".to_owned(),
        workload: "tpcb".to_owned(),
        scale: Some(5000.0),
        database_bytes: Some(75 * GIB),
        cache_bytes: Some(4 * GIB),
        memory_bytes: Some(16 * GIB),
        caches: BTreeMap::new(),
        indirect: None,
        missing_indexes: Vec::new(),
        settings_set: None,
        after: None,
        phase: None,
        tables: vec![Table {
            name: "pgbench_accounts".to_owned(),
            rows: Some(500_000_000),
            rows_counted: true,
            table_bytes: Some(64 * GIB),
            index_bytes: Some(11 * GIB),
            logged: Some(true),
            indexed: None,
            analyzed: None,
        }],
    }));
}

/// Has the tables of data take so much; `None` where that is not known.
pub(crate) fn resize(data: &mut Data, bytes: Option<u64>) {
    for (at, table) in data.tables.iter_mut().enumerate() {
        (table.table_bytes, table.index_bytes) = (bytes.filter(|_| at == 0).or(bytes.map(|_| 0)), Some(0));
    }
}

/// A remote server.
pub(crate) fn target(name: &str) -> Target {
    Target {
        name: name.to_owned(),
        server: name.to_owned(),
        url: "postgres://me@db.example/bench".to_owned(),
        product: Some("PostgreSQL".to_owned()),
        version: Some("15.18".to_owned()),
        version_text: None,
        tls: None,
        same_host: Some(false),
        embedded: None,
        connections_max: Some(100),
        host_source: None,
        isolation: None,
        disk_kind: None,
        in_process: false,
    }
}

/// A ladder that doubles up to 64 clients, of a server that does no more than with 8. `read` sets what is read at each
/// rung, and is told how much of what the server can do it does.
pub(crate) fn saturated_ladder(fixture: &mut Fixture, read: impl Fn(&mut Fixture, f64)) {
    for clients in [1, 2, 4, 8, 16, 32, 64] {
        let at_work = f64::from(clients.min(8));
        read(fixture, at_work / 8.0);
        let tps = wobble(at_work as u64 * 125, 5);
        let service_us = u64::from(clients) * 8000 / u64::from(clients.min(8));
        fixture.play(&FixtureStage { service_us, ..FixtureStage::write(StageKind::Ladder, clients, &tps) });
    }
}

/// Counts around a level, one percent up and down.
pub(crate) fn wobble(level: u64, seconds: usize) -> Vec<u64> {
    let step = (level / 100).max(1);
    [0, 1, 2, 1, 0, 2].iter().cycle().take(seconds).map(|offset| level - step + offset * step).collect()
}

pub(crate) fn clean_report() -> Report {
    fold(&clean_fixture().events)
}

/// A finding, a notice and a preparation step, for what reads all kinds of events.
pub(crate) fn one_of_each_remark() -> Vec<Event> {
    vec![
        Event::Finding(Finding::new(
            (Code::SharedHost, Severity::Doubt),
            Subject::of_system("pg"),
            "driver and server share 2 cores".to_owned(),
            "run the driver elsewhere",
            Facts::default(),
        )),
        Event::Hook(Hook {
            target: "pg".to_owned(),
            about: "write".to_owned(),
            phase: Some(0),
            when: HookTime::Before,
            action: "cold".to_owned(),
            seconds: 2.5,
            succeeded: true,
            said: Some("the page cache of the host could not be dropped".to_owned()),
            cold: None,
        }),
        Event::TargetLost(TargetLost {
            target: "my".to_owned(),
            stage: None,
            reason: "the server has gone away".to_owned(),
        }),
        Event::NotDone(NotDone {
            target: "pg".to_owned(),
            what: "keys".to_owned(),
            series: false,
            said: "ERROR: unsupported access method (0A000)".to_owned(),
        }),
        Event::Notice(Notice {
            target: None,
            stage: None,
            text: "the ladder was cut at 90 clients".to_owned(),
        }),
        Event::Prepare(PrepareStep {
            target: "pg".to_owned(),
            workload: "tpcb".to_owned(),
            step: "data".to_owned(),
            seconds: 4.1,
            rows: Some(5_000_000),
            bytes: Some(640_000_000),
        }),
    ]
}
