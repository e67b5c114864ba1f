//! The databases of a run: their names, where they are, what is run on each, and where their hosts are read.

use std::path::PathBuf;

use dyno_results::spec::{EmbeddedSpec, PhaseSpec, RunSpec, StreamSpec, SystemSpec, TargetSpec};
use dyno_target::embedded::{Profile, ServerSpec};
use dyno_target::probe::NodeExporter;
use dyno_target::settings::without_password;
use dyno_target::{Environment, Target};
use dyno_workload::benchmark::{
    Benchmark, EventsBenchmark, EventsWishes, ScriptsBenchmark, SqlScript, SysbenchBenchmark, SysbenchWishes,
    TpcbBenchmark,
};
use dyno_workload::registry::{self, Selection};

use crate::failure::Failure;
use crate::flags::{DataOptions, check_name};
use crate::secrets;

/// The name of a target that speaks PostgreSQL's protocol, where the user gives it none.
pub(crate) const NAME: &str = "pg";
/// That of one that speaks MySQL's.
const NAME_MYSQL: &str = "my";

/// Settings of an embedded server where none are named: durable, and sized to the machine.
const PROFILE_DEFAULT: &str = "production";

/// The name of a target that speaks MySQL's protocol, or PostgreSQL's, where the user gives it none.
pub(crate) fn short_name(mysql: bool) -> &'static str {
    if mysql { NAME_MYSQL } else { NAME }
}

/// One database under test.
#[derive(Debug)]
pub(crate) struct TargetPlan {
    /// The short name in the report.
    pub(crate) name: String,
    pub(crate) source: TargetSource,
    /// Dialects differ, so each has its own.
    pub(crate) benchmark: Box<dyn Benchmark>,
    /// Where its host is read, if the user says so.
    pub(crate) host_metrics: Option<NodeExporter>,
}

/// Which database.
#[derive(Debug)]
pub(crate) enum TargetSource {
    Embedded { server: Option<ServerSpec>, profile: Profile, directory: Option<PathBuf> },
    Named(Box<Target>),
}

impl TargetPlan {
    /// Whether it is reached by MySQL's protocol.
    pub(crate) fn is_mysql(&self) -> bool {
        self.source.is_mysql()
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
    fn is_mysql(&self) -> bool {
        matches!(self, Self::Named(target) if target.is_mysql())
    }
}

/// The name of a target where the user gives it none.
pub(crate) fn default_name(url: &str) -> Result<&'static str, Failure> {
    Ok(short_name(Target::parse(url, &Environment::of_process())?.is_mysql()))
}

/// Puts a phase for each workload of a family where the family is named, or nothing is.
pub(super) fn expand_families(spec: &mut RunSpec) -> Result<(), Failure> {
    let names = spec.targets.iter().filter_map(|target| target.url.as_deref()).map(default_name);
    // tpcb runs on PostgreSQL only.
    let mysql = names.collect::<Result<Vec<_>, _>>()?.contains(&NAME_MYSQL);
    let usual = if mysql { "sysbench" } else { "tpcb" };
    for mut phase in std::mem::take(&mut spec.phases) {
        let alone = match phase.streams.as_slice() {
            [stream] if stream.name.is_none() => Some(stream),
            _ => None,
        };
        let Some(stream) = alone else {
            for stream in &mut phase.streams {
                stream.workload = Some(one_workload(stream.workload.as_deref().unwrap_or(usual))?);
            }
            spec.phases.push(phase);
            continue;
        };
        if stream.workload.as_deref().is_some_and(SqlScript::is_named) {
            spec.phases.push(phase);
            continue;
        }
        for workload in registry::find(stream.workload.as_deref().unwrap_or(usual))?.workloads() {
            let stream = StreamSpec { workload: Some(workload.to_owned()), ..stream.clone() };
            spec.phases.push(PhaseSpec { streams: vec![stream], ..phase.clone() });
        }
    }
    Ok(())
}

/// The one workload that a stream names, by its whole name.
fn one_workload(named: &str) -> Result<String, Failure> {
    if SqlScript::is_named(named) {
        return Ok(named.to_owned());
    }
    match registry::find(named)?.workloads().as_slice() {
        [only] => Ok((*only).to_owned()),
        several => Err(Failure::wrong(format!(
            "a stream runs one workload, and {named} is {}",
            several.join(" and ")
        ))),
    }
}

/// The targets with what is run on each. Their URLs are left in the specification without passwords.
pub(super) fn resolve(spec: &mut RunSpec) -> Result<Vec<TargetPlan>, Failure> {
    let streams = spec.phases.iter().flat_map(|phase| &phase.streams);
    let workloads = streams.filter_map(|stream| stream.workload.as_deref());
    let mut selection: Option<Selection> = None;
    for workload in workloads.filter(|workload| !SqlScript::is_named(workload)) {
        let more = registry::find(workload)?;
        selection = Some(match selection {
            Some(all) => all.and(more).map_err(Failure::wrong)?,
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
    let mut plans: Vec<TargetPlan> = Vec::new();
    for target in &mut spec.targets {
        let mut systems = spec.systems.iter_mut().filter(|system| system.target == target.name);
        let Some(system) = systems.next() else {
            return Err(Failure::wrong(format!(
                "no system is on the target {}: leave it out, or name one",
                target.name
            )));
        };
        if systems.next().is_some() {
            return Err(Failure::wrong(format!(
                "two systems are on the target {}: one is possible",
                target.name
            )));
        }
        if !system.name.is_empty() && system.name != target.name {
            return Err(Failure::wrong(format!(
                "the system {} has the name of its target, {}",
                system.name, target.name
            )));
        }
        system.name.clone_from(&target.name);
        let source = source(target)?;
        let host_metrics = target.host_metrics.as_deref().map(NodeExporter::parse).transpose()?;
        target.host_metrics = host_metrics.as_ref().map(|exporter| exporter.url().to_owned());
        plans.push(TargetPlan {
            name: target.name.clone(),
            benchmark: benchmark(system, selection.clone(), source.is_mysql())?,
            source,
            host_metrics,
        });
    }
    Ok(plans)
}

/// What is typed of a target, without a password, so that it names the same when it is read again.
fn storable(typed: &str, target: &Target) -> String {
    let hidden = without_password(typed).replace(":***@", "@");
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
            if target.is_mysql() && target.database().is_empty() {
                return Err(Failure::advised(
                    format!("{} names no database", target.url()),
                    "name the database for the tables: mysql://user@host/DATABASE",
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
    system: &SystemSpec,
    selection: Option<Selection>,
    mysql: bool,
) -> Result<Box<dyn Benchmark>, Failure> {
    let refuse = |what: &str| Err(Failure::wrong(what));
    let data = DataOptions::of(system)?;
    let Some(selection) = selection else {
        return match data == DataOptions::default() {
            true => Ok(Box::new(ScriptsBenchmark)),
            false => refuse(
                "a file of SQL runs on tables that are there: leave out the options of a workload's data",
            ),
        };
    };
    let of_events = data.rows.is_some() || data.customers.is_some() || data.customer_index;
    match selection {
        Selection::TpcB(_) if mysql => Err(Failure::advised(
            format!("{} runs on PostgreSQL's protocol only", selection.workloads().join(", ")),
            "sysbench's tests run on both, such as sysbench/oltp_read_write (`dyno workloads` lists them)",
        )),
        Selection::TpcB(_) if !data.sysbench.says_nothing() => {
            refuse("--tables, --table-size and their like are for sysbench's tests; tpcb takes a --scale")
        }
        Selection::TpcB(_) if of_events => {
            refuse("--rows, --customers and --customer-index are for events; tpcb takes a --scale")
        }
        Selection::TpcB(scripts) => Ok(Box::new(TpcbBenchmark::new(scripts, data.scale)?)),
        Selection::Sysbench(_) if data.scale.is_some() => {
            refuse("--scale is for tpcb; sysbench's tests take --tables and --table-size")
        }
        Selection::Sysbench(_) if of_events => refuse(
            "--rows, --customers and --customer-index are for events; sysbench's tests take --tables and --table-size",
        ),
        Selection::Sysbench(tests) => {
            let fields = &data.sysbench;
            if let Some(errors) = fields.ignore_errors.as_ref().filter(|errors| !errors.fits(mysql)) {
                let wanted = if mysql { "numbers on MySQL" } else { "SQLSTATEs on PostgreSQL" };
                return Err(Failure::wrong(format!(
                    "--ignore-errors {errors}: errors have {wanted}, and none of these is one"
                )));
            }
            let wishes = SysbenchWishes {
                tables: fields.tables,
                table_size: fields.table_size,
                options: fields.options(),
                ignored_errors: fields.ignore_errors.as_ref().map(|errors| errors.on(mysql)),
            };
            Ok(Box::new(SysbenchBenchmark::new(tests, wishes)?))
        }
        Selection::Events(_) if data.scale.is_some() || !data.sysbench.says_nothing() => refuse(
            "--scale is for tpcb, and --tables, --table-size and their like are for sysbench's tests; events takes \
             --rows and --customers",
        ),
        Selection::Events(tests) => {
            let wishes = EventsWishes {
                rows: data.rows.map(|rows| rows.0),
                customers: data.customers.map(|customers| customers.0),
                customer_index: data.customer_index,
            };
            Ok(Box::new(EventsBenchmark::new(tests, wishes)?))
        }
    }
}
