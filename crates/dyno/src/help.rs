//! The help for one workload: `dyno run tpch --help` has the options of its family, and in short those that most runs need.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, Id};
use dyno_workload::registry::{self, Selection};

use crate::cli::Cli;
use crate::flags;

/// Options that most runs need, in their order.
const COMMON: [&str; 15] = [
    "target",
    "prepare",
    "clients",
    "ramp",
    "step",
    "hold",
    "duration",
    "rate",
    "warm_up",
    "repeat",
    "quick",
    "seed",
    "time_limit",
    "json",
    "html",
];

/// The help where a command line of `run` or `plan` names a workload and asks for help.
pub(crate) fn of_workload(words: &[OsString]) -> Option<String> {
    let is_asked = |word: &OsString| word == "--help" || word == "-h";
    if !words.iter().any(is_asked) {
        return None;
    }
    let rest = words.iter().filter(|word| !is_asked(word));
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(rest).ok()?;
    let (command, matches) = matches.subcommand().filter(|(name, _)| matches!(*name, "run" | "plan"))?;
    Some(rendered(command, &selection(matches)?))
}

/// The workload that is named, by itself or as that of a scenario.
fn selection(matches: &ArgMatches) -> Option<Selection> {
    let named = |id| matches.get_one::<String>(id).map(String::as_str);
    let workload = match (named("workload"), named("scenario")) {
        (Some(workload), _) => workload.to_owned(),
        (None, scenario) => flags::workload_of(scenario?)?,
    };
    registry::find(&workload).ok()
}

fn rendered(command: &str, selection: &Selection) -> String {
    let family = selection.family();
    let name = family.name;
    let all = Cli::command();
    let all = all.find_subcommand(command).cloned().unwrap_or_default();
    let of_run = |id: &&str| all.get_arguments().find(|option| option.get_id() == *id).cloned();
    let own = selection.options().into_iter().chain(selection.further().iter().filter_map(of_run));
    // What it conflicts with may not be shown.
    let under = |option: Arg, heading: &str| {
        option.help_heading(heading.to_owned()).hide_short_help(false).conflicts_with(Resettable::<Id>::Reset)
    };
    let own = own.map(|option| under(option, &format!("Options of {name}")));
    let common = COMMON.iter().filter_map(of_run).map(|option| under(option, "Common options"));
    let prefix = format!("{name}/");
    let listed = registry::workloads();
    let listed = listed.iter().filter(|it| it.name.starts_with(&prefix));
    let width = listed.clone().map(|it| it.name.len()).max().unwrap_or(0);
    let listed: String = listed.map(|it| format!("  {:width$}  {}\n", it.name, it.about)).collect();
    let mut shown = Command::new("dyno")
        .bin_name(format!("dyno {command} {name}"))
        .about(family.about)
        .max_term_width(100)
        .disable_help_flag(true)
        .args(own)
        .args(common)
        .after_help(format!(
            "Workloads:\n{listed}\nAll options, with examples: `dyno {command} --help`. What the options of {name} do: {}",
            selection.document()
        ));
    shown.render_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        of_workload(&words)
    }

    #[test]
    fn a_workload_has_its_own_options_and_the_common_ones() {
        for (line, own, others) in [
            (
                "dyno run tpch --help",
                &["--indexes", "--parameters", "--answers"][..],
                &["--table-size", "--records", "--variant"][..],
            ),
            ("dyno run ycsb/a -h", &["--records", "--field-length"], &["--scale", "--indexes"]),
            (
                "dyno plan --hold 3m --workload oltp_read_only --help",
                &["--table-size", "--distribution"],
                &["--scale", "--rows"],
            ),
            ("dyno run --help storage", &["--variant", "--workers", "--scale"], &["--rows", "--indexes"]),
            ("dyno run events --help", &["--rows", "--customers"], &["--scale", "--tables"]),
            (
                "dyno run tpcc --help",
                &["--warehouses", "--home", "--think", "docs/tpcc.md"],
                &["--scale", "docs/workloads.md"],
            ),
        ] {
            let help = help(line).unwrap();
            let has =
                |option: &&str| [" <", " ", "\n"].iter().any(|end| help.contains(&format!("{option}{end}")));
            assert!(own.iter().all(has), "{line}: {help}");
            assert!(!others.iter().any(has), "{line}: {help}");
            for word in ["--target", "--hold", "Workloads:", "--help`", "docs/"] {
                assert!(help.contains(word), "{line}: {word}: {help}");
            }
        }
    }

    #[test]
    fn others_get_the_whole_help() {
        for line in [
            "dyno run --help",
            "dyno run",
            "dyno run tpch",
            "dyno run ./x.sql --help",
            "dyno run quikc --help",
            "dyno report --help",
            "dyno --help",
        ] {
            assert_eq!(help(line), None, "{line}");
        }
    }

    #[test]
    fn common_options_exist() {
        let dyno = Cli::command();
        let run = dyno.find_subcommand("run").unwrap();
        for id in COMMON {
            assert!(run.get_arguments().any(|option| option.get_id() == id), "{id}");
        }
    }
}
