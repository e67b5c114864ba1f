//! A phase on one target: the engines, connections and stages of its streams, and the check of what they leave behind. What
//! comes next is the planners' to decide; whose turn it is, is not decided here.

use std::sync::Arc;

use dyno_report::live;
use dyno_results::event::{Answer, Event, HookTime, Stage, StageKey, StageKind};
use dyno_results::spec::{RunSpec, Segment, StageOrder};
use dyno_target::cause::FILE_MOVED;
use dyno_target::inspect::{self, Identity};
use dyno_workload::benchmark::{BenchmarkError, NamedQuery, SeriesLoad};

use super::admin::cancellable;
use super::barrier::Participant;
use super::room::StreamLoad;
use super::stage_planner::{Capacity, Expected, StagePlanner};
use super::stages::{StageSubject, Stages, StreamResults};
use super::system::System;
use super::target_server::TargetServer;
use super::verification::{self, Verification};
use super::{Context, cold, describe, hooks, plans, room, ties};
use crate::failure::Failure;
use crate::generator::{self, Generator, LocalGenerator, Observation, Prepare};
use crate::plan::{HookStage, PhasePlan, StreamPlan};

/// Threads of the load that dyno chooses by itself, at most.
const THREADS_MAX: u32 = 16;

/// A phase under way on a target.
pub(super) struct PhaseRun<'a> {
    plan: &'a PhasePlan,
    /// Of the next turn, or of the one under way.
    key: StageKey,
    /// Steps of the first round that were decided.
    steps: u32,
    verification: Verification,
    /// The server as it was when its caches were dropped last, where that is done before each pass.
    cold_passes: Option<Identity>,
    streams: Vec<StreamRun<'a>>,
    generator: Box<dyn Generator>,
    /// Whether plans are asked for before the first stage that counts: once, and not where that could warm up caches.
    asks_plans: bool,
}

/// A stream under way on a target.
struct StreamRun<'a> {
    plan: &'a StreamPlan,
    /// Its place in the phase.
    place: u32,
    load: Arc<dyn SeriesLoad>,
    types: Vec<String>,
    contended_rows: Option<u32>,
    only_reads: bool,
    /// It lasts as long as the others.
    ends_with_others: bool,
    planner: StagePlanner<'a>,
    stages: Stages,
    results: StreamResults,
    /// Of the turn.
    order: Option<StageOrder>,
}

impl<'a> PhaseRun<'a> {
    /// Brings target and data into the state in which the loads begin.
    pub(super) fn begin(
        context: &Context<'a>,
        system: &mut System<'_>,
        phase: &'a PhasePlan,
    ) -> Result<Self, Failure> {
        let name = system.name();
        let plans = room::loads(phase, name);
        let threads = threads(context, phase, &system.server);
        let site = (system.plan.capabilities(), system.server.connection.dialect());
        let loads = generator::loads(phase, system.data(), site.0.syntax)?;
        if let Some(moved) = system.server.files().moved() {
            return Err(Failure::advised(moved.to_owned(), FILE_MOVED));
        }
        // First what reads and writes the tables: behind it, a restart leaves the caches as cold as it finds them.
        for load in &loads {
            reset(context, name, &mut system.server, load.as_ref())?;
        }
        let judged: Vec<(&StreamPlan, &dyn SeriesLoad)> =
            phase.streams.iter().zip(loads.iter().map(AsRef::as_ref)).collect();
        let only_reads = judged
            .iter()
            .map(|(stream, load)| describe::only_reads(context, system, &stream.workload, *load))
            .collect::<Result<Vec<bool>, Failure>>()?;
        let verification = Verification::begin(context, system, &judged)?;
        system.server.files().look_again();
        let before = system.server.identity().clone();
        for stream in &phase.streams {
            let stage = HookStage::Series(stream.name.clone());
            hooks::run_for_system(context, system, HookTime::Before, (&stage, Some(phase.place)))?;
        }
        let cold_passes = phase.streams.iter().any(|stream| stream.pass.is_some());
        if phase.cold && !cold_passes {
            let restarted = !before.is_same_server(system.server.identity());
            cold::begin(context, system, (phase.place, &phase.names()), restarted)?;
        }
        check_autocommit(&mut system.server)?;
        let route = &system.server.route;
        let local = LocalGenerator::new(context.plan, phase, route, (&loads, &site), threads);
        let spec = RunSpec { threads: Some(threads), ..context.plan.resolved.clone() };
        let segment = Segment::default();
        let prepare = Prepare { spec, segment, system: name.to_owned(), phase: phase.place };
        let failed = |source| Failure::Generator { url: system.server.url.clone(), source: Box::new(source) };
        let generator = (context.prepare)(prepare, local).map_err(failed)?;
        let mut streams = Vec::new();
        for (((place, plan), load), only_reads) in (0..).zip(plans).zip(loads).zip(only_reads) {
            let queries = load.queries(context.plan.seed_of(place.into()));
            let without_ties = ties::without(&mut system.server, &queries)?;
            let mut stream = StreamRun::begin(context, system, phase, (place, plan), (load, &site, threads))?;
            (stream.only_reads, stream.results.queried.without_ties) = (only_reads, without_ties);
            streams.push(stream);
        }
        let cold_passes = (phase.cold && cold_passes).then_some(before);
        let key = StageKey { system: name.to_owned(), phase: phase.place, ..StageKey::default() };
        let asks_plans = !phase.cold;
        Ok(Self { plan: phase, key, steps: 0, verification, cold_passes, streams, generator, asks_plans })
    }

    /// Decides the next stage of each stream that has an end of its own, unless what was decided still waits for its turn.
    pub(super) fn decide(&mut self, context: &Context<'_>, target: &str) {
        if self.orders().next().is_some() {
            return;
        }
        for stream in self.streams.iter_mut().filter(|stream| !stream.ends_with_others) {
            stream.order = stream.planner.next(&stream.results.sums);
            if let Some(remark) = stream.planner.take_remark() {
                context.stream.notice(target, None, remark);
            }
        }
        self.advance();
    }

    /// Sets the key of what was decided.
    fn advance(&mut self) {
        let kinds = self.kinds();
        if kinds.is_empty() {
            return;
        }
        if kinds.iter().any(|kind| matches!(kind, StageKind::WarmUp | StageKind::Ladder)) {
            self.key.step = self.steps;
            self.steps += 1;
        } else {
            (self.key.round, self.key.step) = (self.key.round + 1, 0);
        }
    }

    /// The round of what was decided; `None` where nothing was.
    pub(super) fn round(&self) -> Option<u32> {
        self.orders().next().map(|_| self.key.round)
    }

    /// Decides the stages of the streams that last as long as others, of which one goes on. `kind` is that of the others'.
    pub(super) fn accompany(&mut self, kind: StageKind) {
        let own = self.orders().map(|order| order.kind).next();
        for stream in self.streams.iter_mut().filter(|stream| stream.ends_with_others) {
            let next = stream.planner.next(&stream.results.sums);
            stream.order = next.map(|order| match order.kind {
                StageKind::WarmUp => order,
                _ => StageOrder { kind: own.unwrap_or(kind), ..order },
            });
        }
        if own.is_none() {
            self.advance();
        }
    }

    /// What was decided.
    pub(super) fn orders(&self) -> impl Iterator<Item = &StageOrder> {
        self.streams.iter().filter_map(|stream| stream.order.as_ref())
    }

    /// Runs what was decided, all of it at the same time. Each stream is one participant, in their order.
    pub(super) fn turn(
        &mut self,
        context: &Context<'_>,
        system: &mut System<'_>,
        participants: Vec<Participant<'_>>,
    ) -> Result<(), Failure> {
        context.check_stopped()?;
        let kinds = self.kinds();
        for kind in &kinds {
            self.hooks(context, system, HookTime::Before, *kind)?;
        }
        if let Some(before) = self.cold_passes.take() {
            if kinds != [StageKind::WarmUp] {
                self.disconnect();
                let restarted = !before.is_same_server(system.server.identity());
                cold::begin(context, system, (self.plan.place, &self.plan.names()), restarted)?;
            }
            self.cold_passes = Some(system.server.identity().clone());
        }
        // Behind the warm-up, from which some products learn.
        if !kinds.contains(&StageKind::WarmUp) && std::mem::take(&mut self.asks_plans) {
            for stream in &self.streams {
                plans::before(context, system, stream.plan, &stream.queries(context))?;
            }
        }
        let (url, key, generator) = (&system.server.url, &self.key, self.generator.as_ref());
        let running = self.streams.iter_mut().filter(|stream| stream.order.is_some()).zip(participants);
        let ran: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
            let threads: Vec<_> = running
                .map(|(stream, participant)| {
                    let run = move || {
                        let ran = stream.run(context, generator, (url, key), &participant);
                        if ran.is_err() {
                            // The others of this target end with it, and not in hours by themselves.
                            participant.cut();
                        }
                        ran
                    };
                    std::thread::Builder::new().spawn_scoped(scope, run)
                })
                .collect();
            let joined = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or(Err(Failure::SystemBroken)),
                Err(error) => Err(Failure::NoThread(error)),
            });
            joined.collect()
        });
        system.stages.take_over(self.streams.iter_mut().map(|stream| &mut stream.stages));
        // What ended one of them says more than that the others were ended with it.
        let mut failures: Vec<Failure> = ran.into_iter().filter_map(Result::err).collect();
        failures.sort_by_key(|failure| matches!(failure, Failure::Cancelled));
        if let Some(failure) = failures.into_iter().next() {
            return Err(failure);
        }
        for kind in kinds {
            self.hooks(context, system, HookTime::After, kind)?;
        }
        Ok(())
    }

    /// The kinds of stages of the turn, each once.
    fn kinds(&self) -> Vec<StageKind> {
        let mut kinds: Vec<StageKind> = Vec::new();
        for order in self.orders() {
            if !kinds.contains(&order.kind) {
                kinds.push(order.kind);
            }
        }
        kinds
    }

    /// What the user wants done at a stage of this kind. It may have closed connections, so they are opened anew.
    fn hooks(
        &mut self,
        context: &Context<'_>,
        system: &mut System<'_>,
        when: HookTime,
        kind: StageKind,
    ) -> Result<(), Failure> {
        if hooks::wanted_for_stage(context, system.name(), when, kind) {
            self.disconnect();
            hooks::run_stage(context, system, when, (self.plan.place, &self.plan.names()), kind)?;
        }
        Ok(())
    }

    /// Ends the clients before the phase ends.
    pub(super) fn disconnect(&self) {
        self.generator.disconnect();
    }

    /// Ends the clients, compares what they left behind while nothing moves, and takes the plans of queries unless the load
    /// has `failed`.
    pub(super) fn end(
        mut self,
        context: &Context<'_>,
        system: &mut System<'_>,
        failed: bool,
    ) -> Result<(), Failure> {
        let streams = &mut self.streams;
        self.generator.stop(&mut |stream, observation| {
            if let Observation::Acknowledged(told) = observation {
                streams[stream as usize].results.acknowledged.push(told);
            }
        });
        let mut ended_well = Vec::new();
        for stream in &mut self.streams {
            let queried = &mut stream.results.queried;
            let mut answers = queried.take_answers(&stream.types);
            // Where the load failed, a query may have returned nothing because the server was gone.
            let without_answer = if failed { &[] } else { queried.failed.as_slice() };
            verification::answers(context, system.name(), stream.plan, &mut answers, without_answer);
            ended_well.push(answers.iter().map(|answer| answer.query.clone()).collect::<Vec<_>>());
            for answer in answers {
                let (target, series) = (system.name().to_owned(), stream.plan.name.clone());
                context.stream.emit(Event::Answer(Answer { target, series, answer }));
            }
        }
        let results = self.streams.iter().map(|stream| (stream.plan.workload.as_str(), &stream.results));
        self.verification.end(context, system, results)?;
        for (stream, ended_well) in self.streams.iter().zip(&ended_well).filter(|_| !failed) {
            let queries = stream.queries(context);
            plans::after(context, system, stream.plan, &queries, ended_well)?;
        }
        Ok(())
    }
}

impl<'a> StreamRun<'a> {
    fn begin(
        context: &Context<'a>,
        system: &mut System<'_>,
        phase: &PhasePlan,
        (place, plan): (u32, StreamLoad<'a>),
        (load, site, threads): (Arc<dyn SeriesLoad>, &generator::Site, u32),
    ) -> Result<Self, Failure> {
        let StreamLoad { stream, course, .. } = plan;
        let workload = load.workload(&generator::sending(stream, site, threads, 0))?;
        let prepared = workload.statements().iter().filter(|statement| !statement.is_text()).count();
        let capacity = Capacity {
            cpus: system.server.cpus,
            room: room::of_load(&plan, &mut system.server, prepared as u64)?,
            contention: load.contention(),
            terminals: load.terminals(),
            connections: stream.connections,
        };
        let planner = StagePlanner::new(course, phase.warm_up, phase.repeat, capacity).with_pass(stream.pass);
        if let Some(Expected { steps, step, may_end_early }) = planner.expected() {
            let (target, series) = (system.name().to_owned(), stream.name.clone());
            let step_s = step.as_secs_f64();
            context.stream.expect(live::Expected { target, series, steps, step_s, may_end_early });
        }
        Ok(Self {
            plan: stream,
            place,
            types: workload.types().to_vec(),
            load,
            contended_rows: capacity.contention.map(|contention| contention.clients),
            only_reads: false,
            ends_with_others: course.ends_with_others(),
            planner,
            stages: Stages::default(),
            results: StreamResults::default(),
            order: None,
        })
    }

    /// Runs the stage that was decided.
    fn run(
        &mut self,
        context: &Context<'_>,
        generator: &dyn Generator,
        (url, turn): (&str, &StageKey),
        participant: &Participant<'_>,
    ) -> Result<(), Failure> {
        let Some(order) = self.order.take() else { return Ok(()) };
        let stage = Stage {
            key: StageKey { stream: self.place, ..turn.clone() },
            series: self.plan.name.clone(),
            workload: self.plan.workload.clone(),
            caveat: self.load.caveat().map(str::to_owned),
            connections: self.plan.connections,
            protocol: self.plan.protocol.name().to_owned(),
            contended_rows: self.contended_rows,
            pause_s: Some(self.load.series().pauses.as_secs_f64()).filter(|pause_s| *pause_s > 0.0),
            query_set: self.plan.pass.is_some(),
            fixed: self.plan.fixed,
            only_reads: Some(self.only_reads),
            types: self.types.clone(),
            figure: self.load.figure(order.clients.max(order.clients_end))?,
            response_limits: self.load.response_limits(),
            counts: self.load.counts(),
            ..Stage::default()
        };
        let subject = StageSubject { stage, url, pass: self.plan.pass };
        self.stages.run(context, generator, &subject, order, &mut self.results, participant)
    }

    /// What its first client sends.
    fn queries(&self, context: &Context<'_>) -> Vec<NamedQuery> {
        self.load.queries(context.plan.seed_of(self.place.into()))
    }
}

/// Refuses a server whose sessions begin without autocommit: the load would be acknowledged, and lost.
fn check_autocommit(server: &mut TargetServer) -> Result<(), Failure> {
    if !inspect::begins_without_autocommit(server.reconnect_if_broken()?) {
        return Ok(());
    }
    Err(Failure::advised(
        format!(
            "sessions on {} begin with autocommit off: what a single statement writes would never be committed",
            server.url
        ),
        "turn it on for new sessions: SET GLOBAL autocommit = 1",
    ))
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
                let what =
                    format!("another session on {url} has kept {table} locked for {seconds} s: {source}");
                let advice = "end that session, or wait until it is done (PostgreSQL shows it in pg_locks and \
                              pg_stat_activity)";
                Failure::advised(what, advice)
            }
            error => error.into(),
        })
    })
}

/// Threads of each load on one target.
fn threads(context: &Context<'_>, phase: &PhasePlan, server: &TargetServer) -> u32 {
    let plan = context.plan;
    // On a shared machine the server needs the processors more than the load does, and loads that run at the same time
    // share what is left.
    let targets = if phase.together { plan.systems.len() } else { 1 };
    let loads = (targets * phase.streams.len()) as u32;
    let share = if server.same_host == Some(true) { server.cpus / 2 } else { server.cpus };
    plan.spec.threads.unwrap_or((share / loads.max(1)).clamp(1, THREADS_MAX))
}
