//! `run`: the threads connect, the load runs, the report is printed. Like sysbench from outside; inside, dyno's engine,
//! and its store beside it.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_engine::driver::Route;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_engine::workload::Workload;
use dyno_results::event::{StageFinished, StageKind};
use dyno_results::spec::{End, Protocol, StageOrder};
use dyno_target::Environment;
use dyno_target::connection::Connection;
use dyno_target::product::Dialect;
use dyno_wire::endpoint::Endpoint;
use dyno_workload::sysbench::lua::LuaError;
use dyno_workload::sysbench::{
    self, Counters, FatalError, FatalErrors, IgnoredErrors, OnError, Snapshot, Sysbench, Test, Unique,
};

use super::connection::{Database, NotConnected, OpenedServer};
use super::console::Level;
use super::options::SysbenchSettings;
use super::report::PeriodCounts;
use super::script::ScriptLoad;
use super::watch::{EventBacklog, Watched};
use super::{Context, Refused, stored, tables};
use crate::front_end::{
    BROKE_OFF, Ended, Extras, INTERRUPTED_BEFORE, Recording, STOPPED_WAIT, Tables, WAIT_FOREVER, arrivals,
    beside,
};
use crate::{DONE, INCOMPLETE, NOT_STARTED, interrupt};

/// As sysbench says it.
const QUEUE_IS_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the \
                             specified event generation rate";
/// Beyond the time after which events are cut off: they are counted before.
const COUNT_MARGIN: Duration = Duration::from_millis(100);

/// So many load threads are enough: as many as there are processors, and not more than clients.
pub(super) fn load_threads(settings: &SysbenchSettings) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(processors).unwrap_or(u32::MAX).min(settings.threads.get())
}

/// Runs one of the ten.
pub(super) fn builtin(context: &Context, test: Test) -> Result<u8, Refused> {
    let options = tables::options(context, Some(test))?;
    let tables = options.tables;
    let settings = &context.settings;
    context.print_banner();
    let (database, opened) = open(context)?;
    let stop = interrupt::stop_flag();
    let ignored = ignored_errors(context, database.mysql)?;
    let counters = Counters::new(load_threads(settings), settings.threads.get());
    let fatal = FatalErrors::new();
    let reconnects = ignored.reconnects();
    let seed = seed(settings);
    let sysbench = Sysbench::new(test, options, &Dialect::of_wire(database.mysql))
        .with_counters(Arc::clone(&counters))
        .with_ignored_errors(ignored)
        .with_on_error(OnError::EndRun(Arc::clone(&fatal)))
        .with_segments(settings.threads.get())
        .with_unique(Unique::new(seed));
    let run = SysbenchRun {
        context,
        database: &database,
        workload: Arc::new(sysbench),
        counters,
        fatal,
        script: None,
        tables,
        reconnects,
        series: test.name().to_owned(),
        name: test.workload(),
        seed,
        stop,
        backlog: EventBacklog::default(),
    };
    run.perform(&opened.endpoints, Some((opened.connection, opened.url)))
}

/// Opens the first connections.
fn open(context: &Context) -> Result<(Database, OpenedServer), Refused> {
    let opened = Database::new(&context.options, &Environment::of_process()).and_then(|database| {
        database.warn(&context.console);
        let opened = database.open_all()?;
        Ok((database, opened))
    });
    opened.map_err(|failure| not_started(context, &failure))
}

pub(super) fn seed(settings: &SysbenchSettings) -> u64 {
    let time = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Nanoseconds of now: the low bits are what matters.
    settings.seed.unwrap_or_else(|| time().as_nanos() as u64)
}

pub(super) fn ignored_errors(context: &Context, mysql: bool) -> Result<IgnoredErrors, Refused> {
    if !mysql {
        return Ok(IgnoredErrors::usual());
    }
    let list = context.options.text("mysql-ignore-errors").unwrap_or_default();
    IgnoredErrors::parse(list).map_err(|error| context.refuse(&format!("--mysql-ignore-errors: {error}")))
}

pub(super) fn not_started(context: &Context, failure: &NotConnected) -> Refused {
    failure.tell_thread(&context.console);
    Refused
}

/// A run from the first connection to the report.
pub(super) struct SysbenchRun<'a> {
    pub(super) context: &'a Context,
    pub(super) database: &'a Database,
    pub(super) workload: Arc<dyn Workload>,
    pub(super) counters: Arc<Counters>,
    /// The error that ends the run of one of the ten.
    pub(super) fatal: Arc<FatalErrors>,
    /// The script that is run in the place of one of the ten.
    pub(super) script: Option<ScriptLoad<'a>>,
    /// Tables that it uses; 0 where that is not known, as of scripts.
    pub(super) tables: u32,
    /// A lost connection is opened again.
    pub(super) reconnects: bool,
    /// As the store calls it: the series, and the workload.
    pub(super) series: String,
    pub(super) name: &'static str,
    pub(super) seed: u64,
    /// The first signal sets it, and an error that ends the run.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) backlog: EventBacklog,
}

impl SysbenchRun<'_> {
    /// `first` is a session to describe the server by, with the server's URL. Without one the run is not stored.
    pub(super) fn perform(
        &self,
        endpoints: &[Endpoint],
        first: Option<(Connection, String)>,
    ) -> Result<u8, Refused> {
        let mut recording = self.begin_recording(first);
        if self.stop.load(Ordering::Relaxed) {
            recording.discard();
            return Err(self.context.refuse(INTERRUPTED_BEFORE));
        }
        let mut engine = match self.start(endpoints) {
            Ok(engine) => engine,
            Err(refused) => {
                recording.discard();
                return Err(refused);
            }
        };
        if let Some(endpoint) = endpoints.first() {
            recording.watch(endpoint);
        }
        for thread in 0..self.context.settings.threads.get() {
            for state in ["started", "initialized"] {
                self.context.console.say(Level::Debug, &format!("Worker thread (#{thread}) {state}"));
            }
        }
        self.context.console.notice("Threads started!\n");
        let measured = self.measure(&mut engine, &recording);
        drop(engine);
        let (code, reason) = match measured {
            Ok((outcome, watched)) => {
                let ended = self.end(&outcome, &watched);
                (Ok(ended.code), ended.reason)
            }
            Err(error) => (Err(self.context.refuse(&error.to_string())), Some(BROKE_OFF.to_owned())),
        };
        recording.finish(reason);
        code
    }

    fn begin_recording(&self, first: Option<(Connection, String)>) -> Recording {
        let extras = self.context.settings.extras;
        let (mut connection, url) = first.unzip();
        let extras = if connection.is_some() { extras } else { Extras::Off };
        let mut recording = Recording::begin(stored::description(self, url.unwrap_or_default()), extras);
        if let Some(connection) = &mut connection {
            let names: Vec<_> = (1..=self.tables).map(sysbench::table_name).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let tables = Tables { scale: None, names: &names, contended_rows: None };
            recording.describe(connection, (!names.is_empty()).then_some(tables), &[]);
        }
        recording
    }

    /// Starts the load threads, connects the clients, and has a script's threads begin.
    fn start(&self, endpoints: &[Endpoint]) -> Result<Engine, Refused> {
        let failed = |failure: &NotConnected| not_started(self.context, failure);
        let (first, further) = endpoints.split_first().ok_or_else(|| failed(&NotConnected::nowhere()))?;
        let config = EngineConfig { further_endpoints: further.to_vec(), ..self.engine_config() };
        let started = Engine::start(first, &self.workload, config).and_then(|mut engine| {
            engine.connect(self.context.settings.threads.get(), &self.stop, &mut |_| {})?;
            if self.script.is_some() {
                let once = End::TransactionsPerClient(1);
                let order = StageOrder::closed(self.context.settings.threads.get(), once);
                engine.run_stage(&order, &self.stop, &mut |_| {})?;
                if self.stop.load(Ordering::Relaxed) {
                    return Err(EngineError::Stopped);
                }
            }
            Ok(engine)
        });
        match (started, self.script.as_ref().and_then(ScriptLoad::failure)) {
            (_, Some(failure)) => {
                self.context.console.fatal(&failure.to_string());
                Err(self.context.refuse("Thread initialization failed!"))
            }
            (Ok(engine), None) => Ok(engine),
            (Err(error), None) => Err(failed(&match &error {
                EngineError::Connect { route, source, .. } if let Route::Wire(endpoint) = &**route => {
                    self.database.refused(&endpoint.address, source)
                }
                _ => NotConnected::other(&error.to_string()),
            })),
        }
    }

    fn engine_config(&self) -> EngineConfig {
        let settings = &self.context.settings;
        EngineConfig {
            protocol: if self.database.prepared { Protocol::Prepared } else { Protocol::Simple },
            tries_max: u32::MAX,
            on_loss: if self.reconnects { OnLoss::Reconnect } else { OnLoss::Abort },
            drain_timeout: settings.forced_shutdown.map_or(WAIT_FOREVER, |wait| wait + COUNT_MARGIN),
            stopped_drain_timeout: STOPPED_WAIT,
            finish_late: false,
            connect_when_asked: self.script.is_some(),
            failures_in_a_row_max: u32::MAX,
            seed: self.seed,
            ..EngineConfig::new(load_threads(settings))
        }
    }

    fn measure(
        &self,
        engine: &mut Engine,
        recording: &Recording,
    ) -> Result<(StageFinished, Watched), EngineError> {
        let settings = &self.context.settings;
        let has_warm_up = !settings.warmup.is_zero();
        if has_warm_up {
            let seconds = settings.warmup.as_secs();
            self.context.console.notice(&format!("Warming up for {seconds} seconds...\n"));
            let end = End::Duration(settings.warmup);
            let order = StageOrder { kind: StageKind::WarmUp, end, transactions_max: None, ..self.order() };
            recording.run_stage(engine, order, &self.stop, &mut |seen| self.observe(seen))?;
        }
        // What a script asks before its first event is counted, as by sysbench.
        let base = if has_warm_up { self.counters.read() } else { Snapshot::default() };
        self.counters.restart_extremes();
        let start = Instant::now();
        beside(
            |end| self.watch(end, start, base),
            |_running| {
                recording.run_stage(engine, self.order(), &self.stop, &mut |seen| {
                    self.observe(seen);
                    if self.backlog.is_full() {
                        self.stop.store(true, Ordering::Relaxed);
                    }
                })
            },
        )
    }

    /// The load that is measured.
    pub(super) fn order(&self) -> StageOrder {
        let settings = &self.context.settings;
        let end = settings.time.map_or(End::TransactionsPerClient(u64::MAX), End::Duration);
        let arrivals = arrivals(settings.rate.map(f64::from));
        let transactions_max = settings.events;
        StageOrder {
            transactions_max,
            ..StageOrder::new(StageKind::Hold, settings.threads.get(), arrivals, end)
        }
    }

    fn observe(&self, seen: &Observation) {
        if let Observation::Interval(interval) = seen
            && !interval.drain
        {
            let end_ns = interval.start_ns + interval.duration_ns;
            self.backlog.set(interval.backlog, (end_ns + 500_000) / 1_000_000);
        }
    }

    /// Tells how it ended: the error that ended it, or the report.
    fn end(&self, outcome: &StageFinished, watched: &Watched) -> Ended {
        let console = &self.context.console;
        let failed = |reason: String| Ended::incomplete(NOT_STARTED, reason);
        // That events were cut off is no error of theirs.
        let was_cut = watched.unfinished.is_some();
        if let Some(error) = self.fatal.first().filter(|_| !was_cut) {
            self.tell_fatal(error);
            return failed(error.message.clone());
        }
        if let Some(error) = self.end_script().filter(|_| !was_cut) {
            console.fatal(&error.to_string());
            return failed(error.to_string());
        }
        if self.backlog.is_full() {
            console.fatal(QUEUE_IS_FULL);
            return failed(QUEUE_IS_FULL.to_owned());
        }
        let took = Duration::from_secs_f64(outcome.seconds + outcome.drain_s);
        self.tell_why_it_ended(took);
        self.report(took, watched);
        if self.stop.load(Ordering::Relaxed) {
            return Ended::incomplete(INCOMPLETE, "interrupted");
        }
        match watched.unfinished {
            Some(count) => {
                Ended::incomplete(INCOMPLETE, format!("{count} events were cut off behind the run's time"))
            }
            None => Ended { code: DONE, reason: None },
        }
    }

    /// Has a script's threads end; the error that ended the run, or that comes of it.
    fn end_script(&self) -> Option<LuaError> {
        let script = self.script.as_ref()?;
        let failure = script.failure().cloned();
        failure.or_else(|| script.end_threads().err())
    }

    fn report(&self, took: Duration, watched: &Watched) {
        let counts = self.counters.read().since(&watched.since);
        let over = took.saturating_sub(watched.since_at);
        let counted = PeriodCounts { counts: &counts, over, unfinished: watched.unfinished };
        if let Some(script) = &self.script {
            script.report(&counted, took, true);
            script.done();
        } else {
            self.context.print_report(&counted, true);
        }
    }

    fn tell_why_it_ended(&self, took: Duration) {
        let Context { settings, console, .. } = self.context;
        let by_time = settings.time.is_some_and(|time| took >= time);
        let limit = if by_time { "Time" } else { "Event" };
        for _ in 0..settings.threads.get() {
            console.say(Level::Info, &format!("{limit} limit exceeded, exiting..."));
        }
        console.say(Level::Info, "Done.\n");
    }

    /// The error that ended a run.
    fn tell_fatal(&self, error: &FatalError) {
        let mut error = error.clone();
        // Of a lost connection there is nothing from the server: sysbench tells what its client library makes of that.
        if error.number.is_none() && error.state.is_empty() && self.database.mysql {
            error.number = Some(2013);
            error.state = "HY000".to_owned();
            error.message = "Lost connection to server during query".to_owned();
        }
        self.context.console.sql_error("thread_run", self.database.prepared, &error);
    }
}
