//! `dyno completions`: the script of a shell, which asks dyno at each TAB, and the answer. So a shell is told the workloads,
//! the scenarios and the runs that there are then.

use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory as _};
use dyno_results::store::RunSummary;
use dyno_results::words::distinct;
use dyno_workload::registry;

use super::print;
use crate::cli::{Cli, CompletionShell, CompletionsArguments, StoreArguments};
use crate::failure::Failure;
use crate::flags::{self, BUILT_IN};
use crate::{DONE, place};

/// Runs that are offered, the newest.
const RUNS_MAX: usize = 50;
/// Where nothing is offered, each shell completes the names of files.
const BASH: &str = r#"_dyno() {
    local IFS=$'\n'
    COMPREPLY=($(dyno completions bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
}
complete -o default -o bashdefault -o nosort -F _dyno dyno
"#;
const ZSH: &str = r#"#compdef dyno
_dyno() {
    local -a offered
    offered=(${(f)"$(dyno completions zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)"})
    if (( ${#offered} )); then
        _describe -V dyno offered
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_dyno" ]; then
    _dyno "$@"
else
    compdef _dyno dyno
fi
"#;
const FISH: &str = r"complete -c dyno -k -a '(dyno completions fish -- (commandline -opc) (commandline -ct) 2>/dev/null)'
";

/// Prints the script, or what may stand in place of the last word.
pub(crate) fn run(arguments: &CompletionsArguments) -> Result<u8, Failure> {
    let text = match &arguments.words {
        None => match arguments.shell {
            CompletionShell::Bash => BASH.to_owned(),
            CompletionShell::Zsh => ZSH.to_owned(),
            CompletionShell::Fish => FISH.to_owned(),
        },
        Some(words) => {
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            answer(arguments.shell, words)
        }
    };
    print(&text)?;
    Ok(DONE)
}

/// What a shell reads, one candidate in a line.
fn answer(shell: CompletionShell, words: Vec<String>) -> String {
    // bash gives `--prepare=au` as three words, and replaces the last of them.
    let words = if matches!(shell, CompletionShell::Bash) { glued(words) } else { words };
    let Some((last, before)) = words.split_last() else { return String::new() };
    let (kept, typed) = match last.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (format!("{option}="), value),
        _ => (String::new(), last.as_str()),
    };
    let option = kept.strip_suffix('=');
    let offered = offered(before.get(1..).unwrap_or_default(), option, typed);
    let line = |Offered { word, about }: &Offered| match shell {
        CompletionShell::Bash => format!("{word}\n"),
        CompletionShell::Zsh => format!("{}:{about}\n", format!("{kept}{word}").replace(':', "\\:")),
        CompletionShell::Fish => format!("{kept}{word}\t{about}\n"),
    };
    offered.iter().filter(|it| it.word.starts_with(typed)).map(line).collect()
}

/// What may stand somewhere on a command line.
struct Offered {
    word: String,
    about: String,
}

impl Offered {
    /// `about` is shown up to the end of its first line.
    fn new(word: impl Into<String>, about: &impl ToString) -> Self {
        let about = about.to_string().lines().next().unwrap_or_default().to_owned();
        Self { word: word.into(), about }
    }
}

/// Words that bash has taken apart at `=` and `:`, whole again.
fn glued(words: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        let breaks = !word.is_empty() && word.chars().all(|letter| matches!(letter, '=' | ':'));
        match whole.last_mut() {
            Some(last) if open || breaks => last.push_str(&word),
            _ => whole.push(word),
        }
        open = breaks;
    }
    whole
}

/// What may stand behind the words `before`, as the value of `option` if one is being typed.
fn offered(before: &[String], option: Option<&str>, typed: &str) -> Vec<Offered> {
    let mut dyno = Cli::command();
    dyno.build();
    let Some((name, before)) = before.split_first() else {
        let commands = dyno.get_subcommands().filter(|command| !command.is_hide_set());
        return commands
            .map(|it| Offered::new(it.get_name(), &it.get_about().cloned().unwrap_or_default()))
            .collect();
    };
    let Some(command) = command(&dyno, name) else { return Vec::new() };
    let place = Place::behind(before, command);
    let argument = match option {
        Some(option) => named(command, option),
        None => place.value_of,
    };
    if let Some(argument) = argument {
        return values(argument, place.store.as_deref());
    }
    if typed.starts_with('-') {
        let options = command.get_arguments().filter(|option| !option.is_hide_set());
        let option = |it: &Arg| {
            let about = it.get_help().cloned().unwrap_or_default();
            Some(Offered::new(format!("--{}", it.get_long()?), &about))
        };
        return options.filter_map(option).collect();
    }
    let positionals: Vec<&Arg> = command.get_positionals().collect();
    let last = positionals.last().filter(|it| takes_many(it));
    positionals.get(place.position).or(last).map_or_else(Vec::new, |it| values(it, place.store.as_deref()))
}

/// The command of that name or, if it is the only one, of one that begins so.
fn command<'a>(dyno: &'a Command, name: &str) -> Option<&'a Command> {
    let mut begin = dyno.get_subcommands().filter(|command| command.get_name().starts_with(name));
    dyno.find_subcommand(name).or_else(|| begin.next().filter(|_| begin.next().is_none()))
}

/// The option that is typed so.
fn named<'a>(command: &'a Command, typed: &str) -> Option<&'a Arg> {
    let is = |option: &&Arg| match typed.strip_prefix("--") {
        Some(long) => option.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => option.get_short().is_some_and(|short| typed.strip_prefix('-') == Some(&*short.to_string())),
    };
    command.get_arguments().find(is)
}

fn takes_many(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|range| range.max_values() > 1)
}

/// Where a word stands: as the value of an option, or in place of a positional argument.
#[derive(Default)]
struct Place<'a> {
    value_of: Option<&'a Arg>,
    position: usize,
    /// The store that was named.
    store: Option<String>,
}

impl<'a> Place<'a> {
    /// Behind these words of a command.
    fn behind(words: &[String], command: &'a Command) -> Self {
        let mut place = Self::default();
        let mut values = 0;
        for word in words {
            if values > 0 {
                values -= 1;
                if place.value_of.is_some_and(|option| option.get_id() == "store") {
                    place.store = Some(word.clone());
                }
            } else if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with('-')) {
                if option == "--store" {
                    place.store = Some(value.to_owned());
                }
            } else if word.starts_with('-') {
                place.value_of = named(command, word).filter(|option| takes_values_apart(option));
                // What may have a value takes the next word for it.
                let least = |option: &Arg| option.get_num_args().map_or(1, |it| it.min_values().max(1));
                values = place.value_of.map_or(0, least);
            } else {
                place.position += 1;
            }
            if values == 0 {
                place.value_of = None;
            }
        }
        place
    }
}

fn takes_values_apart(option: &Arg) -> bool {
    option.get_action().takes_values() && !option.is_require_equals_set()
}

/// What an argument takes, as far as that is known.
fn values(argument: &Arg, store: Option<&str>) -> Vec<Offered> {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return shown
            .map(|value| Offered::new(value.get_name(), &value.get_help().cloned().unwrap_or_default()))
            .collect();
    }
    let name = argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    match (argument.get_id().as_str(), name) {
        ("workload", _) => workloads(),
        (_, "SCENARIO|WORKLOAD") => scenarios().into_iter().chain(workloads()).collect(),
        (_, "RUN" | "SIDE") => runs(store),
        _ => Vec::new(),
    }
}

fn workloads() -> Vec<Offered> {
    registry::workloads().iter().map(|listed| Offered::new(listed.name, &listed.about)).collect()
}

fn scenarios() -> Vec<Offered> {
    let about = |text| flags::parse("", text).ok().and_then(|spec| spec.about).unwrap_or_default();
    BUILT_IN.iter().map(|(name, text)| Offered::new(*name, &about(text))).collect()
}

/// The newest runs of the store. Where it cannot be read there is nothing to offer, and nobody to tell.
fn runs(store: Option<&str>) -> Vec<Offered> {
    let store = store.map(PathBuf::from).or_else(|| std::env::var_os("DYNO_STORE").map(PathBuf::from));
    let stored = place::open_stored(&StoreArguments { store });
    let runs = stored.ok().and_then(|store| store.runs().ok()).unwrap_or_default();
    let last = runs.first().map(|run| Offered::new("last", &about_run(run)));
    last.into_iter()
        .chain(runs.iter().take(RUNS_MAX).map(|run| Offered::new(run.name.as_str(), &about_run(run))))
        .collect()
}

/// `tpcb/select-only, tpcb/tpcb-like on pg`
fn about_run(run: &RunSummary) -> String {
    let workloads = distinct(run.content.series.iter().map(|series| series.workload.as_str()));
    let targets = distinct(run.content.targets.iter().map(|target| target.name.as_str()));
    format!("{} on {}", workloads.join(", "), targets.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(shell: CompletionShell, line: &str) -> Vec<String> {
        let words = line.split(' ').map(str::to_owned).collect();
        answer(shell, words).lines().map(str::to_owned).collect()
    }

    fn bash(line: &str) -> Vec<String> {
        words(CompletionShell::Bash, line)
    }

    #[test]
    fn commands_options_and_names_are_offered_where_they_may_stand() {
        for (line, offered, not) in [
            ("dyno ", &["run", "report", "completions"][..], &["tpcb"][..]),
            ("dyno re", &["report"], &["run"]),
            ("dyno run ", &["tpcb", "quick", "tpch/queries"], &["--scale"]),
            ("dyno run ycsb/", &["ycsb/a", "ycsb/f"], &["tpcb"]),
            ("dyno plan --hold 3m tpc", &["tpcb", "tpch"], &["quick"]),
            ("dyno run --", &["--scale", "--target", "--live"], &["--load-on", "tpcb"]),
            ("dyno run --workload sys", &["sysbench"], &["quick"]),
            ("dyno run -w sys", &["sysbench"], &[]),
            ("dyno run --prepare = al", &["always"], &["auto"]),
            ("dyno run --workload = tpcb/sel", &["tpcb/select-only"], &[]),
            ("dyno run --target postgres : //me@h/d tpch", &["tpch", "tpch/power"], &[]),
            ("dyno run --protocol ", &["simple", "prepared"], &["tpcb"]),
            ("dyno run tpcb ", &[], &["quick", "tpcb"]),
            ("dyno run --before hold true tpcb", &["tpcb"], &[]),
            ("dyno run --before hold ", &[], &["tpcb"]),
            ("dyno run --target ", &[], &["tpcb"]),
            ("dyno run --home ", &["drawn", "fixed"], &["tpcb"]),
            ("dyno completions ", &["bash", "zsh", "fish"], &[]),
            ("dyno pgbench -", &[], &["--scale"]),
            ("dyno nothing ", &[], &["tpcb"]),
        ] {
            let found = bash(line);
            let has = |word: &&str| found.iter().any(|it| it == word);
            assert!(offered.iter().all(has), "{line}: {found:?}");
            assert!(!not.iter().any(has) && (!offered.is_empty() || found.is_empty()), "{line}: {found:?}");
        }
    }

    #[test]
    fn other_shells_replace_the_whole_word_and_show_what_it_is() {
        let zsh = words(CompletionShell::Zsh, "dyno run --workload=tpcb/sel");
        assert_eq!(zsh.len(), 1);
        assert!(zsh[0].starts_with("--workload=tpcb/select-only:"), "{zsh:?}");
        let fish = words(CompletionShell::Fish, "dyno run --prepare=al");
        assert_eq!(fish, ["--prepare=always\t"]);
    }
}
