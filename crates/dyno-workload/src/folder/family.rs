//! A folder among the families of workloads: its names and its options. Folders of users are known from when they are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use clap::{Arg, ArgMatches};
use dyno_target::Capabilities;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde_json::{Map, Value};

use super::benchmark::FolderBenchmark;
use super::options::number;
use super::{Folder, Mistakes};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Listed, Registered};

/// The folders that this process has read. Families are known by names that live as long as the process, and a run has one folder.
static REGISTERED: Mutex<Vec<&'static FolderFamily>> = Mutex::new(Vec::new());

/// A folder as a family.
struct FolderFamily(&'static Folder);

impl fmt::Debug for FolderFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FolderFamily").field(&self.0.name).finish()
    }
}

/// Makes the workloads of a folder known, with their options, under the `name` by which a user calls it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn register(name: &str, files: &BTreeMap<String, String>) -> Result<(), Mistakes> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.iter().any(|family| family.0.name == name && family.0.files == *files) {
        return Ok(());
    }
    let folder = Box::leak(Box::new(Folder::new(name, files)?));
    registered.retain(|family| family.0.name != name);
    registered.push(Box::leak(Box::new(FolderFamily(folder))));
    Ok(())
}

/// The folders of users.
pub(crate) fn registered() -> Vec<&'static dyn Registered> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.iter().map(|family| *family as &dyn Registered).collect()
}

impl Registered for FolderFamily {
    fn has_table(&self) -> bool {
        false
    }

    fn listed(&self) -> Listed {
        Listed { name: self.0.name, about: self.0.about, runs_on: self.0.runs_on }
    }

    fn workloads(&self) -> Vec<(Listed, Vec<String>)> {
        let folder = self.0;
        let listed = |(name, mix): (&&'static str, &'static super::Mix)| {
            (Listed { name, about: mix.about.as_str(), runs_on: folder.runs_on }, Vec::new())
        };
        folder.workloads.iter().zip(&folder.mixes).map(listed).collect()
    }

    fn usual(&self, _: Map<String, Value>) -> Vec<&'static str> {
        self.0.usual.iter().filter_map(|place| self.0.workloads.get(*place).copied()).collect()
    }

    fn options(&self) -> Vec<Arg> {
        let option = |option: &super::options::FolderOption| {
            let default = match option.default.as_str() {
                "fit" => "what suits the machine, or what is there".to_owned(),
                default => default.to_owned(),
            };
            Arg::new(option.long)
                .long(option.long)
                .alias(option.name)
                .value_name("N")
                .help(format!("{} [default: {default}]", option.about))
                .help_heading("Workload")
        };
        self.0.options.iter().map(option).collect()
    }

    fn further(&self) -> &'static [&'static str] {
        &[]
    }

    fn typed(&self, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error> {
        let mut typed = Map::new();
        for option in self.0.options.iter() {
            // A family before this one may have an option of this name, and read it in its own way.
            let raw = matches.try_get_raw(option.long).ok().flatten().and_then(|mut values| values.next());
            if let Some(text) = raw {
                let number = number(&text.to_string_lossy()).map_err(|why| {
                    clap::Error::raw(
                        clap::error::ErrorKind::ValueValidation,
                        format!("--{}: {why}\n", option.long),
                    )
                })?;
                typed.insert(option.long.to_owned(), number.into());
            }
        }
        Ok(typed)
    }

    fn read(&self, said: Value) -> Result<Map<String, Value>, serde_json::Error> {
        let Value::Object(said) = said else { return Err(serde_json::Error::custom("no table of options")) };
        let read = |(name, value): (String, Value)| {
            let read = match &value {
                Value::Number(number) => Ok(number.clone()),
                Value::String(text) => number(text),
                other => Err(format!("{other} is no number")),
            };
            let read = read.map_err(|why| serde_json::Error::custom(format!("{name}: {why}")))?;
            Ok((name, Value::Number(read)))
        };
        said.into_iter().map(read).collect()
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        let property = |option: &super::options::FolderOption| {
            (
                option.long.to_owned(),
                serde_json::json!({ "description": option.about, "type": ["number", "string"] }),
            )
        };
        let properties: Map<String, Value> = self.0.options.iter().map(property).collect();
        json_schema!({ "type": "object", "properties": properties })
    }

    fn benchmark(
        &self,
        workloads: &[&'static str],
        said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let place = |name: &&str| self.0.workloads.iter().position(|known| known == name);
        let workloads = workloads.iter().filter_map(place).collect();
        Ok(Box::new(FolderBenchmark::new(self.0, workloads, said, target)?))
    }
}
