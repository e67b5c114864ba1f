//! dyno: its command line, which reads what the user typed and hands it to a command, and how a campaign's load is generated.
#![cfg_attr(
    not(test),
    warn(clippy::print_stderr, clippy::print_stdout, reason = "they panic if nobody reads")
)]

mod campaign;
mod cli;
mod command;
mod failure;
mod flags;
mod folders;
mod front_end;
pub mod generator;
mod help;
mod interrupt;
mod pgbench;
mod place;
mod plan;
mod secrets;
mod sysbench;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use cli::{Cli, Command};
use generator::PrepareGenerator;

/// Done.
const DONE: u8 = 0;
/// Could not start.
const NOT_STARTED: u8 = 1;
/// Done and stored, and a page, a report or a log that was asked for could not be written.
const NOT_WRITTEN: u8 = 1;
/// Started, and ended early: what was measured is kept.
const INCOMPLETE: u8 = 2;
/// Under `--strict`, a finding says that the result is invalid.
const INVALID: u8 = 3;

/// The program, whose load is generated in its own process.
pub fn main() -> ExitCode {
    main_with(&|_, local| Ok(Box::new(local)))
}

/// The same with other generators for the load of `dyno run`.
pub fn main_with(prepare: &PrepareGenerator) -> ExitCode {
    secrets::remember_environment();
    if let Some(arguments) = arguments_of("pgbench") {
        return ExitCode::from(pgbench::main(arguments));
    }
    if let Some(arguments) = arguments_of("sysbench") {
        return ExitCode::from(sysbench::main(&arguments));
    }
    let words = flags::words(std::env::args_os());
    if let Err(failure) = flags::refuse_split_time(&std::env::args_os().collect::<Vec<_>>()) {
        command::tell(&failure);
        return ExitCode::from(NOT_STARTED);
    }
    if let Err(failure) = folders::read_folders(&words) {
        command::tell(&failure);
        return ExitCode::from(NOT_STARTED);
    }
    if let Some(help) = help::of_workload(&words) {
        // If the terminal is gone there is nobody to tell.
        let _ = command::write_out(&help);
        return ExitCode::from(DONE);
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed where they were asked for; everything else is a mistake.
            let code = if error.use_stderr() { NOT_STARTED } else { DONE };
            print_usage(&error);
            return ExitCode::from(code);
        }
    };
    let ended = match cli.command {
        Command::Run(arguments) => command::run::run(*arguments, prepare),
        Command::Plan(arguments) => command::plan::plan(*arguments),
        Command::Schema => command::plan::print_schema(),
        Command::Pgbench(arguments) => return ExitCode::from(pgbench::main(arguments.words)),
        Command::Sysbench(arguments) => return ExitCode::from(sysbench::main(&arguments.words)),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Runs(arguments) => command::runs::run(&arguments),
        Command::Findings(arguments) => command::findings::run(&arguments),
        Command::Workloads(arguments) => command::lists::workloads(&arguments),
        Command::Scenarios(arguments) => command::lists::scenarios(&arguments),
        Command::Targets(arguments) => command::lists::targets(&arguments),
        Command::Completions(arguments) => command::completions::run(&arguments),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            command::tell(&failure);
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// What follows `dyno pgbench`, or all arguments of a dyno that is installed under the name `pgbench`; `sysbench` alike.
/// Such a command line is another's and read by its own rules.
fn arguments_of(another: &str) -> Option<Vec<OsString>> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    if Path::new(&program).file_name().is_some_and(|name| name == another) {
        return Some(words.collect());
    }
    (words.next()? == another).then(|| words.collect())
}

/// Prints help, or what is wrong with what was typed. That quotes words, which may hold a password.
fn print_usage(error: &clap::Error) {
    let mut text = error.render().to_string();
    let plain = text.clone();
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        text = text.replace(&*word, &secrets::hidden(&word));
    }
    if text == plain {
        // If the terminal is gone there is nobody to tell.
        let _ = error.print();
    } else {
        command::write_err(&text);
    }
}
