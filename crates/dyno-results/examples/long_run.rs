//! Writes a made-up run of a day to a store, to see how a long run is read: `long_run STORE [SECONDS [killed]]`,
//! where the run has no end. No database has any part in it. Two targets, each with a second of load and of telemetry in every second, of the size of real ones.

// It is a tool of the bench (bench/serve-24h): where it fails there is nobody but its user to tell.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;

use dyno_results::event::{
    Event, Finished, Interval, Outcome, Sample, Stage, StageFinished, StageKey, Stamped, Started, Target,
    TypeInterval,
};
use dyno_results::latency::Latency;
use dyno_results::store::{RunWriter, Store};

const DAY_S: u32 = 86_400;
const TARGETS: [&str; 2] = ["pg", "my"];
/// Transactions of a second that have a latency of their own; the counts are multiplied.
const DRAWN: u32 = 500;
/// Keys of a sample that are counters, and those that are gauges.
const KEYS: [usize; 2] = [25, 15];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("the store's file");
    let seconds = arguments.next().map_or(DAY_S, |seconds| seconds.parse().expect("a number of seconds"));
    let writer = Store::open(store).and_then(|store| store.begin_run("2026-11-20")).expect("a store");
    let killed = arguments.next().is_some_and(|ending| ending == "killed");
    let mut run = Run { writer, seq: 0, random: 0x2545_f491_4f6c_dd1d };
    run.opening();
    for second in 0..seconds {
        for stage in 0..TARGETS.len() {
            run.second(second, stage);
        }
    }
    if !killed {
        run.ending(seconds);
    }
}

struct Run {
    writer: RunWriter,
    seq: u64,
    random: u64,
}

impl Run {
    fn push(&mut self, at_ms: u64, event: Event) {
        let stamped = Stamped { seq: self.seq, at_ms, event };
        self.writer.append(&stamped).expect("room in the store");
        self.seq += 1;
    }

    /// Evenly from 0 to 1 (xorshift).
    fn draw(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn opening(&mut self) {
        let run = self.writer.name().to_owned();
        let started = Started {
            run,
            dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: "2026-11-20T00:00:00Z".to_owned(),
            command: vec!["dyno".to_owned(), "made-up".to_owned()],
            spec: dyno_results::spec::RunSpec::default(),
            resolved: dyno_results::spec::RunSpec::default(),
            seed: 1,
        };
        self.push(0, Event::Started(started));
        for (id, name) in (0..).zip(TARGETS) {
            self.push(0, Event::Target(target(name)));
            self.push(0, Event::StageStarted(stage(id, name)));
        }
    }

    fn second(&mut self, second: u32, stage: usize) {
        let at_ms = u64::from(second + 1) * 1000;
        let interval = self.interval(second, u32::try_from(stage).unwrap_or_default());
        self.push(at_ms, Event::Interval(interval));
        for source in ["host", "database"] {
            let values = self.values(second);
            let sample = Sample { source: source.to_owned(), target: TARGETS[stage].to_owned(), values };
            self.push(at_ms + 3, Event::Sample(sample));
        }
    }

    fn interval(&mut self, second: u32, stage: u32) -> Interval {
        let mut service = Latency::new();
        let each = 8 + (self.draw() * 4.0) as u64;
        for _ in 0..DRAWN {
            // Something like a log-normal distribution around 1.2 ms, with a long tail.
            let bell = (0..6).map(|_| self.draw()).sum::<f64>() - 3.0;
            let tail = if self.draw() < 0.01 { 10.0 } else { 1.0 };
            service.record_n((1.2e6 * tail * (bell * 0.7).exp()) as u64, each);
        }
        let of_type = TypeInterval {
            done: service.count(),
            statements: service.count() * 5,
            service,
            ..TypeInterval::default()
        };
        Interval {
            stage,
            index: second,
            start_ns: u64::from(second) * 1_000_000_000,
            duration_ns: 1_000_000_000,
            clients: 64,
            types: vec![of_type],
            driver_cpu_ns: vec![310_000_000, 305_000_000],
            reconnects: 0,
            lost_ns: 0,
            backlog: 0,
            generator: 0,
            skipped: 0,
            pool: None,
            errors: BTreeMap::new(),
            drain: false,
        }
    }

    fn values(&mut self, second: u32) -> BTreeMap<String, f64> {
        let mut values = BTreeMap::new();
        for key in 0..KEYS[0] {
            let value = f64::from(second) * 1000.0 * (key + 1) as f64 + (self.draw() * 1000.0).round();
            values.insert(format!("made_up_counter_{key}_bytes_total"), value);
        }
        for key in 0..KEYS[1] {
            values.insert(format!("made_up_gauge_{key}_bytes"), (self.draw() * 1e12).round());
        }
        values
    }

    fn ending(&mut self, seconds: u32) {
        let at_ms = u64::from(seconds) * 1000 + 10;
        for stage in (0..).zip(TARGETS).map(|(id, _)| id) {
            let finished = StageFinished {
                stage,
                seconds: f64::from(seconds),
                drain_s: 0.0,
                complete: true,
                clients_aborted: 0,
                not_begun: 0,
                realtime: None,
            };
            self.push(at_ms, Event::StageFinished(finished));
        }
        let finished = Finished {
            outcome: Outcome::Complete,
            reason: None,
            targets_lost: false,
            seconds: f64::from(seconds),
        };
        self.push(at_ms, Event::Finished(finished));
    }
}

fn target(name: &str) -> Target {
    Target {
        name: name.to_owned(),
        server: name.to_owned(),
        url: format!("{name}://made-up"),
        product: None,
        version: None,
        version_text: None,
        tls: None,
        same_host: Some(false),
        embedded: None,
        connections_max: None,
        host_source: None,
        isolation: None,
        disk_kind: None,
        in_process: false,
    }
}

fn stage(id: u32, target: &str) -> Stage {
    Stage {
        id,
        key: StageKey { system: target.to_owned(), ..StageKey::default() },
        series: "made-up".to_owned(),
        workload: "made/up".to_owned(),
        clients: 64,
        threads: 2,
        types: vec!["made-up".to_owned()],
        ..Stage::default()
    }
}
