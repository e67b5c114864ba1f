//! What a family of workloads tells the registry and the command line: its names, and its options, which only it knows.
//!
//! A family implements [`Family`] in its own folder; all others see it as a [`Registered`].

use std::fmt::Debug;
use std::str::FromStr;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _};
use dyno_target::{Capabilities, Feature};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::benchmark::{Benchmark, BenchmarkError};

/// A workload as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// `tpcb/select-only`
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    pub runs_on: RunsOn,
}

/// On which kinds of targets a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// On those that have all of this.
    Having(&'static [Feature]),
    /// On those of these protocols, as the author of a folder says.
    Protocols(&'static [&'static str]),
}

impl RunsOn {
    /// Why it does not run on a target; `None` where it does.
    pub(crate) fn lack(self, target: &Capabilities) -> Option<String> {
        match self {
            Self::Having(required) => {
                let missing = required.iter().filter(|feature| !target.features.contains(feature));
                let missing: Vec<String> = missing.map(Feature::to_string).collect();
                let protocol = target.protocol;
                (!missing.is_empty())
                    .then(|| format!("needs {}, which {protocol} does not have", enumerated(missing)))
            }
            Self::Protocols(named) => (!named.contains(&target.protocol)).then(|| {
                format!("runs on {} only", enumerated(named.iter().map(ToString::to_string).collect()))
            }),
        }
    }

    /// The protocols of all kinds of targets on which it runs.
    pub fn protocols(self) -> Vec<&'static str> {
        let kinds = dyno_target::kinds().filter(|kind| self.lack(kind).is_none());
        kinds.map(|kind| kind.protocol).collect()
    }
}

/// `--a, --b and --c`
pub(crate) fn enumerated(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

/// A scale that a user says, which families have in units of their own.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ScaleOption(pub f64);

impl FromStr for ScaleOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let scale: Option<f64> = text.parse().ok().filter(|scale: &f64| scale.is_finite());
        scale.map(Self).ok_or_else(|| "a scale is a number: 1, 0.1".to_owned())
    }
}

/// A whole one as such.
impl Serialize for ScaleOption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as u64;
        if self.0.to_bits() == (whole as f64).to_bits() {
            serializer.serialize_u64(whole)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// Workloads on the same data, with the same options.
pub trait Family: Debug + Sync + 'static {
    type Workload: Copy;
    /// What a user says of them: on the command line, and with the same names in a scenario.
    type Options: Args + Serialize + DeserializeOwned + JsonSchema;

    const NAME: &'static str;
    /// One line on the workloads that the family's name alone stands for.
    const ABOUT: &'static str;
    /// What its workloads need of a target.
    const REQUIRES: &'static [Feature];
    /// The ids of options of a run that are for such workloads, and that their help has.
    const FURTHER: &'static [&'static str] = &[];
    /// Whether a scenario has the options in a table of the family's name, and not beside those of others.
    const HAS_TABLE: bool = false;
    /// Every workload, in the order of the lists.
    const ALL: &'static [Self::Workload];
    /// Those that the family's name alone stands for, in the order in which they run.
    const USUAL: &'static [Self::Workload];

    /// What the family's name alone stands for where such options are given.
    fn usual(_: &Self::Options) -> Vec<Self::Workload> {
        Self::USUAL.to_vec()
    }

    fn listed(workload: Self::Workload) -> Listed;

    /// Further names of a workload: that without its family.
    fn calls(workload: Self::Workload) -> Vec<String> {
        Self::listed(workload).name.rsplit('/').next().map(str::to_owned).into_iter().collect()
    }

    /// # Errors
    /// The options do not go together, or not with such a target.
    fn benchmark(
        workloads: Vec<Self::Workload>,
        options: Self::Options,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError>;
}

/// A [`Family`] whose types are not known.
pub trait Registered: Debug + Sync {
    fn has_table(&self) -> bool;
    /// The family itself, as a list shows it.
    fn listed(&self) -> Listed;
    /// Its workloads, each with its further names.
    fn workloads(&self) -> Vec<(Listed, Vec<String>)>;
    /// What the family's name alone stands for with these options, which may be wrong.
    fn usual(&self, said: Map<String, Value>) -> Vec<&'static str>;
    /// The document that says what its options do.
    fn document(&self) -> &'static str {
        "docs/workloads.md"
    }
    /// Its options on the command line. Dashes and underscores are the same.
    fn options(&self) -> Vec<Arg>;
    /// See [`Family::FURTHER`].
    fn further(&self) -> &'static [&'static str];
    /// What was typed of them.
    ///
    /// # Errors
    /// Such as clap has.
    fn typed(&self, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error>;
    /// What a scenario says of them, each under its own name and not an alias.
    ///
    /// # Errors
    /// It is not what the options take.
    fn read(&self, said: Value) -> Result<Map<String, Value>, serde_json::Error>;
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
    /// The benchmark of the workloads of these names.
    ///
    /// # Errors
    /// See [`Family::benchmark`].
    fn benchmark(
        &self,
        workloads: &[&'static str],
        said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError>;
}

impl<F: Family> Registered for F {
    fn has_table(&self) -> bool {
        F::HAS_TABLE
    }

    fn listed(&self) -> Listed {
        Listed { name: F::NAME, about: F::ABOUT, runs_on: RunsOn::Having(F::REQUIRES) }
    }

    fn workloads(&self) -> Vec<(Listed, Vec<String>)> {
        F::ALL.iter().map(|workload| (F::listed(*workload), F::calls(*workload))).collect()
    }

    fn usual(&self, said: Map<String, Value>) -> Vec<&'static str> {
        let options = serde_json::from_value(Value::Object(said)).ok();
        let usual = options.map_or_else(|| F::USUAL.to_vec(), |options| F::usual(&options));
        usual.into_iter().map(|workload| F::listed(workload).name).collect()
    }

    fn options(&self) -> Vec<Arg> {
        let command = F::Options::augment_args(Command::new(F::NAME));
        let with_underscores = |option: &Arg| {
            let names = option.get_long_and_visible_aliases().unwrap_or_default();
            let names: Vec<String> =
                names.iter().filter(|name| name.contains('-')).map(|name| name.replace('-', "_")).collect();
            option.clone().aliases(names)
        };
        command.get_arguments().map(with_underscores).collect()
    }

    fn further(&self) -> &'static [&'static str] {
        F::FURTHER
    }

    fn typed(&self, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error> {
        let options = F::Options::from_arg_matches(matches)?;
        said(&options).map_err(|error| clap::Error::raw(clap::error::ErrorKind::Format, error))
    }

    fn read(&self, mut value: Value) -> Result<Map<String, Value>, serde_json::Error> {
        if let Value::Object(options) = value {
            value = with_dashes(options).into();
        }
        let read = serde_json::from_value::<F::Options>(value.clone());
        said(&read.map_err(|error| with_its_name::<F::Options>(value, error))?)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        match F::HAS_TABLE {
            true => generator.subschema_for::<F::Options>(),
            false => F::Options::json_schema(generator),
        }
    }

    fn benchmark(
        &self,
        workloads: &[&'static str],
        said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let of_name =
            |name: &&str| F::ALL.iter().copied().find(|workload| F::listed(*workload).name == *name);
        let workloads = workloads.iter().filter_map(of_name).collect();
        let options = serde_json::from_value(Value::Object(said)).map_err(BenchmarkError::WrongOptions)?;
        F::benchmark(workloads, options, target)
    }
}

/// Options by their names, which may be typed with underscores.
pub(crate) fn with_dashes(options: Map<String, Value>) -> Map<String, Value> {
    options.into_iter().map(|(name, value)| (name.replace('_', "-"), value)).collect()
}

/// Why options cannot be read, with the name of the one that cannot.
fn with_its_name<T: DeserializeOwned>(options: Value, error: serde_json::Error) -> serde_json::Error {
    let Value::Object(options) = options else { return error };
    let wrong = |(name, value): (String, Value)| {
        let alone = serde_json::from_value::<T>(Map::from_iter([(name.clone(), value)]).into()).err()?;
        Some((name, alone.to_string())).filter(|(_, why)| !why.starts_with("unknown field"))
    };
    match options.into_iter().find_map(wrong) {
        Some((name, why)) => serde_json::Error::custom(format!("{name}: {why}")),
        None => error,
    }
}

/// The options that are not left out.
pub(crate) fn said<T: Serialize>(options: &T) -> Result<Map<String, Value>, serde_json::Error> {
    let mut said = match serde_json::to_value(options)? {
        Value::Object(said) => said,
        _ => Map::new(),
    };
    said.retain(|_, value| !value.is_null());
    Ok(said)
}

impl dyn Registered + '_ {
    pub(crate) fn name(&self) -> &'static str {
        self.listed().name
    }

    pub(crate) fn runs_on(&self, target: &Capabilities) -> bool {
        self.listed().runs_on.lack(target).is_none()
    }
}

impl PartialEq for dyn Registered {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Registered {}
