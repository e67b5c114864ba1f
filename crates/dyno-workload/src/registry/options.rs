//! What is said of the workloads' data, of all families side by side: on the command line, in a scenario, in its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde_json::{Map, Value};

use super::{FAMILIES, families};
use crate::family::{self, Registered};
use crate::folder;

/// By family, the options that are not left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataOptions(BTreeMap<&'static str, Map<String, Value>>);

impl DataOptions {
    /// Reads what a scenario says of a system's data.
    ///
    /// # Errors
    /// No family knows an option, or it does not take the value.
    pub fn read(data: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        let mut data = family::with_dashes(data.clone());
        let mut known = Vec::new();
        let mut read = Self::default();
        for family in families() {
            let said = if family.has_table() {
                known.push(family.name().to_owned());
                data.remove(family.name()).unwrap_or_else(|| Map::new().into())
            } else {
                let names: Vec<String> = names(family).map(|(name, _)| name).collect();
                // Several may have an option of one name.
                let said =
                    names.iter().filter_map(|name| Some((name.clone(), data.get(name)?.clone()))).collect();
                known.extend(names);
                Value::Object(said)
            };
            read.put(family.name(), family.read(said)?);
        }
        match data.keys().find(|name| !known.contains(name)) {
            Some(unknown) => {
                let known = known.join("`, `");
                Err(serde_json::Error::custom(format!(
                    "unknown field `{unknown}`, expected one of `{known}`"
                )))
            }
            None => Ok(read),
        }
    }

    /// As a scenario says it.
    pub fn written(self) -> Map<String, Value> {
        let mut data = Map::new();
        for (name, said) in self.0 {
            if families().iter().any(|family| family.name() == name && family.has_table()) {
                data.insert(name.to_owned(), said.into());
            } else {
                data.extend(said);
            }
        }
        data
    }

    /// These, and those of `below` that they leave out.
    #[must_use]
    pub fn or(self, mut below: Self) -> Self {
        for (name, said) in self.0 {
            below.0.entry(name).or_default().extend(said);
        }
        below
    }

    /// How a variant is called, and the options of one system with it, as `NAME` or `NAME=CLAUSES` is typed.
    pub fn of_variant(typed: &str) -> (String, Self) {
        let said = Map::from_iter([("variant".to_owned(), Value::from(typed.trim()))]);
        let taking = families().into_iter().filter(|family| family.further().contains(&"variant"));
        (
            folder::split(typed).0.to_owned(),
            Self(taking.map(|family| (family.name(), said.clone())).collect()),
        )
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn only(mut self, family: &str) -> Self {
        self.0.retain(|name, _| *name == family);
        self
    }

    pub(super) fn of(&self, family: &str) -> Map<String, Value> {
        self.0.get(family).cloned().unwrap_or_default()
    }

    /// What is said to another family that this has not too, such as `--rows` and `--customers`, and the families that take
    /// the same.
    pub(super) fn foreign(&self, family: &dyn Registered) -> Option<(Vec<&'static str>, Vec<String>)> {
        let of = |family: &dyn Registered| names(family).map(|(name, _)| name).collect::<Vec<_>>();
        let own = of(family);
        let others = self.0.iter().filter(|(name, _)| **name != family.name());
        let mut foreign =
            others.map(|(other, said)| (*other, said.keys().filter(|name| !own.contains(name))));
        let (first, said) = foreign.find_map(|(other, said)| {
            let said: Vec<&String> = said.collect();
            (!said.is_empty()).then_some((other, said))
        })?;
        let takes = |other: &&dyn Registered| {
            other.name() == first || said.iter().all(|name| of(*other).contains(name))
        };
        let takers = families().into_iter().filter(takes).map(<dyn Registered>::name).collect();
        Some((takers, said.iter().map(|name| format!("--{name}")).collect()))
    }

    fn put(&mut self, family: &'static str, said: Map<String, Value>) {
        if !said.is_empty() {
            self.0.insert(family, said);
        }
    }
}

/// The options of a family, in their order, and whether the short help has them too.
pub(super) fn names(family: &dyn Registered) -> impl Iterator<Item = (String, bool)> {
    let name = |option: clap::Arg| Some((option.get_long()?.to_owned(), !option.is_hide_short_help_set()));
    // A run has a flag for it, which makes systems.
    let variant = family.further().contains(&"variant").then(|| ("variant".to_owned(), true));
    family.options().into_iter().filter_map(name).chain(variant)
}

impl FromArgMatches for DataOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Self::default();
        for family in families() {
            typed.put(family.name(), family.typed(matches)?);
        }
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?.or(std::mem::take(self));
        Ok(())
    }
}

impl Args for DataOptions {
    fn augment_args(command: Command) -> Command {
        // Of an option that several families have, the first says what it is, or the first that has a letter for it.
        let mut options: Vec<clap::Arg> = Vec::new();
        for option in families().iter().flat_map(|family| family.options()) {
            match options.iter_mut().find(|other| other.get_id() == option.get_id()) {
                None => options.push(option),
                Some(first) if first.get_short().is_none() && option.get_short().is_some() => *first = option,
                Some(_) => {}
            }
        }
        command.args(options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl JsonSchema for DataOptions {
    fn schema_name() -> Cow<'static, str> {
        "DataOptions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        for family in FAMILIES.iter() {
            let mut schema = family.schema(generator);
            if family.has_table() {
                properties.insert(family.name().to_owned(), schema.into());
            } else if let Some(Value::Object(own)) = schema.remove("properties") {
                properties.extend(own);
            }
        }
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}
