//! `dyno sysbench`: a drop-in for sysbench 1.0.20 — its command line, its database tests, its output — on dyno's engine.
//!
//! What sysbench prints is printed here to the letter, since people parse it; what dyno adds goes to standard error, or
//! comes when it is asked for.

mod banner;
mod commands;
mod connection;
mod console;
mod help;
mod options;
mod report;
mod run;
mod script;
mod stored;
mod tables;
mod test;
mod watch;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use connection::Database;
use console::{Level, SysbenchConsole};
use options::{CommandLine, Options, SysbenchSettings};
use test::TestSubject;

use dyno_target::{Capabilities, Environment};
use dyno_workload::sysbench::lua::{DeclaredOption, find_module};

use crate::{DONE, NOT_STARTED, NOT_WRITTEN};

/// The version of sysbench that this one is like, as its first line of output has it.
const VERSION: &str = "1.0.20";

/// The commands that a test of dyno's own has.
const COMMANDS: [&str; 5] = ["prepare", "prewarm", "run", "cleanup", "help"];

/// What every command needs.
struct Context {
    options: Options,
    settings: SysbenchSettings,
    console: Arc<SysbenchConsole>,
    /// The command line behind the program's name.
    typed: Vec<String>,
}

/// A command line that ends here: what is wrong with it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refused;

/// The name of the server in what dyno stores.
fn short_name(mysql: bool) -> &'static str {
    if mysql { Capabilities::MYSQL.short_name } else { Capabilities::POSTGRESQL.short_name }
}

/// Does what the command line asks for, given without the program's name; the exit status.
pub(crate) fn main(arguments: &[OsString]) -> u8 {
    let typed: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let read_file = |path: &str| {
        dyno_target::files::read_to_string(path).map_err(|error| dyno_wire::libpq_text::system(&error))
    };
    let line = match CommandLine::read(typed.clone(), &read_file, &mut console::error) {
        Ok(line) => line,
        Err(error) => {
            console::error(&error.to_string());
            return NOT_STARTED;
        }
    };
    let mut console = SysbenchConsole::new(Level::Notice as u8);
    if line.options.flag("help") {
        console.print(&help::help());
        return DONE;
    }
    if line.options.flag("version") {
        console.print(&help::version());
        return DONE;
    }
    let environment = |name: &str| std::env::var(name).ok();
    let warn = &mut |warning: &str| console.say(Level::Warning, warning);
    let settings = match SysbenchSettings::new(&line.options, &environment, warn) {
        Ok(settings) => settings,
        Err(error) => {
            console.print(&format!("{error}\n"));
            return NOT_STARTED;
        }
    };
    console.verbosity = settings.verbosity;
    // With an empty line behind it.
    console.notice(&help::version());
    // As sysbench, which would wait for somebody to type a script.
    let name = match line.test {
        Some(name) => name,
        None if std::io::stdin().is_terminal() => return DONE,
        None => "-".to_owned(),
    };
    let mut context = Context { options: line.options, settings, console: Arc::new(console), typed };
    let code = context.perform(&name, line.command.as_deref()).unwrap_or(NOT_STARTED);
    context.console.finish();
    if context.console.is_whole() { code } else { code.max(NOT_WRITTEN) }
}

impl Context {
    fn perform(&mut self, name: &str, command: Option<&str>) -> Result<u8, Refused> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let lua_path = std::env::var("LUA_PATH").ok();
        let module = |name: &str| find_module(name, lua_path.as_deref(), home.as_deref());
        match TestSubject::find(name, module).map_err(|error| self.refuse(&error.to_string()))? {
            TestSubject::Builtin(test) => {
                let Some(command) = command else {
                    let commands = COMMANDS.join(", ");
                    return Err(self.refuse(&format!("Command is required. Supported commands: {commands}")));
                };
                self.declare(Some(test::options_of(test)), command)?;
                match command {
                    "prepare" => commands::prepare(self),
                    "prewarm" => commands::prewarm(self),
                    "run" => run::builtin(self, test),
                    "cleanup" => commands::cleanup(self),
                    "help" => {
                        self.console.print(&help::test_help(test.name(), &self.options));
                        Ok(DONE)
                    }
                    _ => Err(unknown(command)),
                }
            }
            TestSubject::Script(source) => script::perform(self, &source, &source.shown_name(name), command),
        }
    }

    /// Has the options of a test known, and looks at all.
    fn declare(&mut self, declared: Option<Vec<DeclaredOption>>, command: &str) -> Result<(), Refused> {
        let checked = self.options.declare(declared, command != "help");
        for name in self.options.unknown_in_files() {
            let name = name.replace('-', "_");
            let text = format!("Global option '{name}' will not be exported, because the type is unknown");
            self.console.say(Level::Warning, &text);
        }
        checked.map_err(|error| {
            console::error(&error.to_string());
            Refused
        })
    }

    /// The database that the options name, for a command that `function` carries out.
    fn database(&self, function: &str) -> Result<Database, Refused> {
        Database::new(&self.options, &Environment::of_process()).map_err(|failure| {
            failure.tell_command(&self.console, function);
            Refused
        })
    }

    fn refuse(&self, text: &str) -> Refused {
        self.console.fatal(text);
        Refused
    }
}

fn unknown(command: &str) -> Refused {
    console::error(&format!("Unknown command: {command}"));
    Refused
}
