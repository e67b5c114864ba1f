//! Targets that are one server under several names: they share its connections, and must not share what is written.

use dyno_target::inspect::Identity;

use super::Context;
use super::system::System;
use crate::failure::Failure;

/// Targets that share something of a server, each counted for itself: 1 where nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sharers {
    pub(super) server: u32,
    pub(super) account: u32,
    pub(super) database: u32,
    /// Names of those on one server; empty of one alone.
    pub(super) names: Vec<String>,
}

impl Sharers {
    /// Of a target with a server of its own.
    pub(super) fn alone() -> Self {
        Self { server: 1, account: 1, database: 1, names: Vec::new() }
    }

    fn of(me: &Identity, all: &[(String, Identity)]) -> Self {
        let count = |is_same: fn(&Identity, &Identity) -> bool| {
            let count = all.iter().filter(|(_, other)| is_same(me, other)).count();
            u32::try_from(count).unwrap_or(u32::MAX).max(1)
        };
        let names = all.iter().filter(|(_, other)| me.is_same_server(other)).map(|(name, _)| name.clone());
        let names: Vec<String> = names.collect();
        Self {
            server: count(Identity::is_same_server),
            account: count(Identity::is_same_account),
            database: count(Identity::is_same_database),
            names: if names.len() > 1 { names } else { Vec::new() },
        }
    }
}

/// Lets each target that is left have its part of what its server has room for.
pub(super) fn share(systems: &mut [System<'_>]) {
    let live = systems.iter().filter(|system| system.is_live());
    let all: Vec<(String, Identity)> =
        live.map(|system| (system.name().to_owned(), system.server.identity().clone())).collect();
    for system in systems.iter_mut().filter(|system| system.is_live()) {
        let sharers = Sharers::of(system.server.identity(), &all);
        system.server.set_sharers(sharers);
    }
}

/// Refuses targets that are the same tables under two names where the load writes: what one has written would be found
/// in the other. Where their URLs are the same, that is refused before any connection.
pub(super) fn refuse_same_tables(context: &Context<'_>, systems: &[System<'_>]) -> Result<(), Failure> {
    context.check_stopped()?;
    for (at, system) in systems.iter().enumerate() {
        let writes = context.plan.writes(&system.plan.benchmark.series());
        let is_same = |other: &&System<'_>| {
            other.plan.benchmark.variant() == system.plan.benchmark.variant()
                && other.server.identity().has_same_tables(system.server.identity())
        };
        if let Some(other) = systems[..at].iter().find(is_same).filter(|_| writes) {
            return Err(Failure::same_database(other.name(), system.name()));
        }
    }
    Ok(())
}
