//! A run: scripts are read, the setup connection looks at the tables, the clients connect, the load runs, the report is
//! printed. Like pgbench from outside; inside, dyno's engine, and its store beside it.

use dyno_results::spec::{Arrivals, End, Protocol, StageOrder};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use dyno_engine::clock;
use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_engine::engine::{Engine, StageOutcome};
use dyno_engine::error::EngineError;
use dyno_engine::workload::Workload;
use dyno_results::event::{Distribution, StageKind};
use dyno_target::connection::Connection;
use dyno_wire::pg::libpq_text;
use dyno_workload::pgbench::before::{self, TableFacts};
use dyno_workload::pgbench::load::{LoadOptions, PgbenchLoad, WeightedScript};
use dyno_workload::pgbench::log::LogOptions;
use dyno_workload::script::Names;
use dyno_workload::tpcb::Table;

use super::VERSION;
use super::connect::{self, OpenedConnection, PgbenchServer};
use super::console::{self, StandardError};
use super::failed::PgbenchFailed;
use super::options::{Length, LogKind, RunOptions, ScriptSource, Vacuum};
use super::progress::{self, ProgressParts};
use super::report::{self, Results};
use super::sources::read_scripts;
use super::stored::{self, STAGE};
use crate::plan::NAME;
use crate::recording::{Extras, Recording, Tables};
use crate::{DONE, INCOMPLETE, NOT_WRITTEN, interrupt};

/// How long a run that the user stops waits for them.
const STOPPED_WAIT: Duration = Duration::from_secs(1);
/// A run waits for its last transactions however long they take, as pgbench does.
const WAIT_FOREVER: Duration = Duration::MAX;

/// `typed` is the command line behind the program's name.
pub(crate) fn run(options: &RunOptions, typed: Vec<String>) -> Result<u8, PgbenchFailed> {
    let mut names = Names::new();
    let scripts = read_scripts(options, &mut names)?;
    let opened = connect::open(&options.connection, &mut console::raw)
        .map_err(|failure| PgbenchFailed::lines(failure.stderr("setup")))?;
    if options.debug {
        tell_what_is_run(options, &opened.server);
    }
    // From here on a signal ends the run in good order; until here it simply ends.
    let stop = interrupt::stop_flag();
    let mut recording = begin_recording(options, typed, &scripts);
    let ran = load(options, scripts, names, opened, &stop, &mut recording);
    match (ran, recording) {
        (Ok(ended), recording) => {
            if let Some(recording) = recording {
                tell_recorded(recording, &ended, options.extras);
            }
            Ok(ended.code)
        }
        (Err(failed), Some(recording)) if recording.has_measured() => {
            // What was measured until then is kept.
            let ended = PgbenchExit { code: INCOMPLETE, reason: Some("the load broke off".to_owned()) };
            tell_recorded(recording, &ended, options.extras);
            Err(failed)
        }
        (Err(failed), recording) => {
            if let Some(recording) = recording {
                recording.discard();
            }
            Err(failed)
        }
    }
}

fn tell_what_is_run(options: &RunOptions, server: &PgbenchServer) {
    let length = match options.length {
        Length::Transactions(count) => format!("nxacts: {count}"),
        Length::Duration(duration) => format!("duration: {}", duration.as_secs()),
    };
    let (place, clients, database) = (server.whereabouts(), options.clients, server.database());
    console::info(&format!("{place} nclients: {clients} {length} dbName: {database}"));
}

/// How a run ended.
struct PgbenchExit {
    code: u8,
    /// Why it is incomplete.
    reason: Option<String>,
}

fn load(
    options: &RunOptions,
    scripts: Vec<WeightedScript>,
    names: Names,
    opened: OpenedConnection,
    stop: &Arc<AtomicBool>,
    recording: &mut Option<Recording>,
) -> Result<PgbenchExit, PgbenchFailed> {
    let OpenedConnection { mut connection, server } = opened;
    print_banner(&connection)?;
    let looked = look_at_tables(options, &mut connection).map(|tables| {
        let given = options.scale.map_or(1, |scale| i64::from(scale.get()));
        let scale = tables.map_or(given, |tables| tables.branches);
        let (_, workload) = stored::names(options);
        describe(
            options.extras,
            recording,
            &mut connection,
            &server,
            tables.map(|_| (scale, workload.as_str())),
        );
        (tables, scale)
    });
    if stop.load(Ordering::Relaxed) {
        return Err(PgbenchFailed::new("interrupted before the load began"));
    }
    let (tables, scale) = looked?;
    drop(connection);
    let console = Arc::new(StandardError { server: server.clone() });
    let load = PgbenchLoad::new(load_options(options, scripts, names, scale, stop), console)?;
    let run = Run { options, server: &server, load: &load, scale, tables, stop };
    let mut ended = run.measure(recording)?;
    if let Err(error) = load.finish_logs() {
        ended.not_written(&error.into());
    }
    Ok(ended)
}

impl PgbenchExit {
    /// The run itself is whole; what could not be written is told.
    fn not_written(&mut self, failed: &PgbenchFailed) {
        console::raw(failed.stderr());
        self.code = self.code.max(NOT_WRITTEN);
    }
}

/// Looks at the tables of the builtin scripts and vacuums them, as far as the options ask for that.
fn look_at_tables(
    options: &RunOptions,
    connection: &mut Connection,
) -> Result<Option<TableFacts>, PgbenchFailed> {
    let uses_tables = options.scripts.iter().any(|it| matches!(it.source, ScriptSource::Builtin(_)));
    let tables = uses_tables
        .then(|| before::table_facts(connection, options.scale.is_some(), &mut console::raw))
        .transpose()?;
    if options.vacuum != Vacuum::Nothing {
        before::vacuum_before(connection, options.vacuum == Vacuum::All, &mut console::raw);
    }
    Ok(tables)
}

fn load_options(
    options: &RunOptions,
    scripts: Vec<WeightedScript>,
    names: Names,
    scale: i64,
    stop: &Arc<AtomicBool>,
) -> LoadOptions {
    let log = options.log.as_ref().map(|log| LogOptions {
        prefix: log.prefix.clone().into(),
        sampling_rate: match log.kind {
            LogKind::Sampled(rate) => Some(rate),
            LogKind::EveryTransaction | LogKind::Aggregated(_) => None,
        },
        aggregate_s: match log.kind {
            LogKind::Aggregated(interval) => u32::try_from(interval.as_secs()).ok(),
            LogKind::EveryTransaction | LogKind::Sampled(_) => None,
        },
    });
    LoadOptions {
        scripts,
        names,
        defines: options.variables.clone(),
        mode: options.protocol,
        clients: options.clients.get(),
        threads: options.threads.get(),
        scale,
        random_seed: options.seed,
        tries_max: options.max_tries.map(Into::into),
        latency_limit: options.latency_limit,
        throttled: options.rate.is_some(),
        continue_on_error: options.continue_on_error,
        connects_each: options.reconnect,
        failures_detailed: options.failures_detailed,
        verbose_errors: options.verbose_errors,
        debug: options.debug,
        time_commands: options.report_per_command,
        log,
        stop_on_abort: options.exit_on_abort.then(|| Arc::clone(stop)),
    }
}

/// What a measurement needs.
struct Run<'a> {
    options: &'a RunOptions,
    server: &'a PgbenchServer,
    load: &'a PgbenchLoad,
    scale: i64,
    tables: Option<TableFacts>,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    fn measure(&self, recording: &mut Option<Recording>) -> Result<PgbenchExit, PgbenchFailed> {
        let clients = self.options.clients.get();
        let workload: Arc<dyn Workload> = Arc::new(self.load.clone());
        let started = Instant::now();
        let mut engine = Engine::start(&self.server.endpoint, &workload, self.engine_config())?;
        engine.connect(clients, self.stop, &mut |_| {}).map_err(|error| self.not_connected(error))?;
        let connecting = started.elapsed();
        if let Some(recording) = recording {
            // Behind the clients: if there is a connection too few, it is dyno's own.
            recording.watch(&self.server.endpoint);
            recording.load_begins(stored::stage(self.options, workload.types()));
        }
        self.load.start_logs(clock::now_ns());
        let outcome = self.drive(&mut engine, recording)?;
        drop(engine);
        if let Some(recording) = recording {
            recording.load_ended(STAGE, &outcome);
            recording.unwatch();
        }
        let aborted = outcome.clients_aborted > 0;
        if aborted && self.options.exit_on_abort {
            let thread = self.load.aborted_thread().unwrap_or_default();
            console::error(&format!("Run was aborted due to an error in thread {thread}"));
            return Ok(PgbenchExit { code: INCOMPLETE, reason: Some("a client was aborted".to_owned()) });
        }
        let printed = self.print_report(&outcome, connecting);
        let mut ended = self.judge(&outcome);
        if let Err(failed) = printed {
            ended.not_written(&failed);
        }
        Ok(ended)
    }

    /// Runs the load, with lines of progress beside it.
    fn drive(
        &self,
        engine: &mut Engine,
        recording: &Option<Recording>,
    ) -> Result<StageOutcome, PgbenchFailed> {
        let parts = ProgressParts {
            lag: self.options.rate.is_some(),
            skipped: self.options.latency_limit.is_some(),
            retries: self.options.max_tries.is_none_or(|tries| tries.get() != 1),
        };
        let observe = &mut |observation| {
            if let Some(recording) = recording {
                recording.observe(STAGE, observation);
            }
        };
        let ran = std::thread::scope(|scope| {
            let (running, end) = channel();
            if let Some(progress) = self.options.progress {
                // Before the load begins, so that a line is due when the load has lasted an interval.
                let start = Instant::now();
                let tell = move || {
                    let counts = || self.load.counts();
                    progress::print_until(&end, start, &counts, progress, parts, &console::raw);
                };
                std::thread::Builder::new().spawn_scoped(scope, tell).map_err(EngineError::Start)?;
            }
            let ran = engine.run_stage(&self.plan(), self.stop, observe);
            drop(running);
            ran
        });
        Ok(ran?)
    }

    fn engine_config(&self) -> EngineConfig {
        EngineConfig {
            // What the scripts send they put together themselves; this is for the engine's own ROLLBACK.
            protocol: Protocol::Simple,
            clients_in_blocks: Some(self.options.clients.get()),
            tries_max: u32::MAX,
            on_loss: OnLoss::Abort,
            connect_per_transaction: self.options.reconnect,
            hang_up_when_done: true,
            drain_timeout: WAIT_FOREVER,
            stopped_drain_timeout: if self.options.exit_on_abort { Duration::ZERO } else { STOPPED_WAIT },
            finish_late: false,
            skip_later_than: self.options.latency_limit.filter(|_| self.options.rate.is_some()),
            failures_in_a_row_max: u32::MAX,
            seed: self.options.seed,
            ..EngineConfig::new(self.options.threads.get())
        }
    }

    fn arrivals(&self) -> Arrivals {
        match self.options.rate {
            None => Arrivals::Closed { think_time: Duration::ZERO },
            Some(rate) => {
                Arrivals::Open { rate_per_s: rate, rate_end_per_s: rate, distribution: Distribution::Poisson }
            }
        }
    }

    fn plan(&self) -> StageOrder {
        let clients = self.options.clients.get();
        let end = match self.options.length {
            Length::Transactions(count) => End::TransactionsPerClient(u64::from(count.get())),
            Length::Duration(duration) => End::Duration(duration),
        };
        StageOrder { stage: STAGE, ..StageOrder::new(StageKind::Hold, clients, self.arrivals(), end) }
    }

    /// The client that could not connect, in pgbench's words.
    fn not_connected(&self, error: EngineError) -> PgbenchFailed {
        match error {
            EngineError::Connect { connected, source, .. } => {
                let failure = PgbenchFailed::new(self.server.failure(&source));
                failure.and(format!("could not create connection for client {connected}"))
            }
            other => PgbenchFailed::from(other),
        }
    }

    fn print_report(&self, outcome: &StageOutcome, connecting: Duration) -> Result<(), PgbenchFailed> {
        let options = self.options;
        let (transactions, duration_s) = match options.length {
            Length::Transactions(count) => (Some(count.get()), 0),
            Length::Duration(duration) => (None, duration.as_secs()),
        };
        let results = Results {
            counts: &self.load.counts_by_script(),
            scripts: self.load.scripts(),
            scale: self.scale,
            partitions: self.tables.and_then(|it| it.partition).map(|(method, count)| (method.name(), count)),
            mode: options.protocol,
            clients: options.clients.get(),
            threads: options.threads.get(),
            tries_max: options.max_tries.map(Into::into),
            transactions,
            duration_s,
            took: Duration::from_secs_f64(outcome.seconds + outcome.drain_s),
            connecting,
            reconnects: options.reconnect,
            throttled: options.rate.is_some(),
            latency_limit: options.latency_limit,
            detailed: options.rate.is_some() || options.progress.is_some() || options.latency_limit.is_some(),
            failures_detailed: options.failures_detailed,
            continue_on_error: options.continue_on_error,
            per_command: options.report_per_command,
        };
        print(&report::render(&results))
    }

    fn judge(&self, outcome: &StageOutcome) -> PgbenchExit {
        let interrupted = self.stop.load(Ordering::Relaxed);
        if outcome.clients_aborted == 0 && outcome.complete {
            return PgbenchExit { code: DONE, reason: None };
        }
        console::error("Run was aborted; the above results are incomplete.");
        let reason = if interrupted {
            "interrupted".to_owned()
        } else {
            format!("{} of {} clients were aborted", outcome.clients_aborted, self.options.clients)
        };
        PgbenchExit { code: INCOMPLETE, reason: Some(reason) }
    }
}

/// The first line, as soon as the server is known.
fn print_banner(connection: &Connection) -> Result<(), PgbenchFailed> {
    let server = connection.parameter("server_version").unwrap_or_default();
    if server == VERSION {
        print(&format!("pgbench ({VERSION})\n"))
    } else {
        print(&format!("pgbench ({VERSION}, server {server})\n"))
    }
}

pub(super) fn print(text: &str) -> Result<(), PgbenchFailed> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that hung up early (`| head`) is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(PgbenchFailed::new(format!(
            "could not write to standard output: {}",
            libpq_text::system(&error)
        ))),
        _ => Ok(()),
    }
}

fn begin_recording(
    options: &RunOptions,
    typed: Vec<String>,
    scripts: &[WeightedScript],
) -> Option<Recording> {
    if options.extras == Extras::Off {
        return None;
    }
    let spec = stored::specification(options, scripts);
    Recording::begin(NAME, stored::command_line(typed), spec, options.seed)
        .map_err(|failure| options.extras.tell(&format!("dyno: the run is not stored: {failure}\n")))
        .ok()
}

fn describe(
    extras: Extras,
    recording: &mut Option<Recording>,
    connection: &mut Connection,
    server: &PgbenchServer,
    tables: Option<(i64, &str)>,
) {
    let names = Table::ALL.map(Table::name);
    let tables = tables.map(|(scale, workload)| Tables {
        family: workload.split('/').next().unwrap_or(workload),
        scale: Some(scale as f64),
        names: &names,
    });
    if let Some(recording) = recording
        && let Err(failure) = recording.describe(connection, server.url(), tables)
    {
        extras.tell(&format!("dyno: the run is not described in full: {failure}\n"));
    }
}

fn tell_recorded(recording: Recording, ended: &PgbenchExit, extras: Extras) {
    match recording.finish(ended.reason.clone()) {
        Ok(finished) if extras == Extras::Full => {
            // A reader that hung up has no more to read.
            let _ = print(&format!("\n{}", finished.full()));
        }
        Ok(finished) => extras.tell(&finished.brief()),
        Err(failure) => extras.tell(&format!("dyno: the run is not stored in full: {failure}\n")),
    }
}
