//! Tables and short loads on the servers of all products.

use dyno_results::spec::{End, StageOrder};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::workload::Workload;
use dyno_results::event::{Check, Queries};
use dyno_target::inspect::recognise;
use dyno_target::product::Dialect;
use dyno_workload::benchmark::Done;
use dyno_workload::sysbench::prepare::Progress;
use dyno_workload::sysbench::{
    Baseline, Counters, Existing, Options, PrepareError, PrepareOptions, Snapshot, Test, prepare, verify,
};

pub(crate) use crate::database::Server;

impl Server {
    pub(crate) fn dialect(&self) -> Dialect {
        recognise(&mut self.open()).unwrap().dialect
    }

    /// Makes the tables over four connections; returns what was reported on the way.
    pub(crate) fn prepare(&self, options: &Options) -> Result<Vec<Progress>, PrepareError> {
        self.prepare_as(options, self.dialect(), Existing::Replace)
    }

    pub(crate) fn prepare_as(
        &self,
        options: &Options,
        dialect: Dialect,
        existing: Existing,
    ) -> Result<Vec<Progress>, PrepareError> {
        let target = self.target();
        let how = PrepareOptions {
            target: "it".to_owned(),
            options,
            dialect,
            threads: 4,
            seed: 1,
            existing,
            stop: None,
        };
        let mut seen = Vec::new();
        prepare(&|| target.connect(), &how, &mut |progress| seen.push(progress))?;
        Ok(seen)
    }

    /// Runs `load`, and checks the tables before and after.
    pub(crate) fn verified(&self, test: Test, options: &Options, load: impl FnOnce() -> Done) -> Vec<Check> {
        let before = Baseline::take(&mut self.open(), options).unwrap();
        let told = load();
        verify(&mut self.open(), "it", &before, test, options, told).unwrap()
    }
}

pub(crate) fn assert_passed(checks: &[Check], about: &str) {
    assert!(checks.len() > 1, "{about}: {checks:?}");
    for check in checks {
        assert_eq!(check.passed, Some(true), "{about}: {check:#?}");
    }
}

/// Names of the checks that failed.
pub(crate) fn failed(checks: &[Check]) -> Vec<&str> {
    checks.iter().filter(|check| check.passed == Some(false)).map(|check| check.name.as_str()).collect()
}

/// What a load did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) done: u64,
    pub(crate) unknown: u64,
    pub(crate) failed: u64,
    pub(crate) retries: u64,
    pub(crate) queries: Queries,
    pub(crate) errors: Vec<String>,
    pub(crate) counted: Snapshot,
    pub(crate) clients_aborted: u32,
}

impl Seen {
    pub(crate) fn told(&self) -> Done {
        Done {
            acknowledged: self.done,
            writes: self.queries.writes,
            unknown: self.unknown,
            failed: self.failed,
            retries: self.retries,
            rolled_back: 0,
        }
    }
}

/// Runs `workload` with counters for so many clients on the threads of `config`.
pub(crate) fn load(
    server: &Server,
    workload: impl FnOnce(Arc<Counters>) -> Arc<dyn Workload>,
    clients: u32,
    end: End,
    config: EngineConfig,
) -> Seen {
    load_until(&AtomicBool::new(false), server, workload, clients, end, config)
}

/// The same until it is stopped.
pub(crate) fn load_until(
    stop: &AtomicBool,
    server: &Server,
    workload: impl FnOnce(Arc<Counters>) -> Arc<dyn Workload>,
    clients: u32,
    end: End,
    config: EngineConfig,
) -> Seen {
    let counters = Counters::new(config.threads, clients);
    let workload = workload(Arc::clone(&counters));
    let mut engine = Engine::start(server.target().route().unwrap(), &workload, config).unwrap();
    let plan = StageOrder::closed(clients, end);
    let mut seen = Seen::default();
    let mut observe = |observation| match observation {
        Observation::Interval(interval) => {
            for part in &interval.types {
                seen.done += part.done;
                seen.unknown += part.unknown;
                seen.failed += part.failed;
                seen.retries += part.retries;
                let queries = part.queries.unwrap_or_default();
                seen.queries.reads += queries.reads;
                seen.queries.writes += queries.writes;
                seen.queries.other += queries.other;
                seen.queries.writes_in_vain += queries.writes_in_vain;
            }
        }
        Observation::Error(error) => seen.errors.push(error.to_string()),
        _ => {}
    };
    let outcome = engine.run_stage(&plan, stop, &mut observe).unwrap();
    seen.clients_aborted = outcome.clients_aborted;
    seen.counted = counters.read();
    seen
}
