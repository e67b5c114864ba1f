//! The databases of a run: their names, where they are, what is run on each, and where their hosts are read.

use std::path::PathBuf;

use dyno_target::embedded::{Profile, ServerSpec};
use dyno_target::probe::NodeExporter;
use dyno_target::{Environment, Target};
use dyno_workload::benchmark::{
    Benchmark, EventsBenchmark, EventsWishes, SysbenchBenchmark, SysbenchWishes, TpcbBenchmark,
};
use dyno_workload::registry::{self, Selection};

use super::contradictions::refuse_unused_settings;
use crate::failure::Failure;
use crate::scenario::{Named, Scenario, What, split_name};
use crate::secrets;

/// The name of a target that speaks PostgreSQL's protocol, where the user gives it none.
pub(crate) const NAME: &str = "pg";
/// That of one that speaks MySQL's.
const NAME_MYSQL: &str = "my";

/// The name of a target that speaks MySQL's protocol, or PostgreSQL's, where the user gives it none.
pub(crate) fn short_name(mysql: bool) -> &'static str {
    if mysql { NAME_MYSQL } else { NAME }
}

/// One database under test.
#[derive(Debug)]
pub(crate) struct TargetPlan {
    /// The short name in the report.
    pub(crate) name: String,
    pub(crate) place: Place,
    /// Dialects differ, so each has its own.
    pub(crate) benchmark: Box<dyn Benchmark>,
    /// Where its host is read, if the user says so.
    pub(crate) host_metrics: Option<NodeExporter>,
}

/// Which database.
#[derive(Debug)]
pub(crate) enum Place {
    Embedded { server: Option<ServerSpec>, profile: Profile, directory: Option<PathBuf> },
    Named(Box<Target>),
}

impl TargetPlan {
    /// Whether it is reached by MySQL's protocol.
    pub(crate) fn is_mysql(&self) -> bool {
        self.place.is_mysql()
    }

    /// Without a password; `None` of an embedded server.
    pub(super) fn url(&self) -> Option<String> {
        match &self.place {
            Place::Named(target) => Some(target.url()),
            Place::Embedded { .. } => None,
        }
    }
}

impl Place {
    fn is_mysql(&self) -> bool {
        matches!(self, Self::Named(target) if target.is_mysql())
    }
}

/// The targets that are named, or an embedded server where none is.
pub(super) fn resolve(scenario: &Scenario) -> Result<Vec<TargetPlan>, Failure> {
    let named = scenario.target.iter().map(|text| Named::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let whats: Vec<What> = named.iter().map(|named| named.what.clone()).collect();
    refuse_unused_settings(scenario, &whats)?;
    let mut places = Vec::new();
    for Named { name, what } in named {
        let place = place(scenario, what)?;
        let name = name.unwrap_or_else(|| short_name(place.is_mysql()).to_owned());
        if places.iter().any(|(other, _)| *other == name) {
            return Err(Failure::SameName { name });
        }
        places.push((name, place));
    }
    if places.is_empty() {
        places.push((NAME.to_owned(), place(scenario, What::Embedded(None))?));
    }
    let mut exporters = exporters(scenario, &places)?;
    let workload = match &scenario.workload {
        Some(workload) => workload,
        // tpcb runs on PostgreSQL only.
        None if places.iter().any(|(_, place)| place.is_mysql()) => "sysbench",
        None => "tpcb",
    };
    let resolved = places.into_iter().map(|(name, place)| {
        let benchmark = benchmark(scenario, workload, place.is_mysql())?;
        let at = exporters.iter().position(|(of, _)| *of == name);
        let host_metrics = at.map(|at| exporters.swap_remove(at).1);
        Ok(TargetPlan { name, place, benchmark, host_metrics })
    });
    resolved.collect()
}

fn place(scenario: &Scenario, what: What) -> Result<Place, Failure> {
    match what {
        What::Url(url) => {
            let target = Target::parse(&url, &Environment::of_process())?;
            secrets::remember(target.passwords(), target.user(), target.database());
            if target.is_mysql() && target.database().is_empty() {
                return Err(Failure::NoDatabase { url: target.url() });
            }
            Ok(Place::Named(Box::new(target)))
        }
        What::Embedded(server) => Ok(Place::Embedded {
            server: server.as_deref().or(scenario.server.as_deref()).map(str::parse).transpose()?,
            profile: scenario.profile.as_deref().map(str::parse).transpose()?.unwrap_or(Profile::Production),
            directory: scenario.data_dir.clone(),
        }),
    }
}

/// Where hosts are read, by the targets' names.
fn exporters(
    scenario: &Scenario,
    places: &[(String, Place)],
) -> Result<Vec<(String, NodeExporter)>, Failure> {
    let mut exporters: Vec<(String, NodeExporter)> = Vec::new();
    for text in &scenario.host_metrics {
        let (name, url) = split_name(text, |rest| rest.contains("://"));
        let name = match (name, places) {
            (Some(name), _) => name,
            (None, [(only, _)]) => only,
            (None, _) => return Err(Failure::WhoseHost { url: secrets::hidden(url) }),
        };
        if !places.iter().any(|(of, _)| of == name) {
            let known = places.iter().map(|(name, _)| name.clone()).collect();
            return Err(Failure::NoSuchTarget { option: "--host-metrics", name: name.to_owned(), known });
        }
        if exporters.iter().any(|(of, _)| of == name) {
            return Err(Failure::Absurd { what: format!("--host-metrics names the host of {name} twice") });
        }
        exporters.push((name.to_owned(), NodeExporter::parse(url)?));
    }
    Ok(exporters)
}

/// The workloads with what the scenario says of their data.
fn benchmark(scenario: &Scenario, named: &str, mysql: bool) -> Result<Box<dyn Benchmark>, Failure> {
    let absurd = |what: &str| Err(Failure::Absurd { what: what.to_owned() });
    let selection = registry::find(named)?;
    let of_events = scenario.rows.is_some() || scenario.customers.is_some() || scenario.customer_index;
    match selection {
        Selection::TpcB(_) if mysql => Err(Failure::NotOnMysql { workload: named.to_owned() }),
        Selection::TpcB(_) if scenario.sysbench.says_anything() => {
            absurd("--tables, --table-size and their like are for sysbench's tests; tpcb takes a --scale")
        }
        Selection::TpcB(_) if of_events => {
            absurd("--rows, --customers and --customer-index are for events; tpcb takes a --scale")
        }
        Selection::TpcB(scripts) => Ok(Box::new(TpcbBenchmark::new(scripts, scenario.scale)?)),
        Selection::Sysbench(_) if scenario.scale.is_some() => {
            absurd("--scale is for tpcb; sysbench's tests take --tables and --table-size")
        }
        Selection::Sysbench(_) if of_events => absurd(
            "--rows, --customers and --customer-index are for events; sysbench's tests take --tables and --table-size",
        ),
        Selection::Sysbench(tests) => {
            let fields = &scenario.sysbench;
            if let Some(errors) = fields.ignore_errors.as_ref().filter(|errors| !errors.fits(mysql)) {
                let wanted = if mysql { "numbers on MySQL" } else { "SQLSTATEs on PostgreSQL" };
                return absurd(&format!(
                    "--ignore-errors {errors}: errors have {wanted}, and none of these is one"
                ));
            }
            let wishes = SysbenchWishes {
                tables: fields.tables,
                table_size: fields.table_size,
                options: fields.options(),
                ignored_errors: fields.ignore_errors.as_ref().map(|errors| errors.on(mysql)),
            };
            Ok(Box::new(SysbenchBenchmark::new(tests, wishes)?))
        }
        Selection::Events(_) if scenario.scale.is_some() || scenario.sysbench.says_anything() => absurd(
            "--scale is for tpcb, and --tables, --table-size and their like are for sysbench's tests; events takes \
             --rows and --customers",
        ),
        Selection::Events(tests) => {
            let wishes = EventsWishes {
                rows: scenario.rows.map(|rows| rows.0),
                customers: scenario.customers.map(|customers| customers.0),
                customer_index: scenario.customer_index,
            };
            Ok(Box::new(EventsBenchmark::new(tests, wishes)?))
        }
    }
}
