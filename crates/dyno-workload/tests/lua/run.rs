//! Runs a script as the front does: commands, and the load on the engine.

use dyno_results::spec::{End, StageOrder};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::workload::Workload;
use dyno_target::connection::Connection;
use dyno_workload::sysbench::lua::{
    Invocation, LuaError, LuaLoad, LuaRun, LuaScript, OptionValue, ScriptSettings,
};
use dyno_workload::sysbench::{Counters, IgnoredErrors, Snapshot};

use crate::server::Server;

/// A script with its command line.
pub(crate) struct Run {
    pub(crate) script: LuaScript,
    pub(crate) settings: ScriptSettings,
    pub(crate) threads: u32,
    pub(crate) clients: u32,
    pub(crate) ignored: Option<IgnoredErrors>,
    /// What was logged.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) failure: Option<LuaError>,
    pub(crate) counts: Snapshot,
    pub(crate) aborted: u32,
    pub(crate) complete: bool,
    /// What `thread_done` came to.
    pub(crate) finished: Result<(), LuaError>,
}

pub(crate) fn invocation(command: &str) -> Invocation {
    Invocation { command: Some(command.to_owned()), ..Invocation::default() }
}

/// Reads a script that is right.
pub(crate) fn read(text: &str) -> LuaScript {
    LuaScript::from_text("test.lua", text.as_bytes().to_vec(), &invocation("run")).unwrap()
}

/// What is wrong with a script as it is read.
pub(crate) fn wrong(text: &[u8]) -> LuaError {
    LuaScript::from_text("test.lua", text.to_vec(), &invocation("run")).unwrap_err()
}

/// For scripts that need no server.
pub(crate) fn nowhere() -> Result<Connection, String> {
    panic!("the script opens a connection");
}

impl Run {
    pub(crate) fn of(text: &str, server: &Server) -> Self {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&log);
        let endpoint = server.endpoint();
        let invocation = Invocation {
            mysql: server.is_mysql(),
            open: Some(Arc::new(move || Connection::open(&endpoint).map_err(|error| error.to_string()))),
            log: Some(Arc::new(move |_, line: &str| lines.lock().unwrap().push(line.to_owned()))),
            ..invocation("run")
        };
        let script = LuaScript::from_text("test.lua", text.as_bytes().to_vec(), &invocation).unwrap();
        Self::with(script, log)
    }

    /// A script that is installed on this machine.
    pub(crate) fn of_file(path: &Path, server: &Server) -> Self {
        let invocation = Invocation { mysql: server.is_mysql(), ..invocation("run") };
        let script = LuaScript::load(path, &invocation).unwrap();
        Self::with(script, Arc::default())
    }

    fn with(script: LuaScript, log: Arc<Mutex<Vec<String>>>) -> Self {
        let threads = ("threads".to_owned(), OptionValue::Integer(4));
        let declared = script.options_declared().iter().map(|option| (option.key(), option.value_unset()));
        let options = std::iter::once(threads).chain(declared).collect();
        let settings = ScriptSettings { options, seed: 11, ..ScriptSettings::default() };
        Self { script, settings, threads: 2, clients: 4, ignored: None, log }
    }

    pub(crate) fn option(mut self, name: &str, value: OptionValue) -> Self {
        self.settings.options.retain(|(known, _)| known != name);
        self.settings.options.push((name.to_owned(), value));
        self
    }

    /// Runs a command to its end.
    pub(crate) fn command(mut self, name: &str, server: &Server) -> Result<bool, LuaError> {
        self.script.configure(self.settings).unwrap();
        self.script.run_command(name, self.threads, &|| server.open())
    }

    pub(crate) fn events(self, per_client: u64, server: &Server) -> Outcome {
        self.until(End::TransactionsPerClient(per_client), server)
    }

    pub(crate) fn until(self, end: End, server: &Server) -> Outcome {
        // Time for whatever is not broken, however slow the machine.
        let long = Duration::from_secs(300);
        let config = EngineConfig { reconnect_timeout: long, drain_timeout: long, ..EngineConfig::new(1) };
        self.on(end, config, server)
    }

    pub(crate) fn on(mut self, end: End, config: EngineConfig, server: &Server) -> Outcome {
        self.script.configure(self.settings).unwrap();
        let (threads, clients) = (self.threads, self.clients);
        let counters = Counters::new(threads, clients);
        let stop = Arc::new(AtomicBool::new(false));
        let given = LuaRun {
            threads,
            clients,
            counters: Arc::clone(&counters),
            ignored: self.ignored.unwrap_or_else(IgnoredErrors::usual),
            stop: Arc::clone(&stop),
            on_connect_error: Box::new(|_| {}),
        };
        let load = LuaLoad::new(Arc::new(self.script), given);
        let workload: Arc<dyn Workload> = Arc::new(load.clone());
        let config = EngineConfig { threads, seed: 11, connect_when_asked: true, ..config };
        let mut engine = Engine::start(&server.endpoint(), &workload, config).unwrap();
        let mut plan = StageOrder::closed(clients, End::TransactionsPerClient(1));
        let mut outcome = engine.run_stage(&plan, &stop, &mut |_| {}).unwrap();
        assert_eq!(counters.read().events, 0, "thread_init is no event");
        let before = counters.read();
        // A failure has stopped the run, and an engine that is stopped need not begin another stage.
        if load.failure().is_none() {
            plan.end = end;
            outcome = engine.run_stage(&plan, &stop, &mut |_| {}).unwrap();
        }
        drop(engine);
        Outcome {
            counts: counters.read().since(&before),
            aborted: outcome.clients_aborted,
            complete: outcome.complete,
            finished: load.finish(&|| server.open()),
            failure: load.failure().cloned(),
        }
    }
}

impl Outcome {
    /// The counts of a run in which nothing went wrong.
    #[track_caller]
    pub(crate) fn well(self) -> Snapshot {
        assert_eq!((&self.failure, &self.finished), (&None, &Ok(())));
        self.counts
    }
}
