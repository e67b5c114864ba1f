//! A made-up run for tests and for looking at the live view: no database had any part in it. The same plan gives
//! the same events.

use std::collections::BTreeMap;

use dyno_results::event::{
    Arrival, Check, Data, Distribution, Embedded, Event, Finding, Finished, Host, Interval, Notice, Outcome,
    PrepareStep, Sample, Severity, Stage, StageFinished, StageKind, Stamped, Started, Table, Target,
    TypeInterval,
};
use dyno_results::latency::Latency;

/// What the made-up run does.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Client counts of the ladder of each series; empty for no ladder.
    pub(crate) ladder: Vec<u32>,
    pub(crate) rung_s: u32,
    /// Seconds of the hold of each series; 0 for no hold.
    pub(crate) hold_s: u32,
    /// Arrivals per second of the holds; `None` for a closed loop.
    pub(crate) rate_per_s: Option<f64>,
    /// Whether transactions fail, now and then.
    pub(crate) errors: bool,
    /// Seconds after which the run is stopped.
    pub(crate) stop_after_s: Option<u32>,
    /// Put into every text that comes from outside of dyno.
    pub(crate) intruder: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            ladder: vec![1, 2, 4, 8, 16, 32],
            rung_s: 5,
            hold_s: 12,
            rate_per_s: None,
            errors: false,
            stop_after_s: None,
            intruder: String::new(),
        }
    }
}

impl Plan {
    /// The events of the run.
    pub(crate) fn events(&self) -> Vec<Stamped> {
        let mut script = Script { plan: self, events: Vec::new(), at_ms: 0, stage: 0, cpu_s: (0.0, 0.0) };
        script.opening();
        script.preparation();
        script.series("read", "tpcb/select-only", 13_300.0);
        script.series("write", "tpcb/tpcb-like", 640.0);
        script.ending();
        let Some(stop_after_s) = self.stop_after_s else { return script.events };
        // Stopped by the user: what came until then, and the last event.
        let stop_ms = u64::from(stop_after_s) * 1000;
        let mut events = script.events;
        events.retain(|stamped| stamped.at_ms <= stop_ms);
        let finished = Finished {
            outcome: Outcome::Incomplete,
            reason: Some("stopped by Ctrl-C".to_owned()),
            seconds: f64::from(stop_after_s),
        };
        events.push(Stamped { seq: events.len() as u64, at_ms: stop_ms, event: Event::Finished(finished) });
        events
    }
}

/// The run as it is being written.
struct Script<'a> {
    plan: &'a Plan,
    events: Vec<Stamped>,
    at_ms: u64,
    stage: u32,
    /// Processor time of server and driver so far.
    cpu_s: (f64, f64),
}

impl Script<'_> {
    fn push(&mut self, event: Event) {
        self.events.push(Stamped { seq: self.events.len() as u64, at_ms: self.at_ms, event });
    }

    fn outside(&self, text: &str) -> String {
        format!("{text}{}", self.plan.intruder)
    }

    fn opening(&mut self) {
        self.push(Event::Started(Started {
            run: "2026-11-20-1".to_owned(),
            dyno_version: "0.0.0".to_owned(),
            started_at: "2026-11-20T08:50:12Z".to_owned(),
            command: vec!["dyno".to_owned(), "run".to_owned()],
            scenario: serde_json::json!({}),
            seed: 1,
        }));
        self.at_ms = 1400;
        self.push(Event::Target(Target {
            name: "pg".to_owned(),
            url: self.outside("postgres://dyno@127.0.0.1:5432/dyno"),
            product: Some(self.outside("PostgreSQL")),
            version: Some("18.1".to_owned()),
            version_text: Some(self.outside("PostgreSQL 18.1 on a made-up machine")),
            tls: None,
            same_host: Some(true),
            embedded: Some(Embedded {
                profile: "production".to_owned(),
                source: "made up".to_owned(),
                unsafe_profile: false,
            }),
            connections_max: Some(200),
        }));
        self.push(Event::Host(Host {
            roles: vec!["driver".to_owned(), "pg".to_owned()],
            cpus: Some(2),
            memory_bytes: Some(24 << 30),
            disk_kind: Some(self.outside("nvme")),
            ..Host::default()
        }));
    }

    fn preparation(&mut self) {
        let steps = [("drop", 100, None), ("tables", 100, None), ("data", 2900, Some(5_000_550))];
        let steps = steps.into_iter().chain([("vacuum", 300, None), ("keys", 700, None)]);
        for (step, took_ms, rows) in steps {
            self.at_ms += took_ms;
            let step = PrepareStep {
                target: "pg".to_owned(),
                workload: "tpcb".to_owned(),
                step: self.outside(step),
                seconds: took_ms as f64 / 1e3,
                rows,
                bytes: None,
            };
            self.push(Event::Prepare(step));
        }
        let table = |name: &str, rows| Table {
            name: self.outside(name),
            rows: Some(rows),
            table_bytes: None,
            index_bytes: None,
            logged: Some(true),
        };
        self.push(Event::Data(Data {
            target: "pg".to_owned(),
            workload: "tpcb".to_owned(),
            scale: Some(50.0),
            database_bytes: Some(760 << 20),
            cache_bytes: Some(6 << 30),
            memory_bytes: Some(24 << 30),
            tables: vec![table("pgbench_accounts", 5_000_000), table("pgbench_branches", 50)],
        }));
    }

    fn series(&mut self, series: &str, workload: &str, one_client_tps: f64) {
        self.stage_of(series, workload, StageKind::WarmUp, 4, 2, one_client_tps);
        for clients in self.plan.ladder.clone() {
            self.stage_of(series, workload, StageKind::Ladder, clients, self.plan.rung_s, one_client_tps);
        }
        if self.plan.hold_s > 0 {
            self.stage_of(series, workload, StageKind::Hold, 8, self.plan.hold_s, one_client_tps);
        }
    }

    fn stage_of(
        &mut self,
        series: &str,
        workload: &str,
        kind: StageKind,
        clients: u32,
        seconds: u32,
        one: f64,
    ) {
        let arrival = match self.plan.rate_per_s.filter(|_| kind == StageKind::Hold) {
            Some(rate_per_s) => Arrival::Open { rate_per_s, distribution: Distribution::Poisson },
            None => Arrival::Closed { think_time_ms: 0.0 },
        };
        let rate = if let Arrival::Open { rate_per_s, .. } = arrival { Some(rate_per_s) } else { None };
        let id = self.stage;
        self.stage += 1;
        self.push(Event::StageStarted(Stage {
            id,
            target: "pg".to_owned(),
            series: self.outside(series),
            kind,
            workload: self.outside(workload),
            clients,
            clients_end: None,
            threads: 2,
            protocol: "prepared".to_owned(),
            arrival,
            rate_end_per_s: None,
            planned_s: Some(f64::from(seconds)),
            planned_transactions: None,
            types: vec![self.outside(workload)],
        }));
        for index in 0..seconds {
            self.at_ms += 1000;
            self.sample(clients);
            let interval = self.interval(id, index, clients, one, rate);
            self.push(Event::Interval(interval));
        }
        self.push(Event::StageFinished(StageFinished {
            stage: id,
            seconds: f64::from(seconds),
            drain_s: 0.01,
            complete: true,
            clients_aborted: 0,
            not_begun: 0,
            realtime: None,
        }));
        self.at_ms += 150;
    }

    fn interval(&self, stage: u32, index: u32, clients: u32, one: f64, rate: Option<f64>) -> Interval {
        // The Universal Scalability Law, with a little weather.
        let n = f64::from(clients);
        let weather = 1.0 + 0.02 * f64::from((stage * 7 + index * 5) % 11) / 10.0 - 0.01;
        let capacity = one * n / (1.0 + 0.04 * (n - 1.0) + 0.0035 * n * (n - 1.0)) * weather;
        let done = rate.map_or(capacity, |rate| rate.min(capacity)).round() as u64;
        let mean_ns = 1e9 * n / capacity;
        let failed = if self.plan.errors && index % 3 == 1 { 2 } else { 0 };
        let retries = if self.plan.errors { 3 } else { 0 };
        let mut errors = BTreeMap::new();
        if failed > 0 {
            errors.insert(self.outside("23505"), failed);
        }
        if retries > 0 {
            errors.insert("40001".to_owned(), retries);
        }
        Interval {
            stage,
            index,
            start_ms: f64::from(index) * 1e3,
            duration_ms: 1e3,
            clients,
            types: vec![TypeInterval {
                type_index: 0,
                done,
                failed,
                retries,
                statements: done,
                service: spread(mean_ns, done),
                response: rate.map(|_| spread(mean_ns * 1.1, done)),
                lag: rate.map(|_| spread(mean_ns * 0.1, done)),
                ..TypeInterval::default()
            }],
            driver_cpu_ms: vec![310.0, 290.0],
            reconnects: 0,
            lost_ms: 0.0,
            backlog: 0,
            skipped: 0,
            errors,
            drain: false,
        }
    }

    fn sample(&mut self, clients: u32) {
        let busy = 1.9_f64.min(f64::from(clients) * 0.6);
        self.cpu_s = (self.cpu_s.0 + busy * 0.66, self.cpu_s.1 + busy * 0.34);
        let values = [("server_cpu_seconds_total", self.cpu_s.0), ("driver_cpu_seconds_total", self.cpu_s.1)];
        self.push(Event::Sample(Sample {
            source: "host".to_owned(),
            target: "driver".to_owned(),
            values: values.map(|(key, value)| (key.to_owned(), value)).into(),
        }));
    }

    fn ending(&mut self) {
        self.at_ms += 600;
        for (name, detail) in [
            ("history-holds-every-commit", "126,304 commits acknowledged, 126,304 found"),
            ("sums-agree", "four sums agree"),
        ] {
            self.push(Event::Check(Check {
                target: "pg".to_owned(),
                workload: "tpcb".to_owned(),
                name: name.to_owned(),
                passed: Some(true),
                expected: None,
                found: None,
                detail: self.outside(detail),
            }));
        }
        if self.plan.errors {
            self.push(Event::Notice(Notice {
                target: Some("pg".to_owned()),
                stage: None,
                text: self.outside("ERROR: duplicate key value violates unique constraint (SQLSTATE 23505)"),
            }));
        }
        let findings = [
            (
                "durable",
                Severity::Note,
                "fsync, synchronous_commit and full_page_writes are on",
                "nothing to do",
            ),
            (
                "shared-host",
                Severity::Doubt,
                "driver and server share 2 cores; the driver took 34% of them",
                "run the driver on another host to see what the server can do alone",
            ),
        ];
        for (code, severity, evidence, advice) in findings {
            self.push(Event::Finding(Finding {
                code: code.to_owned(),
                severity,
                about: None,
                evidence: self.outside(evidence),
                advice: advice.to_owned(),
            }));
        }
        let seconds = self.at_ms as f64 / 1e3;
        self.push(Event::Finished(Finished { outcome: Outcome::Complete, reason: None, seconds }));
    }
}

/// `count` times around a mean, with a tail.
fn spread(mean_ns: f64, count: u64) -> Latency {
    const SHAPE: [(f64, f64); 6] =
        [(0.30, 0.7), (0.40, 0.95), (0.20, 1.2), (0.08, 1.7), (0.018, 2.6), (0.002, 12.0)];
    let mut latency = Latency::new();
    for (share, times) in SHAPE {
        latency.record_n((mean_ns * times) as u64, (count as f64 * share).round() as u64);
    }
    latency
}
