//! One series on one target: its engine, its connections, its stages, and the check of what it left behind. What comes
//! next is the planner's to decide; whose turn it is, is not decided here.

use std::sync::Arc;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::workload::Workload;
use dyno_results::event::HookTime;
use dyno_results::spec::StageOrder;
use dyno_target::connection::Connection;
use dyno_workload::benchmark::{BenchmarkError, Series, SeriesLoad};

use super::admin::cancellable;
use super::hooks;
use super::stage_planner::{Capacity, StagePlanner};
use super::stages::{Signals, StageSubject, StageSum};
use super::system::System;
use super::target_server::TargetServer;
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
    planner: StagePlanner<'a>,
    sums: Vec<StageSum>,
}

impl<'a> SeriesRun<'a> {
    /// Brings target and data into the state in which the load begins.
    pub(super) fn begin(
        context: &Context<'a>,
        system: &mut System<'_>,
        phase: &'a PhasePlan,
        load: &dyn SeriesLoad,
    ) -> Result<Self, Failure> {
        let series = load.series();
        let workload = load.workload();
        // First what reads and writes the tables: behind it, a restart leaves the caches as cold as it finds them.
        reset(context, system.name(), &mut system.server, load)?;
        let verification = Verification::begin(context, system, load)?;
        hooks::run_for_system(context, system, HookTime::Before, HookStage::Series(series.name))?;
        if phase.cold {
            super::cold::restart(context, system, series.name)?;
        }
        let server = &mut system.server;
        let room = room::of_load(&phase.stream, server, workload.as_ref())?;
        check_autocommit(server)?;
        let capacity = Capacity {
            cpus: system.server.cpus,
            room,
            contention: load.contention(),
            connections: phase.stream.connections,
        };
        let planner = StagePlanner::new(&phase.stream.course, phase.warm_up, phase.repeat, capacity);
        if let Some(expected) = planner.expected(system.name(), series.name) {
            context.stream.expect(expected);
        }
        Ok(Self {
            series,
            phase,
            workload,
            verification,
            engine: None,
            engines: 0,
            planner,
            sums: Vec::new(),
        })
    }

    /// Runs the next stage; false where there was none left.
    pub(super) fn turn(
        &mut self,
        context: &Context<'_>,
        system: &mut System<'_>,
        signals: Signals<'_>,
    ) -> Result<bool, Failure> {
        context.check_stopped()?;
        let next = self.planner.next(&self.sums);
        if let Some(remark) = self.planner.take_remark() {
            context.stream.notice(system.name(), None, remark);
        }
        let Some(order) = next else { return Ok(false) };
        self.hooks(context, system, HookTime::Before, order)?;
        let threads = threads(context, self.phase, &system.server);
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.start_engine(context, &system.server, threads)?,
        };
        let subject = StageSubject {
            target: &system.plan.name,
            series: self.series.name,
            workload: self.series.workload,
            types: self.workload.types(),
            url: &system.server.url,
            threads: engine.threads(),
            connections: self.phase.stream.connections,
            protocol: self.phase.stream.protocol,
        };
        system.stages.run(context, &mut engine, &subject, order, &mut self.sums, signals)?;
        self.engine = Some(engine);
        self.hooks(context, system, HookTime::After, order)?;
        Ok(true)
    }

    fn start_engine(
        &mut self,
        context: &Context<'_>,
        server: &TargetServer,
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
        Engine::start(&server.endpoint, &self.workload, config)
            .map_err(|source| Failure::Engine { url: server.url.clone(), source: Box::new(source) })
    }

    /// What the user wants done at a stage of this kind. It may have closed connections, so they are opened anew.
    fn hooks(
        &mut self,
        context: &Context<'_>,
        system: &mut System<'_>,
        when: HookTime,
        order: StageOrder,
    ) -> Result<(), Failure> {
        if hooks::wanted_for_stage(context, system.name(), when, order.kind) {
            self.engine = None;
            hooks::run_stage(context, system, when, self.series.name, order.kind)?;
        }
        Ok(())
    }

    /// Ends the clients before the series ends.
    pub(super) fn disconnect(&mut self) {
        self.engine = None;
    }

    /// Ends the clients, and compares what they left behind while nothing moves.
    pub(super) fn end(self, context: &Context<'_>, system: &mut System<'_>) -> Result<(), Failure> {
        drop(self.engine);
        self.verification.end(context, system, &self.sums)
    }

    pub(super) fn series(&self) -> Series {
        self.series
    }
}

/// A MySQL server may begin its sessions without autocommit: the load would be acknowledged, and lost.
fn check_autocommit(server: &mut TargetServer) -> Result<(), Failure> {
    if !server.is_mysql() {
        return Ok(());
    }
    // dyno's own connection has turned its own on, and other sessions begin as the server says.
    let ask = |connection: &mut Connection| connection.query_value("SELECT @@GLOBAL.autocommit");
    let begins_with: Result<Option<u8>, _> = server.reconnect_if_broken()?.briefly(ask);
    match begins_with {
        Ok(Some(0)) => Err(Failure::NoAutocommit { url: server.url.clone() }),
        // A server that does not say begins as all do.
        _ => Ok(()),
    }
}

/// Brings the tables into the state in which a load begins.
fn reset(
    context: &Context<'_>,
    target: &str,
    server: &mut TargetServer,
    load: &dyn SeriesLoad,
) -> Result<(), Failure> {
    let url = server.url.clone();
    let named = server.embedded.is_none();
    let connection = server.reconnect_if_broken()?;
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
fn threads(context: &Context<'_>, phase: &PhasePlan, server: &TargetServer) -> u32 {
    let plan = context.plan;
    // On a shared machine the server needs the processors more than the load does, and loads that run at the same time
    // share what is left.
    let loads = if phase.together { plan.targets.len() as u32 } else { 1 };
    let share = if server.same_host == Some(true) { server.cpus / 2 } else { server.cpus };
    plan.spec.threads.unwrap_or((share / loads.max(1)).clamp(1, THREADS_MAX))
}
