//! What the user said, resolved into what will be done: every field has a value, or the rule by which the
//! campaign finds it once it knows the target.

mod contradictions;
mod hooks;
mod load;
mod stored;
mod targets;

use std::time::Duration;

use dyno_engine::request::Protocol;

pub(crate) use self::hooks::{Action, HookPlan, HookStage};
pub(crate) use self::load::{Load, Ramp, Rungs, is_rate_ramp};
pub(crate) use self::targets::{NAME, Place, TargetPlan, short_name};
use crate::failure::Failure;
use crate::scenario::{Prepare, ProtocolName, Scenario};

/// Tries for a transaction where none are named.
const TRIES_DEFAULT: u32 = 10;
/// Most connections that clients may share.
const CONNECTIONS_MAX: u32 = 100_000;

/// A resolved campaign.
#[derive(Debug)]
pub(crate) struct Plan {
    /// At least one; their names are unique.
    pub(crate) targets: Vec<TargetPlan>,
    /// What the user says of the data, as it is stored.
    wishes: serde_json::Value,
    pub(crate) prepare: Prepare,
    pub(crate) verify: bool,
    /// Whether hosts and databases are read while the load runs.
    pub(crate) telemetry: bool,
    pub(crate) quick: bool,
    pub(crate) protocol: Protocol,
    pub(crate) threads: Option<u32>,
    pub(crate) tries_max: u32,
    pub(crate) realtime: bool,
    pub(crate) seed: u64,
    pub(crate) warm_up: Duration,
    pub(crate) load: Load,
    /// How often the hold, or the one stage, is run.
    pub(crate) repeat: u32,
    /// Connections that the clients of a target share; `None` where each has its own.
    pub(crate) connections: Option<u32>,
    /// Targets are loaded at the same time, and not in turn.
    pub(crate) together: bool,
    /// Servers are restarted before each series.
    pub(crate) cold: bool,
    pub(crate) hooks: Vec<HookPlan>,
}

impl Plan {
    /// Decides what the scenario leaves open. `seed` is used where it names none.
    pub(crate) fn resolve(scenario: &Scenario, seed: u64) -> Result<Self, Failure> {
        contradictions::refuse(scenario)?;
        let quick = scenario.quick;
        let targets = targets::resolve(scenario)?;
        contradictions::refuse_for_targets(scenario, &targets)?;
        let warm_up = scenario.warm_up.map_or(Duration::from_secs(if quick { 1 } else { 5 }), |time| time.0);
        let load = load::resolve(scenario)?;
        let hooks = hooks::resolve(scenario, &targets, &load, warm_up)?;
        Ok(Self {
            targets,
            wishes: stored::wishes(scenario),
            prepare: scenario.prepare.unwrap_or(Prepare::Auto),
            verify: !scenario.no_verify,
            telemetry: !scenario.no_telemetry,
            quick,
            protocol: match scenario.protocol {
                Some(ProtocolName::Simple) => Protocol::Simple,
                Some(ProtocolName::Extended) => Protocol::Extended,
                Some(ProtocolName::Prepared) | None => Protocol::Prepared,
            },
            threads: within("--threads", scenario.threads, 1024)?,
            tries_max: within("--max-tries", scenario.max_tries, u32::MAX)?.unwrap_or(TRIES_DEFAULT),
            realtime: scenario.realtime,
            // SQLite and many JSON readers know no unsigned 64-bit numbers.
            seed: scenario.seed.unwrap_or(seed) & (i64::MAX as u64),
            warm_up,
            load,
            repeat: within("--repeat", scenario.repeat, 1000)?.unwrap_or(1),
            connections: within("--connections", scenario.connections, CONNECTIONS_MAX)?,
            together: scenario.together,
            cold: scenario.cold,
            hooks,
        })
    }

    /// The most clients that the plan names; `None` where it leaves the number open.
    pub(crate) fn clients_named(&self) -> Option<u32> {
        self.load.clients_named()
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
mod tests;
