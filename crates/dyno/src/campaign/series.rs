//! One series: the warm-up, the ladder and the hold at its peak (or the one stage that was asked for), and the
//! check of what the load left behind.

use std::time::Duration;

use dyno_engine::engine::Engine;
use dyno_engine::plan::{Arrivals, EngineConfig};
use dyno_results::event::StageKind;
use dyno_results::statistics::peak::{Decision, Rung, decide, peak};
use dyno_workload::benchmark::{BenchmarkError, Contention, Load as SeriesLoad};

use super::Context;
use super::admin::cancellable;
use super::rollers::Rollers;
use super::room::{self, Room, WARM_UP_CLIENTS_PER_CPU};
use super::stages::{StageLoad, StageSum, Stages, Subject};
use super::verification::Verification;
use crate::failure::Failure;
use crate::plan::{Load, Rungs};

/// Threads of the load that dyno chooses by itself, at most.
const THREADS_MAX: u32 = 16;
/// Clients for each processor up to which an automatic ladder climbs even where they wait for each other: a ladder
/// that ended lower would say little of the machine.
const CLIENTS_PER_CPU_MIN: u32 = 2;

/// Runs a series.
pub(super) fn run(
    context: &Context<'_>,
    rollers: &mut Rollers,
    stages: &mut Stages,
    load: &dyn SeriesLoad,
) -> Result<(), Failure> {
    let series = load.series();
    let workload = load.workload();
    let room = room::of_load(context, rollers, workload.as_ref())?;
    check_autocommit(context, rollers)?;
    reset(context, rollers, load)?;
    let verification = Verification::begin(context, rollers, load)?;
    let config = engine_config(context, rollers);
    let threads = config.threads;
    let engine = Engine::start(&rollers.endpoint, &workload, config)
        .map_err(|source| Failure::Engine { url: rollers.url.clone(), source: Box::new(source) })?;
    let mut run = SeriesRun {
        context,
        engine,
        stages,
        sums: Vec::new(),
        subject: Subject {
            series: series.name,
            workload: series.workload,
            types: workload.types(),
            url: &rollers.url,
            threads,
        },
        cpus: rollers.cpus,
        room,
        contention: load.contention(),
    };
    let loaded = run.load();
    // Ends the clients: what they left behind is looked at while nothing moves.
    let SeriesRun { sums, engine, .. } = run;
    drop(engine);
    let verified = verification.end(context, rollers, &sums);
    // A check that could not be made after a broken load is no news beside what broke it.
    loaded.and(verified)
}

/// A MySQL server may begin its sessions without autocommit: the load would be acknowledged, and lost.
fn check_autocommit(context: &Context<'_>, rollers: &mut Rollers) -> Result<(), Failure> {
    if !context.plan.is_mysql() {
        return Ok(());
    }
    // dyno's own connection has turned its own on, and other sessions begin as the server says.
    let begins_with: Result<Option<u8>, _> =
        rollers.reconnect_if_broken()?.query_value("SELECT @@GLOBAL.autocommit");
    match begins_with {
        Ok(Some(0)) => Err(Failure::NoAutocommit { url: rollers.url.clone() }),
        // A server that does not say begins as all do.
        _ => Ok(()),
    }
}

/// Brings the tables into the state in which a load begins.
fn reset(context: &Context<'_>, rollers: &mut Rollers, load: &dyn SeriesLoad) -> Result<(), Failure> {
    let url = rollers.url.clone();
    let named = rollers.embedded.is_none();
    let connection = rollers.reconnect_if_broken()?;
    cancellable(context, connection, |connection| {
        let mut tell = |text| context.stream.notice(context.target(), None, text);
        let tell: &mut dyn FnMut(String) = &mut tell;
        // In an embedded server there is nobody who could miss anything.
        load.reset(connection, named.then_some(tell)).map_err(|error| match error {
            BenchmarkError::Locked { table, seconds, source } => {
                Failure::Locked { table, url, seconds, source: Box::new(source) }
            }
            error => error.into(),
        })
    })
}

fn engine_config(context: &Context<'_>, rollers: &Rollers) -> EngineConfig {
    let plan = context.plan;
    // On a shared machine the server needs the processors more than the load does.
    let share = if rollers.same_host == Some(true) { rollers.cpus / 2 } else { rollers.cpus };
    let threads = plan.threads.unwrap_or(share.clamp(1, THREADS_MAX));
    EngineConfig {
        protocol: plan.protocol,
        tries_max: plan.tries_max,
        realtime: plan.realtime,
        seed: plan.seed,
        ..EngineConfig::new(threads)
    }
}

/// A series under way.
struct SeriesRun<'a> {
    context: &'a Context<'a>,
    engine: Engine,
    stages: &'a mut Stages,
    sums: Vec<StageSum>,
    subject: Subject<'a>,
    cpus: u32,
    room: Room,
    contention: Option<Contention>,
}

impl SeriesRun<'_> {
    fn load(&mut self) -> Result<(), Failure> {
        match &self.context.plan.load {
            Load::Ladder { rungs, step, hold, think_time } => {
                let arrivals = Arrivals::Closed { think_time: *think_time };
                self.warm_up(self.warm_up_clients(rungs), arrivals)?;
                let clients = match rungs {
                    Rungs::Listed(rungs) => self.climb_listed(rungs, arrivals, *step)?,
                    Rungs::Automatic { factor, max } => self.climb(*factor, *max, arrivals, *step)?,
                };
                self.stage(StageLoad::timed(StageKind::Hold, clients, arrivals, *hold))
            }
            Load::Single { clients, clients_end, arrivals, limit } => {
                let wanted = || room::clients_default(*arrivals, self.cpus).min(self.room.most()).max(1);
                let clients = clients.unwrap_or_else(wanted);
                let clients_end = clients_end.unwrap_or(clients);
                self.warm_up(clients, start_of(*arrivals))?;
                let ramps = clients_end != clients || is_rate_ramp(*arrivals);
                let kind = if ramps { StageKind::Ramp } else { StageKind::Hold };
                self.stage(StageLoad { kind, clients, clients_end, arrivals: *arrivals, limit: *limit })
            }
        }
    }

    fn stage(&mut self, load: StageLoad) -> Result<(), Failure> {
        self.stages.run(self.context, &mut self.engine, &self.subject, load, &mut self.sums)
    }

    fn warm_up(&mut self, clients: u32, arrivals: Arrivals) -> Result<(), Failure> {
        let duration = self.context.plan.warm_up;
        if duration.is_zero() {
            return Ok(());
        }
        self.stage(StageLoad::timed(StageKind::WarmUp, clients, arrivals, duration))
    }

    fn warm_up_clients(&self, rungs: &Rungs) -> u32 {
        let wanted = self.cpus.saturating_mul(WARM_UP_CLIENTS_PER_CPU);
        let most = match rungs {
            Rungs::Listed(rungs) => rungs.last().copied().unwrap_or(1),
            Rungs::Automatic { max, .. } => *max,
        };
        wanted.min(most).min(self.room.most()).max(1)
    }

    /// Runs every rung that was asked for; returns the clients at the peak.
    fn climb_listed(&mut self, rungs: &[u32], arrivals: Arrivals, step: Duration) -> Result<u32, Failure> {
        let mut measured = Vec::new();
        for clients in rungs {
            self.rung(*clients, arrivals, step, &mut measured)?;
        }
        Ok(clients_at_peak(&measured, rungs))
    }

    /// Runs rungs of more and more clients until throughput has clearly passed its peak.
    fn climb(&mut self, factor: u32, max: u32, arrivals: Arrivals, step: Duration) -> Result<u32, Failure> {
        let room = self.room.most().min(max).max(1);
        let least = self.cpus.saturating_mul(CLIENTS_PER_CPU_MIN);
        let uncontended = self.contention.map_or(u32::MAX, |contention| contention.clients.max(least));
        let top = room.min(uncontended);
        let (mut measured, mut clients) = (Vec::new(), 1);
        loop {
            self.rung(clients, arrivals, step, &mut measured)?;
            if matches!(decide(&measured), Decision::Stop(_)) {
                break;
            }
            if clients >= top {
                let why = match self.contention {
                    Some(contention) if top < room => contention.why,
                    _ => self.room.why,
                };
                let why = format!("the ladder ends at {clients} clients: {why}");
                self.context.stream.notice(self.context.target(), None, why);
                break;
            }
            clients = clients.saturating_mul(factor).min(top);
        }
        Ok(clients_at_peak(&measured, &[clients]))
    }

    fn rung(
        &mut self,
        clients: u32,
        arrivals: Arrivals,
        step: Duration,
        measured: &mut Vec<Rung>,
    ) -> Result<(), Failure> {
        self.stage(StageLoad::timed(StageKind::Ladder, clients, arrivals, step))?;
        if let Some((sum, throughput)) = self.sums.last().and_then(|sum| Some((sum, sum.rung_throughput()?)))
        {
            measured.push(Rung { stage: sum.id, clients, throughput });
        }
        Ok(())
    }
}

/// The clients of the best rung; where none could be measured, of the last one tried.
fn clients_at_peak(measured: &[Rung], tried: &[u32]) -> u32 {
    peak(measured).map(|peak| peak.clients).or(tried.last().copied()).unwrap_or(1)
}

/// A warm-up before a ramp of the rate runs at its start.
fn start_of(arrivals: Arrivals) -> Arrivals {
    match arrivals {
        Arrivals::Open { rate_per_s, distribution, .. } => {
            Arrivals::Open { rate_per_s, rate_end_per_s: rate_per_s, distribution }
        }
        closed @ Arrivals::Closed { .. } => closed,
    }
}

fn is_rate_ramp(arrivals: Arrivals) -> bool {
    matches!(arrivals, Arrivals::Open { rate_per_s, rate_end_per_s, .. } if rate_per_s.to_bits() != rate_end_per_s.to_bits())
}
