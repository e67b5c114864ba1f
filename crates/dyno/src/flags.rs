//! What is typed of a run, and the specification that it stands for: that of a file, of a workload's name or of nothing, with
//! what the options say in the places that they are about.

mod excerpt;
mod streams;
mod targets;

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use dyno_results::event::HookTime;
use dyno_results::spec::{
    self, Definition, EmbeddedSpec, HookSpec, LoadSpec, PhaseSpec, RunSpec, StreamSpec, SystemSpec,
    TargetSpec,
};
use dyno_workload::registry::{self, DataOptions, UnknownWorkload};
use dyno_workload::scripts::SqlScript;

pub(crate) use self::streams::{refuse_split_time, words};
pub(crate) use self::targets::{split_name, targets_in_file};

use self::excerpt::excerpt;
pub(crate) use self::streams::HAVE_LOADS;
use self::targets::{Named, What};
use crate::failure::Failure;
use crate::plan::{self, capabilities, data_of, nearest_field};
use crate::secrets::{hidden, hidden_in_lines, is_hidden};

/// Scenarios that come with dyno, each a specification: name and TOML.
pub(crate) const BUILT_IN: [(&str, &str); 5] = [
    ("tpcb", include_str!("../../../scenarios/tpcb.toml")),
    ("sysbench", include_str!("../../../scenarios/sysbench.toml")),
    ("events", include_str!("../../../scenarios/events.toml")),
    ("quick", include_str!("../../../scenarios/quick.toml")),
    ("latency", include_str!("../../../scenarios/latency.toml")),
];

/// The options of a run: what a specification nests, side by side.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct Flags {
    /// Database to test: a postgres://, mysql://, clickhouse:// or hive2:// URL, a libpq connection string, sqlite:FILE,
    /// duckdb:FILE, adbc:DRIVER, or `embedded[:SERVER]` for a PostgreSQL of dyno's own, which is also the default. Several
    /// are measured in one run, each with a short name before it
    #[arg(long, short = 't', value_name = "[NAME=]URL", help_heading = "Target")]
    pub(crate) target: Vec<String>,

    /// A way to keep the table of storage, each measured as a system of its own: NAME for the access method or engine of that
    /// name, or NAME=CLAUSE; …, of which each is what stands behind CREATE TABLE (…), index(COLUMNS), no keys, set …, or a
    /// statement with {table} in it: 'columnar=using columnar', 'indexed=index(abalance)', 'plain='
    #[arg(long, value_name = "NAME[=CLAUSES]", help_heading = "Workload")]
    pub(crate) variant: Vec<String>,

    /// Loads that run at the same time on each target, each with a name: `oltp=tpcb/tpcb-like,clients=8`, and
    /// `report=./big.sql,clients=1` for a file of SQL. One without a course of its own (a duration, a ladder, …) lasts as long
    /// as the others; options of a course outside --stream are for the others then
    #[arg(long, value_name = "NAME=WORKLOAD,OPTION=VALUE,…", help_heading = "Workload")]
    pub(crate) stream: Vec<String>,

    /// What `--ramp pg=1..200` is read as: a system, an option of its load, and the value
    #[arg(long, hide = true, num_args = 3, allow_hyphen_values = true)]
    pub(crate) load_on: Vec<String>,

    /// Read the host of a target from a node_exporter, if it is not this host: http://host:9100/metrics
    #[arg(long, value_name = "[NAME=]URL", help_heading = "Target")]
    pub(crate) host_metrics: Vec<String>,

    /// Run a command, or `sql:…` on the target, before a series (join), a kind of stage (warm-up, ladder, ramp, hold) or
    /// the run; NAME:STAGE for one target. DYNO_TARGET, DYNO_URL, DYNO_HOST, DYNO_PORT, DYNO_SERIES and DYNO_STAGE are in
    /// its environment
    #[arg(long, num_args = 2, value_names = ["STAGE", "COMMAND"], help_heading = "Target")]
    pub(crate) before: Vec<String>,

    /// The same, after it
    #[arg(long, num_args = 2, value_names = ["STAGE", "COMMAND"], help_heading = "Target")]
    pub(crate) after: Vec<String>,

    #[command(flatten)]
    pub(crate) embedded: EmbeddedSpec,

    /// [`SystemSpec::data`]
    #[command(flatten)]
    pub(crate) data: DataOptions,

    #[command(flatten)]
    pub(crate) load: StreamSpec,

    #[command(flatten)]
    pub(crate) phase: PhaseSpec,

    #[command(flatten)]
    pub(crate) run: RunSpec,
}

impl Flags {
    /// What is to be run: what the options say goes before what the name before them stands for, or before `base`.
    pub(crate) fn specification(
        self,
        named: Option<&str>,
        base: Option<RunSpec>,
    ) -> Result<RunSpec, Failure> {
        let spec = match (named, base) {
            (Some(named), _) => named_specification(named, self.load.workload.as_deref())?,
            (None, base) => base.unwrap_or_default(),
        };
        let mut spec = self.with_targets(spec)?;
        plan::read_folders(&mut spec)?;
        if self != Self::default() {
            // It is of what was asked for without the options.
            spec.about = None;
        }
        for system in &mut spec.systems {
            system.data = self.data.clone().or(data_of(system)?).written();
        }
        if !self.variant.is_empty() {
            spec.systems = self.variants(&spec)?;
        }
        for (when, words) in [(HookTime::Before, &self.before), (HookTime::After, &self.after)] {
            if !words.is_empty() {
                spec.hooks.retain(|hook| hook.when != when);
            }
            if let Some(hook) = spec.hooks.iter().find(|hook| hook.when == when && is_hidden(&hook.action)) {
                return Err(Failure::advised(
                    format!(
                        "a hook contained what looks like a secret, which is not stored: {}",
                        hook.action
                    ),
                    "name it again: --before or --after replaces the stored ones of its kind",
                ));
            }
            spec.hooks.extend(words.chunks_exact(2).filter_map(|pair| {
                let [stage, action] = pair else { return None };
                Some(HookSpec { when, stage: stage.clone(), action: action.clone() })
            }));
        }
        if spec.phases.is_empty() {
            spec.phases.push(PhaseSpec::default());
        }
        if !self.stream.is_empty() {
            // Streams that were stored or stand in a file are replaced; a workload that was typed is not.
            let typed = named.filter(|named| !is_file(named)).and_then(|_| first_workload(&spec));
            if let Some(other) = typed.or(self.load.workload.as_deref()) {
                let what = format!("--stream names the workloads: leave out {other}, or the streams");
                return Err(Failure::wrong(what));
            }
            let streams = self.stream.iter().map(|text| streams::stream(text));
            spec.phases.truncate(1);
            spec.phases[0].streams = streams.collect::<Result<_, _>>()?;
        }
        if self.load.workload.is_some() {
            // Another workload than the file's: its first load stands for all.
            spec.phases.truncate(1);
            for phase in &mut spec.phases {
                phase.streams.truncate(1);
                for stream in &mut phase.streams {
                    let StreamSpec { name, script, queries, folder, define, answers, plans, .. } = stream;
                    (*name, *script, *folder, *answers, *plans) = (None, None, None, None, None);
                    queries.clear();
                    define.clear();
                }
            }
        }
        let on_systems = streams::on_systems(&self.load_on)?;
        let (named_targets, alone) = (!self.target.is_empty(), self.target.len() == 1);
        for phase in &mut spec.phases {
            if phase.streams.is_empty() {
                phase.streams.push(StreamSpec::default());
            }
            phase.together &= !alone;
            *phase = self.phase.clone().or(std::mem::take(phase));
            if !self.stream.is_empty() {
                streams::refuse_without_effect(&self.load.load, &phase.streams)?;
            }
            let loads = streams::loads_beside(&self.load.load, &phase.streams);
            for (stream, load) in phase.streams.iter_mut().zip(loads) {
                let options = StreamSpec { load, ..self.options_for(stream) };
                // What is said of one stream goes before what is said of all.
                *stream = match self.stream.is_empty() {
                    true => over(&options, stream),
                    false => over(stream, &options),
                };
                if named_targets {
                    let names: Vec<&str> = spec
                        .systems
                        .iter()
                        .map(|system| match system.name.as_str() {
                            "" => system.target.as_str(),
                            name => name,
                        })
                        .collect();
                    stream.systems.retain(|system, _| names.contains(&system.as_str()));
                }
                for (system, load) in &on_systems {
                    let before = stream.systems.remove(system).unwrap_or_default();
                    stream.systems.insert(system.clone(), load.clone().or(before));
                }
            }
        }
        Ok(self.run.or(spec))
    }

    /// What the options say of a stream beside its load: of several, values of variables only of one that can have some.
    fn options_for(&self, stream: &StreamSpec) -> StreamSpec {
        let takes_values = self.stream.is_empty()
            || stream
                .workload
                .as_deref()
                .is_some_and(|workload| SqlScript::is_named(workload) || registry::is_folder(workload));
        let define = if takes_values { self.load.define.clone() } else { Vec::new() };
        StreamSpec { define, ..self.load.clone() }
    }

    /// The targets that are named, those of the specification, or a server of dyno's own; a system for each.
    fn with_targets(&self, mut spec: RunSpec) -> Result<RunSpec, Failure> {
        let embeds = self.embedded != EmbeddedSpec::default();
        let is_embedded = |target: &TargetSpec| target.url.is_none();
        let mut are_others = !self.target.is_empty();
        if are_others {
            let targets = self.target.iter().map(|text| self.target_of(text));
            spec.targets = targets.collect::<Result<_, Failure>>()?;
            if embeds && !spec.targets.iter().any(is_embedded) {
                let what = "--server, --profile and --data-dir are for a server that dyno starts, and --target names one \
                            that runs: leave out the one or the other";
                return Err(Failure::wrong(what));
            }
        } else if spec.targets.is_empty() || (embeds && !spec.targets.iter().any(is_embedded)) {
            are_others = true;
            spec.targets =
                vec![TargetSpec { embedded: Some(self.embedded.clone()), ..TargetSpec::default() }];
        } else {
            for target in spec.targets.iter_mut().filter(|target| is_embedded(target)) {
                target.embedded = Some(self.embedded.clone().or(target.embedded.take().unwrap_or_default()));
            }
        }
        for target in spec.targets.iter_mut().filter(|target| target.name.is_empty()) {
            target.name = capabilities(target.url.as_deref())?.short_name.to_owned();
        }
        self.set_host_metrics(&mut spec.targets)?;
        let said = std::mem::take(&mut spec.systems);
        if are_others || (said.len() < 2 && said.iter().all(|system| system.target.is_empty())) {
            // What is said of a target's data holds where it is named again; of others what is said of the first.
            let of = |target: &TargetSpec| {
                let named = said.iter().find(|system| system.target == target.name).or(said.first());
                let of_same = |system: &&SystemSpec| named.is_some_and(|named| named.target == system.target);
                let all: Vec<&SystemSpec> = said.iter().filter(of_same).collect();
                let several = all.len() > 1;
                let of = |system: SystemSpec| {
                    let name = if are_others && !several { String::new() } else { system.name };
                    SystemSpec { name, target: target.name.clone(), ..system }
                };
                let all = if all.is_empty() {
                    vec![SystemSpec::default()]
                } else {
                    all.into_iter().cloned().collect()
                };
                all.into_iter().map(of).collect::<Vec<_>>()
            };
            spec.systems = spec.targets.iter().flat_map(of).collect();
        } else {
            spec.systems = said;
            for system in spec.systems.iter_mut().filter(|system| system.target.is_empty()) {
                let Some(only) = spec.targets.first().filter(|_| spec.targets.len() == 1) else {
                    let what = "a system names no `target`, and there are several";
                    return Err(Failure::wrong(what));
                };
                system.target.clone_from(&only.name);
            }
        }
        Ok(spec)
    }

    /// A system for each variant on each target.
    fn variants(&self, spec: &RunSpec) -> Result<Vec<SystemSpec>, Failure> {
        let of = |target: &TargetSpec, typed: &String| {
            let system = spec.systems.iter().find(|system| system.target == target.name);
            let system = system.cloned().unwrap_or_default();
            let (variant, data) = DataOptions::of_variant(typed);
            let name = if spec.targets.len() > 1 { format!("{}-{variant}", target.name) } else { variant };
            Ok(SystemSpec { name, target: target.name.clone(), data: data.or(data_of(&system)?).written() })
        };
        let targets = spec.targets.iter();
        targets.flat_map(|target| self.variant.iter().map(move |typed| of(target, typed))).collect()
    }

    fn target_of(&self, text: &str) -> Result<TargetSpec, Failure> {
        let Named { name, what } = Named::parse(text)?;
        let target = TargetSpec { name: name.unwrap_or_default(), ..TargetSpec::default() };
        Ok(match what {
            What::Url(url) => TargetSpec { url: Some(url), ..target },
            What::Embedded(server) => {
                let typed = self.embedded.clone();
                TargetSpec {
                    embedded: Some(EmbeddedSpec { server: server.or(typed.server), ..typed }),
                    ..target
                }
            }
        })
    }

    /// Says where hosts are read, by the targets' names.
    fn set_host_metrics(&self, targets: &mut [TargetSpec]) -> Result<(), Failure> {
        let mut said: Vec<String> = Vec::new();
        let known: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        for text in &self.host_metrics {
            let (name, url) = split_name(text, |rest| rest.contains("://"));
            let name = match (name, known.as_slice()) {
                (Some(name), _) => name,
                (None, [only]) => only,
                (None, _) => {
                    return Err(Failure::advised(
                        format!("--host-metrics {} does not name its target", hidden(url)),
                        "write its name before it: --host-metrics NAME=URL",
                    ));
                }
            };
            let Some(target) = targets.iter_mut().find(|target| target.name == name) else {
                return Err(Failure::no_target("--host-metrics", name, known.iter().map(String::as_str)));
            };
            if said.contains(&target.name) {
                return Err(Failure::wrong(format!("--host-metrics names the host of {name} twice")));
            }
            target.host_metrics = Some(url.to_owned());
            said.push(target.name.clone());
        }
        Ok(())
    }
}

/// A stream with what goes before what it says.
fn over(first: &StreamSpec, second: &StreamSpec) -> StreamSpec {
    let load = first.load.clone();
    let opens = load.course(false, false).is_ok_and(|course| course.is_open());
    let connections = second.connections.filter(|_| !opens);
    // Another load is one for all systems.
    let systems = if load == LoadSpec::default() { second.systems.clone() } else { BTreeMap::new() };
    let below = StreamSpec { connections, systems, ..second.clone() };
    let is_said = |other: &Definition| first.define.iter().any(|said| said.name == other.name);
    let defined = second.define.iter().filter(|other| !is_said(other)).chain(&first.define);
    let define = defined.cloned().collect();
    StreamSpec { define, ..first.clone() }.or(below)
}

/// What a name before the options stands for.
fn named_specification(named: &str, workload: Option<&str>) -> Result<RunSpec, Failure> {
    let spec = find(named)?;
    let names_workload = !is_whole(named) && first_workload(&spec) == Some(named);
    match workload {
        Some(other) if names_workload => Err(Failure::wrong(format!(
            "{named} and --workload {other} each name a workload: leave out the one or the other"
        ))),
        _ => Ok(spec),
    }
}

/// The workload that a name before the options stands for, where there is one.
pub(crate) fn workload_of(named: &str) -> Option<String> {
    first_workload(&find(named).ok()?).map(str::to_owned)
}

fn first_workload(spec: &RunSpec) -> Option<&str> {
    spec.phases.first()?.streams.first()?.workload.as_deref()
}

/// A scenario by its name, as [`load`] finds it, or else a workload. What could be either is refused, unless it is a
/// scenario's whole name or both are the same.
fn find(named: &str) -> Result<RunSpec, Failure> {
    if SqlScript::is_named(named) || plan::is_lua(named) {
        return Ok(of_workload(named));
    }
    let spec = load(named)?;
    if spec.is_none() && (registry::is_folder(named) || plan::named_folder(named).is_some()) {
        return Ok(of_workload(named));
    }
    let is_workload = registry::workloads().iter().any(|listed| listed.name == named);
    if Path::new(named).is_dir() && !is_workload && !is_whole(named) {
        return Err(Failure::advised(
            format!("`{named}` could be a folder of queries or a workload"),
            format!("for the folder write ./{named}/, for the workload more of its name or --workload NAME"),
        ));
    }
    let workload = registry::find(named);
    match (spec, workload) {
        (Some(spec), _) if is_whole(named) => Ok(spec),
        (Some(spec), Ok(workload)) => {
            let same =
                first_workload(&spec).is_some_and(|of| registry::find(of).is_ok_and(|of| of == workload));
            if same && !spec.quick {
                Ok(spec)
            } else {
                Err(Failure::advised(
                    format!("`{named}` could be a scenario or a workload"),
                    "type more of its name; for a workload use --workload NAME",
                ))
            }
        }
        (None, Ok(_)) => Ok(of_workload(named)),
        // Also where one scenario begins so: `tpc` is the beginning of tpcb, and of tpch as well.
        (_, Err(UnknownWorkload::Ambiguous { typed, candidates })) => {
            Err(UnknownWorkload::Ambiguous { typed, candidates }.into())
        }
        (Some(spec), Err(UnknownWorkload::NoSuch { .. })) => Ok(spec),
        (None, Err(UnknownWorkload::NoSuch { nearest, .. })) => {
            let scored = |name: &'static str| (registry::likeness(named, name), name);
            let specs = BUILT_IN.iter().map(|(name, _)| scored(name)).filter(|(like, _)| *like > 0.85);
            let nearest = specs.chain(nearest.map(scored)).max_by(|a, b| a.0.total_cmp(&b.0));
            let meant = nearest.map(|(_, name)| format!(", did you mean {name}?")).unwrap_or_default();
            Err(Failure::advised(
                format!("`{named}` is neither a scenario nor a workload{meant}"),
                "`dyno scenarios` and `dyno workloads` list those that come with dyno; name a file of your own by its path",
            ))
        }
    }
}

pub(crate) fn of_workload(named: &str) -> RunSpec {
    let stream = StreamSpec { workload: Some(named.to_owned()), ..StreamSpec::default() };
    RunSpec {
        phases: vec![PhaseSpec { streams: vec![stream], ..PhaseSpec::default() }],
        ..RunSpec::default()
    }
}

/// Reads the scenario `named`: a file, or one that comes with dyno by its name or the beginning of it; `None` where there is
/// none.
fn load(named: &str) -> Result<Option<RunSpec>, Failure> {
    let is_path = is_file(named) || named.starts_with(['/', '.']) || Path::new(named).exists();
    if !is_path && (named.contains("://") || named.contains('=')) {
        return Err(Failure::advised(
            format!("`{}` is not a scenario", hidden(named)),
            "did you mean --target? It stands before a database's URL",
        ));
    }
    if is_file(named) {
        let path = Path::new(named);
        let text = dyno_target::files::read_to_string(path);
        let has_version =
            |text: &String| text.parse().is_ok_and(|table: toml::Table| table.contains_key("version"));
        if !named.ends_with(".toml") && !text.as_ref().is_ok_and(has_version) {
            let what = format!("{named} is no file that can be run");
            return Err(Failure::advised(what, plan::FILES));
        }
        let text = text.map_err(|source| Failure::read("the scenario", path, &source))?;
        return parse(named, &text).map(Some);
    }
    let begins: Vec<_> = BUILT_IN.iter().filter(|(name, _)| name.starts_with(named)).collect();
    match begins[..] {
        [(name, text)] if !named.is_empty() => parse(name, text).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn parse(named: &str, text: &str) -> Result<RunSpec, Failure> {
    let spec: RunSpec = toml::from_str(text).map_err(|error| {
        let meant = nearest_field(error.message()).map(|field| format!("\ndid you mean `{field}`?"));
        // What is missing stands nowhere.
        let span = error.span().filter(|_| !error.message().starts_with("missing field"));
        let (place, line) = span.map(|span| excerpt(text, span)).unwrap_or_default();
        let said = hidden_in_lines(error.message().trim_end());
        let what = format!("the scenario {named} is wrong{place}: {said}{line}{}", meant.unwrap_or_default());
        // As files were whose fields are the options, side by side.
        let is_old = || text.parse::<toml::Table>().is_ok_and(|table| !table.contains_key("version"));
        if is_old() {
            let advice =
                "a scenario is what `dyno plan` writes: `dyno plan OPTIONS > FILE.toml` (docs/scenario.md)";
            Failure::advised(what, advice)
        } else {
            Failure::wrong(what)
        }
    })?;
    if let Some(place) = text.parse().ok().and_then(|table| not_finite(&toml::Value::Table(table))) {
        let what = format!("the scenario {named} is wrong: {place} takes a number, and neither nan nor inf");
        return Err(Failure::wrong(what));
    }
    let version = spec.version;
    if version != spec::VERSION {
        let reads = spec::VERSION;
        return Err(Failure::advised(
            format!(
                "the scenario {named} has version {version} of the format; this dyno reads version {reads}"
            ),
            "`dyno plan OPTIONS` writes a scenario of this version",
        ));
    }
    Ok(spec)
}

/// Where a specification has a number that is none or has no end, which no setting takes: `systems.data.ycsb.records`.
fn not_finite(value: &toml::Value) -> Option<String> {
    let below = |(name, value)| {
        not_finite(value).map(|place| if place.is_empty() { name } else { format!("{name}.{place}") })
    };
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some(String::new()),
        toml::Value::Table(table) => table.iter().map(|(name, value)| (name.clone(), value)).find_map(below),
        toml::Value::Array(values) => values.iter().find_map(not_finite),
        _ => None,
    }
}

/// Whether a name is all of a scenario's.
fn is_whole(named: &str) -> bool {
    is_file(named) || BUILT_IN.iter().any(|(name, _)| *name == named)
}

/// Whether a name is that of a file: one that there is, or that can be nothing else.
pub(crate) fn is_file(named: &str) -> bool {
    named.ends_with(".toml") || Path::new(named).is_file()
}

#[cfg(test)]
mod tests;
