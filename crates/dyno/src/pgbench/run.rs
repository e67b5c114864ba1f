//! A run: scripts are read, the setup connection looks at the tables, the clients connect, the load runs, the report is
//! printed. Like pgbench from outside; inside, dyno's engine, and its store beside it.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use dyno_engine::clock;
use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_engine::engine::{Engine, Observation, START_DELAY};
use dyno_engine::error::EngineError;
use dyno_engine::workload::Workload;
use dyno_results::event::StageFinished;
use dyno_results::spec::{End, Protocol};
use dyno_target::connection::Connection;
use dyno_target::statements::UserStatement;
use dyno_wire::libpq_text;
use dyno_workload::pgbench::before::{self, TableFacts};
use dyno_workload::pgbench::bound::BoundScripts;
use dyno_workload::pgbench::console::Console;
use dyno_workload::pgbench::load::{PgbenchLoad, WeightedScript};
use dyno_workload::pgbench::tables::Table;
use dyno_workload::script::{Counters, Names};

use super::VERSION;
use super::connect::{self, PgbenchServer};
use super::failed::PgbenchFailed;
use super::options::{RunOptions, ScriptSource, Vacuum};
use super::progress;
use super::report::{self, Results};
use super::sources::{ReadScripts, read_scripts};
use super::stored;
use crate::front_end::{
    BROKE_OFF, Ended, INTERRUPTED_BEFORE, LoadDescription, Recording, STOPPED_WAIT, Tables, WAIT_FOREVER,
    beside, say,
};
use crate::{DONE, INCOMPLETE, NOT_WRITTEN, command, interrupt};

/// `typed` is the command line behind the program's name.
pub(crate) fn run(options: &RunOptions, typed: Vec<String>) -> Result<u8, PgbenchFailed> {
    let mut names = Names::new();
    let ReadScripts { scripts, stored, statements, only_read } = read_scripts(options, &mut names)?;
    let (connection, server) = connect::open(&options.connection, "setup", &mut say)?;
    if options.load.debug {
        tell_what_is_run(options, &server);
    }
    // From here on a signal ends the run in good order; until here it simply ends.
    let stop = interrupt::stop_flag();
    let types = scripts.iter().map(|script| script.script.name.clone()).collect();
    let description = stored::description(options, typed, (types, stored), &server.url);
    // Of a builtin script alone that is certain.
    let only_reads = statements.is_empty().then_some(only_read);
    let description = LoadDescription { only_reads, ..description };
    let mut recording = Recording::begin(description, options.extras);
    let ran = load(options, (scripts, statements), names, (connection, &server), &stop, &mut recording);
    match ran {
        Ok(Ended { code, reason }) => {
            recording.finish(reason);
            Ok(code)
        }
        Err(failed) => {
            // What was measured until then is kept.
            recording.finish(Some(BROKE_OFF.to_owned()));
            Err(failed)
        }
    }
}

fn tell_what_is_run(options: &RunOptions, server: &PgbenchServer) {
    let length = match options.end {
        End::Duration(duration) => format!("duration: {}", duration.as_secs()),
        End::TransactionsPerClient(count) => format!("nxacts: {count}"),
        End::WithOthers => String::new(),
    };
    let (place, clients, database) =
        (server.whereabouts(), options.load.clients, &server.endpoint.login.database);
    say(&format!("pgbench: {place} nclients: {clients} {length} dbName: {database}\n"));
}

fn load(
    options: &RunOptions,
    (scripts, statements): (Vec<WeightedScript>, Vec<UserStatement>),
    names: Names,
    (mut connection, server): (Connection, &PgbenchServer),
    stop: &Arc<AtomicBool>,
    recording: &mut Recording,
) -> Result<Ended, PgbenchFailed> {
    print_banner(&connection)?;
    let looked = look_at_tables(options, &mut connection).map(|tables| {
        let given = options.scale.map_or(1, i64::from);
        let scale = tables.map_or(given, |tables| tables.branches);
        let names = Table::ALL.map(Table::name);
        let contended_rows = stored::contended_rows(options, scale);
        let described = Tables { scale: Some(scale as f64), names: &names, contended_rows };
        recording.describe(&mut connection, tables.map(|_| described), &statements);
        (tables, scale)
    });
    if stop.load(Ordering::Relaxed) {
        return Err(PgbenchFailed::new(INTERRUPTED_BEFORE));
    }
    let (tables, scale) = looked?;
    drop(connection);
    let place = server.clone();
    let console = Console::new(say, Box::new(move |error| place.failure(error)));
    let load = PgbenchLoad::new(
        scripts,
        (names, BoundScripts::default(), Counters::default()),
        options.load.clone(),
        scale,
        Arc::clone(stop),
        console,
    )?;
    let run = Run { options, server, load: &load, scale, tables, stop };
    let mut ended = run.measure(recording)?;
    if let Err(error) = load.finish_logs() {
        not_written(&mut ended, &error.into());
    }
    Ok(ended)
}

/// The run itself is whole; what could not be written is told.
fn not_written(ended: &mut Ended, failed: &PgbenchFailed) {
    say(failed.stderr());
    ended.code = ended.code.max(NOT_WRITTEN);
}

/// Looks at the tables of the builtin scripts and vacuums them, as far as the options ask for that.
fn look_at_tables(
    options: &RunOptions,
    connection: &mut Connection,
) -> Result<Option<TableFacts>, PgbenchFailed> {
    let uses_tables = options.scripts.iter().any(|it| matches!(it.source, ScriptSource::Builtin(_)));
    let tables = uses_tables
        .then(|| before::table_facts(connection, options.scale.is_some(), &mut say))
        .transpose()
        .map_err(|error| PgbenchFailed::new(&error).with("hint", error.hint()))?;
    if options.vacuum != Vacuum::Nothing {
        before::vacuum_before(connection, options.vacuum == Vacuum::All, &mut say);
    }
    Ok(tables)
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
    fn measure(&self, recording: &mut Recording) -> Result<Ended, PgbenchFailed> {
        let workload: Arc<dyn Workload> = Arc::new(self.load.clone());
        let started = Instant::now();
        let mut engine = Engine::start(&self.server.endpoint, &workload, self.engine_config())?;
        let connected = engine.connect(self.options.load.clients, self.stop, &mut |_| {});
        connected.map_err(|error| self.not_connected(error))?;
        let connecting = started.elapsed();
        // Behind the clients: if there is a connection too few, it is dyno's own.
        recording.watch(&self.server.endpoint);
        self.load.start_logs(clock::now_ns());
        let outcome = self.drive(&mut engine, recording)?;
        drop(engine);
        if outcome.clients_aborted > 0 && self.options.load.exit_on_abort {
            let thread = self.load.aborted_thread().unwrap_or_default();
            error(format!("Run was aborted due to an error in thread {thread}"));
            return Ok(Ended::incomplete(INCOMPLETE, "a client was aborted"));
        }
        let printed = self.print_report(&outcome, connecting);
        let mut ended = self.judge(&outcome);
        if let Err(failed) = printed {
            not_written(&mut ended, &failed);
        }
        Ok(ended)
    }

    /// Runs the load, with lines of progress beside it. As in pgbench the first thread tells them, as long as it has clients.
    fn drive(&self, engine: &mut Engine, recording: &Recording) -> Result<StageFinished, EngineError> {
        let mut load = |running: Option<Sender<Duration>>| {
            recording.run_stage(engine, self.options.order(), self.stop, &mut |seen| {
                if let (Observation::ThreadFinished { thread: 0, after }, Some(running)) = (seen, &running) {
                    // Who prints the lines waits for it.
                    let _ = running.send(*after);
                }
            })
        };
        let Some(progress) = self.options.progress else { return load(None) };
        // Just before the load begins, so that a line is due when the load has lasted an interval, and none when it ends earlier.
        let start = Instant::now() + START_DELAY;
        let counts = || self.load.counts();
        let tell = |end: &_| progress::print_until(end, start, &counts, progress, &self.options.load, &say);
        beside(tell, |running| load(Some(running))).map(|(outcome, ())| outcome)
    }

    fn engine_config(&self) -> EngineConfig {
        let load = &self.options.load;
        EngineConfig {
            // What the scripts send they put together themselves; this is for the engine's own ROLLBACK.
            protocol: Protocol::Simple,
            clients_in_blocks: Some(load.clients),
            tries_max: u32::MAX,
            on_loss: OnLoss::Abort,
            connect_per_transaction: load.connects_each,
            hang_up_when_done: true,
            drain_timeout: WAIT_FOREVER,
            stopped_drain_timeout: if load.exit_on_abort { Duration::ZERO } else { STOPPED_WAIT },
            finish_late: false,
            skip_later_than: load.latency_limit.filter(|_| load.rate.is_some()),
            failures_in_a_row_max: u32::MAX,
            seed: load.random_seed,
            ..EngineConfig::new(load.threads)
        }
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

    fn print_report(&self, outcome: &StageFinished, connecting: Duration) -> Result<(), PgbenchFailed> {
        let results = Results {
            options: self.options,
            counts: &self.load.counts_by_script(),
            scripts: self.load.scripts(),
            scale: self.scale,
            partition: self.tables.and_then(|tables| tables.partition),
            took: Duration::from_secs_f64(outcome.seconds + outcome.drain_s),
            connecting,
        };
        print(&report::render(&results))
    }

    fn judge(&self, outcome: &StageFinished) -> Ended {
        if outcome.clients_aborted == 0 && outcome.complete {
            return Ended { code: DONE, reason: None };
        }
        error("Run was aborted; the above results are incomplete.");
        if self.stop.load(Ordering::Relaxed) {
            return Ended::incomplete(INCOMPLETE, "interrupted");
        }
        let (aborted, clients) = (outcome.clients_aborted, self.options.load.clients);
        Ended::incomplete(INCOMPLETE, format!("{aborted} of {clients} clients were aborted"))
    }
}

/// The first line, as soon as the server is known.
fn print_banner(connection: &Connection) -> Result<(), PgbenchFailed> {
    let server = connection.server_version().unwrap_or_default();
    if server == VERSION {
        print(&format!("pgbench ({VERSION})\n"))
    } else {
        print(&format!("pgbench ({VERSION}, server {server})\n"))
    }
}

pub(super) fn print(text: &str) -> Result<(), PgbenchFailed> {
    command::write_out(text).map_err(|error| {
        let error = libpq_text::system(&error);
        PgbenchFailed::new(format!("could not write to standard output: {error}"))
    })
}

fn error(message: impl Display) {
    say(PgbenchFailed::new(message).stderr());
}
