//! What cannot hold at once, once it is known what the targets are.

use dyno_results::spec::{Course, Protocol};

use super::{LoadSource, PhasePlan, StreamPlan, SystemPlan};
use crate::failure::Failure;

/// Refuses what does not go together, and says what would.
pub(super) fn refuse(systems: &[SystemPlan], phases: &[PhasePlan]) -> Result<(), Failure> {
    if phases.iter().any(|phase| phase.together) && systems.len() < 2 {
        let what =
            "--together is about several targets, and one is named: name the others with --target NAME=URL";
        return Err(Failure::wrong(what));
    }
    let streams = || phases.iter().flat_map(|phase| &phase.streams);
    for (at, system) in systems.iter().enumerate() {
        let series = system.benchmark.series();
        let writes = streams().any(|stream| stream.writes(&series));
        let is_same_place = |other: &&SystemPlan| {
            other.target == system.target || (other.url().is_some() && other.url() == system.url())
        };
        let variant = system.benchmark.variant();
        let is_same_variant = |other: &SystemPlan| match (other.benchmark.variant(), variant) {
            // Names of tables have no case.
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            (one, other) => one == other,
        };
        let is_same = |other: &&SystemPlan| is_same_place(other) && is_same_variant(other);
        if let Some(other) = systems[..at].iter().find(is_same).filter(|_| writes || variant.is_some()) {
            return Err(Failure::same_database(&other.name, &system.name));
        }
        let shares = |other: &&SystemPlan| other.target == system.target;
        if phases.iter().any(|phase| phase.cold) && systems[..at].iter().any(|other| shares(&other)) {
            return Err(Failure::wrong(format!(
                "--cold empties the caches of {}, which several systems share: run them one at a time",
                system.target
            )));
        }
    }
    let extended = streams().any(|stream| stream.protocol == Protocol::Extended);
    for target in systems {
        let name = &target.name;
        let can = target.capabilities();
        let series = target.benchmark.series();
        if extended && !can.extended_protocol {
            return Err(Failure::wrong(format!(
                "--protocol extended is PostgreSQL's, and {name} speaks {}'s: there statements are sent simple or \
                     prepared",
                can.protocol
            )));
        }
        let pauses = |stream: &&StreamPlan| match stream.source {
            LoadSource::Family(place) => series.get(place).is_some_and(|series| !series.pauses.is_zero()),
            _ => false,
        };
        if let Some(stream) = streams().filter(pauses).find(|stream| stream.courses().any(Course::is_open)) {
            return Err(Failure::wrong(format!(
                "a rate says when transactions are due, so clients do not pause between them, and those of {} do (`keying` and `think` of its \
                 workload.toml): run it with --clients, or run a transaction that has neither",
                stream.workload
            )));
        }
        for stream in streams() {
            if let LoadSource::Script(script) = &stream.source {
                let checked = script.check(stream.protocol, can.extended_protocol);
                checked.map_err(|error| Failure::wrong(error.to_string()))?;
            }
        }
        if can.read_only && streams().any(|stream| stream.writes(&series)) {
            return Err(Failure::wrong(format!(
                "{name} is only read (mode=ro), and the load writes: leave mode=ro out, or run a workload that reads"
            )));
        }
    }
    Ok(())
}
