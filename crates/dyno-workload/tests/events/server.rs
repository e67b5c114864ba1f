//! The benchmark on servers of all products as a campaign has it.

use dyno_results::spec::{End, StageOrder};
use std::sync::atomic::AtomicBool;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::workload::Workload;
use dyno_results::event::{Check, Queries};
use dyno_target::{Capabilities, Target};
use dyno_workload::benchmark::{
    Benchmark, BenchmarkError, Dataset, Done, Progress, Sending, SeriesLoad, Site,
};
use dyno_workload::dataset::OpenConnection;

use dyno_workload::registry::{self, DataOptions};
use serde_json::json;

pub(crate) use crate::database::Server;

/// The two transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    Join,
    Ingest,
}

impl Test {
    pub(crate) const ALL: [Self; 2] = [Self::Join, Self::Ingest];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Ingest => "ingest",
        }
    }

    pub(crate) fn writes(self) -> bool {
        self == Self::Ingest
    }
}

/// Tests, and the data that is wanted.
pub(crate) struct Asked {
    tests: Vec<Test>,
    options: DataOptions,
}

impl Asked {
    pub(crate) fn new(tests: &[Test], options: &serde_json::Value) -> Self {
        let options = DataOptions::read(options.as_object().unwrap()).unwrap();
        Self { tests: tests.to_vec(), options }
    }

    pub(crate) fn on(&self, target: &Capabilities) -> Box<dyn Benchmark> {
        let found = self.tests.iter().map(|test| registry::find(&format!("events/{}", test.name())).unwrap());
        let selection = found.reduce(|all, one| all.and(&one).unwrap()).unwrap();
        selection.benchmark(&self.options, target).unwrap()
    }
}

impl Server {
    /// A single number.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        self.open().query_value(sql).unwrap().unwrap()
    }

    pub(crate) fn execute(&self, statements: &[&str]) {
        let mut connection = self.open();
        for sql in statements {
            connection.execute(sql).unwrap();
        }
    }

    pub(crate) fn on(&self, asked: &Asked) -> Box<dyn Benchmark> {
        asked.on(&self.target().capabilities())
    }

    /// Makes the data; returns what was reported on the way.
    pub(crate) fn prepare(&self, benchmark: &Asked) -> Result<Vec<Progress>, BenchmarkError> {
        let mut seen = Vec::new();
        self.prepare_until(benchmark, &AtomicBool::new(false), &mut |progress| seen.push(progress))?;
        Ok(seen)
    }

    pub(crate) fn prepare_until(
        &self,
        benchmark: &Asked,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        self.prepare_as(&self.target(), benchmark, stop, progress)
    }

    pub(crate) fn prepare_as(
        &self,
        target: &Target,
        benchmark: &Asked,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let open = || target.connect();
        let benchmark = benchmark.on(&target.capabilities());
        benchmark.prepare(&mut target.connect().unwrap(), &site(&open, stop), progress)
    }

    /// Adds rows until the tables have so many.
    pub(crate) fn top_up(&self, benchmark: &Asked, rows: &[u64]) -> Result<(), BenchmarkError> {
        let (target, stop) = (self.target(), AtomicBool::new(false));
        let open = || target.connect();
        self.on(benchmark).top_up(&mut self.open(), &site(&open, &stop), rows, &mut |_| {})
    }

    pub(crate) fn find(&self, benchmark: &Asked) -> Option<Dataset> {
        self.on(benchmark).find(&mut self.open()).unwrap()
    }

    /// Why the data that is there cannot be used.
    pub(crate) fn refusal(&self, benchmark: &Asked) -> String {
        match self.on(benchmark).find(&mut self.open()) {
            Err(error) => error.to_string(),
            Ok(found) => panic!("{}: it was found: {}", self.name(), found.is_some()),
        }
    }

    /// Runs `load` between the two looks at the data.
    pub(crate) fn verified(
        &self,
        load: &dyn SeriesLoad,
        run: impl FnOnce(&dyn SeriesLoad) -> Done,
    ) -> Vec<Check> {
        let baseline = load.baseline(&mut self.open()).unwrap().unwrap();
        let done = run(load);
        baseline.verify(&mut self.open(), "it", done, &[load.acknowledged()]).unwrap()
    }

    /// Runs a load for so many clients on the threads of `config`.
    pub(crate) fn run(&self, load: &dyn SeriesLoad, clients: u32, end: End, config: EngineConfig) -> Seen {
        self.run_until(&AtomicBool::new(false), load, clients, end, config, &mut |_| {})
    }

    /// The same until it is stopped; `look` sees how many transactions were acknowledged, and how many connections were
    /// opened again, interval by interval.
    pub(crate) fn run_until(
        &self,
        stop: &AtomicBool,
        load: &dyn SeriesLoad,
        clients: u32,
        end: End,
        config: EngineConfig,
        look: &mut dyn FnMut(&Seen),
    ) -> Seen {
        let EngineConfig { protocol, seed, .. } = config;
        let dialect = Some(self.open().dialect());
        let sending = Sending { protocol, seed, dialect, threads: 2, ..Sending::default() };
        let workload: std::sync::Arc<dyn Workload> = load.workload(&sending).unwrap();
        let mut engine = Engine::start(self.target().route().unwrap(), &workload, config).unwrap();
        let plan = StageOrder::closed(clients, end);
        let mut seen = Seen::default();
        let mut observe = |observation| match observation {
            Observation::Interval(interval) => {
                for part in &interval.types {
                    seen.done.add(&Done {
                        acknowledged: part.done,
                        rolled_back: part.rolled_back,
                        unknown: part.unknown,
                        failed: part.failed,
                        retries: part.retries,
                        writes: part.queries.unwrap_or_default().writes,
                    });
                    seen.queries.add(&part.queries.unwrap_or_default());
                }
                seen.reconnects += interval.reconnects;
                look(&seen);
            }
            Observation::Error(error) => seen.errors.push(error.to_string()),
            _ => {}
        };
        engine.run_stage(&plan, stop, &mut observe).unwrap();
        seen
    }
}

fn site<'a>(open: OpenConnection<'a>, stop: &'a AtomicBool) -> Site<'a> {
    Site {
        target: "it",
        open,
        cpus: 3,
        memory_bytes: None,
        same_host: true,
        free_disk_bytes: None,
        quick: true,
        seed: 1,
        stop,
    }
}

/// What a load did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) done: Done,
    pub(crate) queries: Queries,
    pub(crate) reconnects: u64,
    pub(crate) errors: Vec<String>,
}

/// Both tests, or some, on tables of one size.
pub(crate) fn benchmark(tests: &[Test], rows: u64, customers: u64) -> Asked {
    Asked::new(tests, &json!({ "rows": rows, "customers": customers }))
}

/// The load of one test on data that is there.
pub(crate) fn load(server: &Server, test: Test) -> Box<dyn SeriesLoad> {
    server.find(&Asked::new(&[test], &json!({}))).unwrap().loads().remove(0)
}

pub(crate) fn assert_passed(checks: &[Check], about: &str) {
    assert!(checks.len() > 2, "{about}: {checks:?}");
    for check in checks {
        assert_eq!(check.passed, Some(true), "{about}: {check:#?}");
    }
}

/// Names of the checks that failed.
pub(crate) fn failed(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| check.passed == Some(false)).map(|check| check.name.as_str());
    failed.collect::<Vec<_>>().join(" ")
}
