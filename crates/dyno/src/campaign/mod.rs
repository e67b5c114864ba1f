//! The story of a run: each database is connected to, described and filled; then they are loaded phase by
//! phase, in turn or together, verified and judged. Each step is told to the stream as it happens; measuring itself is
//! the engine's and the probe's. A database that is lost under way is given up, and the others go on.

pub(crate) mod admin;
mod barrier;
mod cold;
mod command;
mod data;
pub(crate) mod describe;
mod hooks;
mod neighbours;
mod open_files;
mod phase;
mod plans;
mod queried;
mod room;
mod stage_planner;
pub(crate) mod stages;
mod stream;
mod system;
pub(crate) mod target_server;
mod ties;
mod turns;
mod verification;

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_results::event::{Event, Finished, HookTime, Outcome};
use dyno_results::judge::judge;
use dyno_results::passes;

pub(crate) use self::stream::EventStream;
use crate::failure::Failure;
use crate::generator;
use crate::generator::PrepareGenerator;
use crate::plan::{HookStage, Plan};
use system::System;

/// What every part of the campaign needs. It knows no target: each is in its [`System`].
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) stream: &'a EventStream,
    /// Set when the user asks to stop.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) prepare: &'a PrepareGenerator,
}

impl Context<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn check_stopped(&self) -> Result<(), Failure> {
        if self.is_stopped() { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

/// Runs the plan to its end, or as far as it goes. The stream then holds all that was measured, the findings and
/// how it ended.
pub(crate) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let ended = measure(context).and_then(|()| all_queries_ran(context));
    if ended.is_err() {
        // The reason is told by who called, once.
        context.stream.close_live();
    }
    let failure = ended.as_ref().err();
    let targets_lost = matches!(failure, Some(Failure::TargetsLost { .. }));
    finish(context.stream, failure.map(ToString::to_string), targets_lost);
    ended
}

/// A run in which a query never ended well has not done what it was asked to.
fn all_queries_ran(context: &Context<'_>) -> Result<(), Failure> {
    match passes::not_done(&context.stream.report()) {
        Some(queries) => Err(Failure::QueriesNotRun { queries }),
        None => Ok(()),
    }
}

/// Ends a run's stream with what is to be found in it, and why it ended if that was too early: `targets_lost` if for nothing
/// but that.
pub(crate) fn finish(stream: &EventStream, reason: Option<String>, targets_lost: bool) {
    let outcome = if reason.is_none() { Outcome::Complete } else { Outcome::Incomplete };
    let finished = Finished { outcome, reason, targets_lost, seconds: stream.seconds() };
    for finding in judge(&stream.report_ending(&finished)) {
        stream.emit(Event::Finding(finding));
    }
    stream.emit(Event::Finished(finished));
}

fn measure(context: &Context<'_>) -> Result<(), Failure> {
    let mut systems = Vec::new();
    let measured = set_up(context, &mut systems).and_then(|()| load_and_verify(context, &mut systems));
    for system in &mut systems {
        system.unwatch();
    }
    for system in systems {
        system.clear(context);
    }
    measured
}

/// Starts or connects to every target, one after the other: before any is described, all of them are known to be there.
fn set_up<'a>(context: &Context<'a>, systems: &mut Vec<System<'a>>) -> Result<(), Failure> {
    let plans = &context.plan.systems;
    let remotes = plans.iter().map(describe::remote).collect::<Result<Vec<_>, _>>()?;
    for (plan, remote) in plans.iter().zip(remotes) {
        context.check_stopped()?;
        let system = System::set_up(context, plan, remote, systems)?;
        systems.push(system);
    }
    Ok(())
}

fn load_and_verify(context: &Context<'_>, systems: &mut [System<'_>]) -> Result<(), Failure> {
    neighbours::refuse_same_tables(context, systems)?;
    neighbours::share(systems);
    describe::all(context, systems)?;
    // Before the data, which may take long to make.
    for system in &mut *systems {
        let site = (system.plan.capabilities(), system.server.connection.dialect());
        for phase in &context.plan.phases {
            for load in room::loads(phase, system.name()) {
                room::connections(&load, &mut system.server)?;
                generator::check(load.stream, system.plan.benchmark.as_ref(), &site)?;
            }
        }
    }
    for system in &mut *systems {
        system.provide_data(context)?;
    }
    if !systems.iter().any(System::is_live)
        && let Some(failure) = systems.iter_mut().find_map(System::take_left_out)
    {
        return Err(failure);
    }
    if context.plan.spec.top_up {
        verification::top_up(context, systems)?;
    }
    for system in &mut *systems {
        if !context.plan.spec.no_verify {
            system.check_rows(context)?;
        }
        system.describe_data(context)?;
    }
    verification::same_data(context, systems)?;
    let _driver = describe::watch_driver(context, systems);
    for system in systems.iter_mut().filter(|system| system.is_live()) {
        system.watch(context);
        hooks::run_for_system(context, system, HookTime::Before, (&HookStage::Run, None))?;
    }
    let loaded = load(context, systems);
    // Targets that were given up are told also where something else ended the run.
    Failure::of_all([loaded, system::tell_lost(systems)].into_iter().filter_map(Result::err).collect())
}

/// Runs every phase on every target that is left, and what is to be done behind them.
fn load(context: &Context<'_>, systems: &mut [System<'_>]) -> Result<(), Failure> {
    let ran = context.plan.phases.iter().try_for_each(|phase| {
        context.check_stopped()?;
        turns::run(context, systems, phase)
    });
    systems.iter_mut().for_each(System::unwatch);
    // What broke off was measured on the same server, or not.
    describe::again(context, systems);
    ran?;
    let mut failures = Vec::new();
    for system in systems.iter_mut().filter(|system| system.is_live()) {
        let ran = hooks::run_for_system(context, system, HookTime::After, (&HookStage::Run, None));
        failures.extend(ran.or_else(|failure| system.fail(context, failure)).err());
    }
    Failure::of_all(failures)
}
