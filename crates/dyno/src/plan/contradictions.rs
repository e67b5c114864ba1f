//! What cannot hold at once. Looked at here and not while reading the command line: either half may come from a
//! scenario.

use super::TargetPlan;
use crate::failure::Failure;
use crate::plan::Place;
use crate::scenario::{ProtocolName, Scenario, What};
use crate::units::{Clients, Quantity, Rate};

/// Refuses what does not go together, and says what would.
pub(super) fn refuse(scenario: &Scenario) -> Result<(), Failure> {
    let ramps = matches!(scenario.clients, Some(Clients::Ramp { start, end }) if start != end)
        || scenario.rate.is_some_and(Rate::is_ramp);
    let (counted, open) = (scenario.transactions.is_some(), scenario.rate.is_some());
    let ramp_of = scenario.ramp.map(|ramp| ramp.of);
    let contradictions = [
        (
            counted && scenario.duration.is_some(),
            "--duration or --transactions ends a stage: name only one of them",
        ),
        (counted && ramps, "a ramp takes its time: name its --duration instead of --transactions"),
        (
            (open || ramp_of == Some(Quantity::RatePerS)) && scenario.think_time.is_some(),
            "a rate says when transactions are due, so clients do not pause between them: leave out --think-time",
        ),
        (
            !open && ramp_of != Some(Quantity::RatePerS) && scenario.arrivals.is_some(),
            "--arrivals is about an open loop: name its --rate too",
        ),
        (
            ramp_of.is_some() && open,
            "--ramp says itself how much load there is at each step: leave out --rate, or write the ramp of a rate as \
             --ramp 100/s..5000/s",
        ),
        (
            ramp_of == Some(Quantity::Clients) && scenario.clients.is_some(),
            "--ramp says itself how many clients there are at each step: leave out --clients",
        ),
        (
            ramp_of.is_some() && (counted || scenario.duration.is_some()),
            "each step of a ramp takes its time: name that with --step instead of --duration or --transactions",
        ),
        (ramp_of.is_none() && scenario.to_the_end, "--to-the-end is about a ramp: name the --ramp too"),
        (
            ramp_of.is_some() && scenario.repeat.is_some() && scenario.hold.is_none(),
            "--repeat is about the hold, and behind a ramp there is one only if its --hold is named",
        ),
        (
            scenario.connections.is_some() && (open || ramp_of == Some(Quantity::RatePerS)),
            "--connections is for clients that share them, and the clients of an open loop (a rate) are its connections \
             already: name their number with --clients instead",
        ),
    ];
    match contradictions.into_iter().find(|(holds, _)| *holds) {
        Some((_, what)) => Err(Failure::Absurd { what: what.to_owned() }),
        None => Ok(()),
    }
}

/// The same, once it is known what the targets are.
pub(super) fn refuse_for_targets(scenario: &Scenario, targets: &[TargetPlan]) -> Result<(), Failure> {
    if scenario.together && targets.len() < 2 {
        let what =
            "--together is about several targets, and one is named: name the others with --target NAME=URL";
        return Err(Failure::Absurd { what: what.to_owned() });
    }
    for (at, target) in targets.iter().enumerate() {
        let writes = target.benchmark.series().iter().any(|series| series.writes);
        let is_same = |other: &&TargetPlan| other.url().is_some() && other.url() == target.url();
        if let Some(other) = targets[..at].iter().find(is_same).filter(|_| writes) {
            return Err(Failure::same_database(&other.name, &target.name));
        }
    }
    let extended = scenario.protocol == Some(ProtocolName::Extended);
    for target in targets {
        let name = &target.name;
        if extended && target.is_mysql() {
            return Err(Failure::Absurd {
                what: format!(
                    "--protocol extended is PostgreSQL's, and {name} speaks MySQL's: there statements travel simple or \
                     prepared"
                ),
            });
        }
        if scenario.cold && matches!(target.place, Place::Named(_)) {
            return Err(Failure::Absurd {
                what: format!(
                    "--cold restarts servers of dyno's own, and {name} is not: say how it is restarted, for instance \
                     --before SERIES 'ssh db systemctl restart the-server'"
                ),
            });
        }
    }
    Ok(())
}

/// Refuses settings of an embedded server where every target is one that runs.
pub(super) fn refuse_unused_settings(scenario: &Scenario, whats: &[What]) -> Result<(), Failure> {
    let embedded = |what: &What| matches!(what, What::Embedded(_));
    if scenario.names_embedded() && !whats.is_empty() && !whats.iter().any(embedded) {
        let what = "--server, --profile and --data-dir are for a server that dyno starts, and --target names one that \
                    runs: leave out the one or the other";
        return Err(Failure::Absurd { what: what.to_owned() });
    }
    Ok(())
}
