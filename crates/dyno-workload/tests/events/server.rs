//! Servers of all products, and the benchmark on them as a campaign has it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_engine::engine::{Engine, Observation};
use dyno_engine::plan::{Arrivals, EngineConfig, Limit, StagePlan};
use dyno_engine::workload::Workload;
use dyno_results::event::{Check, Queries};
use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup};
use dyno_workload::benchmark::{
    Benchmark, BenchmarkError, Dataset, Done, EventsBenchmark, EventsWishes, Load, Progress, Site,
};
use dyno_workload::events::Test;

pub(crate) enum Server {
    Postgres(Postgres),
    MySql(Mysql),
}

impl Server {
    /// One of each kind that this machine can start, one after the other.
    pub(crate) fn each() -> impl Iterator<Item = Self> {
        let mysql = MysqlProduct::ALL.into_iter().map(Some);
        std::iter::once(None).chain(mysql).filter_map(|product| match product {
            None => Self::postgres(),
            Some(product) => Self::mysql(&MysqlSetup::new(product)),
        })
    }

    pub(crate) fn postgres() -> Option<Self> {
        Postgres::start(&Setup::default()).map(Self::Postgres)
    }

    /// With files of clients allowed, unless the setup says otherwise.
    pub(crate) fn mysql(setup: &MysqlSetup) -> Option<Self> {
        let told = setup.settings.iter().any(|setting| setting.starts_with("local_infile"));
        let setup = match (told, setup.product) {
            (false, MysqlProduct::Mysql | MysqlProduct::MariaDb) => setup.clone().with("local_infile=1"),
            _ => setup.clone(),
        };
        Mysql::start(&setup).map(Self::MySql)
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Postgres(_) => "PostgreSQL".to_owned(),
            Self::MySql(server) => server.product().to_string(),
        }
    }

    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self, Self::MySql(_))
    }

    pub(crate) fn is_seekdb(&self) -> bool {
        matches!(self, Self::MySql(server) if server.product() == MysqlProduct::SeekDb)
    }

    /// The administrator's.
    pub(crate) fn target(&self) -> Target {
        match self {
            Self::Postgres(_) => self.target_of("postgres", ""),
            Self::MySql(server) => self.target_of("root", &server.password),
        }
    }

    /// PostgreSQL lets everybody in without a password.
    pub(crate) fn target_of(&self, user: &str, password: &str) -> Target {
        let url = match self {
            Self::Postgres(server) => {
                format!("postgres://{user}@{}/postgres?sslmode=disable", server.address)
            }
            Self::MySql(server) => server.url(user, password, "test"),
        };
        Target::parse(&url, &Environment::empty()).unwrap()
    }

    pub(crate) fn open(&self) -> Connection {
        self.target().connect().unwrap()
    }

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

    /// Makes the data; returns what was reported on the way.
    pub(crate) fn prepare(&self, benchmark: &EventsBenchmark) -> Result<Vec<Progress>, BenchmarkError> {
        let mut seen = Vec::new();
        self.prepare_until(benchmark, &AtomicBool::new(false), &mut |progress| seen.push(progress))?;
        Ok(seen)
    }

    pub(crate) fn prepare_until(
        &self,
        benchmark: &EventsBenchmark,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        self.prepare_as(&self.target(), benchmark, stop, progress)
    }

    pub(crate) fn prepare_as(
        &self,
        target: &Target,
        benchmark: &EventsBenchmark,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let open = || target.connect();
        let site = Site {
            target: "it",
            open: &open,
            cpus: 3,
            memory_bytes: None,
            same_host: true,
            free_disk_bytes: None,
            quick: true,
            seed: 1,
            stop,
        };
        benchmark.prepare(&mut target.connect().unwrap(), &site, progress)
    }

    pub(crate) fn find(&self, benchmark: &EventsBenchmark) -> Option<Box<dyn Dataset>> {
        benchmark.find(&mut self.open()).unwrap()
    }

    /// Why the data that is there cannot be used.
    pub(crate) fn refusal(&self, benchmark: &EventsBenchmark) -> String {
        match benchmark.find(&mut self.open()) {
            Err(error) => error.to_string(),
            Ok(found) => panic!("{}: it was found: {}", self.name(), found.is_some()),
        }
    }

    /// Runs `load` between the two looks at the data.
    pub(crate) fn verified(&self, load: &dyn Load, run: impl FnOnce(&dyn Load) -> Done) -> Vec<Check> {
        let baseline = load.baseline(&mut self.open()).unwrap();
        let done = run(load);
        baseline.verify(&mut self.open(), "it", done).unwrap()
    }

    /// Runs a load for so many clients on two threads.
    pub(crate) fn run(&self, load: &dyn Load, clients: u32, limit: Limit, config: EngineConfig) -> Seen {
        let workload: std::sync::Arc<dyn Workload> = load.workload();
        let mut engine = Engine::start(&self.target().endpoint().unwrap(), &workload, config).unwrap();
        let plan = StagePlan {
            stage: 0,
            clients,
            clients_end: clients,
            arrivals: Arrivals::Closed { think_time: Duration::ZERO },
            limit,
        };
        let mut seen = Seen::default();
        let mut observe = |observation| match observation {
            Observation::Interval(interval) => {
                for part in &interval.types {
                    seen.done.add(&Done {
                        acknowledged: part.done,
                        unknown: part.unknown,
                        failed: part.failed,
                        retries: part.retries,
                        writes: part.queries.unwrap_or_default().writes,
                    });
                    seen.queries.add(&part.queries.unwrap_or_default());
                }
            }
            Observation::Error(error) => seen.errors.push(error.to_string()),
        };
        engine.run_stage(&plan, &AtomicBool::new(false), &mut observe).unwrap();
        seen
    }
}

/// What a load did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) done: Done,
    pub(crate) queries: Queries,
    pub(crate) errors: Vec<String>,
}

/// Both tests, or some, on tables of one size.
pub(crate) fn benchmark(tests: &[Test], rows: u64, customers: u64) -> EventsBenchmark {
    let wishes = EventsWishes { rows: Some(rows), customers: Some(customers), customer_index: false };
    EventsBenchmark::new(tests.to_vec(), wishes).unwrap()
}

/// The load of one test on data that is there.
pub(crate) fn load(server: &Server, test: Test) -> Box<dyn Load> {
    let benchmark = EventsBenchmark::new(vec![test], EventsWishes::default()).unwrap();
    server.find(&benchmark).unwrap().loads().remove(0)
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
