//! Scripts of users, and the one that comes with dyno: read, asked for their options and commands, and run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dyno_engine::error::SessionError;
use dyno_engine::workload::ClientIdentity;
use dyno_target::Environment;
use dyno_target::connection::Connection;
use dyno_target::files;
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};
use dyno_workload::sysbench::lua::{
    DeclaredOption, Invocation, LogLevel, LuaError, LuaLoad, LuaReport, LuaRun, LuaScript, Opener,
    OptionKind, OptionValue, ScriptSettings,
};
use dyno_workload::sysbench::{Counters, FatalErrors};

use super::connection::{Database, NotConnected};
use super::console::{self, Level, SysbenchConsole};
use super::options::Options;
use super::options::known::{KNOWN, KnownOption, OptionGroup};
use super::report::{PeriodCounts, Queue};
use super::run::{self, SysbenchRun, load_threads};
use super::test::{BULK_INSERT, LuaSource};
use super::watch::EventBacklog;
use super::{Context, Refused, help, unknown};
use crate::front_end::stored_script;
use crate::{DONE, interrupt};

const BULK_INSERT_TEXT: &str = include_str!("bulk_insert.lua");
/// What a script on standard input is called.
const STANDARD_INPUT: &str = "stdin";
/// The workload of scripts, in dyno's store.
const WORKLOAD: &str = "sysbench-script";

/// Carries out a command of a script, which is called `name`.
pub(super) fn perform(
    context: &mut Context,
    source: &LuaSource,
    name: &str,
    command: Option<&str>,
) -> Result<u8, Refused> {
    let (mut script, counters) =
        read(context, source, command).map_err(|error| context.refuse(&error.to_string()))?;
    let declared = script.options_declared();
    let declared = (!declared.is_empty()).then(|| declared.to_vec());
    context.declare(declared, command.unwrap_or_default())?;
    let Some(command) = command else { return Ok(DONE) };
    let runs = script.has_function("event") || script.has_function("thread_run");
    let has_it = if command == "run" { runs } else { script.has_command(command) };
    match command {
        _ if has_it => {}
        "help" if !context.options.declared().is_empty() => {
            context.console.print(&help::test_help(name, &context.options));
            return Ok(DONE);
        }
        "run" => return Err(context.refuse(&format!("cannot find the event() function in {name}"))),
        "prepare" | "cleanup" | "help" => {
            console::error(&format!("'{name}' test does not implement the '{command}' command."));
            return Err(Refused);
        }
        _ => return Err(unknown(command)),
    }
    let seed = run::seed(&context.settings);
    let settings = settings(context, &script, seed);
    script.configure(settings).map_err(|error| context.refuse(&error.to_string()))?;
    match command {
        "run" => run(context, Arc::new(script), counters, seed),
        _ => carry_out(context, &script, command),
    }
}

/// The script, and what its threads will count with.
fn read(
    context: &Context,
    source: &LuaSource,
    command: Option<&str>,
) -> Result<(LuaScript, Arc<Counters>), LuaError> {
    let console = Arc::clone(&context.console);
    let threads = context.settings.threads.get();
    let counters = Counters::new(load_threads(&context.settings), threads);
    let invocation = Invocation {
        command: command.map(str::to_owned),
        argv: std::iter::once("sysbench".to_owned()).chain(context.typed.iter().cloned()).collect(),
        lua_path: std::env::var("LUA_PATH").ok(),
        mysql: context.options.text("db-driver") != Some("pgsql"),
        home: std::env::var_os("HOME").map(PathBuf::from),
        log: Some(Arc::new(move |level, line: &str| console.say(level.into(), line))),
        no_driver: no_driver(context),
        open: opener_while_read(context),
        // Before the load and behind it no load thread counts.
        counters: Some(counters.client(ClientIdentity { id: 0, thread: 0 })),
    };
    let script = match source {
        LuaSource::BulkInsert => {
            LuaScript::from_text(&format!("{BULK_INSERT}.lua"), BULK_INSERT_TEXT.into(), &invocation)
        }
        LuaSource::File(path) => LuaScript::load(path, &invocation),
        LuaSource::StandardInput => {
            let text = files::read_all(std::io::stdin().lock())
                .map_err(|error| LuaError::unreadable(STANDARD_INPUT, &error))?;
            LuaScript::from_text(STANDARD_INPUT, text, &invocation)
        }
    };
    script.map(|script| (script, counters))
}

/// Why the options name no driver. A script that asks for none needs none.
fn no_driver(context: &Context) -> Option<String> {
    let database = Database::new(&context.options, &Environment::of_process());
    database.err().filter(NotConnected::is_without_driver).map(|failure| failure.message())
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Fatal => Self::Fatal,
            LogLevel::Alert => Self::Alert,
        }
    }
}

/// A script may connect while it is read, before its own options are known.
fn opener_while_read(context: &Context) -> Option<Arc<Opener<'static>>> {
    let database = Database::new(&context.options, &Environment::of_process()).ok()?;
    let console = Arc::clone(&context.console);
    Some(Arc::new(move || opener(&database, &console)))
}

/// A command of the script's own, in as many threads as it wants.
fn carry_out(context: &Context, script: &LuaScript, command: &str) -> Result<u8, Refused> {
    // A plain function is called by its name, others through the table of commands.
    let function = if script.lists_command(command) { "sysbench.cmdline.call_command" } else { command };
    let database = match Database::new(&context.options, &Environment::of_process()) {
        Err(failure) if failure.is_without_driver() => None,
        _ => Some(context.database(function)?),
    };
    let threads = context.settings.threads.get();
    if script.is_parallel(command) && threads > 1 {
        context.console.notice("Initializing worker threads...\n");
    }
    let open = || match &database {
        Some(database) => opener(database, &context.console),
        None => Err("there is no driver".to_owned()),
    };
    script.run_command(command, threads, &open).map(|_| DONE).map_err(|error| {
        let error = LuaError { hook: Some(function.to_owned()), ..error };
        context.refuse(&error.to_string())
    })
}

/// A connection for what a script does outside of the load. Why there is none is told in sysbench's words, too.
fn opener(database: &Database, console: &SysbenchConsole) -> Result<Connection, String> {
    database.open().map_err(|failed| {
        failed.tell_lines(console);
        failed.message()
    })
}

fn run(context: &Context, script: Arc<LuaScript>, counters: Arc<Counters>, seed: u64) -> Result<u8, Refused> {
    let settings = &context.settings;
    let database = context.database("init")?;
    let before = script.call("init", &|| opener(&database, &context.console));
    before.map_err(|error| context.refuse(&error.to_string()))?;
    context.print_banner();
    database.warn(&context.console);
    // A script that asks no database needs none. One that does will hear that there is no connection.
    let (opened, endpoints, failure) = match database.open_all() {
        Ok(opened) => (Some((opened.connection, opened.url)), opened.endpoints, None),
        Err(failure) => (None, database.endpoints().unwrap_or_else(|_| vec![nowhere()]), Some(failure)),
    };
    let stop = interrupt::stop_flag();
    let ignored = run::ignored_errors(context, database.mysql)?;
    let reconnects = ignored.reconnects();
    let (places, console) = (database.clone(), Arc::clone(&context.console));
    let address = endpoints.first().map(|endpoint| endpoint.address.clone());
    let on_connect_error = move |error: &SessionError| match (&failure, &address) {
        (Some(failure), _) => failure.tell_lines(&console),
        (None, Some(address)) => places.refused(address, error).tell_lines(&console),
        (None, None) => {}
    };
    let given = LuaRun {
        threads: load_threads(settings),
        clients: settings.threads.get(),
        counters: Arc::clone(&counters),
        ignored,
        stop: Arc::clone(&stop),
        on_connect_error: Box::new(on_connect_error),
    };
    let load = LuaLoad::new(Arc::clone(&script), given);
    let run = SysbenchRun {
        context,
        database: &database,
        workload: Arc::new(load.clone()),
        counters,
        series: script.name(),
        fatal: FatalErrors::new(),
        script: Some(ScriptLoad { script, load, context, database: &database }),
        tables: 0,
        reconnects,
        name: WORKLOAD,
        seed,
        stop,
        backlog: EventBacklog::default(),
    };
    run.perform(&endpoints, opened)
}

/// In place of a server whose name is unknown: no connection to it comes about.
fn nowhere() -> Endpoint {
    let login = Login {
        user: String::new(),
        password: None,
        database: String::new(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Disable,
    };
    let (address, wire) = (Address::Unix(PathBuf::from("/dev/null/nowhere")), Wire::Postgres);
    Endpoint { address, login: Arc::new(login), wire, connect_timeout: None }
}

/// A script that is run.
pub(super) struct ScriptLoad<'a> {
    script: Arc<LuaScript>,
    load: LuaLoad,
    context: &'a Context,
    database: &'a Database,
}

impl ScriptLoad<'_> {
    /// The error of a client that ended the run.
    pub(super) fn failure(&self) -> Option<&LuaError> {
        self.load.failure()
    }

    /// `thread_done` of each thread.
    pub(super) fn end_threads(&self) -> Result<(), LuaError> {
        self.load.finish(&|| opener(self.database, &self.context.console))
    }

    /// Whether the script itself tells of an interval.
    pub(super) fn report_interval(
        &self,
        counted: &PeriodCounts<'_>,
        now: Duration,
        queue: Option<Queue>,
    ) -> bool {
        let queue = queue.map(|queue| (queue.length, queue.concurrency));
        let report = LuaReport { queue, ..self.lua_report(counted, now) };
        self.told(self.script.report(&report))
    }

    /// A whole report, at the end or before, by the script itself or as sysbench has it.
    pub(super) fn report(&self, counted: &PeriodCounts<'_>, took: Duration, ends: bool) {
        let threads_running = if ends { 0 } else { self.context.settings.threads.get() };
        let whole = LuaReport { is_cumulative: true, threads_running, ..self.lua_report(counted, took) };
        if ends {
            self.told(self.script.end_reports().map(|()| true));
        }
        if !self.told(self.script.report(&whole)) {
            self.context.print_report(counted, self.uses_driver());
        }
        self.told(self.script.end_reports().map(|()| true));
    }

    fn lua_report<'c>(&self, counted: &PeriodCounts<'c>, now: Duration) -> LuaReport<'c> {
        LuaReport {
            counts: counted.counts,
            total: now,
            interval: counted.over,
            threads_running: self.context.settings.threads.get(),
            percentile: self.context.settings.percentile.into(),
            queue: None,
            is_cumulative: false,
        }
    }

    /// Whether a hook told; one that failed has told at least of that.
    fn told(&self, hook: Result<bool, LuaError>) -> bool {
        hook.unwrap_or_else(|error| {
            self.context.console.fatal(&error.to_string());
            true
        })
    }

    /// `done` of the script.
    pub(super) fn done(&self) {
        self.told(self.script.call("done", &|| opener(self.database, &self.context.console)));
    }

    /// What dyno's store has of it.
    pub(super) fn stored(&self) -> serde_json::Value {
        stored_script(&self.script.name(), self.script.text())
    }

    /// Whether there are queries to be reported.
    pub(super) fn uses_driver(&self) -> bool {
        self.script.uses_driver()
    }
}

fn settings(context: &Context, script: &LuaScript, seed: u64) -> ScriptSettings {
    let (options, settings) = (&context.options, &context.settings);
    ScriptSettings {
        options: exported(options, script.options_declared()),
        emulates_statements: options.text("db-ps-mode") == Some("disable"),
        percentile: settings.percentile.into(),
        distributions: settings.distributions,
        seed,
    }
}

/// Everything that the script finds in `sysbench.opt`: what is known, what it declares, and what was typed for a script
/// that declares nothing.
fn exported(options: &Options, declared: &[DeclaredOption]) -> Vec<(String, OptionValue)> {
    let key = |name: &str| name.replace('-', "_");
    let mut exported: Vec<(String, OptionValue)> = Vec::new();
    for (name, value) in options.all_typed().filter(|(name, _)| super::options::known::find(name).is_none()) {
        exported.push((key(name), OptionValue::Text(value.unwrap_or_default().to_owned())));
    }
    let with_value =
        |known: &&KnownOption| known.group != OptionGroup::Hidden && known.kind != OptionKind::File;
    for known in KNOWN.iter().filter(with_value) {
        exported.push((key(known.name), options.value(known.name, known.kind)));
    }
    for option in declared {
        let typed = options.is_typed(&option.name);
        let value = if typed { options.value(&option.name, option.kind) } else { option.value_unset() };
        exported.push((option.key(), value));
    }
    exported
}
