//! What the user has done before and after a load (`--before`, `--after`): run, told, and waited for. Its time is in no
//! stage. One that fails ends the run: what would come behind it is not what the user meant to measure.

use std::time::Instant;

use dyno_results::event::{Event, Hook, HookTime, StageKind};
use dyno_wire::endpoint::Address;

use super::Context;
use super::admin::cancellable;
use super::command::{self, CommandOutcome};
use super::describe;
use super::system::System;
use crate::failure::Failure;
use crate::plan::{Action, HookPlan, HookStage};
use crate::secrets::{hidden_in_command, hidden_in_lines};

/// What a hook is told of its surroundings.
struct Surroundings<'a> {
    series: Option<&'a str>,
    stage: Option<StageKind>,
    /// The place of the phase.
    phase: Option<u32>,
}

/// Does what is wanted before or after the run, or one of its series, on a target.
pub(super) fn run_for_system(
    context: &Context<'_>,
    system: &mut System<'_>,
    when: HookTime,
    (stage, phase): (&HookStage, Option<u32>),
) -> Result<(), Failure> {
    let series = match stage {
        HookStage::Series(name) => Some(name.as_str()),
        _ => None,
    };
    let is_meant = |hook: &HookPlan| hook.stage == *stage;
    run(context, system, when, &Surroundings { series, stage: None, phase }, is_meant)
}

/// Does what is wanted before or after a stage of this kind.
pub(super) fn run_stage(
    context: &Context<'_>,
    system: &mut System<'_>,
    when: HookTime,
    (phase, series): (u32, &str),
    kind: StageKind,
) -> Result<(), Failure> {
    let surroundings = Surroundings { series: Some(series), stage: Some(kind), phase: Some(phase) };
    run(context, system, when, &surroundings, |hook| hook.stage.is_kind(kind))
}

/// Whether [`run_stage`] would do anything.
pub(super) fn wanted_for_stage(context: &Context<'_>, target: &str, when: HookTime, kind: StageKind) -> bool {
    let hooks = &context.plan.hooks;
    hooks.iter().any(|hook| hook.when == when && hook.is_for(target) && hook.stage.is_kind(kind))
}

fn run(
    context: &Context<'_>,
    system: &mut System<'_>,
    when: HookTime,
    surroundings: &Surroundings<'_>,
    is_meant: impl Fn(&HookPlan) -> bool,
) -> Result<(), Failure> {
    let name = system.name();
    let hooks = context.plan.hooks.iter();
    let mut hooks = hooks.filter(|hook| hook.when == when && hook.is_for(name) && is_meant(hook)).peekable();
    if hooks.peek().is_none() {
        return Ok(());
    }
    // What became of the server before is none of the hook's doing.
    describe::before_hook(context, system);
    if let Err(failure) = hooks.try_for_each(|hook| run_one(context, system, hook, surroundings)) {
        // What it changed was meant also where it failed. If that cannot be read, its failure says more.
        let _ = describe::renew(context, system);
        return Err(failure);
    }
    if when == HookTime::After && surroundings.series.is_none() {
        // Behind the run nobody needs the server any more: it may have been stopped.
        return Ok(());
    }
    // It may have been a restart.
    if system.server.wait_until_back(context)? && system.is_watched() {
        system.watch(context);
    }
    describe::renew(context, system)
}

/// Does one thing, and tells how it went.
fn run_one(
    context: &Context<'_>,
    system: &mut System<'_>,
    hook: &HookPlan,
    surroundings: &Surroundings<'_>,
) -> Result<(), Failure> {
    let action = hook.shown();
    context.stream.activity(&action);
    let started = Instant::now();
    let done = match &hook.action {
        Action::Command(command) => {
            let variables = variables(system, surroundings);
            match command::run(command, &variables, context.stop) {
                // A shell may repeat passwords in what it says.
                Ok(CommandOutcome { success: true, said, .. }) => Ok(said.as_deref().map(hidden_in_lines)),
                Ok(CommandOutcome { status, said, .. }) => {
                    Err((status, said.as_deref().map(hidden_in_lines)))
                }
                Err(error) => Err((error.to_string(), None)),
            }
        }
        Action::Sql(sql) => {
            let url = system.server.url.clone();
            let connection = system.server.reconnect_if_broken()?;
            let executed = cancellable(context, connection, |connection| {
                let failed = |source| Failure::query("running a hook's SQL", &url, source);
                connection.execute(sql).map_err(failed)
            });
            // A server's complaint may quote the statement.
            executed.map(|_| None).map_err(|failure| (hidden_in_command(&failure.to_string()), None))
        }
    };
    let (succeeded, said) = match &done {
        Ok(said) => (true, said.clone()),
        Err((status, said)) => (false, said.clone().or_else(|| Some(status.clone()))),
    };
    let target = system.name().to_owned();
    context.stream.emit(Event::Hook(Hook {
        target: target.clone(),
        about: hook.stage.name().to_owned(),
        phase: surroundings.phase,
        when: hook.when,
        action: action.clone(),
        seconds: started.elapsed().as_secs_f64(),
        succeeded,
        said,
        cold: None,
    }));
    context.check_stopped()?;
    done.map(|_| ()).map_err(|(status, said)| Failure::Hook { target, action, status, said })
}

/// What a command finds in its environment. Never a password.
fn variables(system: &System<'_>, surroundings: &Surroundings<'_>) -> Vec<(&'static str, String)> {
    let (host, port) = match system.server.connection.endpoint().map(|endpoint| &endpoint.address) {
        Some(Address::Tcp(address)) => (address.ip().to_string(), address.port().to_string()),
        Some(Address::Unix(socket)) => {
            let directory = socket.parent().map(|path| path.display().to_string()).unwrap_or_default();
            // PostgreSQL has the port in the socket's name.
            let port = socket.extension().map(|port| port.to_string_lossy().into_owned());
            (directory, port.filter(|port| port.parse::<u16>().is_ok()).unwrap_or_default())
        }
        None => Default::default(),
    };
    let stage = surroundings.stage.map(|kind| HookStage::Kind(kind).name().to_owned()).unwrap_or_default();
    vec![
        ("DYNO_TARGET", system.name().to_owned()),
        ("DYNO_URL", system.server.url.clone()),
        ("DYNO_HOST", host),
        ("DYNO_PORT", port),
        ("DYNO_SERIES", surroundings.series.unwrap_or_default().to_owned()),
        ("DYNO_STAGE", stage),
    ]
}
