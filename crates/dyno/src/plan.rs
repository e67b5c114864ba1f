//! A specification, resolved into what will be done: its systems with what is known of them without a connection, their
//! workloads, and the course of each load.

mod contradictions;
pub(crate) mod estimate;
mod files;
mod hooks;
mod names;
mod streams;
mod systems;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dyno_results::answer::Recorded;
use dyno_results::spec::{Course, Plans, Prepare, Protocol, RunSpec, VERSION};
use dyno_workload::benchmark::Series;
use dyno_workload::query_set::QueryFolder;
use dyno_workload::scripts::SqlScript;

pub(crate) use self::files::{FILES, is_lua, named_folder, read_folders, wrong_folder};
pub(crate) use self::hooks::{Action, HookPlan, HookStage};
pub(crate) use self::names::{NAMES, check_name, is_name_like, nearest_field};
pub(crate) use self::systems::{SystemPlan, TargetSource, capabilities, data_of};
use crate::failure::{Failure, TableOwner};
use crate::secrets;

/// Clients of an open load where none are named: enough that arrivals seldom wait for one.
pub(crate) const OPEN_CLIENTS: u32 = 64;

/// A resolved run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What was asked for, without any password.
    pub(crate) spec: RunSpec,
    /// The same with what was left open decided, as far as that does not depend on the target.
    pub(crate) resolved: RunSpec,
    /// At least one; their names are unique. Several may be on one target.
    pub(crate) systems: Vec<SystemPlan>,
    /// At least one.
    pub(crate) phases: Vec<PhasePlan>,
    pub(crate) hooks: Vec<HookPlan>,
    pub(crate) seed: u64,
}

/// What runs at the same time on each target.
#[derive(Debug, Clone)]
pub(crate) struct PhasePlan {
    /// Its place in the run.
    pub(crate) place: u32,
    /// Where stages are passes, and this is not nothing, it is one pass.
    pub(crate) warm_up: Duration,
    /// How often the hold, or the one stage, is run.
    pub(crate) repeat: u32,
    /// Targets are loaded at the same time, and not in turn.
    pub(crate) together: bool,
    /// Servers are restarted before the load.
    pub(crate) cold: bool,
    /// At least one; their names are unique in the run.
    pub(crate) streams: Vec<StreamPlan>,
}

/// One load.
#[derive(Debug, Clone)]
pub(crate) struct StreamPlan {
    /// The name of its series.
    pub(crate) name: String,
    /// `tpcb/select-only`, a file or a folder.
    pub(crate) workload: String,
    pub(crate) source: LoadSource,
    /// Whose the tables are that its statements name.
    pub(crate) tables: TableOwner,
    pub(crate) protocol: Protocol,
    pub(crate) tries_max: u32,
    pub(crate) time_limit: Option<Duration>,
    /// Transactions of a pass, where the workload makes passes over its queries.
    pub(crate) pass: Option<u64>,
    /// Whether it is fixed work that one client does, whatever load is asked for.
    pub(crate) fixed: bool,
    /// With what its answers are compared, beside each other.
    pub(crate) answers: Option<Arc<Recorded>>,
    /// How the plans of its queries are taken, where it makes passes over them.
    pub(crate) plans: Plans,
    /// Connections that the clients of a target share; `None` where each has its own.
    pub(crate) connections: Option<u32>,
    /// By system.
    courses: BTreeMap<String, Course>,
}

/// What a stream runs.
#[derive(Debug, Clone)]
pub(crate) enum LoadSource {
    /// The workload of the family at this place of [`Benchmark::series`](dyno_workload::benchmark::Benchmark::series).
    Family(usize),
    Script(SqlScript),
    Queries(QueryFolder),
}

impl LoadSource {
    /// The values of variables that it does not use, by name.
    pub(crate) fn unused(&self) -> &[String] {
        match self {
            Self::Family(_) => &[],
            Self::Script(script) => script.unused(),
            Self::Queries(folder) => folder.unused(),
        }
    }
}

impl Plan {
    /// Decides what the specification leaves open. `seed` is used where it names none.
    pub(crate) fn resolve(mut asked: RunSpec, seed: u64) -> Result<Self, Failure> {
        if let Some(front_end) = &asked.front_end {
            let program = &front_end.program;
            return Err(Failure::advised(
                format!("the scenario has options of `dyno {program}`: only `dyno {program}` can run it"),
                "leave out its table `front-end`",
            ));
        }
        files::read_texts(&mut asked)?;
        let mut spec = asked.clone();
        systems::expand_families(&mut spec)?;
        let systems = systems::resolve(&mut spec)?;
        let phases = streams::resolve(&mut spec, &systems)?;
        contradictions::refuse(&systems, &phases)?;
        let hooks = hooks::resolve(&mut spec, &systems, &phases)?;
        within("--threads", spec.threads, 1024)?;
        // SQLite and many JSON readers know no unsigned 64-bit numbers.
        let seed = spec.seed.unwrap_or(seed) & (i64::MAX as u64);
        (spec.version, spec.seed) = (VERSION, Some(seed));
        (asked.version, asked.seed) = (VERSION, Some(seed));
        for (asked, resolved) in asked.targets.iter_mut().zip(&spec.targets) {
            asked.url.clone_from(&resolved.url);
            asked.host_metrics.clone_from(&resolved.host_metrics);
        }
        for (asked, resolved) in asked.systems.iter_mut().zip(&spec.systems) {
            asked.data.clone_from(&resolved.data);
        }
        asked.hooks.clone_from(&spec.hooks);
        secrets::leave_out(&mut asked);
        secrets::leave_out(&mut spec);
        Ok(Self { spec: asked, resolved: spec, systems, phases, hooks, seed })
    }

    /// The seed of the stream at a place of its phase: those of two streams have nothing in common.
    pub(crate) fn seed_of(&self, place: u64) -> u64 {
        self.seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Whether a load may change data.
    pub(crate) fn writes(&self, series: &[Series]) -> bool {
        self.phases.iter().flat_map(|phase| &phase.streams).any(|stream| stream.writes(series))
    }

    /// Whether no load only reads.
    pub(crate) fn only_writes(&self, series: &[Series]) -> bool {
        self.phases.iter().flat_map(|phase| &phase.streams).all(|stream| stream.writes(series))
    }

    /// Whether data is made anew.
    pub(crate) fn prepare(&self) -> Prepare {
        self.spec.prepare.unwrap_or(Prepare::Auto)
    }
}

/// A number from 1 to `most`.
fn within(option: &str, number: Option<u32>, most: u32) -> Result<Option<u32>, Failure> {
    match number {
        Some(0) if most == u32::MAX => Err(Failure::wrong(format!("{option} must be at least 1"))),
        Some(number) if number == 0 || number > most => {
            Err(Failure::wrong(format!("{option} takes 1 to {most}")))
        }
        number => Ok(number),
    }
}

#[cfg(test)]
pub(crate) mod tests;
