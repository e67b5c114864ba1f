//! What the user said, resolved into what will be done: every field has a value, or the rule by which the
//! campaign finds it once it knows the target.

use std::path::PathBuf;
use std::time::Duration;

use dyno_engine::plan::{Arrivals, Limit};
use dyno_engine::request::Protocol;
use dyno_results::event::Distribution;
use dyno_target::embedded::{Profile, ServerSpec};
use dyno_target::{Environment, Target};
use dyno_workload::benchmark::{Benchmark, SysbenchBenchmark, SysbenchWishes, TpcbBenchmark};
use dyno_workload::registry::{self, Selection};
use serde_json::json;

use crate::failure::Failure;
use crate::scenario::{ArrivalKind, Prepare, ProtocolName, Scenario, SysbenchFields};
use crate::units::{Clients, Rate};

/// Duration of an open or ramped stage where none is named.
const DURATION_DEFAULT: Duration = Duration::from_secs(30);
/// Tries for a transaction where none are named.
const TRIES_DEFAULT: u32 = 10;
/// Most clients of the ladder that dyno chooses by itself.
const AUTOMATIC_CLIENTS_MAX: u32 = 1024;

/// A resolved campaign.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) place: Place,
    pub(crate) benchmark: Box<dyn Benchmark>,
    scale: Option<u64>,
    /// What the user says of sysbench's tests, as it is stored.
    sysbench: serde_json::Value,
    pub(crate) prepare: Prepare,
    pub(crate) verify: bool,
    pub(crate) quick: bool,
    pub(crate) protocol: Protocol,
    pub(crate) threads: Option<u32>,
    pub(crate) tries_max: u32,
    pub(crate) realtime: bool,
    pub(crate) seed: u64,
    pub(crate) warm_up: Duration,
    pub(crate) load: Load,
}

/// Which database.
#[derive(Debug)]
pub(crate) enum Place {
    Embedded { server: Option<ServerSpec>, profile: Profile, directory: Option<PathBuf> },
    Named(Box<Target>),
}

impl Place {
    fn is_mysql(&self) -> bool {
        matches!(self, Self::Named(target) if target.is_mysql())
    }
}

/// The stages of each series, after the warm-up.
#[derive(Debug)]
pub(crate) enum Load {
    /// A ladder over clients, then a hold at its peak.
    Ladder { rungs: Rungs, step: Duration, hold: Duration, think_time: Duration },
    /// One stage.
    Single { clients: Option<u32>, clients_end: Option<u32>, arrivals: Arrivals, limit: Limit },
}

/// The client counts of a ladder.
#[derive(Debug)]
pub(crate) enum Rungs {
    /// 1, then times `factor` each, until the peak is clearly passed.
    Automatic { factor: u32, max: u32 },
    /// All of these.
    Listed(Vec<u32>),
}

impl Plan {
    /// Decides what the scenario leaves open. `seed` is used where it names none.
    pub(crate) fn resolve(scenario: &Scenario, seed: u64) -> Result<Self, Failure> {
        refuse_contradictions(scenario)?;
        let quick = scenario.quick;
        let place = place(scenario)?;
        if place.is_mysql() && scenario.protocol == Some(ProtocolName::Extended) {
            return Err(Failure::Absurd {
                what: "--protocol extended is PostgreSQL's; on MySQL statements travel simple or prepared"
                    .to_owned(),
            });
        }
        Ok(Self {
            benchmark: benchmark(scenario, place.is_mysql())?,
            place,
            sysbench: said(&scenario.sysbench),
            scale: scenario.scale,
            prepare: scenario.prepare.unwrap_or(Prepare::Auto),
            verify: !scenario.no_verify,
            quick,
            protocol: match scenario.protocol {
                Some(ProtocolName::Simple) => Protocol::Simple,
                Some(ProtocolName::Extended) => Protocol::Extended,
                Some(ProtocolName::Prepared) | None => Protocol::Prepared,
            },
            threads: threads(scenario.threads)?,
            tries_max: tries(scenario.max_tries)?,
            realtime: scenario.realtime,
            // SQLite and many JSON readers know no unsigned 64-bit numbers.
            seed: scenario.seed.unwrap_or(seed) & (i64::MAX as u64),
            warm_up: scenario.warm_up.map_or(Duration::from_secs(if quick { 1 } else { 5 }), |time| time.0),
            load: load(scenario)?,
        })
    }

    /// Whether the target is reached by MySQL's protocol.
    pub(crate) fn is_mysql(&self) -> bool {
        self.place.is_mysql()
    }

    /// The most clients that the plan names; `None` where it leaves the number open.
    pub(crate) fn clients_named(&self) -> Option<u32> {
        match &self.load {
            Load::Ladder { rungs: Rungs::Listed(rungs), .. } => rungs.last().copied(),
            Load::Ladder { rungs: Rungs::Automatic { .. }, .. } => None,
            Load::Single { clients, clients_end, .. } => (*clients).max(*clients_end),
        }
    }

    /// The plan as it is stored with the run. The target's URL is stored by itself, without its password.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        let load = match &self.load {
            Load::Ladder { rungs, step, hold, think_time } => json!({
                "rungs": match rungs {
                    Rungs::Automatic { factor, max } => json!({"automatic": true, "factor": factor, "max": max}),
                    Rungs::Listed(rungs) => json!(rungs),
                },
                "step_s": step.as_secs_f64(),
                "hold_s": hold.as_secs_f64(),
                "think_time_s": think_time.as_secs_f64(),
            }),
            Load::Single { clients, clients_end, arrivals, limit } => json!({
                "clients": clients,
                "clients_end": clients_end,
                "arrivals": match arrivals {
                    Arrivals::Closed { think_time } => json!({"think_time_s": think_time.as_secs_f64()}),
                    Arrivals::Open { rate_per_s, rate_end_per_s, distribution } => json!({
                        "rate_per_s": rate_per_s,
                        "rate_end_per_s": rate_end_per_s,
                        "distribution": distribution,
                    }),
                },
                "limit": match limit {
                    Limit::Duration(duration) => json!({"seconds": duration.as_secs_f64()}),
                    Limit::TransactionsPerClient(count) => json!({"transactions_per_client": count}),
                },
            }),
        };
        json!({
            "workloads": self.benchmark.series().iter().map(|series| series.workload).collect::<Vec<_>>(),
            "scale": self.scale,
            "sysbench": self.sysbench,
            "prepare": self.prepare,
            "verify": self.verify,
            "quick": self.quick,
            "protocol": self.protocol.name(),
            "threads": self.threads,
            "max_tries": self.tries_max,
            "realtime": self.realtime,
            "seed": self.seed,
            "warm_up_s": self.warm_up.as_secs_f64(),
            "load": load,
        })
    }
}

/// Refuses what cannot hold at once. Looked at here and not while reading the command line: either half may come
/// from a scenario.
fn refuse_contradictions(scenario: &Scenario) -> Result<(), Failure> {
    let ramps = matches!(scenario.clients, Some(Clients::Ramp { start, end }) if start != end)
        || scenario.rate.is_some_and(Rate::is_ramp);
    let (counted, open) = (scenario.transactions.is_some(), scenario.rate.is_some());
    let contradictions = [
        (
            scenario.target.is_some() && scenario.names_embedded(),
            "--server, --profile and --data-dir are for a server that dyno starts, and --target names one that runs: \
             leave out the one or the other",
        ),
        (
            counted && scenario.duration.is_some(),
            "--duration or --transactions ends a stage: name only one of them",
        ),
        (counted && ramps, "a ramp takes its time: name its --duration instead of --transactions"),
        (
            open && scenario.think_time.is_some(),
            "--rate says when transactions are due, so clients do not pause between them: leave out --think-time",
        ),
        (!open && scenario.arrivals.is_some(), "--arrivals is about an open loop: name its --rate too"),
    ];
    match contradictions.into_iter().find(|(holds, _)| *holds) {
        Some((_, what)) => Err(Failure::Absurd { what: what.to_owned() }),
        None => Ok(()),
    }
}

/// The workloads with what the scenario says of their data; on MySQL those that run there, where none are named.
fn benchmark(scenario: &Scenario, mysql: bool) -> Result<Box<dyn Benchmark>, Failure> {
    let named = scenario.workload.as_deref().unwrap_or(if mysql { "sysbench" } else { "tpcb" });
    let absurd = |what: &str| Err(Failure::Absurd { what: what.to_owned() });
    match registry::find(named)? {
        Selection::TpcB(_) if mysql => Err(Failure::NotOnMysql { workload: named.to_owned() }),
        Selection::TpcB(_) if scenario.sysbench.says_anything() => {
            absurd("--tables, --table-size and their like are for sysbench's tests; tpcb takes a --scale")
        }
        Selection::TpcB(scripts) => Ok(Box::new(TpcbBenchmark::new(scripts, scenario.scale)?)),
        Selection::Sysbench(_) if scenario.scale.is_some() => {
            absurd("--scale is for tpcb; sysbench's tests take --tables and --table-size")
        }
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
    }
}

/// The fields of sysbench that are set.
fn said(fields: &SysbenchFields) -> serde_json::Value {
    match serde_json::to_value(fields) {
        Ok(serde_json::Value::Object(mut map)) => {
            map.retain(|_, value| !value.is_null());
            serde_json::Value::Object(map)
        }
        _ => serde_json::Value::Null,
    }
}

fn place(scenario: &Scenario) -> Result<Place, Failure> {
    if let Some(target) = &scenario.target {
        let target = Target::parse(target, &Environment::of_process())?;
        if target.is_mysql() && target.database().is_empty() {
            return Err(Failure::NoDatabase { url: target.url() });
        }
        return Ok(Place::Named(Box::new(target)));
    }
    Ok(Place::Embedded {
        server: scenario.server.as_deref().map(str::parse).transpose()?,
        profile: scenario.profile.as_deref().map(str::parse).transpose()?.unwrap_or(Profile::Production),
        directory: scenario.data_dir.clone(),
    })
}

fn tries(tries: Option<u32>) -> Result<u32, Failure> {
    match tries {
        Some(0) => Err(Failure::Absurd { what: "--max-tries must be at least 1".to_owned() }),
        tries => Ok(tries.unwrap_or(TRIES_DEFAULT)),
    }
}

fn threads(threads: Option<u32>) -> Result<Option<u32>, Failure> {
    match threads {
        Some(0 | 1025..) => Err(Failure::Absurd { what: "--threads takes 1 to 1024".to_owned() }),
        threads => Ok(threads),
    }
}

fn load(scenario: &Scenario) -> Result<Load, Failure> {
    let think_time = scenario.think_time.map_or(Duration::ZERO, |time| time.0);
    let named = |duration: Option<crate::units::Time>, what: &str| match duration {
        Some(time) if time.0 < Duration::from_millis(100) => {
            Err(Failure::Absurd { what: format!("{what} must be at least 100ms") })
        }
        duration => Ok(duration.map(|time| time.0)),
    };
    let duration = named(scenario.duration, "--duration")?;
    let single = duration.is_some()
        || scenario.transactions.is_some()
        || scenario.rate.is_some()
        || matches!(scenario.clients, Some(Clients::Ramp { .. }));
    if !single {
        let ms = |short, long| Duration::from_millis(if scenario.quick { short } else { long });
        return Ok(Load::Ladder {
            rungs: match &scenario.clients {
                Some(Clients::Ladder(rungs)) => Rungs::Listed(rungs.clone()),
                _ => Rungs::Automatic {
                    factor: if scenario.quick { 4 } else { 2 },
                    max: AUTOMATIC_CLIENTS_MAX,
                },
            },
            step: named(scenario.step, "--step")?.unwrap_or(ms(1500, 5000)),
            hold: named(scenario.hold, "--hold")?.unwrap_or(ms(3000, 20_000)),
            think_time,
        });
    }
    if scenario.step.is_some() || scenario.hold.is_some() {
        return Err(Failure::Absurd {
            what:
                "--step and --hold belong to a ladder, and --duration, --transactions, --rate and a ramp of \
                   clients make a single stage: name the one or the other"
                    .to_owned(),
        });
    }
    let (clients, clients_end) = match &scenario.clients {
        None => (None, None),
        Some(Clients::Ramp { start, end }) => (Some(*start), Some(*end)),
        Some(Clients::Ladder(rungs)) => match rungs[..] {
            [clients] => (Some(clients), None),
            _ => {
                return Err(Failure::Absurd {
                    what: "a single stage (--duration, --transactions or --rate) takes one number of clients, or a \
                           ramp such as 1..200; for a ladder leave these out and say --step and --hold"
                        .to_owned(),
                });
            }
        },
    };
    if scenario.transactions == Some(0) {
        return Err(Failure::Absurd { what: "--transactions must be at least 1".to_owned() });
    }
    let limit = match scenario.transactions {
        Some(count) => Limit::TransactionsPerClient(count),
        None => Limit::Duration(duration.unwrap_or(DURATION_DEFAULT)),
    };
    let arrivals = arrivals(scenario.rate, scenario.arrivals, think_time);
    Ok(Load::Single { clients, clients_end, arrivals, limit })
}

fn arrivals(rate: Option<Rate>, kind: Option<ArrivalKind>, think_time: Duration) -> Arrivals {
    match rate {
        None => Arrivals::Closed { think_time },
        Some(Rate { start_per_s, end_per_s }) => Arrivals::Open {
            rate_per_s: start_per_s,
            rate_end_per_s: end_per_s,
            distribution: match kind {
                Some(ArrivalKind::Constant) => Distribution::Constant,
                Some(ArrivalKind::Poisson) | None => Distribution::Poisson,
            },
        },
    }
}
