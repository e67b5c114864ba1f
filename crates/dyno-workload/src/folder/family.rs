//! A folder among the families of workloads: its names and its options. Folders of users are known from when they are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches};
use dyno_target::Capabilities;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde_json::{Map, Value, json};

use super::benchmark::{FolderBenchmark, VARIANT};
use super::built_in::folders;
use super::mistake::instead_of;
use super::options::OptionKind;
use super::{Folder, Mistakes};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Listed, Registered};

/// The folders that this process has read. Families are known by names that live as long as the process, and a run has one folder.
static REGISTERED: Mutex<Vec<&'static FolderFamily>> = Mutex::new(Vec::new());

/// A folder as a family.
struct FolderFamily {
    folder: &'static Folder,
    /// One line for lists.
    about: &'static str,
    /// It comes with dyno.
    is_built_in: bool,
}

/// The folders that come with dyno.
pub(crate) fn built_in() -> impl Iterator<Item = &'static dyn Registered> {
    let family = |(name, files)| {
        // A test looks that they have no mistake.
        let folder = Box::leak(Box::new(Folder::built_in(name, &files).ok()?));
        let about = format!("{}; tables: {}", folder.about, folder.table_names().join(", ")).leak();
        let family = FolderFamily { folder, about, is_built_in: true };
        Some(&*Box::leak(Box::new(family)) as &dyn Registered)
    };
    folders().filter_map(family)
}

impl fmt::Debug for FolderFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FolderFamily").field(&self.folder.name).finish()
    }
}

/// Makes the workloads of a folder known, with their options, under the `name` by which a user calls it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn register(name: &str, files: &BTreeMap<String, String>) -> Result<(), Mistakes> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.iter().any(|it| it.folder.name == name && it.folder.files == *files) {
        return Ok(());
    }
    let folder = Box::leak(Box::new(Folder::new(name, files)?));
    registered.retain(|it| it.folder.name != name);
    registered.push(Box::leak(Box::new(FolderFamily { folder, about: folder.about, is_built_in: false })));
    Ok(())
}

/// What a user may have meant by the name of a workload that a folder does not have.
pub fn meant(folder: &str, workload: &str) -> Option<String> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let own = registered.iter().find(|it| it.folder.name == folder)?.folder;
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
        self.is_built_in && self.folder.varies()
    }

    fn listed(&self) -> Listed {
        Listed { name: self.folder.name, about: self.about, runs_on: self.folder.runs_on }
    }

    fn workloads(&self) -> Vec<(Listed, Vec<String>)> {
        let Self { folder, is_built_in, .. } = *self;
        let listed = |(name, mix): (&&'static str, &'static super::Mix)| {
            // A user's own is called by its path, and others have a `queries` and a `tpcb` too.
            let is_short = is_built_in && !folder.varies();
            let calls = if is_short { vec![mix.name.to_owned()] } else { Vec::new() };
            (Listed { name, about: mix.about.as_str(), runs_on: folder.runs_on }, calls)
        };
        folder.workloads.iter().zip(&folder.mixes).map(listed).collect()
    }

    fn usual(&self, _: Map<String, Value>) -> Vec<&'static str> {
        self.folder.usual.iter().filter_map(|place| self.folder.workloads.get(*place).copied()).collect()
    }

    fn options(&self) -> Vec<Arg> {
        let option = |option: &super::options::FolderOption| {
            let of = if self.is_built_in {
                format!(", of the workload {}", self.folder.name)
            } else {
                String::new()
            };
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
        self.folder.options.iter().map(option).collect()
    }

    fn further(&self) -> &'static [&'static str] {
        match (self.folder.varies(), self.folder.mixes.iter().any(|mix| mix.pass.is_some())) {
            (true, true) => &[VARIANT, "plans"],
            (true, false) => &[VARIANT],
            (false, true) => &["plans"],
            (false, false) => &[],
        }
    }

    fn typed(&self, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error> {
        let mut typed = Map::new();
        for option in self.folder.options.iter() {
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
            let option = self.folder.options.iter().find(|option| option.long == name);
            let read = match (&value, option) {
                (Value::String(_), None) if name == VARIANT && self.folder.varies() => Ok(value),
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
        let variant = self.folder.varies().then(|| {
            let about = "How the tables are kept, `NAME` or `NAME=CLAUSE; …` as with --variant";
            (VARIANT.to_owned(), json!({ "description": about, "type": "string" }))
        });
        let properties: Map<String, Value> =
            self.folder.options.iter().map(property).chain(variant).collect();
        json_schema!({ "type": "object", "properties": properties })
    }

    fn benchmark(
        &self,
        workloads: &[&'static str],
        said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let place = |name: &&str| self.folder.workloads.iter().position(|known| known == name);
        let workloads = workloads.iter().filter_map(place).collect();
        Ok(Box::new(FolderBenchmark::new(self.folder, workloads, said, target)?))
    }
}
