//! A script of sysbench's as a load of one stream, which begins and counts its events as `dyno sysbench` does.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use dbdyno::generator::{Connected, Effect, Generator, GeneratorError, LoadError, Observation, Signals};
use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::workload::Workload;
use dyno_results::spec::{End, Segment, StageOrder};
use dyno_target::{Environment, Target};
use dyno_workload::sysbench::lua::{Invocation, LuaLoad, LuaRun, LuaScript, ScriptSettings};
use dyno_workload::sysbench::{Counters, IgnoredErrors};

const SEED: u64 = 11;

#[derive(Debug)]
pub(crate) struct LuaGenerator {
    engine: Mutex<Option<Engine>>,
    segment: Segment,
}

impl LuaGenerator {
    pub(crate) fn new(text: String, url: &str, clients: u32, segment: Segment) -> Self {
        let invocation = Invocation { command: Some("run".to_owned()), ..Invocation::default() };
        let mut script = LuaScript::from_text("test.lua", text.into_bytes(), &invocation).unwrap();
        script.configure(ScriptSettings { seed: SEED, ..ScriptSettings::default() }).unwrap();
        let run = LuaRun {
            threads: 1,
            clients,
            counters: Counters::new(1, clients),
            ignored: IgnoredErrors::usual(),
            stop: Arc::new(AtomicBool::new(false)),
            on_connect_error: Box::new(|error| panic!("{error}")),
        };
        let workload: Arc<dyn Workload> = Arc::new(LuaLoad::new(Arc::new(script), run));
        let route = Target::parse(url, &Environment::of_process()).unwrap().route().unwrap();
        let config = EngineConfig { segment, seed: SEED, connect_when_asked: true, ..EngineConfig::new(1) };
        let engine = Engine::start(route, &workload, config).unwrap();
        Self { engine: Mutex::new(Some(engine)), segment }
    }
}

impl Generator for LuaGenerator {
    /// The script's threads connect as they begin.
    fn connect(&self, _: u32, clients: u32, stop: &AtomicBool) -> Result<Connected, GeneratorError> {
        let mut engine = self.engine.lock().unwrap();
        let order = StageOrder::closed(clients, End::TransactionsPerClient(1));
        engine.as_mut().unwrap().run_stage(&order, stop, &mut |_| {}).unwrap();
        let generators = self.segment.generators();
        Ok(Connected { generators, threads: 1, poller: None, no_uring: None })
    }

    fn start(&self, _: u32, order: &StageOrder, signals: Signals<'_>, observe: &mut dyn FnMut(Observation)) {
        let mut engine = self.engine.lock().unwrap();
        let failed =
            |error: &dyn ToString| LoadError { said: error.to_string(), advice: None, effect: Effect::Other };
        let mut see =
            |seen: dyno_engine::engine::Observation| observe(seen.map_error(|error| failed(&error)));
        let finished = engine.as_mut().unwrap().run_stage(order, signals, &mut see).unwrap();
        observe(Observation::End { finished, broken: None });
    }

    fn disconnect(&self) {
        *self.engine.lock().unwrap() = None;
    }

    fn stop(&self, _: &mut dyn FnMut(u32, Observation)) {
        self.disconnect();
    }
}
