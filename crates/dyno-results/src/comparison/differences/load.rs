//! Whether the sides were asked for the same: workload, arrivals, clients, connections, protocol, time.

use super::repeats::{MadeOf, repeats};
use super::{Aspect, joined, told, unequal_where_known};
use crate::comparison::document::Difference;
use crate::comparison::sections::SharedParts;
use crate::comparison::side::{Picked, Side};
use crate::document::StageResult;
use crate::event::{Arrival, Distribution, Severity, StageKind};
use crate::format;
use crate::headline::Demand;
use crate::words::distinct;

/// Stages whose lengths differ by less are of one length.
const SECONDS_TOLERANCE: f64 = 1.1;
/// From here on they show different things: caches that fill, checkpoints that come.
const SECONDS_FAR: f64 = 2.0;
/// Stages of one run that share so much of their time ran together.
const TOGETHER_SHARE: f64 = 0.2;

const WORKLOAD: Aspect = Aspect {
    name: "workload",
    severity: Severity::Invalid,
    advice: "different work has no ratio: compare runs of the same workload",
};
const ARRIVALS: Aspect = Aspect {
    name: "arrivals",
    severity: Severity::Invalid,
    advice: "in an open loop the throughput is what was asked for, in a closed one what was found: run both the same way",
};
const DISTRIBUTION: Aspect = Aspect {
    name: "distribution",
    severity: Severity::Doubt,
    advice: "arrivals that come in bunches wait for each other: run both with the same --arrivals",
};
const RATE: Aspect = Aspect {
    name: "rate",
    severity: Severity::Doubt,
    advice: "throughput follows the rate that was asked for, and latency the load: run both at the same --rate",
};
const STAGE: Aspect = Aspect {
    name: "stage",
    severity: Severity::Doubt,
    advice: "a peak is the best of several rungs and a little too high, a ramp has no level: compare what was held on both",
};
const CLIENTS: Aspect = Aspect {
    name: "clients",
    severity: Severity::Doubt,
    advice: "run both with the same --clients, or compare the rungs that they have in common",
};
const CLIENTS_AT_PEAK: Aspect = Aspect {
    name: "clients",
    severity: Severity::Note,
    advice: "each was held at its own peak: right for what each can do, and latencies are then of different loads",
};
const CONNECTIONS: Aspect =
    Aspect { name: "connections", severity: Severity::Doubt, advice: "run both with the same --connections" };
const THINK_TIME: Aspect =
    Aspect { name: "think time", severity: Severity::Doubt, advice: "run both with the same --think-time" };
const PROTOCOL: Aspect = Aspect {
    name: "protocol mode",
    severity: Severity::Doubt,
    advice: "prepared statements spare the server the planning: run both with the same --protocol",
};
const LENGTH: Aspect = Aspect {
    name: "duration",
    severity: Severity::Doubt,
    advice: "what is longer meets more checkpoints, and a cache that is fuller: hold both for the same time",
};
const TOGETHER: Aspect = Aspect {
    name: "at the same time",
    severity: Severity::Doubt,
    advice: "on one host each has what the other leaves: let them take turns (without --together)",
};

/// What repeats of one stage must have in common.
const MADE_OF: [(&str, MadeOf); 8] = [
    ("", |stage| Some(kind(stage.stage.kind).to_owned())),
    ("", |stage| Some(arrivals(stage))),
    ("", asked_rate),
    ("clients", asked_clients),
    ("connections", |stage| Some(connections(stage))),
    ("between transactions", think_time),
    ("protocol", |stage| Some(stage.stage.protocol.clone())),
    ("", |stage| Some(stage.stage.workload.clone())),
];

pub(super) fn differences(sides: &[Side], shared: &SharedParts<'_>) -> Vec<Difference> {
    let headlines = shared.headline_picks();
    let mut found = vec![workload(sides, shared)];
    for picks in &headlines {
        found.extend([
            of_stages(sides, picks, &ARRIVALS, |stage| Some(arrivals(stage))),
            of_stages(sides, picks, &DISTRIBUTION, distribution),
            of_stages(sides, picks, &STAGE, |stage| Some(kind(stage.stage.kind).to_owned())),
            of_stages(sides, picks, &RATE, asked_rate),
            clients(sides, shared, picks),
            of_stages(sides, picks, &CONNECTIONS, |stage| Some(connections(stage))),
            of_stages(sides, picks, &THINK_TIME, think_time),
            of_stages(sides, picks, &PROTOCOL, |stage| Some(stage.stage.protocol.clone())),
            length(sides, picks).filter(|_| !shared.are_passes()),
            together(sides, picks),
            repeats(sides, picks, &MADE_OF),
        ]);
        if shared.are_passes() {
            found.extend(super::queries::differences(sides, shared, picks));
        }
    }
    let series = Some(shared.name.to_owned());
    let of_series = |difference| Difference { series: series.clone(), ..difference };
    // Several headlines may show the same.
    distinct(found.into_iter().flatten().map(of_series))
}

fn workload(sides: &[Side], shared: &SharedParts<'_>) -> Option<Difference> {
    let of_side = |side: &Vec<(&_, &crate::document::Series)>| {
        joined(side.iter().map(|(_, series)| series.workload.clone()))
    };
    unequal_where_known(sides, &WORKLOAD, shared.sides.iter().map(of_side).collect())
}

/// A difference among the stages that speak for the sides.
fn of_stages(
    sides: &[Side],
    picks: &[Picked<'_>],
    aspect: &Aspect,
    value: impl Fn(&StageResult) -> Option<String>,
) -> Option<Difference> {
    let of_side = |picked: &Picked<'_>| joined(picked.stages().filter_map(|(_, stage)| value(stage)));
    unequal_where_known(sides, aspect, picks.iter().map(of_side).collect())
}

fn arrivals(result: &StageResult) -> String {
    match &result.stage.arrival {
        Arrival::Closed { .. } => "closed loop",
        Arrival::Open { .. } => "open loop",
    }
    .to_owned()
}

fn distribution(result: &StageResult) -> Option<String> {
    match &result.stage.arrival {
        Arrival::Closed { .. } => None,
        Arrival::Open { distribution: Distribution::Poisson, .. } => Some("Poisson".to_owned()),
        Arrival::Open { distribution: Distribution::Constant, .. } => Some("evenly spaced".to_owned()),
    }
}

fn asked_rate(result: &StageResult) -> Option<String> {
    match (&result.stage.arrival, result.stage.rate_end_per_s) {
        (Arrival::Closed { .. }, _) => None,
        (Arrival::Open { rate_per_s, .. }, None) => Some(format!("{}/s", format::long(*rate_per_s))),
        (Arrival::Open { rate_per_s, .. }, Some(end)) => {
            Some(format!("{} to {}/s", format::long(*rate_per_s), format::long(end)))
        }
    }
}

fn kind(kind: StageKind) -> &'static str {
    if kind == StageKind::Ladder { "peak of a ladder" } else { kind.name() }
}

fn clients(sides: &[Side], shared: &SharedParts<'_>, picks: &[Picked<'_>]) -> Option<Difference> {
    let own_peaks = picks.iter().zip(&shared.sides).all(|(picked, side)| {
        let at_peak = |(member, series): &(&_, &crate::document::Series)| {
            let stages = picked.0.iter().find(|(picked, _)| std::ptr::eq(*picked, *member));
            let peak = series.peak.as_ref().map(|peak| peak.clients);
            stages.is_none_or(|(_, stages)| stages.iter().all(|stage| Some(stage.stage.clients) == peak))
        };
        side.iter().all(at_peak)
    });
    let aspect = if own_peaks { &CLIENTS_AT_PEAK } else { &CLIENTS };
    of_stages(sides, picks, aspect, asked_clients)
}

fn asked_clients(result: &StageResult) -> Option<String> {
    match Demand::of(&result.stage) {
        // In an open loop clients only bound how much may be under way.
        Demand::Open { .. } => None,
        Demand::Closed { clients_end: Some(end), clients } if end != clients => {
            Some(format!("{clients} to {end}"))
        }
        Demand::Closed { clients, .. } => Some(clients.to_string()),
    }
}

fn connections(result: &StageResult) -> String {
    match result.stage.connections {
        Some(connections) => format!("{connections} shared"),
        None => "one for each client".to_owned(),
    }
}

fn think_time(result: &StageResult) -> Option<String> {
    match result.stage.arrival {
        Arrival::Closed { think_time_ms } if think_time_ms > 0.0 => {
            Some(format!("{} ms", format::plain(think_time_ms)))
        }
        Arrival::Closed { .. } => Some("none".to_owned()),
        Arrival::Open { .. } => None,
    }
}

fn length(sides: &[Side], picks: &[Picked<'_>]) -> Option<Difference> {
    let lengths: Vec<Option<f64>> = picks.iter().map(|picked| Some(picked.load()?.seconds)).collect();
    let longest = lengths.iter().flatten().copied().reduce(f64::max)?;
    let shortest = lengths.iter().flatten().copied().reduce(f64::min)?;
    if longest <= SECONDS_TOLERANCE * shortest {
        return None;
    }
    let severity = if longest >= SECONDS_FAR * shortest { LENGTH.severity } else { Severity::Note };
    let texts = lengths.into_iter().map(|length| length.map(format::duration_s)).collect();
    unequal_where_known(sides, &Aspect { severity, ..LENGTH }, texts)
}

/// Stages of one run that overlap in time, on a host that is not known to be two.
fn together(sides: &[Side], picks: &[Picked<'_>]) -> Option<Difference> {
    let overlap = |left: &StageResult, right: &StageResult| {
        let end = |result: &StageResult| result.start_s + result.seconds;
        let shared = end(left).min(end(right)) - left.start_s.max(right.start_s);
        shared > TOGETHER_SHARE * left.seconds.min(right.seconds)
    };
    let mut hosts = None;
    for (index, picked) in picks.iter().enumerate() {
        for (member, stage) in picked.stages() {
            for (other, other_stage) in picks[index + 1..].iter().flat_map(Picked::stages) {
                let one_run = member.report().run.name == other.report().run.name;
                if one_run && overlap(stage, other_stage) {
                    hosts = hosts.max(Some(super::server::one_host(member, other)));
                }
            }
        }
    }
    let text = match hosts? {
        super::server::OneHost::No => return None,
        super::server::OneHost::Unknown => "the sides ran together; whether on one host is not known",
        super::server::OneHost::Yes => "the sides ran together on one host",
    };
    let difference = told(sides, &TOGETHER, vec![None; sides.len()]);
    Some(Difference { text: format!("{}: {text}", TOGETHER.name), ..difference })
}
