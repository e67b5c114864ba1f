//! A specification, resolved into what will be done: its targets with what is known of them without a connection, their
//! workloads, and the course of each load.

mod contradictions;
mod hooks;
mod targets;

use std::time::Duration;

use dyno_results::spec::{
    Course, LoadSpec, PhaseSpec, Prepare, Protocol, RunSpec, StreamSpec, Time, VERSION,
};

pub(crate) use self::hooks::{Action, HookPlan, HookStage};
pub(crate) use self::targets::{NAME, TargetPlan, TargetSource, default_name, short_name};
use crate::failure::Failure;

/// Tries for a transaction where none are named.
const TRIES_DEFAULT: u32 = 10;
/// Most connections that clients may share.
const CONNECTIONS_MAX: u32 = 100_000;

/// A resolved run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What was asked for, without any password.
    pub(crate) spec: RunSpec,
    /// The same with what was left open decided, as far as that does not depend on the target.
    pub(crate) resolved: RunSpec,
    /// At least one; their names are unique.
    pub(crate) targets: Vec<TargetPlan>,
    /// At least one.
    pub(crate) phases: Vec<PhasePlan>,
    pub(crate) hooks: Vec<HookPlan>,
    pub(crate) seed: u64,
}

/// What runs at the same time on each target.
#[derive(Debug, Clone)]
pub(crate) struct PhasePlan {
    pub(crate) warm_up: Duration,
    /// How often the hold, or the one stage, is run.
    pub(crate) repeat: u32,
    /// Targets are loaded at the same time, and not in turn.
    pub(crate) together: bool,
    /// Servers are restarted before the load.
    pub(crate) cold: bool,
    pub(crate) stream: StreamPlan,
}

/// One load.
#[derive(Debug, Clone)]
pub(crate) struct StreamPlan {
    pub(crate) protocol: Protocol,
    pub(crate) tries_max: u32,
    /// Connections that the clients of a target share; `None` where each has its own.
    pub(crate) connections: Option<u32>,
    pub(crate) course: Course,
}

impl Plan {
    /// Decides what the specification leaves open. `seed` is used where it names none.
    pub(crate) fn resolve(mut asked: RunSpec, seed: u64) -> Result<Self, Failure> {
        if let Some(front_end) = &asked.front_end {
            return Err(Failure::OfFrontEnd { program: front_end.program.clone() });
        }
        let mut spec = asked.clone();
        targets::expand_families(&mut spec)?;
        let quick = spec.quick;
        let phases = spec.phases.iter_mut().map(|phase| PhasePlan::resolve(phase, quick));
        let phases = phases.collect::<Result<Vec<_>, _>>()?;
        let targets = targets::resolve(&mut spec)?;
        contradictions::refuse(&targets, &phases)?;
        let hooks = hooks::resolve(&mut spec, &targets, &phases)?;
        within("--threads", spec.threads, 1024)?;
        // SQLite and many JSON readers know no unsigned 64-bit numbers.
        let seed = spec.seed.unwrap_or(seed) & (i64::MAX as u64);
        (spec.version, spec.seed) = (VERSION, Some(seed));
        (asked.version, asked.seed) = (VERSION, Some(seed));
        for (asked, resolved) in asked.targets.iter_mut().zip(&spec.targets) {
            asked.url.clone_from(&resolved.url);
            asked.host_metrics.clone_from(&resolved.host_metrics);
        }
        asked.hooks.clone_from(&spec.hooks);
        Ok(Self { spec: asked, resolved: spec, targets, phases, hooks, seed })
    }

    /// Whether data is made anew.
    pub(crate) fn prepare(&self) -> Prepare {
        self.spec.prepare.unwrap_or(Prepare::Auto)
    }
}

impl PhasePlan {
    /// Decides what a phase leaves open, and writes it there.
    fn resolve(phase: &mut PhaseSpec, quick: bool) -> Result<Self, Failure> {
        let warm_up = phase.warm_up.get_or_insert(Time(Duration::from_secs(if quick { 1 } else { 5 }))).0;
        let repeat = within("--repeat", phase.repeat, 1000)?;
        let [stream] = phase.streams.as_mut_slice() else {
            let what = format!("a phase runs one stream, and this one has {}", phase.streams.len());
            return Err(Failure::Absurd { what });
        };
        let stream = StreamPlan::resolve(stream, quick)?;
        if stream.course.has_hold() {
            phase.repeat = repeat.or(Some(1));
        } else if repeat.is_some() {
            let what =
                "--repeat is about the hold, and behind a ramp there is one only if its --hold is named";
            return Err(Failure::Absurd { what: what.to_owned() });
        }
        let (repeat, together, cold) = (phase.repeat.unwrap_or(1), phase.together, phase.cold);
        Ok(Self { warm_up, repeat, together, cold, stream })
    }
}

impl StreamPlan {
    fn resolve(stream: &mut StreamSpec, quick: bool) -> Result<Self, Failure> {
        let course = stream.load.course(quick).map_err(|what| Failure::Absurd { what })?;
        let connections = within("--connections", stream.connections, CONNECTIONS_MAX)?;
        if connections.is_some() && course.is_open() {
            let what = "--connections is for clients that share them, and the clients of an open loop (a rate) are its \
                        connections already: name their number with --clients instead";
            return Err(Failure::Absurd { what: what.to_owned() });
        }
        stream.load = LoadSpec::of(&course);
        Ok(Self {
            protocol: *stream.protocol.get_or_insert_default(),
            tries_max: *stream
                .max_tries
                .insert(within("--max-tries", stream.max_tries, u32::MAX)?.unwrap_or(TRIES_DEFAULT)),
            connections,
            course,
        })
    }

    /// The most clients that are named; `None` where the number is open.
    pub(crate) fn clients_named(&self) -> Option<u32> {
        self.course.clients_named()
    }

    /// The connections of so many clients.
    pub(crate) fn connections_of(&self, clients: u32) -> u32 {
        self.connections.map_or(clients, |shared| shared.min(clients))
    }
}

/// A number from 1 to `most`.
fn within(option: &str, number: Option<u32>, most: u32) -> Result<Option<u32>, Failure> {
    match number {
        Some(0) if most == u32::MAX => Err(Failure::Absurd { what: format!("{option} must be at least 1") }),
        Some(number) if number == 0 || number > most => {
            Err(Failure::Absurd { what: format!("{option} takes 1 to {most}") })
        }
        number => Ok(number),
    }
}

#[cfg(test)]
pub(crate) mod tests;
