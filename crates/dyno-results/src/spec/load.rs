//! How much load, and how it changes: as it is typed, and the course that this stands for.

use std::time::Duration;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Clients, Quantity, Rate, Steps, Time};

/// Duration of an open or ramped stage where none is named.
const DURATION_DEFAULT: Duration = Duration::from_secs(30);
/// Shortest stage.
const DURATION_MIN: Duration = Duration::from_millis(100);
/// Most clients of the ladder that dyno chooses by itself.
const AUTOMATIC_CLIENTS_MAX: u32 = 1024;

/// Distribution of the time between arrivals of an open load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    Poisson,
    Constant,
}

/// How much load, and how it changes. What cannot hold at once is refused by [`LoadSpec::course`].
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Load")]
pub struct LoadSpec {
    /// Clients: a ladder 1,2,4,8, one number, a ramp 1..200, or auto for a ladder until throughput has clearly
    /// passed its peak [default: auto; with --rate 64; with --duration or --transactions 4 for each processor]
    #[arg(long, short = 'c', value_name = "LIST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Clients>,

    /// Load that rises in steps until the target is saturated or the limit is reached: clients 1..200, 1..200+10,
    /// 1..1024x2 or 1.., or a rate 100/s..5000/s+100
    #[arg(long, value_name = "STEPS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Steps>,

    /// Continue a ramp to its limit, even after the target is saturated
    #[arg(long)]
    #[serde(skip_serializing_if = "crate::defaults::is_default")]
    pub to_the_end: bool,

    /// Duration of each rung of a ladder [default: 5s], or of each step of a ramp [default: 10s]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Time>,

    /// Duration of the hold at the peak [default: 20s]; after a ramp there is a hold only if this is given
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Time>,

    /// One stage of this duration instead of a ladder and a hold [default with --rate or a ramp: 30s]
    #[arg(long, short = 'T', value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,

    /// One stage in which each client does this many transactions
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,

    /// Open loop: transactions arrive at this rate however fast the server is, for a pool of clients (--clients, 64 by
    /// default); 100..5000/s is a ramp
    #[arg(long, short = 'R', value_name = "RATE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Times between arrivals of an open loop [default: poisson]
    #[arg(long, value_name = "KIND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Distribution>,

    /// Pause of each client between transactions of a closed loop [default: none]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Time>,
}

/// The stages of a stream behind its warm-up.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// A ladder over clients, then a hold at its peak.
    Ladder { rungs: Rungs, step: Duration, hold: Duration, think_time: Duration },
    /// Load that goes up in steps.
    Ramp(Ramp),
    /// One stage; `clients` is `None` where their number depends on the target.
    Fixed { clients: Option<u32>, clients_end: Option<u32>, arrivals: Arrivals, end: End },
}

/// The client counts of a ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rungs {
    /// 1, then times `factor` each, until the peak is passed.
    Automatic { factor: u32, max: u32 },
    /// All of these.
    Listed(Vec<u32>),
}

/// A ramp in steps, of clients or of the rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    pub steps: Steps,
    pub step: Duration,
    /// `None` for no hold behind it.
    pub hold: Option<Duration>,
    /// Goes on to the bound although the target has given way.
    pub to_the_end: bool,
    /// Of a ramp of clients.
    pub think_time: Duration,
    /// Of a ramp of the rate: how many do the work, and when it arrives.
    pub clients: Option<u32>,
    pub distribution: Distribution,
}

/// When transactions begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// A client begins its next transaction when the last one was answered, after the think time.
    Closed { think_time: Duration },
    /// Transactions are due at absolute times; the rate runs in a straight line from `rate_per_s` to
    /// `rate_end_per_s` where the stage has a duration.
    Open { rate_per_s: f64, rate_end_per_s: f64, distribution: Distribution },
}

/// When a stage is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    Duration(Duration),
    /// Each client does this many transactions.
    TransactionsPerClient(u64),
    /// When the loads that run at the same time and have an end of their own are over.
    WithOthers,
}

impl Arrivals {
    /// Whether the rate changes while a stage runs.
    pub fn is_ramp(self) -> bool {
        matches!(self, Self::Open { rate_per_s, rate_end_per_s, .. } if rate_per_s.to_bits() != rate_end_per_s.to_bits())
    }
}

impl LoadSpec {
    /// What this says goes before what `other` says. What excludes each other is one choice, and that of this one sets the
    /// other's aside: a duration or a count of transactions, a ramp or a number of clients; and a rate sets a think time aside.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let (timed, counted) = (self.duration.is_some(), self.transactions.is_some());
        let clients = self.clients.is_some();
        // A ramp says itself how much load there is, and for how long.
        let ramped = self.ramp.is_some();
        let ramp_of = self.ramp.map(|ramp| ramp.of);
        let open = self.rate.is_some() || ramp_of == Some(Quantity::RatePerS);
        let single = timed || counted || self.rate.is_some();
        // The clients of a ramp of the rate are those who do the work.
        let ramp = other.ramp.filter(|ramp| !(single || (clients && ramp.of == Quantity::Clients)));
        Self {
            clients: self.clients.or(other.clients.filter(|_| !ramped)),
            ramp: self.ramp.or(ramp),
            to_the_end: self.to_the_end || (other.to_the_end && (ramped || ramp.is_some())),
            step: self.step.or(other.step.filter(|_| !single)),
            hold: self.hold.or(other.hold.filter(|_| !single)),
            duration: self.duration.or(other.duration.filter(|_| !counted && !ramped)),
            transactions: self.transactions.or(other.transactions.filter(|_| !timed && !ramped)),
            rate: self.rate.or(other.rate.filter(|_| !ramped)),
            arrivals: self.arrivals.or(other.arrivals.filter(|_| ramp_of != Some(Quantity::Clients))),
            think_time: self.think_time.or(other.think_time.filter(|_| !open)),
        }
    }

    /// The same with what is left open decided, as far as that does not depend on the target; `quick` shortens what is not said.
    /// `beside` others at the same time, a load without an end of its own lasts as long as they do. Resolved again, it is the same.
    ///
    /// # Errors
    /// What cannot hold at once, with what would.
    pub fn resolved(&self, quick: bool, beside: bool) -> Result<Self, String> {
        self.refuse_contradictions()?;
        let usual = |short, long| Some(Time(Duration::from_millis(if quick { short } else { long })));
        let mut load = self.clone();
        load.think_time = load.think_time.filter(|time| !time.0.is_zero());
        if self.is_open() {
            load.arrivals.get_or_insert(Distribution::Poisson);
        }
        if self.ramp.is_some() {
            load.step = load.step.or(usual(2000, 10_000));
        } else if self.is_single() || (beside && self.is_steady()) {
            let changes =
                matches!(self.clients, Some(Clients::Ramp { .. })) || self.rate.is_some_and(Rate::is_ramp);
            if self.transactions.is_none() && (!beside || changes) {
                load.duration.get_or_insert(Time(DURATION_DEFAULT));
            }
        } else {
            load.clients.get_or_insert(Clients::Auto);
            load.step = load.step.or(usual(1500, 5000));
            load.hold = load.hold.or(usual(3000, 20_000));
        }
        Ok(load)
    }

    /// The course that this stands for, once it is [resolved](Self::resolved).
    ///
    /// # Errors
    /// What cannot hold at once, with what would.
    pub fn course(&self, quick: bool, beside: bool) -> Result<Course, String> {
        let load = self.resolved(quick, beside)?;
        match load.ramp {
            Some(steps) => load.ramp(steps).map(Course::Ramp),
            None if load.is_single() || load.step.is_none() => load.fixed(),
            None => load.ladder(quick),
        }
    }

    /// One client that does so many transactions.
    pub fn of_one_client(transactions: u64) -> Self {
        let clients = Some(Clients::Ladder(vec![1]));
        Self { clients, transactions: Some(transactions), ..Self::default() }
    }

    /// The load of stages that are passes of so many transactions, unless this says otherwise: each for one client.
    #[must_use]
    pub fn of_passes(self, pass: u64) -> Self {
        if self.duration.is_some()
            || self.transactions.is_some()
            || self.rate.is_some()
            || self.ramp.is_some()
        {
            return self;
        }
        let clients = self.clients.or(Some(Clients::Ladder(vec![1])));
        Self { clients, transactions: Some(pass), ..self }
    }

    /// The same without what says how it changes and when it ends.
    #[must_use]
    pub fn without_course(self) -> Self {
        Self {
            clients: self
                .clients
                .filter(|clients| matches!(clients, Clients::Ladder(rungs) if rungs.len() == 1)),
            rate: self.rate.filter(|rate| !rate.is_ramp()),
            arrivals: self.arrivals,
            think_time: self.think_time,
            ..Self::default()
        }
    }

    /// Whether it is one number of clients, neither stepped up to nor held.
    pub fn is_steady(&self) -> bool {
        let one = matches!(&self.clients, Some(Clients::Ladder(rungs)) if rungs.len() == 1);
        one && self.step.is_none() && self.hold.is_none()
    }

    /// Whether it is one stage by what it says itself.
    fn is_single(&self) -> bool {
        self.duration.is_some()
            || self.transactions.is_some()
            || self.rate.is_some()
            || matches!(self.clients, Some(Clients::Ramp { .. }))
    }

    /// Whether its rate says when transactions begin.
    pub fn is_open(&self) -> bool {
        self.rate.is_some() || self.ramp.is_some_and(|ramp| ramp.of == Quantity::RatePerS)
    }

    /// Whether it lasts as long as the loads beside it, once it is resolved.
    pub fn ends_with_others(&self) -> bool {
        self.ramp.is_none() && self.step.is_none() && self.duration.is_none() && self.transactions.is_none()
    }

    /// Gives one that would end with others an end of its own.
    pub fn end_by_itself(&mut self) {
        if self.ends_with_others() {
            self.duration = Some(Time(DURATION_DEFAULT));
        }
    }

    /// Refuses what does not go together, and says what would.
    fn refuse_contradictions(&self) -> Result<(), String> {
        let ramps = matches!(self.clients, Some(Clients::Ramp { start, end }) if start != end)
            || self.rate.is_some_and(Rate::is_ramp);
        let (counted, open) = (self.transactions.is_some(), self.rate.is_some());
        let ramp_of = self.ramp.map(|ramp| ramp.of);
        let contradictions = [
            (
                counted && self.duration.is_some(),
                "--duration or --transactions ends a stage: name only one of them",
            ),
            (counted && ramps, "a ramp takes its time: name its --duration instead of --transactions"),
            (
                (open || ramp_of == Some(Quantity::RatePerS)) && self.think_time.is_some(),
                "a rate says when transactions are due, so clients do not pause between them: leave out --think-time",
            ),
            (
                !open && ramp_of != Some(Quantity::RatePerS) && self.arrivals.is_some(),
                "--arrivals is about an open loop: name its --rate too",
            ),
            (
                ramp_of.is_some() && open,
                "--ramp says itself how much load there is at each step: leave out --rate, or write the ramp of a rate as \
                 --ramp 100/s..5000/s",
            ),
            (
                ramp_of == Some(Quantity::Clients) && self.clients.is_some(),
                "--ramp says itself how many clients there are at each step: leave out --clients",
            ),
            (
                ramp_of.is_some() && (counted || self.duration.is_some()),
                "each step of a ramp takes its time: name that with --step instead of --duration or --transactions",
            ),
            (ramp_of.is_none() && self.to_the_end, "--to-the-end is about a ramp: name the --ramp too"),
        ];
        match contradictions.into_iter().find(|(holds, _)| *holds) {
            Some((_, what)) => Err(what.to_owned()),
            None => Ok(()),
        }
    }

    fn ramp(&self, steps: Steps) -> Result<Ramp, String> {
        let clients = match &self.clients {
            None => None,
            Some(Clients::Ladder(rungs)) if rungs.len() == 1 => rungs.first().copied(),
            Some(_) => return Err("a ramp of the rate takes one number of clients".to_owned()),
        };
        Ok(Ramp {
            steps,
            step: long_enough(self.step, "--step")?.unwrap_or_default(),
            hold: long_enough(self.hold, "--hold")?,
            to_the_end: self.to_the_end,
            think_time: self.think_time(),
            clients,
            distribution: self.distribution(),
        })
    }

    fn ladder(&self, quick: bool) -> Result<Course, String> {
        Ok(Course::Ladder {
            rungs: match &self.clients {
                Some(Clients::Ladder(rungs)) => Rungs::Listed(rungs.clone()),
                _ => Rungs::Automatic { factor: if quick { 4 } else { 2 }, max: AUTOMATIC_CLIENTS_MAX },
            },
            step: long_enough(self.step, "--step")?.unwrap_or_default(),
            hold: long_enough(self.hold, "--hold")?.unwrap_or_default(),
            think_time: self.think_time(),
        })
    }

    fn fixed(&self) -> Result<Course, String> {
        if self.step.is_some() || self.hold.is_some() {
            return Err(
                "--step and --hold belong to a ladder or a --ramp in steps, and --duration, --transactions, \
                        --rate and --clients 1..200 make a single stage: name the one or the other"
                    .to_owned(),
            );
        }
        let (clients, clients_end) = match &self.clients {
            None => (None, None),
            Some(Clients::Ramp { start, end }) => (Some(*start), Some(*end)),
            Some(Clients::Ladder(rungs)) if rungs.len() == 1 => (rungs.first().copied(), None),
            Some(Clients::Ladder(_) | Clients::Auto) => {
                return Err("a single stage (--duration, --transactions or --rate) takes one number of clients, or a \
                            ramp such as 1..200; for a ladder leave these out and say --step and --hold"
                    .to_owned());
            }
        };
        if self.transactions == Some(0) {
            return Err("--transactions must be at least 1".to_owned());
        }
        let duration = long_enough(self.duration, "--duration")?;
        let end = match (self.transactions, duration) {
            (Some(count), _) => End::TransactionsPerClient(count),
            (None, Some(duration)) => End::Duration(duration),
            (None, None) => End::WithOthers,
        };
        let arrivals = match self.rate {
            None => Arrivals::Closed { think_time: self.think_time() },
            Some(Rate { start_per_s, end_per_s }) => Arrivals::Open {
                rate_per_s: start_per_s,
                rate_end_per_s: end_per_s,
                distribution: self.distribution(),
            },
        };
        Ok(Course::Fixed { clients, clients_end, arrivals, end })
    }

    fn think_time(&self) -> Duration {
        self.think_time.map_or(Duration::ZERO, |time| time.0)
    }

    fn distribution(&self) -> Distribution {
        self.arrivals.unwrap_or(Distribution::Poisson)
    }
}

impl Course {
    /// Whether clients or rate change while its one stage runs.
    pub fn changes_in_its_stage(&self) -> bool {
        match self {
            Self::Fixed { clients, clients_end, arrivals, .. } => {
                clients_end.is_some_and(|end| Some(end) != *clients) || arrivals.is_ramp()
            }
            Self::Ladder { .. } | Self::Ramp(_) => false,
        }
    }

    /// Whether there is a stage of steady load from which the headline comes.
    pub fn has_hold(&self) -> bool {
        match self {
            Self::Ladder { .. } | Self::Fixed { .. } => true,
            Self::Ramp(ramp) => ramp.hold.is_some(),
        }
    }

    /// The most clients that are named; `None` where that is open.
    pub fn clients_named(&self) -> Option<u32> {
        match self {
            Self::Ladder { rungs: Rungs::Listed(rungs), .. } => rungs.last().copied(),
            Self::Ladder { rungs: Rungs::Automatic { .. }, .. } => None,
            Self::Ramp(ramp) => match ramp.steps.of {
                // Whole and within the bound, as steps of clients are.
                Quantity::Clients => ramp.steps.end.map(|end| end as u32),
                Quantity::RatePerS => ramp.clients,
            },
            Self::Fixed { clients, clients_end, .. } => (*clients).max(*clients_end),
        }
    }

    /// Whether it lasts as long as the loads beside it.
    pub fn ends_with_others(&self) -> bool {
        matches!(self, Self::Fixed { end: End::WithOthers, .. })
    }

    /// Whether its rate says when transactions begin.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Ladder { .. } => false,
            Self::Ramp(ramp) => ramp.steps.of == Quantity::RatePerS,
            Self::Fixed { arrivals, .. } => matches!(arrivals, Arrivals::Open { .. }),
        }
    }
}

fn long_enough(named: Option<Time>, option: &str) -> Result<Option<Duration>, String> {
    match named {
        Some(time) if time.0 < DURATION_MIN => Err(format!("{option} must be at least 100ms")),
        named => Ok(named.map(|time| time.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> LoadSpec {
        let fields = text.split(' ').filter(|field| !field.is_empty()).map(|field| {
            let (name, value) = field.split_once('=').unwrap();
            let number = || value.parse::<u64>().ok().filter(|_| name == "transactions").map(Into::into);
            let value: serde_json::Value =
                if value == "true" { true.into() } else { number().unwrap_or_else(|| value.into()) };
            (name.to_owned(), value)
        });
        serde_json::from_value(serde_json::Value::Object(fields.collect())).unwrap()
    }

    #[test]
    fn a_load_that_was_resolved_is_the_same_when_it_is_read_again() {
        for text in [
            "",
            "clients=1,2,4 step=30s think-time=50ms",
            "clients=8 duration=5s",
            "clients=1..200",
            "transactions=100",
            "rate=100..5000/s arrivals=constant clients=7",
            "ramp=1..200+10 hold=1m to-the-end=true",
            "ramp=100/s..5000/s clients=32",
        ] {
            for (quick, beside) in [(false, false), (true, false), (false, true), (true, true)] {
                let resolved = load(text).resolved(quick, beside).unwrap();
                assert_eq!(resolved.resolved(quick, beside).as_ref(), Ok(&resolved), "{text}");
                let course = load(text).course(quick, beside).unwrap();
                assert_eq!(resolved.course(quick, beside).as_ref(), Ok(&course), "{text}");
                assert_eq!(resolved.ends_with_others(), course.ends_with_others(), "{text}");
                assert_eq!(resolved.is_open(), course.is_open(), "{text}");
                let read = serde_json::from_value(serde_json::to_value(&resolved).unwrap()).unwrap();
                assert_eq!(resolved, read, "{text}");
            }
        }
    }

    #[test]
    fn what_is_left_open_is_decided() {
        for (text, quick, beside, resolved) in [
            ("", false, false, "clients=auto step=5s hold=20s"),
            ("think-time=0s", true, false, "clients=auto step=1500ms hold=3s"),
            ("clients=8", false, true, "clients=8"),
            ("clients=1..8", false, true, "clients=1..8 duration=30s"),
            ("rate=5/s", false, false, "rate=5/s arrivals=poisson duration=30s"),
            ("rate=5/s", false, true, "rate=5/s arrivals=poisson"),
            ("transactions=5", false, true, "transactions=5"),
            ("ramp=1/s..9/s", true, true, "ramp=1/s..9/s arrivals=poisson step=2s"),
        ] {
            assert_eq!(load(text).resolved(quick, beside), Ok(load(resolved)), "{text}");
        }
        let mut accompanies = load("clients=8").resolved(false, true).unwrap();
        accompanies.end_by_itself();
        assert_eq!(accompanies, load("clients=8 duration=30s"));
    }

    #[test]
    fn a_choice_sets_the_other_aside() {
        for (first, second, both) in [
            ("duration=5s", "transactions=5", "duration=5s"),
            ("rate=5/s", "think-time=1s", "rate=5/s"),
            ("ramp=1..9", "clients=4 rate=5/s", "ramp=1..9"),
            ("clients=8", "ramp=1..9 to-the-end=true", "clients=8"),
            ("clients=8", "ramp=1/s..9/s to-the-end=true", "clients=8 ramp=1/s..9/s to-the-end=true"),
            ("clients=8", "rate=5/s duration=1m", "clients=8 rate=5/s duration=1m"),
            ("", "clients=1,2 step=9s", "clients=1,2 step=9s"),
        ] {
            assert_eq!(load(first).or(load(second)), load(both), "{first} or {second}");
        }
    }

    #[test]
    fn what_cannot_hold_at_once_is_refused() {
        for (text, why) in [
            ("duration=5s transactions=5", "name only one"),
            ("transactions=5 clients=1..9", "a ramp takes its time"),
            ("rate=5/s think-time=1s", "leave out --think-time"),
            ("arrivals=poisson", "name its --rate"),
            ("ramp=1..9 clients=4", "leave out --clients"),
            ("ramp=1..9 duration=4s", "--step instead"),
            ("to-the-end=true", "name the --ramp"),
            ("duration=5s step=4s", "belong to a ladder"),
            ("rate=5/s clients=1,2", "one number of clients"),
            ("duration=5s clients=auto", "one number of clients"),
            ("step=0.05", "at least 100ms"),
        ] {
            let refused = load(text).course(false, false).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
