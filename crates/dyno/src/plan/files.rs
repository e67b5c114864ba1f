//! The files that streams name: SQL, whose texts are kept with the specification, and answers that were recorded.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use dyno_results::answer::{Recorded, SCHEMA};
use dyno_results::spec::{Definition, FolderSpec, RunSpec};
use dyno_target::files;
use dyno_workload::folder::{self, Mistakes, Named};
use dyno_workload::registry::{self, UnknownWorkload};
use dyno_workload::scripts::SqlScript;

use crate::failure::Failure;

/// From this likeness on (Jaro-Winkler) a name may be meant.
const LIKENESS_MIN: f64 = 0.85;
/// What may be named by its path.
pub(crate) const FILES: &str = "`dyno run` and `dyno plan` take a scenario (FILE.toml, as `dyno plan` writes it), a script (FILE.sql), a folder \
                                with a workload.toml and a folder of queries (each a FILE.sql); Lua scripts are for `dyno sysbench`";

/// Reads the folders with a `workload.toml` that streams name, and makes their workloads known, with their options.
pub(crate) fn read_folders(spec: &mut RunSpec) -> Result<(), Failure> {
    let streams = spec.phases.iter_mut().flat_map(|phase| &mut phase.streams);
    for stream in streams.filter(|stream| !stream.has_texts()) {
        if stream.folder.is_none()
            && let Some(named) = stream.workload.as_deref().and_then(named_folder)
        {
            let files = folder::read(Path::new(&named.folder));
            let files = files.map_err(|mistakes| wrong_folder(&named.folder, &mistakes))?;
            stream.workload = Some(named.workload());
            stream.folder = Some(FolderSpec { name: named.folder, files });
        }
        if let Some(FolderSpec { name, files }) = &stream.folder {
            folder::register(name, files).map_err(|mistakes| wrong_folder(name, &mistakes))?;
            if let Some(workload) = &stream.workload
                && let Err(UnknownWorkload::NoSuch { .. }) = registry::find(workload)
                && let Some(meant) = folder::meant(name, workload)
            {
                return Err(Failure::wrong(meant));
            }
        }
    }
    Ok(())
}

/// The folder that a workload's name stands for, where none of dyno's own has it.
pub(crate) fn named_folder(workload: &str) -> Option<Named> {
    let named = folder::named(workload)?;
    let is_other = || workload.contains('/') && registry::find(workload).is_err();
    (registry::is_folder(workload) || is_other()).then_some(named)
}

/// Everything that is wrong with a folder.
pub(crate) fn wrong_folder(name: &str, mistakes: &Mistakes) -> Failure {
    let said: Vec<String> = mistakes.0.iter().map(|mistake| format!("{name}/{mistake}")).collect();
    Failure::wrong(said.join("\n"))
}

/// Reads the files of SQL and the folders that streams name.
pub(super) fn read_texts(spec: &mut RunSpec) -> Result<(), Failure> {
    read_folders(spec)?;
    let streams = spec.phases.iter_mut().flat_map(|phase| &mut phase.streams);
    for stream in streams.filter(|stream| !stream.has_texts() && stream.folder.is_none()) {
        let Some(workload) = &stream.workload else { continue };
        let path = Path::new(workload);
        if is_lua(workload) {
            return Err(Failure::advised(
                format!(
                    "{workload} is a Lua script of sysbench, which `dyno run` and `dyno plan` do not run"
                ),
                format!("`dyno sysbench OPTIONS {workload} prepare` and then `… run` do (docs/sysbench.md)"),
            ));
        }
        if SqlScript::is_named(workload) {
            stream.script = Some(read("the workload", path)?);
        } else if registry::is_folder(workload) {
            stream.queries = read_folder(path)?;
            let own = read_parameters(path, &stream.queries, &stream.define)?;
            stream.define.extend(own);
        }
    }
    Ok(())
}

/// Whether a workload's name is that of a script for sysbench.
pub(crate) fn is_lua(workload: &str) -> bool {
    Path::new(workload).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lua"))
}

/// The texts of the queries in a folder, by the names of their files.
fn read_folder(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut queries = BTreeMap::new();
    let unreadable = |source: io::Error| {
        let meant = match source.kind() {
            io::ErrorKind::NotFound => {
                beside(path).map(|meant| format!(", did you mean {}?", meant.display()))
            }
            _ => None,
        };
        let meant = meant.unwrap_or_default();
        Failure::advised(format!("cannot read the queries in {}: {source}{meant}", path.display()), FILES)
    };
    for file in list(path).map_err(unreadable)? {
        let Some(name) = file.file_stem().and_then(OsStr::to_str).filter(|name| !name.starts_with('.'))
        else {
            continue;
        };
        if queries.insert(name.to_owned(), read("the query", &file)?).is_some() {
            let what = format!("two files in {} are the query {name}: give one another name", path.display());
            return Err(Failure::wrong(what));
        }
    }
    if queries.is_empty() {
        let what = format!("{} has no query: no file in it ends with .sql", path.display());
        return Err(Failure::advised(what, "put each query into a file of its own"));
    }
    Ok(queries)
}

/// The values in the files `NAME.params` beside `NAME.sql`, one `NAME=VALUE` in a line, for these queries alone. What is `said`
/// otherwise goes before them.
fn read_parameters(
    path: &Path,
    queries: &BTreeMap<String, String>,
    said: &[Definition],
) -> Result<Vec<Definition>, Failure> {
    let mut found = Vec::new();
    for query in queries.keys() {
        let file = path.join(format!("{query}.params"));
        if !file.exists() {
            continue;
        }
        let text = read("the parameters", &file)?;
        let lines =
            (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        for (number, line) in lines {
            let own: Definition = line.parse().map_err(|why| {
                let what = format!("line {number} of {} has no value of a parameter: {why}", file.display());
                Failure::wrong(what)
            })?;
            let name = format!("{query}:{}", own.name);
            let with_ending = format!("{query}.sql:{}", own.name);
            if !said.iter().any(|it| [&own.name, &name, &with_ending].contains(&&it.name)) {
                found.push(Definition { name, value: own.value });
            }
        }
    }
    Ok(found)
}

/// What stands there in the place of a path that was typed, under a name that is like it: a folder that can be run, or a file that can.
fn beside(path: &Path) -> Option<PathBuf> {
    let typed = path.file_name()?.to_str()?;
    let can_run = |path: &PathBuf| {
        let named = path.to_string_lossy();
        path.join(folder::FILE).is_file()
            || list(path).is_ok_and(|files| !files.is_empty())
            || (path.is_file() && (SqlScript::is_named(&named) || named.ends_with(".toml")))
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?;
    let like = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let likeness = registry::likeness(typed, name.to_str()?);
        (likeness > LIKENESS_MIN).then(|| (likeness, path.with_file_name(name)))
    };
    let found = entries.filter_map(Result::ok).filter_map(like).filter(|(_, path)| can_run(path));
    found.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, path)| path)
}

/// The files of SQL in a folder.
fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let is_sql = |file: &PathBuf| SqlScript::is_named(&file.to_string_lossy());
    let files = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = files.collect::<io::Result<_>>()?;
    files.retain(is_sql);
    files.sort_unstable();
    match files.iter().find(|file| file.to_str().is_none()) {
        Some(file) => {
            let what = format!("the name of {} is not UTF-8", file.display());
            Err(io::Error::new(io::ErrorKind::InvalidFilename, what))
        }
        None => Ok(files),
    }
}

/// The answers that a run has recorded.
pub(super) fn read_answers(path: &Path) -> Result<Recorded, Failure> {
    let wrong = |why: String| {
        Failure::advised(
            format!("{} has no answers of queries: {why}", path.display()),
            "`dyno run … --record FILE` writes them",
        )
    };
    let recorded: Recorded =
        serde_json::from_str(&read("the answers", path)?).map_err(|error| wrong(error.to_string()))?;
    match recorded.schema.as_str() {
        SCHEMA => Ok(recorded),
        other => Err(wrong(format!("its form is {other}, and this dyno reads {SCHEMA}"))),
    }
}

fn read(what: &str, path: &Path) -> Result<String, Failure> {
    files::read_to_string(path).map_err(|source| Failure::read(what, path, &source))
}
