//! A made-up run for tests and for looking at the live view: no database had any part in it. The same plan gives
//! the same events.

mod load;
mod scene;

use dyno_results::event::{
    Arrival, Check, Code, Distribution, Event, Facts, Finding, Finished, Hook, HookTime, Notice, Outcome,
    PrepareStep, Sample, Severity, Stage, StageFinished, StageKey, StageKind, Stamped, Started, Subject,
    TargetLost,
};

use self::load::Load;
use self::scene::Scene;

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
    /// Whether a second target runs beside the first: MySQL on another host, half as fast.
    pub(crate) two_targets: bool,
    /// Whether stages run on both targets at the same time.
    pub(crate) together: bool,
    /// Connections that the clients of a target share; `None` where each has its own.
    pub(crate) connections: Option<u32>,
    /// Seconds after which the second target is lost.
    pub(crate) lost_after_s: Option<u32>,
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
            two_targets: false,
            together: false,
            connections: None,
            lost_after_s: None,
            stop_after_s: None,
            intruder: String::new(),
        }
    }
}

impl Plan {
    /// The events of the run.
    pub(crate) fn events(&self) -> Vec<Stamped> {
        let scenes = if self.two_targets { scene::two() } else { vec![scene::one()] };
        let mut script = Script {
            plan: self,
            events: Vec::new(),
            at_ms: 0,
            stage: 0,
            key: StageKey::default(),
            scenes,
            driver_cpu_s: 0.0,
        };
        script.opening();
        script.preparation();
        if self.two_targets {
            script.series("ingest", "events/ingest", 2_100.0);
            script.hook();
            script.series("join", "events/join", 9_400.0);
        } else {
            script.series("read", "tpcb/select-only", 13_300.0);
            script.series("write", "tpcb/tpcb-like", 640.0);
        }
        script.ending();
        let Some(stop_after_s) = self.stop_after_s else { return script.events };
        // Stopped by the user: what came until then, and the last event.
        let stop_ms = u64::from(stop_after_s) * 1000;
        let mut events = script.events;
        events.retain(|stamped| stamped.at_ms <= stop_ms);
        let finished = Finished {
            outcome: Outcome::Incomplete,
            reason: Some("stopped by Ctrl-C".to_owned()),
            targets_lost: false,
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
    /// Of the next stage, but for its system.
    key: StageKey,
    /// The targets that are left.
    scenes: Vec<Scene>,
    driver_cpu_s: f64,
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
            spec: dyno_results::spec::RunSpec::default(),
            resolved: dyno_results::spec::RunSpec::default(),
            seed: 1,
        }));
        self.at_ms = 1400;
        for scene in self.scenes.clone() {
            self.push(Event::Target(scene.target(&self.plan.intruder)));
        }
        for host in scene::hosts(&self.scenes, &self.plan.intruder) {
            self.push(Event::Host(host));
        }
    }

    fn preparation(&mut self) {
        for scene in self.scenes.clone() {
            for (step, took_ms, rows) in scene.steps() {
                self.at_ms += took_ms;
                let step = PrepareStep {
                    target: scene.name.to_owned(),
                    workload: scene.workload.to_owned(),
                    step: self.outside(step),
                    seconds: took_ms as f64 / 1e3,
                    rows,
                    bytes: None,
                };
                self.push(Event::Prepare(step));
            }
            self.push(Event::Data(scene.data(&self.plan.intruder)));
        }
    }

    /// The caches of the second target are emptied.
    fn hook(&mut self) {
        if self.scenes.len() < 2 {
            return;
        }
        self.at_ms += 3_200;
        self.push(Event::Hook(Hook {
            target: self.scenes[1].name.to_owned(),
            about: "join".to_owned(),
            phase: Some(1),
            when: HookTime::Before,
            action: self.outside("ssh db systemctl restart mysql"),
            seconds: 3.2,
            succeeded: true,
            said: None,
            cold: None,
        }));
    }

    fn series(&mut self, series: &str, workload: &str, one_client_tps: f64) {
        self.stages_of(series, workload, StageKind::WarmUp, 4, 2, one_client_tps);
        for clients in self.plan.ladder.clone() {
            self.stages_of(series, workload, StageKind::Ladder, clients, self.plan.rung_s, one_client_tps);
        }
        if self.plan.hold_s > 0 {
            self.stages_of(series, workload, StageKind::Hold, 8, self.plan.hold_s, one_client_tps);
        }
        self.key = StageKey { phase: self.key.phase + 1, ..StageKey::default() };
    }

    /// The same stage on every target, in turn or together.
    fn stages_of(
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
        let stage = Stage {
            key: StageKey {
                round: u32::from(kind == StageKind::Hold),
                step: if kind == StageKind::Hold { 0 } else { self.key.step },
                ..self.key.clone()
            },
            series: self.outside(series),
            kind,
            workload: self.outside(workload),
            clients,
            connections: self.plan.connections,
            threads: 2,
            arrival,
            planned_s: Some(f64::from(seconds)),
            types: vec![self.outside(workload)],
            ..Stage::default()
        };
        self.key.step += u32::from(kind != StageKind::Hold);
        let names: Vec<&'static str> = self.scenes.iter().map(|scene| scene.name).collect();
        if self.plan.together {
            self.run(&stage, &names, seconds, one);
        } else {
            // Who begins changes from round to round, as in a campaign.
            let first = usize::try_from(self.stage).unwrap_or(0) / names.len() % names.len();
            for place in 0..names.len() {
                self.run(&stage, &[names[(first + place) % names.len()]], seconds, one);
            }
        }
    }

    /// A stage on these targets at the same time.
    fn run(&mut self, stage: &Stage, targets: &[&'static str], seconds: u32, one: f64) {
        let mut loads = Vec::new();
        for target in targets {
            // A target may have been lost since.
            let Some(scene) = self.scenes.iter().find(|scene| scene.name == *target) else { continue };
            let one = one * scene.speed;
            let key = StageKey { system: (*target).to_owned(), ..stage.key.clone() };
            let stage = Stage { id: self.stage, key, ..stage.clone() };
            self.stage += 1;
            self.push(Event::StageStarted(stage.clone()));
            loads.push(Load { stage, one, errors: self.plan.errors });
        }
        if loads.is_empty() {
            return;
        }
        for index in 0..seconds {
            self.at_ms += 1000;
            self.samples(&loads, index);
            for load in &loads {
                let interval = load.interval(index, &self.plan.intruder);
                self.push(Event::Interval(interval));
            }
            self.lose_a_target(&mut loads, index + 1);
        }
        for load in loads {
            self.finish(load.stage.id, seconds, true);
        }
        self.at_ms += 150;
    }

    fn finish(&mut self, stage: u32, seconds: u32, complete: bool) {
        self.push(Event::StageFinished(StageFinished {
            stage,
            seconds: f64::from(seconds),
            drain_s: 0.01,
            complete,
            clients_aborted: 0,
            not_begun: 0,
            realtime: None,
        }));
    }

    fn lose_a_target(&mut self, loads: &mut Vec<Load>, seconds: u32) {
        let due = self.plan.lost_after_s.is_some_and(|after_s| self.at_ms >= u64::from(after_s) * 1000);
        if !due || self.scenes.len() < 2 {
            return;
        }
        let name = self.scenes.remove(1).name;
        let stage = loads.iter().find(|load| load.stage.key.system == name).map(|load| load.stage.id);
        loads.retain(|load| load.stage.key.system != name);
        self.push(Event::TargetLost(TargetLost {
            target: name.to_owned(),
            stage,
            reason: self.outside("the connection was closed, and a new one is refused: Connection refused"),
        }));
        if let Some(stage) = stage {
            self.finish(stage, seconds, false);
        }
    }

    /// What is read of hosts and databases. A target without a load is read as well.
    fn samples(&mut self, loads: &[Load], index: u32) {
        let busy: f64 = loads.iter().map(|load| 1.9_f64.min(f64::from(load.stage.clients) * 0.6)).sum();
        self.driver_cpu_s += busy * 0.34;
        for place in 0..self.scenes.len() {
            let load = loads.iter().find(|load| load.stage.key.system == self.scenes[place].name);
            let tps = load.map_or(0.0, |load| load.done(index) as f64);
            let clients = load.map_or(0, |load| load.stage.clients);
            let samples = self.scenes[place].samples(clients, tps, self.driver_cpu_s);
            for (source, target, values) in samples {
                let values = values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                let (source, target) = (source.to_owned(), target.to_owned());
                self.push(Event::Sample(Sample { source, target, values }));
            }
        }
    }

    fn ending(&mut self) {
        self.at_ms += 600;
        for scene in self.scenes.clone() {
            for (name, detail) in scene.checks() {
                self.push(Event::Check(Check {
                    target: scene.name.to_owned(),
                    workload: scene.workload.to_owned(),
                    series: None,
                    name: name.to_owned(),
                    passed: Some(true),
                    expected: None,
                    found: None,
                    detail: self.outside(detail),
                }));
            }
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
                Code::Durable,
                Severity::Note,
                "fsync, synchronous_commit and full_page_writes are on",
                "nothing to do",
            ),
            (
                Code::SharedHost,
                Severity::Doubt,
                "driver and server share 2 cores; the driver took 34% of them",
                "run the driver on another host to see what the server can do alone",
            ),
        ];
        for (code, severity, evidence, advice) in findings {
            self.push(Event::Finding(Finding::new(
                (code, severity),
                Subject::default(),
                self.outside(evidence),
                advice,
                Facts::default(),
            )));
        }
        let seconds = self.at_ms as f64 / 1e3;
        self.push(Event::Finished(Finished {
            outcome: Outcome::Complete,
            reason: None,
            targets_lost: false,
            seconds,
        }));
    }
}
