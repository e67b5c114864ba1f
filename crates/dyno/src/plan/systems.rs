//! What is run and compared: the databases with their names and where they are, what is run on each, and where their hosts
//! are read.

use std::path::PathBuf;

use dyno_results::spec::{EmbeddedSpec, PhaseSpec, RunSpec, StreamSpec, SystemSpec, TargetSpec};
use dyno_target::embedded::{Profile, ServerSpec};
use dyno_target::probe::NodeExporter;
use dyno_target::{Capabilities, Environment, Target};
use dyno_workload::benchmark::Benchmark;
use dyno_workload::registry::{self, DataOptions, Selection};
use dyno_workload::scripts::ScriptsBenchmark;
use serde_json::Map;

use super::names::{check_name, nearest_field};
use crate::failure::Failure;
use crate::secrets;

/// Settings of an embedded server where none are named: durable, and sized to the machine.
const PROFILE_DEFAULT: &str = "production";

/// What is compared with others: a database, and the data on it. Several may be on one database, each with tables of its own.
#[derive(Debug)]
pub(crate) struct SystemPlan {
    /// The short name in the report.
    pub(crate) name: String,
    /// The name of its database, which others may have too.
    pub(crate) target: String,
    pub(crate) source: TargetSource,
    /// Dialects differ, so each has its own.
    pub(crate) benchmark: Box<dyn Benchmark>,
    /// Where its host is read, if the user says so.
    pub(crate) host_metrics: Option<NodeExporter>,
}

/// Which database.
#[derive(Debug, Clone)]
pub(crate) enum TargetSource {
    Embedded { server: Option<ServerSpec>, profile: Profile, directory: Option<PathBuf> },
    Named(Box<Target>),
}

impl SystemPlan {
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    /// Without a password; `None` of an embedded server.
    pub(super) fn url(&self) -> Option<String> {
        match &self.source {
            TargetSource::Named(target) => Some(target.url()),
            TargetSource::Embedded { .. } => None,
        }
    }
}

impl TargetSource {
    fn capabilities(&self) -> Capabilities {
        match self {
            Self::Named(target) => target.capabilities(),
            Self::Embedded { .. } => Capabilities::EMBEDDED,
        }
    }
}

/// What is known of a target without a connection; the server is dyno's own where there is no URL.
pub(crate) fn capabilities(url: Option<&str>) -> Result<Capabilities, Failure> {
    let Some(url) = url else { return Ok(Capabilities::EMBEDDED) };
    Ok(Target::parse(url, &Environment::of_process())?.capabilities())
}

/// Puts a phase for each workload of a family where the family is named, or nothing is.
pub(super) fn expand_families(spec: &mut RunSpec) -> Result<(), Failure> {
    let targets = spec.targets.iter().map(|target| capabilities(target.url.as_deref()));
    let usual = registry::usual(&targets.collect::<Result<Vec<_>, _>>()?);
    let mut options = DataOptions::default();
    for system in &spec.systems {
        options = options.or(data_of(system)?);
    }
    for mut phase in std::mem::take(&mut spec.phases) {
        let alone = match phase.streams.as_slice() {
            [stream] if stream.name.is_none() => Some(stream),
            _ => None,
        };
        let Some(stream) = alone else {
            for stream in &mut phase.streams {
                if !stream.has_texts() {
                    stream.workload =
                        Some(one_workload(stream.workload.as_deref().unwrap_or(usual), &options)?);
                }
            }
            spec.phases.push(phase);
            continue;
        };
        if stream.has_texts() {
            spec.phases.push(phase);
            continue;
        }
        let named = stream.workload.as_deref().unwrap_or(usual);
        for workload in registry::find(named)?.with(&options).workloads() {
            let stream = StreamSpec { workload: Some((*workload).to_owned()), ..stream.clone() };
            spec.phases.push(PhaseSpec { streams: vec![stream], ..phase.clone() });
        }
    }
    Ok(())
}

/// The one workload that a stream names, by its whole name.
fn one_workload(named: &str, options: &DataOptions) -> Result<String, Failure> {
    match registry::find(named)?.with(options).workloads() {
        [only] => Ok((*only).to_owned()),
        several => Err(Failure::wrong(format!(
            "a stream runs one workload, and {named} is {}",
            several.join(" and ")
        ))),
    }
}

/// The systems, those of a target together. The URLs of targets are left in the specification without passwords.
pub(super) fn resolve(spec: &mut RunSpec) -> Result<Vec<SystemPlan>, Failure> {
    let streams = spec.phases.iter().flat_map(|phase| &phase.streams);
    let named = streams.filter(|stream| !stream.has_texts());
    let mut selection: Option<Selection> = None;
    for workload in named.filter_map(|stream| stream.workload.as_deref()) {
        let more = registry::find(workload)?;
        selection = Some(match selection {
            Some(all) => all.and(&more)?,
            None => more,
        });
    }
    for (at, target) in spec.targets.iter().enumerate() {
        check_name(&target.name)?;
        if spec.targets[..at].iter().any(|other| other.name == target.name) {
            return Err(Failure::advised(
                format!("two targets have the name {}", target.name),
                "give each its own name: --target old=URL --target new=URL",
            ));
        }
    }
    let is_known = |system: &SystemSpec| spec.targets.iter().any(|target| target.name == system.target);
    if let Some(system) = spec.systems.iter().find(|system| !is_known(system)) {
        let known = spec.targets.iter().map(|target| target.name.as_str());
        return Err(Failure::no_target("a system's target", &system.target, known));
    }
    let mut plans: Vec<SystemPlan> = Vec::new();
    for target in &mut spec.targets {
        let systems = spec.systems.iter_mut().filter(|system| system.target == target.name);
        let systems: Vec<&mut SystemSpec> = systems.collect();
        if systems.is_empty() {
            return Err(Failure::wrong(format!(
                "no system is on the target {}: leave it out, or name one",
                target.name
            )));
        }
        let source = source(target)?;
        let host_metrics = target.host_metrics.as_deref().map(NodeExporter::parse).transpose()?;
        target.host_metrics = host_metrics.as_ref().map(|exporter| exporter.url().to_owned());
        for system in systems {
            if system.name.is_empty() {
                system.name.clone_from(&target.name);
            }
            check_name(&system.name)?;
            if plans.iter().any(|other| other.name == system.name) {
                return Err(Failure::advised(
                    format!("two systems have the name {}", system.name),
                    "give each its own `name`; where it has none, it is called as its target is",
                ));
            }
            let data = data_of(system)?;
            let benchmark = benchmark(&data, selection.as_ref(), &source.capabilities())?;
            // What was typed for whichever family takes it, is of the one that is run.
            system.data = selection.as_ref().map_or_else(Map::new, |family| family.own(data).written());
            plans.push(SystemPlan {
                name: system.name.clone(),
                target: target.name.clone(),
                benchmark,
                source: source.clone(),
                host_metrics: host_metrics.clone(),
            });
        }
    }
    Ok(plans)
}

/// What is typed of a target, without a password, so that it names the same when it is read again.
fn storable(typed: &str, target: &Target) -> String {
    // What the target itself takes for a secret has been remembered.
    let hidden = secrets::hidden(typed).replace(":***@", "@");
    if secrets::is_hidden(&hidden) { target.url() } else { hidden }
}

fn source(spec: &mut TargetSpec) -> Result<TargetSource, Failure> {
    match (&mut spec.url, &spec.embedded) {
        (Some(_), Some(_)) => Err(Failure::wrong(format!(
            "the target {} has a URL and is embedded: leave out the one or the other",
            spec.name
        ))),
        (Some(url), None) => {
            let target = Target::parse(url, &Environment::of_process())?;
            secrets::remember(target.passwords(), target.user(), target.database());
            if let Some(name) = target.capabilities().name_database.filter(|_| target.database().is_empty()) {
                return Err(Failure::advised(
                    format!("{} names no database", target.url()),
                    format!("name the database for the tables: {name}"),
                ));
            }
            *url = storable(url, &target);
            Ok(TargetSource::Named(Box::new(target)))
        }
        (None, _) => {
            let EmbeddedSpec { server, profile, data_dir } = spec.embedded.get_or_insert_default();
            let profile = profile.get_or_insert_with(|| PROFILE_DEFAULT.to_owned());
            Ok(TargetSource::Embedded {
                server: server.as_deref().map(str::parse).transpose()?,
                profile: profile.parse()?,
                directory: data_dir.clone(),
            })
        }
    }
}

/// The workloads with what is said of their data.
fn benchmark(
    data: &DataOptions,
    selection: Option<&Selection>,
    target: &Capabilities,
) -> Result<Box<dyn Benchmark>, Failure> {
    match selection {
        Some(selection) => Ok(selection.benchmark(data, target)?),
        None if data.is_empty() => Ok(Box::new(ScriptsBenchmark)),
        None => Err(Failure::wrong(
            "files of SQL run on tables that are there: leave out the options of a workload's data",
        )),
    }
}

/// The options of a system's data.
pub(crate) fn data_of(system: &SystemSpec) -> Result<DataOptions, Failure> {
    DataOptions::read(&system.data).map_err(|error| {
        let nearest = nearest_field(&error.to_string());
        let meant = nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Failure::wrong(format!("the data of {} is wrong: {error}{meant}", system.target))
    })
}
