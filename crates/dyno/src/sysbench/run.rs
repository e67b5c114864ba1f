//! `run`: the threads connect, the load runs, the report is printed. Like sysbench from outside; inside, dyno's engine,
//! and its store beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use dyno_engine::engine::{Engine, Observation, StageOutcome};
use dyno_engine::error::EngineError;
use dyno_engine::plan::{Arrivals, EngineConfig, Limit, OnLoss, StagePlan};
use dyno_engine::request::Protocol;
use dyno_engine::workload::Workload;
use dyno_results::event::{Distribution, StageKind};
use dyno_target::Environment;
use dyno_workload::sysbench::{
    Counters, FatalError, FatalErrors, IgnoredErrors, OnError, Snapshot, Sysbench, Test,
};

use super::connection::{Database, NotConnected, Opened};
use super::options::Settings;
use super::report::{Counted, Form};
use super::stored::{self, Recorded};
use super::watch::{Backlog, Watch, Watched, without_last_end};
use super::{Context, Refused, tables};
use crate::{DONE, INCOMPLETE, interrupt};

/// Longest wait for a connection to open and log in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a run that the user or an error stops waits for what is under way.
const STOPPED_WAIT: Duration = Duration::from_secs(1);
/// A run waits for its last events however long they take, as sysbench does.
const WAIT_FOREVER: Duration = Duration::MAX;
/// Beyond the time after which events are cut off: they are counted before.
const COUNT_MARGIN: Duration = Duration::from_millis(100);

/// What is run.
pub(super) struct Load {
    pub(super) workload: Arc<dyn Workload>,
    pub(super) counters: Arc<Counters>,
    pub(super) fatal: Arc<FatalErrors>,
    /// Whether there are queries to be counted.
    pub(super) sql: bool,
    /// A lost connection is opened again.
    pub(super) reconnects: bool,
    pub(super) prepared: bool,
    /// As the store calls it: the series, and the workload.
    pub(super) series: String,
    pub(super) name: String,
}

/// So many load threads are enough: as many as there are processors, and not more than clients.
pub(super) fn load_threads(settings: &Settings) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    u32::try_from(processors).unwrap_or(u32::MAX).min(settings.threads.get())
}

/// Runs one of the ten.
pub(super) fn builtin(context: &Context, test: Test) -> Result<u8, Refused> {
    let options = tables::options(context, Some(test))?;
    let settings = &context.settings;
    print_banner(context);
    let database = Database::new(&context.options, &Environment::of_process())
        .map_err(|failure| not_started(context, &failure))?;
    let ignored = ignored_errors(context, database.mysql)?;
    let counters = Counters::new(load_threads(settings), settings.threads.get());
    let fatal = FatalErrors::new();
    let reconnects = ignored.reconnects();
    let seed = seed(settings);
    let sysbench = Sysbench::new(test, options, database.mysql)
        .with_counters(Arc::clone(&counters))
        .with_ignored_errors(ignored)
        .with_on_error(OnError::EndRun(Arc::clone(&fatal)))
        .with_segments(settings.threads.get())
        .with_unique_seed(seed);
    let load = Load {
        workload: Arc::new(sysbench),
        counters,
        fatal,
        sql: true,
        reconnects,
        prepared: database.prepared,
        series: test.name().to_owned(),
        name: test.workload().to_owned(),
    };
    Run { context, load: &load, seed, backlog: Backlog::default() }.perform(&database)
}

pub(super) fn seed(settings: &Settings) -> u64 {
    let time = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Nanoseconds of now: the low bits are what matters.
    settings.seed.unwrap_or_else(|| time().as_nanos() as u64)
}

pub(super) fn ignored_errors(context: &Context, mysql: bool) -> Result<IgnoredErrors, Refused> {
    if !mysql {
        return Ok(IgnoredErrors::usual(false));
    }
    let list = context.options.text("mysql-ignore-errors").unwrap_or_default();
    IgnoredErrors::parse(list).map_err(|error| context.refuse(&format!("--mysql-ignore-errors: {error}")))
}

fn not_started(context: &Context, failure: &NotConnected) -> Refused {
    failure.tell_thread(&context.console);
    Refused
}

/// What is printed before the threads begin.
pub(super) fn print_banner(context: &Context) {
    let Context { settings, console, .. } = context;
    console.notice("Running the test with following options:");
    console.notice(&format!("Number of threads: {}", settings.threads));
    if let Some(rate) = settings.rate {
        console.notice(&format!("Target transaction rate: {rate}/sec"));
    }
    if settings.report_interval_s != 0 {
        let seconds = settings.report_interval_s;
        console.notice(&format!("Report intermediate results every {seconds} second(s)"));
    }
    if !settings.checkpoints.is_empty() {
        let seconds: Vec<_> = settings.checkpoints.iter().map(|at| at.as_secs().to_string()).collect();
        console.notice(&format!("Report checkpoint(s) at {} seconds", seconds.join(", ")));
    }
    if settings.debug {
        console.notice("Debug mode enabled.\n");
    }
    if settings.validate {
        console.notice("Validation checks: on.\n");
    }
    match settings.seed {
        Some(seed) => console.notice(&format!("Initializing random number generator from seed ({seed}).\n")),
        None => console.notice("Initializing random number generator from current time\n"),
    }
    match settings.forced_shutdown.zip(settings.time) {
        Some((wait, time)) => {
            console.notice(&format!("Forcing shutdown in {} seconds\n", (time + wait).as_secs()));
        }
        None => console.notice(""),
    }
    console.notice("Initializing worker threads...\n");
}

/// A run from the first connection to the report.
pub(super) struct Run<'a> {
    pub(super) context: &'a Context,
    pub(super) load: &'a Load,
    pub(super) seed: u64,
    pub(super) backlog: Backlog,
}

/// How a run ended.
struct Ended {
    code: u8,
    /// Why it is incomplete.
    reason: Option<String>,
}

impl Run<'_> {
    pub(super) fn perform(&self, database: &Database) -> Result<u8, Refused> {
        database.warn(&self.context.console);
        let opened = database.open_all().map_err(|failure| not_started(self.context, &failure))?;
        // From here on a signal ends the run in good order; until here it simply ends.
        let stop = interrupt::stop_flag();
        let Opened { mut connection, endpoints, url } = opened;
        let mut recorded = Recorded::begin(self.context, self.load, self.seed);
        recorded.describe(&mut connection, &url, &self.context.options, self.load);
        drop(connection);
        let mut engine = match self.start(database, &endpoints, &stop) {
            Ok(engine) => engine,
            Err(failure) => {
                recorded.discard();
                return Err(not_started(self.context, &failure));
            }
        };
        recorded.watch(&endpoints);
        self.context.console.notice("Threads started!\n");
        let measured = self.measure(&mut engine, &stop, &recorded);
        drop(engine);
        let (code, reason) = match measured {
            Ok(ended) => (Ok(ended.code), ended.reason),
            Err(error) => {
                (Err(self.context.refuse(&error.to_string())), Some("the load broke off".to_owned()))
            }
        };
        recorded.finish(self.context, reason);
        code
    }

    /// Starts the load threads and connects the clients.
    fn start(
        &self,
        database: &Database,
        endpoints: &[dyno_wire::endpoint::Endpoint],
        stop: &AtomicBool,
    ) -> Result<Engine, NotConnected> {
        let (first, further) = endpoints.split_first().ok_or_else(NotConnected::nowhere)?;
        let config = EngineConfig { further_endpoints: further.to_vec(), ..self.engine_config() };
        let started = Engine::start(first, &self.load.workload, config).and_then(|mut engine| {
            engine.connect(self.context.settings.threads.get(), stop, &mut |_| {})?;
            Ok(engine)
        });
        started.map_err(|error| match error {
            EngineError::Connect { source, .. } => database.refused(&source),
            other => NotConnected::other(&other),
        })
    }

    fn engine_config(&self) -> EngineConfig {
        let settings = &self.context.settings;
        EngineConfig {
            protocol: if self.load.prepared { Protocol::Prepared } else { Protocol::Simple },
            tries_max: u32::MAX,
            connect_timeout: CONNECT_TIMEOUT,
            on_loss: if self.load.reconnects { OnLoss::Reconnect } else { OnLoss::Abort },
            drain_timeout: settings.forced_shutdown.map_or(WAIT_FOREVER, |wait| wait + COUNT_MARGIN),
            stopped_drain_timeout: STOPPED_WAIT,
            finish_late: false,
            failures_in_a_row_max: u32::MAX,
            transactions_max: settings.events,
            seed: self.seed,
            ..EngineConfig::new(load_threads(settings))
        }
    }

    fn measure(
        &self,
        engine: &mut Engine,
        stop: &AtomicBool,
        recorded: &Recorded,
    ) -> Result<Ended, EngineError> {
        let settings = &self.context.settings;
        if !settings.warmup.is_zero() {
            let seconds = settings.warmup.as_secs();
            self.context.console.notice(&format!("Warming up for {seconds} seconds...\n"));
            let plan = self.plan(stored::WARM_UP, Limit::Duration(settings.warmup));
            recorded.stage_begins(self, StageKind::WarmUp, stored::WARM_UP);
            let outcome =
                engine.run_stage(&plan, stop, &mut |seen| self.observe(stored::WARM_UP, seen, recorded))?;
            recorded.stage_ended(stored::WARM_UP, &outcome);
        }
        let base = self.load.counters.read();
        self.load.counters.restart_extremes();
        let limit = settings.time.map_or(Limit::TransactionsPerClient(u64::MAX), Limit::Duration);
        let plan = self.plan(stored::MEASURED, limit);
        recorded.stage_begins(self, StageKind::Hold, stored::MEASURED);
        let (outcome, watched) = self.watch(engine, &plan, stop, recorded, base);
        let outcome = outcome?;
        recorded.stage_ended(stored::MEASURED, &outcome);
        Ok(self.judge(&outcome, &watched, stop))
    }

    fn plan(&self, stage: u32, limit: Limit) -> StagePlan {
        let clients = self.context.settings.threads.get();
        let arrivals = match self.context.settings.rate {
            None => Arrivals::Closed { think_time: Duration::ZERO },
            Some(rate) => {
                let rate = f64::from(rate);
                Arrivals::Open { rate_per_s: rate, rate_end_per_s: rate, distribution: Distribution::Poisson }
            }
        };
        StagePlan { stage, clients, clients_end: clients, arrivals, limit }
    }

    /// Runs the load, and tells of it while it runs.
    fn watch(
        &self,
        engine: &mut Engine,
        plan: &StagePlan,
        stop: &AtomicBool,
        recorded: &Recorded,
        base: Snapshot,
    ) -> (Result<StageOutcome, EngineError>, Watched) {
        let watch = Watch {
            console: &self.context.console,
            settings: &self.context.settings,
            form: self.form(),
            counters: &self.load.counters,
            fatal: &self.load.fatal,
            backlog: &self.backlog,
            stop,
        };
        std::thread::scope(|scope| {
            let (running, end) = channel();
            let start = Instant::now();
            let watching = scope.spawn(move || watch.until(&end, start, base));
            let ran = engine.run_stage(plan, stop, &mut |seen| {
                self.observe(plan.stage, seen, recorded);
                if self.backlog.is_full() && !stop.swap(true, Ordering::Relaxed) {
                    self.load.fatal.note(queue_is_full());
                }
            });
            drop(running);
            let watched = match watching.join() {
                Ok(watched) => watched,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            (ran, watched)
        })
    }

    fn observe(&self, stage: u32, seen: Observation, recorded: &Recorded) {
        if let Observation::Interval(interval) = &seen {
            let end_ms = interval.start_ms + interval.duration_ms;
            self.backlog.set(interval.backlog, end_ms.round() as u64);
        }
        recorded.observe(stage, seen);
    }

    pub(super) fn form(&self) -> Form {
        let settings = &self.context.settings;
        Form { sql: self.load.sql, percentile: settings.percentile, histogram: settings.histogram }
    }

    /// Tells how it ended: the error that ended it, or the report.
    fn judge(&self, outcome: &StageOutcome, watched: &Watched, stop: &AtomicBool) -> Ended {
        let console = &self.context.console;
        if let Some(error) = self.load.fatal.first() {
            tell_fatal(self.context, self.load, error);
            let reason = if error.message.is_empty() {
                "an error ended the run".to_owned()
            } else {
                error.message.clone()
            };
            return Ended { code: crate::NOT_STARTED, reason: Some(reason) };
        }
        let took = Duration::from_secs_f64(outcome.seconds + outcome.drain_s);
        let counts = self.load.counters.read().since(&watched.since);
        let counted = Counted {
            counts: &counts,
            over: took.saturating_sub(watched.since_at),
            unfinished: watched.unfinished,
        };
        self.tell_why_it_ended(took);
        console.notice(without_last_end(&self.form().report(&counted)));
        if stop.load(Ordering::Relaxed) {
            return Ended { code: INCOMPLETE, reason: Some("interrupted".to_owned()) };
        }
        match watched.unfinished {
            Some(count) => Ended {
                code: INCOMPLETE,
                reason: Some(format!("{count} events were cut off behind the run's time")),
            },
            None => Ended { code: DONE, reason: None },
        }
    }

    fn tell_why_it_ended(&self, took: Duration) {
        let Context { settings, console, .. } = self.context;
        let by_time = settings.time.is_some_and(|time| took >= time);
        let limit = if by_time { "Time" } else { "Event" };
        for _ in 0..settings.threads.get() {
            console.info(&format!("{limit} limit exceeded, exiting..."));
        }
        console.info("Done.\n");
    }
}

fn queue_is_full() -> FatalError {
    FatalError {
        client: 0,
        query: String::new(),
        number: None,
        state: String::new(),
        message:
            "The event queue is full. This means the worker threads are unable to keep up with the specified \
                  event generation rate"
                .to_owned(),
    }
}

/// The error that ended a run, in the words of sysbench's drivers.
fn tell_fatal(context: &Context, load: &Load, error: &FatalError) {
    let FatalError { query, number, state, message, .. } = error;
    let fatal = |text: &str| context.console.fatal(text);
    match number {
        Some(number) => {
            let function = if load.prepared { "mysql_stmt_execute" } else { "mysql_drv_query" };
            fatal(&format!("{function}() returned error {number} ({message}) for query '{query}'"));
            fatal(&format!(
                "`thread_run' function failed: SQL error, errno = {number}, state = '{state}': {message}"
            ));
        }
        None if state.is_empty() => fatal(message),
        None => {
            if load.prepared {
                fatal(&format!("PQexecPrepared() failed: 7 {message}"));
            } else {
                fatal(&format!("PQexec() failed: 7 {message}"));
                fatal(&format!("failed query was: {query}"));
            }
            fatal(&format!(
                "`thread_run' function failed: SQL error, errno = 0, state = '{state}': {message}"
            ));
        }
    }
}
