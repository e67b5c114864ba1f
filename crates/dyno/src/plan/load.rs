//! The load of each series: a ladder with a hold at its peak, a ramp in steps, or one stage.

use std::time::Duration;

use dyno_engine::plan::{Arrivals, Limit};
use dyno_results::event::Distribution;

use crate::failure::Failure;
use crate::scenario::{ArrivalKind, Scenario};
use crate::units::{Clients, Quantity, Rate, Steps, Time};

/// Duration of an open or ramped stage where none is named.
const DURATION_DEFAULT: Duration = Duration::from_secs(30);
/// Most clients of the ladder that dyno chooses by itself.
const AUTOMATIC_CLIENTS_MAX: u32 = 1024;

/// The stages of each series, after the warm-up.
#[derive(Debug)]
pub(crate) enum Load {
    /// A ladder over clients, then a hold at its peak.
    Ladder { rungs: Rungs, step: Duration, hold: Duration, think_time: Duration },
    /// Load that goes up in steps.
    Ramp(Ramp),
    /// One stage.
    Single { clients: Option<u32>, clients_end: Option<u32>, arrivals: Arrivals, limit: Limit },
}

/// The client counts of a ladder.
#[derive(Debug)]
pub(crate) enum Rungs {
    /// 1, then times `factor` each, until the peak is passed.
    Automatic { factor: u32, max: u32 },
    /// All of these.
    Listed(Vec<u32>),
}

/// A ramp in steps, of clients or of the rate.
#[derive(Debug)]
pub(crate) struct Ramp {
    pub(crate) steps: Steps,
    pub(crate) step: Duration,
    /// `None` for no hold behind it.
    pub(crate) hold: Option<Duration>,
    /// Goes on to the bound although the target has given way.
    pub(crate) to_the_end: bool,
    /// Of a ramp of clients.
    pub(crate) think_time: Duration,
    /// Of a ramp of the rate: how many do the work, and when it arrives.
    pub(crate) clients: Option<u32>,
    pub(crate) distribution: Distribution,
}

impl Load {
    /// Whether clients or rate change while its one stage runs.
    pub(crate) fn changes_in_its_stage(&self) -> bool {
        match self {
            Self::Single { clients, clients_end, arrivals, .. } => {
                clients_end.is_some_and(|end| Some(end) != *clients) || is_rate_ramp(*arrivals)
            }
            Self::Ladder { .. } | Self::Ramp(_) => false,
        }
    }

    /// The most clients that are named; `None` where that is open.
    pub(crate) fn clients_named(&self) -> Option<u32> {
        match self {
            Self::Ladder { rungs: Rungs::Listed(rungs), .. } => rungs.last().copied(),
            Self::Ladder { rungs: Rungs::Automatic { .. }, .. } => None,
            Self::Ramp(ramp) => match ramp.steps.of {
                // Whole and within the bound, as steps of clients are.
                Quantity::Clients => ramp.steps.end.map(|end| end as u32),
                Quantity::RatePerS => ramp.clients,
            },
            Self::Single { clients, clients_end, .. } => (*clients).max(*clients_end),
        }
    }
}

pub(super) fn resolve(scenario: &Scenario) -> Result<Load, Failure> {
    if let Some(steps) = scenario.ramp {
        return ramp(scenario, steps).map(Load::Ramp);
    }
    let single = scenario.duration.is_some()
        || scenario.transactions.is_some()
        || scenario.rate.is_some()
        || matches!(scenario.clients, Some(Clients::Ramp { .. }));
    if single { one_stage(scenario) } else { ladder(scenario) }
}

fn ramp(scenario: &Scenario, steps: Steps) -> Result<Ramp, Failure> {
    let default = Duration::from_secs(if scenario.quick { 2 } else { 10 });
    let clients = match &scenario.clients {
        None => None,
        Some(Clients::Ladder(rungs)) if rungs.len() == 1 => rungs.first().copied(),
        Some(_) => {
            let what = "a ramp of the rate takes one number of clients";
            return Err(Failure::Absurd { what: what.to_owned() });
        }
    };
    Ok(Ramp {
        steps,
        step: duration(scenario.step, "--step")?.unwrap_or(default),
        hold: duration(scenario.hold, "--hold")?,
        to_the_end: scenario.to_the_end,
        think_time: think_time(scenario),
        clients,
        distribution: distribution(scenario.arrivals),
    })
}

fn ladder(scenario: &Scenario) -> Result<Load, Failure> {
    let ms = |short, long| Duration::from_millis(if scenario.quick { short } else { long });
    Ok(Load::Ladder {
        rungs: match &scenario.clients {
            Some(Clients::Ladder(rungs)) => Rungs::Listed(rungs.clone()),
            _ => Rungs::Automatic { factor: if scenario.quick { 4 } else { 2 }, max: AUTOMATIC_CLIENTS_MAX },
        },
        step: duration(scenario.step, "--step")?.unwrap_or(ms(1500, 5000)),
        hold: duration(scenario.hold, "--hold")?.unwrap_or(ms(3000, 20_000)),
        think_time: think_time(scenario),
    })
}

fn one_stage(scenario: &Scenario) -> Result<Load, Failure> {
    let absurd = |what: &str| Err(Failure::Absurd { what: what.to_owned() });
    if scenario.step.is_some() || scenario.hold.is_some() {
        return absurd(
            "--step and --hold belong to a ladder or a --ramp in steps, and --duration, --transactions, --rate and \
             --clients 1..200 make a single stage: name the one or the other",
        );
    }
    let (clients, clients_end) = match &scenario.clients {
        None => (None, None),
        Some(Clients::Ramp { start, end }) => (Some(*start), Some(*end)),
        Some(Clients::Ladder(rungs)) => match rungs[..] {
            [clients] => (Some(clients), None),
            _ => {
                return absurd(
                    "a single stage (--duration, --transactions or --rate) takes one number of clients, or a ramp such \
                     as 1..200; for a ladder leave these out and say --step and --hold",
                );
            }
        },
    };
    if scenario.transactions == Some(0) {
        return absurd("--transactions must be at least 1");
    }
    let duration = duration(scenario.duration, "--duration")?;
    let limit = match scenario.transactions {
        Some(count) => Limit::TransactionsPerClient(count),
        None => Limit::Duration(duration.unwrap_or(DURATION_DEFAULT)),
    };
    let arrivals = match scenario.rate {
        None => Arrivals::Closed { think_time: think_time(scenario) },
        Some(Rate { start_per_s, end_per_s }) => Arrivals::Open {
            rate_per_s: start_per_s,
            rate_end_per_s: end_per_s,
            distribution: distribution(scenario.arrivals),
        },
    };
    Ok(Load::Single { clients, clients_end, arrivals, limit })
}

/// Whether the rate changes while a stage runs.
pub(crate) fn is_rate_ramp(arrivals: Arrivals) -> bool {
    matches!(arrivals, Arrivals::Open { rate_per_s, rate_end_per_s, .. } if rate_per_s.to_bits() != rate_end_per_s.to_bits())
}

fn duration(named: Option<Time>, option: &str) -> Result<Option<Duration>, Failure> {
    match named {
        Some(time) if time.0 < Duration::from_millis(100) => {
            Err(Failure::Absurd { what: format!("{option} must be at least 100ms") })
        }
        named => Ok(named.map(|time| time.0)),
    }
}

fn think_time(scenario: &Scenario) -> Duration {
    scenario.think_time.map_or(Duration::ZERO, |time| time.0)
}

fn distribution(kind: Option<ArrivalKind>) -> Distribution {
    match kind {
        Some(ArrivalKind::Constant) => Distribution::Constant,
        Some(ArrivalKind::Poisson) | None => Distribution::Poisson,
    }
}
