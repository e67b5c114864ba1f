//! Folders of users that a command line names: their options can be typed, so they are read before it is.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args as _, Command, CommandFactory as _, FromArgMatches as _};
use dyno_workload::registry::{self, DataOptions};

use crate::cli::{Cli, StoreArguments};
use crate::failure::Failure;
use crate::flags::{HAVE_LOADS, is_file, of_workload, parse};
use crate::place;
use crate::plan;

/// Makes the workloads known of the folders that a command line names, itself or in a scenario.
pub(crate) fn read_folders(words: &[OsString]) -> Result<(), Failure> {
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    if command.is_empty() || !HAVE_LOADS.iter().any(|name| name.starts_with(command)) {
        return Ok(());
    }
    read_stored_folders(words)?;
    for word in workload_words(words.iter().skip(2).filter_map(|word| word.to_str())) {
        let value = word.split_once(',').map_or(word, |(workload, _)| workload);
        let mut spec = match plan::named_folder(value) {
            Some(_) => of_workload(value),
            None if is_file(value) && value.ends_with(".toml") => {
                let text = std::fs::read_to_string(Path::new(value)).unwrap_or_default();
                // What is wrong with a scenario is told where it is run.
                parse(value, &text).unwrap_or_default()
            }
            None => continue,
        };
        let taken = taken();
        plan::read_folders(&mut spec)?;
        for folder in spec.phases.iter().flat_map(|phase| &phase.streams).filter_map(|it| it.folder.as_ref())
        {
            refuse_taken(&folder.name, &taken)?;
        }
    }
    Ok(())
}

/// The same of those of a stored run that is to be repeated.
fn read_stored_folders(words: &[OsString]) -> Result<(), Failure> {
    // What is wrong with the command line is told where it is read as a whole.
    let Ok(matches) = Cli::command().ignore_errors(true).try_get_matches_from(words) else { return Ok(()) };
    let Some(("run", run)) = matches.subcommand() else { return Ok(()) };
    let (Some(name), Ok(store)) = (run.get_one::<String>("rerun"), StoreArguments::from_arg_matches(run))
    else {
        return Ok(());
    };
    let mut spec = place::open_stored(&store)?.report(name)?.run.spec;
    plan::read_folders(&mut spec)
}

/// What may be the name of a workload or a scenario: no option, and no value of one that is for something else.
fn workload_words<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let all = Cli::command();
    let takes_value = |name: &str| {
        let commands = HAVE_LOADS.iter().filter_map(|command| all.find_subcommand(command));
        let mut options = commands.flat_map(Command::get_arguments).filter(|it| it.get_long() == Some(name));
        options.any(|option| option.get_action().takes_values())
    };
    let (mut found, mut skips) = (Vec::new(), false);
    for word in words {
        let Some(option) = word.strip_prefix("--") else {
            if !std::mem::take(&mut skips) {
                found.push(word.strip_prefix("-w").unwrap_or(word));
            }
            continue;
        };
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        match matches!(name, "workload" | "stream") {
            true => found.extend(value),
            false => skips = value.is_none() && takes_value(name),
        }
    }
    // A stream is said as `oltp=./shop,clients=2`.
    let workload = |word: &'a str| {
        word.split_once('=').filter(|(name, _)| !name.contains('/')).map_or(word, |(_, it)| it)
    };
    found.into_iter().map(workload).collect()
}

/// The names of the options of a run that are none of a workload's.
pub(crate) fn taken() -> Vec<String> {
    let longs = |command: &Command| -> Vec<String> {
        command.get_arguments().filter_map(|option| option.get_long()).map(str::to_owned).collect()
    };
    let of_workloads = longs(&DataOptions::augment_args(Command::new("run")));
    let all = Cli::command();
    let of_run = HAVE_LOADS.iter().filter_map(|name| all.find_subcommand(name)).flat_map(longs);
    of_run.chain(["help".to_owned()]).filter(|name| !of_workloads.contains(name)).collect()
}

/// An option of a folder has no name that an option of a run has.
pub(crate) fn refuse_taken(folder: &str, taken: &[String]) -> Result<(), Failure> {
    let options = registry::find(folder)?.options();
    let twice =
        options.iter().filter_map(|option| option.get_long()).find(|long| taken.iter().any(|it| it == long));
    match twice {
        Some(long) => Err(Failure::wrong(format!(
            "{folder}/workload.toml: the option `{long}` is one of `dyno run` already: give it another name"
        ))),
        None => Ok(()),
    }
}
