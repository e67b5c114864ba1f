//! One series on one target: its engine, its connections, its stages, and the check of what it left behind. What comes
//! next is the course's; whose turn it is, is not decided here.

use std::sync::Arc;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::workload::Workload;
use dyno_results::event::HookTime;
use dyno_results::spec::StageOrder;
use dyno_target::connection::Connection;
use dyno_workload::benchmark::{BenchmarkError, Load as SeriesLoad, Series};

use super::admin::cancellable;
use super::course::{Ground, Sequence};
use super::hooks;
use super::lane::Lane;
use super::rollers::Rollers;
use super::stages::{Signals, StageSum, Subject};
use super::verification::Verification;
use super::{Context, room};
use crate::failure::Failure;
use crate::plan::{HookStage, PhasePlan};

/// Threads of the load that dyno chooses by itself, at most.
const THREADS_MAX: u32 = 16;

/// A series under way.
pub(super) struct SeriesRun<'a> {
    series: Series,
    phase: &'a PhasePlan,
    workload: Arc<dyn Workload>,
    verification: Verification,
    /// `None` where something was done to the server that may have closed its connections.
    engine: Option<Engine>,
    /// Engines that were started so far; each draws random numbers of its own.
    engines: u64,
    sequence: Sequence<'a>,
    sums: Vec<StageSum>,
}

impl<'a> SeriesRun<'a> {
    /// Brings target and data into the state in which the load begins.
    pub(super) fn begin(
        context: &Context<'a>,
        lane: &mut Lane<'_>,
        phase: &'a PhasePlan,
        load: &dyn SeriesLoad,
    ) -> Result<Self, Failure> {
        let series = load.series();
        let workload = load.workload();
        // First what reads and writes the tables: behind it, a restart leaves the caches as cold as it finds them.
        reset(context, lane.name(), &mut lane.rollers, load)?;
        let verification = Verification::begin(context, lane, load)?;
        hooks::run_lane(context, lane, HookTime::Before, HookStage::Series(series.name))?;
        if phase.cold {
            super::cold::restart(context, lane, series.name)?;
        }
        let rollers = &mut lane.rollers;
        let room = room::of_load(&phase.stream, rollers, workload.as_ref())?;
        check_autocommit(rollers)?;
        let ground = Ground {
            cpus: lane.rollers.cpus,
            room,
            contention: load.contention(),
            connections: phase.stream.connections,
        };
        let sequence = Sequence::new(&phase.stream.course, phase.warm_up, phase.repeat, ground);
        if let Some(expected) = sequence.expected(lane.name(), series.name) {
            context.stream.expect(expected);
        }
        Ok(Self {
            series,
            phase,
            workload,
            verification,
            engine: None,
            engines: 0,
            sequence,
            sums: Vec::new(),
        })
    }

    /// Runs the next stage; false where there was none left.
    pub(super) fn turn(
        &mut self,
        context: &Context<'_>,
        lane: &mut Lane<'_>,
        signals: Signals<'_>,
    ) -> Result<bool, Failure> {
        context.check_stopped()?;
        let next = self.sequence.next(&self.sums);
        if let Some(remark) = self.sequence.take_remark() {
            context.stream.notice(lane.name(), None, remark);
        }
        let Some(order) = next else { return Ok(false) };
        self.hooks(context, lane, HookTime::Before, order)?;
        let threads = threads(context, self.phase, &lane.rollers);
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.start_engine(context, &lane.rollers, threads)?,
        };
        let subject = Subject {
            target: &lane.plan.name,
            series: self.series.name,
            workload: self.series.workload,
            types: self.workload.types(),
            url: &lane.rollers.url,
            threads: engine.threads(),
            connections: self.phase.stream.connections,
            protocol: self.phase.stream.protocol,
        };
        lane.stages.run(context, &mut engine, &subject, order, &mut self.sums, signals)?;
        self.engine = Some(engine);
        self.hooks(context, lane, HookTime::After, order)?;
        Ok(true)
    }

    fn start_engine(
        &mut self,
        context: &Context<'_>,
        rollers: &Rollers,
        threads: u32,
    ) -> Result<Engine, Failure> {
        let (plan, stream) = (context.plan, &self.phase.stream);
        let config = EngineConfig {
            protocol: stream.protocol,
            tries_max: stream.tries_max,
            realtime: plan.spec.realtime,
            connections: stream.connections,
            // The second engine of a series goes on with other random numbers, and not again with those of the first.
            seed: plan.seed.wrapping_add(self.engines),
            ..EngineConfig::new(threads)
        };
        self.engines += 1;
        Engine::start(&rollers.endpoint, &self.workload, config)
            .map_err(|source| Failure::Engine { url: rollers.url.clone(), source: Box::new(source) })
    }

    /// What the user wants done at a stage of this kind. It may have closed connections, so they are opened anew.
    fn hooks(
        &mut self,
        context: &Context<'_>,
        lane: &mut Lane<'_>,
        when: HookTime,
        order: StageOrder,
    ) -> Result<(), Failure> {
        if hooks::wanted_for_stage(context, lane.name(), when, order.kind) {
            self.engine = None;
            hooks::run_stage(context, lane, when, self.series.name, order.kind)?;
        }
        Ok(())
    }

    /// Ends the clients before the series ends.
    pub(super) fn disconnect(&mut self) {
        self.engine = None;
    }

    /// Ends the clients, and compares what they left behind while nothing moves.
    pub(super) fn end(self, context: &Context<'_>, lane: &mut Lane<'_>) -> Result<(), Failure> {
        drop(self.engine);
        self.verification.end(context, lane, &self.sums)
    }

    pub(super) fn series(&self) -> Series {
        self.series
    }
}

/// A MySQL server may begin its sessions without autocommit: the load would be acknowledged, and lost.
fn check_autocommit(rollers: &mut Rollers) -> Result<(), Failure> {
    if !rollers.is_mysql() {
        return Ok(());
    }
    // dyno's own connection has turned its own on, and other sessions begin as the server says.
    let ask = |connection: &mut Connection| connection.query_value("SELECT @@GLOBAL.autocommit");
    let begins_with: Result<Option<u8>, _> = rollers.reconnect_if_broken()?.briefly(ask);
    match begins_with {
        Ok(Some(0)) => Err(Failure::NoAutocommit { url: rollers.url.clone() }),
        // A server that does not say begins as all do.
        _ => Ok(()),
    }
}

/// Brings the tables into the state in which a load begins.
fn reset(
    context: &Context<'_>,
    target: &str,
    rollers: &mut Rollers,
    load: &dyn SeriesLoad,
) -> Result<(), Failure> {
    let url = rollers.url.clone();
    let named = rollers.embedded.is_none();
    let connection = rollers.reconnect_if_broken()?;
    cancellable(context, connection, |connection| {
        let mut tell = |text| context.stream.notice(target, None, text);
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

/// Threads of the load on one target.
fn threads(context: &Context<'_>, phase: &PhasePlan, rollers: &Rollers) -> u32 {
    let plan = context.plan;
    // On a shared machine the server needs the processors more than the load does, and loads that run at the same time
    // share what is left.
    let loads = if phase.together { plan.targets.len() as u32 } else { 1 };
    let share = if rollers.same_host == Some(true) { rollers.cpus / 2 } else { rollers.cpus };
    plan.spec.threads.unwrap_or((share / loads.max(1)).clamp(1, THREADS_MAX))
}
