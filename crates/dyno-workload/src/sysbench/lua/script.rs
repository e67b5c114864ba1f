//! A script: found, read, asked for its options and commands, and run outside of the load.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dyno_target::files;
use mlua::{Table, Value};

use super::blocking::{Opener, converse};
use super::error::LuaError;
use super::options::{DeclaredOption, OptionValue};
use super::random::Distributions;
use super::report::LuaReport;
use super::state::{LogSink, LuaState, Seat, Setup, Task};
use crate::random::Random;
use crate::sysbench::counters::ClientCounters;
use crate::sysbench::unique::UniqueRanges;

/// What is known before the script is read.
#[derive(Clone, Default)]
pub struct Invocation {
    /// `prepare`, `run`, …; none where the command line names none.
    pub command: Option<String>,
    /// The whole command line, the program's name first.
    pub argv: Vec<String>,
    /// `LUA_PATH`, where modules are looked for before all other places.
    pub lua_path: Option<String>,
    /// Why there is no driver, which is told when the script asks for it.
    pub no_driver: Option<String>,
    /// Whether the run will speak MySQL's protocol: a script may ask for its driver's name while it is read.
    pub mysql: bool,
    /// The user's home directory, of which `.luarocks` is looked through.
    pub home: Option<PathBuf>,
    pub log: Option<LogSink>,
    /// Opens connections that the script asks for while it is read.
    pub open: Option<Arc<Opener<'static>>>,
    /// Counts what it asks the server outside of the load, as sysbench does too.
    pub counters: Option<ClientCounters>,
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation")
            .field("command", &self.command)
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

/// What is known once the command line is understood.
#[derive(Debug, Clone)]
pub struct ScriptSettings {
    /// Everything of `sysbench.opt`, under names with underscores.
    pub options: Vec<(String, OptionValue)>,
    /// `--db-ps-mode=disable`
    pub emulates_statements: bool,
    pub percentile: u32,
    pub distributions: Distributions,
    pub seed: u64,
}

impl Default for ScriptSettings {
    fn default() -> Self {
        Self {
            options: Vec::new(),
            emulates_statements: false,
            percentile: 95,
            distributions: Distributions::default(),
            seed: 0,
        }
    }
}

/// A script and the state in which it was read. That state goes on as sysbench's first one: `init`, `done`, commands that
/// are not parallel and report hooks run in it.
#[derive(Debug)]
pub struct LuaScript {
    setup: Setup,
    main: LuaState,
    seat: Seat,
    options: Vec<DeclaredOption>,
}

/// The random stream of the state in which the script was read; no thread has this number.
const MAIN: u32 = u32::MAX;

/// Where sysbench looks for modules beside the current directory and the user's own, `?` being the module's name.
const SYSTEM_PATH: &str = "/usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua;/usr/local/share/sysbench/?.lua;/usr/share/sysbench/?.lua";

/// What sysbench calls the function that reads a script's options, in errors about them.
const READ_OPTIONS: &str = "sysbench.cmdline.read_cmdline_options";

impl LuaScript {
    /// Reads the script at `path`.
    ///
    /// # Errors
    /// That it cannot be read, or what it does wrong while it is.
    pub fn load(path: &Path, invocation: &Invocation) -> Result<Self, LuaError> {
        let shown = path.display().to_string();
        let text = files::read(path).map_err(|error| LuaError::unreadable(&shown, &error))?;
        Self::from_text(&shown, text, invocation)
    }

    /// Takes a script's text; `path` is what its errors name.
    ///
    /// # Errors
    /// What it does wrong while it is read.
    pub fn from_text(path: &str, text: Vec<u8>, invocation: &Invocation) -> Result<Self, LuaError> {
        let setup = Setup {
            path: path.to_owned(),
            text,
            package_path: package_path(
                Path::new(path).parent(),
                invocation.lua_path.as_deref(),
                invocation.home.as_deref(),
            ),
            invocation: invocation.clone(),
            settings: ScriptSettings::default(),
            is_configured: false,
            unique: UniqueRanges::new(0),
            driver_used: Arc::default(),
        };
        let main = LuaState::new(&setup)?;
        let seat = main.spawn(0, Random::of_client(0, MAIN), true)?;
        converse(&main, seat, Task::Read, invocation.open.as_deref(), invocation.counters.as_ref())?;
        let options = main.cmdline(seat, "options").unwrap_or(Value::Nil);
        let options = DeclaredOption::read_all(&options)
            .map_err(|wrong| LuaError::new(Some(READ_OPTIONS.to_owned()), wrong))?;
        Ok(Self { setup, main, seat, options })
    }

    /// Its file's name without `.lua`.
    pub fn name(&self) -> String {
        let path = Path::new(&self.setup.path);
        path.file_stem().map_or_else(|| self.setup.path.clone(), |name| name.to_string_lossy().into_owned())
    }

    pub fn text(&self) -> &[u8] {
        &self.setup.text
    }

    /// Of `sysbench.cmdline.options`, by name.
    pub fn options_declared(&self) -> &[DeclaredOption] {
        &self.options
    }

    /// Takes what the command line said. What runs from here on sees it as `sysbench.opt`.
    ///
    /// # Errors
    /// None that the script can cause; that memory is short.
    pub fn configure(&mut self, settings: ScriptSettings) -> Result<(), LuaError> {
        let random = Random::of_client(settings.seed, MAIN);
        self.setup.unique = UniqueRanges::new(settings.seed);
        (self.setup.settings, self.setup.is_configured) = (settings, true);
        self.main.configure(self.seat, &self.setup, random)
    }

    pub fn is_mysql(&self) -> bool {
        self.setup.invocation.mysql
    }

    /// Whether it has asked for the driver yet, in any of its threads: a report then has queries in it.
    pub fn uses_driver(&self) -> bool {
        self.setup.driver_used.load(Ordering::Relaxed)
    }

    pub(super) fn counters(&self) -> Option<&ClientCounters> {
        self.setup.invocation.counters.as_ref()
    }

    /// Whether it has the function `name`: `event`, `init`, `prepare`, …
    pub fn has_function(&self, name: &str) -> bool {
        self.main.has(self.seat, name)
    }

    /// Whether `name` is a command of it: in `sysbench.cmdline.commands`, or a function `prepare`, `cleanup` or `help`.
    pub fn has_command(&self, name: &str) -> bool {
        let plain = matches!(name, "prepare" | "cleanup" | "help") && self.has_function(name);
        plain || self.command_entry(name).is_some()
    }

    /// Whether `name` is in `sysbench.cmdline.commands`, which goes before a function of that name.
    pub fn lists_command(&self, name: &str) -> bool {
        self.command_entry(name).is_some()
    }

    /// Whether a command runs in as many threads as `--threads` says.
    pub fn is_parallel(&self, name: &str) -> bool {
        let entry = self.command_entry(name);
        entry.is_some_and(|entry| matches!(entry.get::<Value>(2), Ok(Value::Boolean(true))))
    }

    fn command_entry(&self, name: &str) -> Option<Table> {
        self.main.cmdline(self.seat, "commands")?.as_table()?.get(name).ok()
    }

    /// Runs a function of the script without arguments: `init`, `done`. Whether there is one.
    ///
    /// # Errors
    /// What it raised.
    pub fn call(&self, name: &str, open: &Opener<'_>) -> Result<bool, LuaError> {
        converse(&self.main, self.seat, Task::Hook(name), Some(open), self.counters())
    }

    /// Runs a command, in `threads` threads where it is a parallel one. Whether there is one.
    ///
    /// # Errors
    /// What it raised, in the first thread in which it raised anything.
    pub fn run_command(&self, name: &str, threads: u32, open: &Opener<'_>) -> Result<bool, LuaError> {
        if !self.is_parallel(name) {
            return converse(&self.main, self.seat, Task::Command(name), Some(open), None);
        }
        let run = |tid| {
            let state = self.new_state()?;
            let seat = state.spawn(tid, Random::of_client(self.setup.settings.seed, tid), true)?;
            converse(&state, seat, Task::Command(name), Some(open), None)
        };
        std::thread::scope(|scope| {
            let begin = |tid| std::thread::Builder::new().spawn_scoped(scope, move || run(tid));
            let threads: Vec<_> = (0..threads.max(1)).map(begin).collect();
            let mut outcome = Ok(false);
            // All of them are waited for, whatever the first came to.
            for thread in threads {
                let died = |_| Err(LuaError::new(None, "a thread of the command died"));
                let failed =
                    |error| LuaError::new(None, format!("a thread of the command did not start: {error}"));
                let ran = thread.map_err(failed).and_then(|thread| thread.join().unwrap_or_else(died));
                outcome = outcome.and_then(|found| ran.map(|ran| found || ran));
            }
            outcome
        })
    }

    /// Hands a report to the script's hook for such; false where it has none, so that the usual words are to be printed.
    ///
    /// # Errors
    /// What it raised.
    pub fn report(&self, report: &LuaReport<'_>) -> Result<bool, LuaError> {
        converse(&self.main, self.seat, Task::Report(report), None, None)
    }

    /// Ends what report hooks have begun to print, once all has run.
    ///
    /// # Errors
    /// That it cannot be printed.
    pub fn end_reports(&self) -> Result<(), LuaError> {
        self.main.end_reports()
    }

    /// A state with nothing but the prelude in it, for clients of this script.
    pub(super) fn new_state(&self) -> Result<LuaState, LuaError> {
        LuaState::new(&self.setup)
    }
}

/// `package.path`: what the user says, the script's directory, and where sysbench looks.
fn package_path(directory: Option<&Path>, lua_path: Option<&str>, home: Option<&Path>) -> String {
    let mut usual = vec!["./?.lua".to_owned(), "./?/init.lua".to_owned(), "./src/lua/?.lua".to_owned()];
    if let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
        usual.push(format!("{}/?.lua", directory.display()));
    }
    if let Some(home) = home {
        for place in ["5.1/?.lua", "5.1/?/init.lua", "?.lua", "?/init.lua"] {
            usual.push(format!("{}/.luarocks/share/lua/{place}", home.display()));
        }
    }
    usual.push(SYSTEM_PATH.to_owned());
    let usual = usual.join(";");
    match lua_path {
        // Within it, two semicolons stand for the usual places.
        Some(path) if path.contains(";;") => path.replacen(";;", &format!(";{usual};"), 1),
        Some(path) => format!("{path};{usual}"),
        None => usual,
    }
}

/// The file of a script that is named as a module is, `NAME` or `directory.NAME`: as `require` would find it.
pub fn find_module(name: &str, lua_path: Option<&str>, home: Option<&Path>) -> Option<PathBuf> {
    let name = name.replace('.', "/");
    let templates = package_path(None, lua_path, home);
    let mut files = templates.split(';').map(|template| PathBuf::from(template.replace('?', &name)));
    files.find(|file| file.is_file())
}
