//! A folder among the families of workloads: its names and its options. Folders of users are known from when they are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches};
use dyno_target::Capabilities;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::benchmark::{FolderBenchmark, VARIANT};
use super::built_in::{document, folders};
use super::mistake::{Notes, instead_of};
use super::options::{OptionKind, Options};
use super::{FILE, Folder, Mistakes, runs_on, usual_names};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Listed, Registered, RunsOn};
use crate::script::Names;

/// The folders that this process has read. Families are known by names that live as long as the process, and a run has one folder.
static REGISTERED: Mutex<Vec<&'static FolderFamily>> = Mutex::new(Vec::new());

/// A folder as a family: what its file says, which lists and the command line need. What it comes to is compiled where it is asked for.
struct FolderFamily {
    name: &'static str,
    /// One line for lists.
    about: &'static str,
    runs_on: RunsOn,
    options: Options,
    workloads: Vec<Workload>,
    /// The names of those that the folder's name alone stands for.
    usual: Vec<&'static str>,
    /// A user can say how some of its tables are kept.
    varies: bool,
    has_passes: bool,
    /// It comes with dyno.
    is_built_in: bool,
    files: BTreeMap<String, String>,
    compiled: OnceLock<Result<&'static Folder, Mistakes>>,
}

/// A transaction, a pass or a mix.
struct Workload {
    /// `./shop/join`
    name: &'static str,
    short: String,
    about: &'static str,
}

/// The folders that come with dyno.
pub(crate) fn built_in() -> impl Iterator<Item = &'static dyn Registered> {
    let family =
        |(name, files)| &*Box::leak(Box::new(FolderFamily::new(name, files, true))) as &dyn Registered;
    folders().map(family)
}

impl fmt::Debug for FolderFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FolderFamily").field(&self.name).finish()
    }
}

impl FolderFamily {
    /// A file with mistakes is told where it is compiled; until then it has what can be read of it.
    fn new(name: &str, files: BTreeMap<String, String>, is_built_in: bool) -> Self {
        let name: &'static str = name.to_owned().leak();
        let text = files.get(FILE).map_or("", String::as_str);
        let file = super::parse(text).unwrap_or_default();
        let mut notes = Notes { file: FILE, text, found: Vec::new() };
        let called = |short: &str| -> &'static str { format!("{name}/{short}").leak() };
        let workload = |(short, about): (&Spanned<String>, &Option<String>)| Workload {
            name: called(short.get_ref()),
            short: short.get_ref().clone(),
            about: about.clone().unwrap_or_default().leak(),
        };
        let transactions = file.transactions.iter().map(|it| (&it.name, &it.about));
        let passes = file.passes.iter().map(|it| (&it.name, &it.about));
        let mixes = file.mixes.iter().map(|it| (&it.name, &it.about));
        let tables: Vec<&str> = file.tables.iter().map(|table| table.name.get_ref().as_str()).collect();
        let about = match is_built_in {
            true => format!("{}; tables: {}", file.about, tables.join(", ")),
            false => file.about.clone(),
        };
        Self {
            name,
            about: about.leak(),
            runs_on: runs_on(&file, &mut notes),
            options: Options::compile(&file.options, &mut Names::new(), &mut notes),
            workloads: transactions.chain(passes).chain(mixes).map(workload).collect(),
            usual: usual_names(&file).into_iter().map(|short| called(short.get_ref())).collect(),
            varies: file.tables.iter().any(|table| table.varies),
            has_passes: !file.passes.is_empty(),
            is_built_in,
            files,
            compiled: OnceLock::new(),
        }
    }

    /// # Errors
    /// Everything that is wrong with it.
    fn folder(&self) -> Result<&'static Folder, Mistakes> {
        let compile = || {
            let folder = match self.is_built_in {
                true => Folder::built_in(self.name, &self.files),
                false => Folder::new(self.name, &self.files),
            };
            folder.map(|folder| &*Box::leak(Box::new(folder)))
        };
        self.compiled.get_or_init(compile).clone()
    }
}

/// Makes the workloads of a folder known, with their options, under the `name` by which a user calls it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn register(name: &str, files: &BTreeMap<String, String>) -> Result<(), Mistakes> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.iter().any(|it| it.name == name && it.files == *files) {
        return Ok(());
    }
    let mut family = FolderFamily::new(name, files.clone(), false);
    let folder = family.folder()?;
    for (workload, mix) in family.workloads.iter_mut().zip(&folder.mixes) {
        workload.about = &mix.about;
    }
    registered.retain(|it| it.name != name);
    registered.push(Box::leak(Box::new(family)));
    Ok(())
}

/// What a user may have meant by the name of a workload that a folder does not have.
pub fn meant(folder: &str, workload: &str) -> Option<String> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let own = registered.iter().find(|it| it.name == folder)?.folder().ok()?;
    let typed = workload.strip_prefix(folder)?.trim_start_matches('/');
    Some(match own.transactions.iter().find(|it| it.script == typed) {
        Some(it) => format!("{workload} is a script of the folder {folder}: run it as {folder}/{}", it.name),
        None => {
            let instead = instead_of(typed, own.mixes.iter().map(|mix| mix.name));
            format!("there is no transaction or mix `{typed}` in the folder {folder}{instead}")
        }
    })
}

/// The folders of users.
pub(crate) fn registered() -> Vec<&'static dyn Registered> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.iter().map(|family| *family as &dyn Registered).collect()
}

impl Registered for FolderFamily {
    fn has_table(&self) -> bool {
        self.is_built_in && self.varies
    }

    fn listed(&self) -> Listed {
        Listed { name: self.name, about: self.about, runs_on: self.runs_on }
    }

    fn workloads(&self) -> Vec<(Listed, Vec<String>)> {
        let listed = |workload: &Workload| {
            // A user's own is called by its path, and others have a `queries` and a `tpcb` too.
            let is_short = self.is_built_in && !self.varies;
            let calls = if is_short { vec![workload.short.clone()] } else { Vec::new() };
            (Listed { name: workload.name, about: workload.about, runs_on: self.runs_on }, calls)
        };
        self.workloads.iter().map(listed).collect()
    }

    fn usual(&self, _: Map<String, Value>) -> Vec<&'static str> {
        self.usual.clone()
    }

    fn options(&self) -> Vec<Arg> {
        let option = |option: &super::options::FolderOption| {
            let of =
                if self.is_built_in { format!(", of the workload {}", self.name) } else { String::new() };
            let about = format!("{}{of}", option.about);
            let argument =
                Arg::new(option.long).long(option.long).alias(option.name).help_heading("Workload");
            let default = match (&option.kind, option.default.as_str()) {
                (OptionKind::Flag, _) => return argument.action(ArgAction::SetTrue).help(about),
                (OptionKind::Choice(choices), default) => {
                    let values = choices.iter().map(|(name, about)| PossibleValue::new(*name).help(*about));
                    return argument
                        .value_parser(PossibleValuesParser::new(values))
                        .value_name("NAME")
                        .help(format!("{about} [default: {default}]"));
                }
                (OptionKind::Number, "fit") => "what suits the machine, or what is there",
                (OptionKind::Number, default) => default,
            };
            argument
                .allow_negative_numbers(true)
                .value_name("N")
                .help(format!("{about} [default: {default}]"))
        };
        self.options.iter().map(option).collect()
    }

    fn document(&self) -> &'static str {
        if self.is_built_in { document(self.name) } else { "docs/workload-files.md" }
    }

    fn further(&self) -> &'static [&'static str] {
        match (self.varies, self.has_passes) {
            (true, true) => &[VARIANT, "plans"],
            (true, false) => &[VARIANT],
            (false, true) => &["plans"],
            (false, false) => &[],
        }
    }

    fn typed(&self, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error> {
        let mut typed = Map::new();
        for option in self.options.iter() {
            // A family before this one may have an option of this name, and read it in its own way.
            if option.kind == OptionKind::Flag {
                let is_on = matches.try_get_one::<bool>(option.long).ok().flatten() == Some(&true);
                typed.extend(is_on.then(|| (option.long.to_owned(), true.into())));
                continue;
            }
            let raw = matches.try_get_raw(option.long).ok().flatten().and_then(|mut values| values.next());
            if let Some(text) = raw {
                let value = option.typed(&text.to_string_lossy()).map_err(|why| {
                    clap::Error::raw(
                        clap::error::ErrorKind::ValueValidation,
                        format!("--{}: {why}\n", option.long),
                    )
                })?;
                typed.insert(option.long.to_owned(), value);
            }
        }
        Ok(typed)
    }

    fn read(&self, said: Value) -> Result<Map<String, Value>, serde_json::Error> {
        let Value::Object(said) = said else { return Err(serde_json::Error::custom("no table of options")) };
        let read = |(name, value): (String, Value)| {
            let option = self.options.iter().find(|option| option.long == name);
            let read = match (&value, option) {
                (Value::String(_), None) if name == VARIANT && self.varies => Ok(value),
                (_, Some(option)) => option.written(value),
                (_, None) => Err("there is no such option".to_owned()),
            };
            let read = read.map_err(|why| serde_json::Error::custom(format!("{name}: {why}")))?;
            Ok((name, read))
        };
        // What is off is as if nothing was said.
        said.into_iter().map(read).filter(|it| !matches!(it, Ok((_, Value::Bool(false))))).collect()
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        let property = |option: &super::options::FolderOption| {
            let mut schema = match &option.kind {
                OptionKind::Number => json!({ "type": ["number", "string"] }),
                OptionKind::Flag => json!({ "type": "boolean" }),
                OptionKind::Choice(_) => json!({ "enum": option.choices().collect::<Vec<_>>() }),
            };
            schema["description"] = option.about.into();
            (option.long.to_owned(), schema)
        };
        let variant = self.varies.then(|| {
            let about = "How the tables are kept, `NAME` or `NAME=CLAUSE; …` as with --variant";
            (VARIANT.to_owned(), json!({ "description": about, "type": "string" }))
        });
        let properties: Map<String, Value> = self.options.iter().map(property).chain(variant).collect();
        json_schema!({ "type": "object", "properties": properties })
    }

    fn benchmark(
        &self,
        workloads: &[&'static str],
        said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let folder = self.folder().map_err(|mistakes| BenchmarkError::Wrong(Box::new(mistakes)))?;
        let place = |name: &&str| folder.workloads.iter().position(|known| known == name);
        let workloads = workloads.iter().filter_map(place).collect();
        Ok(Box::new(FolderBenchmark::new(folder, workloads, said, target)?))
    }
}
