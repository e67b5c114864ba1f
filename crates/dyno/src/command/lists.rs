//! `dyno workloads`, `scenarios` and `targets`: what is known here.

use std::path::Path;

use dyno_target::embedded;
use dyno_workload::folder::{self, Mistakes, Named};
use dyno_workload::registry::{self, Listed};
use serde_json::json;

use super::{print, print_json};
use crate::DONE;
use crate::cli::{ListArguments, TargetsArguments, WorkloadsArguments, WorkloadsCommand};
use crate::failure::Failure;
use crate::flags::{self, BUILT_IN};
use crate::folders;
use crate::plan;

pub(crate) fn workloads(arguments: &WorkloadsArguments) -> Result<u8, Failure> {
    match &arguments.command {
        Some(WorkloadsCommand::Check { folder }) => return check(folder),
        Some(WorkloadsCommand::Export { name, folder }) => return export(name, folder),
        None => {}
    }
    let listed = registry::workloads();
    if arguments.list.json {
        let row = |listed: &Listed| json!({ "name": listed.name, "about": listed.about, "runs_on": listed.runs_on.protocols() });
        let rows: Vec<_> = listed.iter().map(row).collect();
        print_json(&json!({ "schema": "dyno.workloads/1", "workloads": rows }))?;
        return Ok(DONE);
    }
    let about = |listed: &Listed| match *listed.runs_on.protocols() {
        [only] => format!("{} ({only} only)", listed.about),
        _ => listed.about.to_owned(),
    };
    let rows: Vec<_> = listed.iter().map(|listed| (listed.name.to_owned(), about(listed))).collect();
    list("workloads", &rows, false)
}

/// Writes out a folder that comes with dyno.
fn export(name: &str, folder: &str) -> Result<u8, Failure> {
    let written =
        folder::export(name, Path::new(folder)).map_err(|error| Failure::wrong(error.to_string()))?;
    let mut text: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
    // A name without a slash is that of a workload which comes with dyno.
    let path = if folder.contains('/') { folder.to_owned() } else { format!("./{folder}") };
    text.push_str(&format!(
        "Change them (docs/workload-files.md), look at them with `dyno workloads check {path}`, and run them with `dyno run {path}`\n"
    ));
    print(&text)?;
    Ok(DONE)
}

/// Says what is wrong with a folder, or what it comes to.
fn check(folder: &str) -> Result<u8, Failure> {
    let Some(Named { folder, .. }) = folder::named(folder) else {
        let what = format!("{folder} is no folder with a workload.toml");
        return Err(Failure::advised(what, "docs/workload-files.md says what stands in one"));
    };
    let wrong = |mistakes: Mistakes| plan::wrong_folder(&folder, &mistakes);
    let files = folder::read(Path::new(&folder)).map_err(wrong)?;
    let taken = folders::taken();
    folder::register(&folder, &files).map_err(wrong)?;
    folders::refuse_taken(&folder, &taken)?;
    print(&folder::check(&folder, &files).map_err(wrong)?)?;
    Ok(DONE)
}

pub(crate) fn scenarios(arguments: &ListArguments) -> Result<u8, Failure> {
    let rows = BUILT_IN
        .iter()
        .map(|(name, text)| Ok(((*name).to_owned(), flags::parse(name, text)?.about.unwrap_or_default())))
        .collect::<Result<Vec<_>, Failure>>()?;
    list("scenarios", &rows, arguments.json)
}

pub(crate) fn targets(arguments: &TargetsArguments) -> Result<u8, Failure> {
    let installed = embedded::installed();
    if arguments.json {
        let rows: Vec<_> = installed
            .iter()
            .map(|(version, directory)| json!({ "version": version.to_string(), "directory": directory }))
            .collect();
        print_json(&json!({ "schema": "dyno.targets/1", "installed": rows }))?;
        return Ok(DONE);
    }
    let mut text = String::from("PostgreSQL that this machine can start (dyno run --server …):\n");
    for (version, directory) in &installed {
        text.push_str(&format!("  postgres@{version:<8} {}\n", directory.display()));
    }
    if installed.is_empty() {
        text.push_str("  none is installed\n");
    }
    text.push_str(if cfg!(feature = "fetch") {
        "  postgres@14 … postgres@18 are fetched and cached when asked for and not installed\n"
    } else {
        "  this dyno was built without the feature `fetch`, so no others\n"
    });
    text.push_str(
        "\nA database of yours (dyno run --target …):\n  \
         postgres://user@host:5432/database?sslmode=verify-full\n  \
         'host=/var/run/postgresql dbname=bank'   a libpq connection string; PG* variables, ~/.pgpass and\n  \
         service=NAME                             service files are read as psql reads them\n  \
         mysql://user@host:3306/database?ssl-mode=VERIFY_IDENTITY\n  \
         mysql://user@localhost/database?socket=/run/mysqld/mysqld.sock\n  \
         \u{20}                                        ~/.my.cnf and MYSQL_PWD count as they do for mysql\n",
    );
    dyno_target::driver_examples().for_each(|example| text.push_str(&format!("  {example}\n")));
    text.push_str(
        "What each may have behind it: docs/targets.md\n\
         Products that dyno knows by what they say of themselves: docs/products.md\n",
    );
    print(&text)?;
    Ok(DONE)
}

fn list(what: &str, rows: &[(String, String)], as_json: bool) -> Result<u8, Failure> {
    if as_json {
        let rows: Vec<_> = rows.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
        print_json(&json!({ "schema": format!("dyno.{what}/1"), what: rows }))?;
        return Ok(DONE);
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let text: String = rows.iter().map(|(name, about)| format!("{name:<width$}  {about}\n")).collect();
    print(&text)?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::cli::Cli;

    #[test]
    fn the_help_of_a_target_names_every_kind() {
        let mut command = Cli::command();
        let run = command.find_subcommand_mut("run").unwrap();
        let target = run.get_arguments().find(|argument| argument.get_id() == "target").unwrap();
        let help = target.get_long_help().or(target.get_help()).unwrap().to_string();
        let known =
            dyno_target::driver_examples().chain(["postgres://host", "mysql://host", "embedded:postgres"]);
        for example in known {
            let (scheme, _) = example.split_once(':').unwrap();
            assert!(help.contains(scheme), "{scheme}: {help}");
        }
    }
}
