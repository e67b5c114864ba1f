//! The workload's data: what is there is used, what is missing is made.

use std::time::Instant;

use dyno_results::event::{Event, PrepareStep};
use dyno_workload::tpcb::{self, PrepareOptions, Progress, State};

use super::Context;
use super::admin::cancellable;
use super::rollers::{NAME, Rollers};
use crate::failure::Failure;
use crate::scenario::Prepare;

/// Sees to it that the data is there, and says its scale.
pub(super) fn provide(context: &Context<'_>, rollers: &mut Rollers) -> Result<u32, Failure> {
    let plan = context.plan;
    if plan.prepare != Prepare::Always {
        let state = cancellable(context, &mut rollers.connection, tpcb::state)?;
        let missing = matches!(state, State::Missing);
        if !missing || plan.prepare == Prepare::Never {
            let wanted = plan.scale.map(|scale| u32::try_from(scale).unwrap_or(u32::MAX));
            return Ok(state.ready(wanted)?);
        }
    }
    let free_disk_bytes = rollers
        .embedded
        .as_ref()
        .and_then(|server| dyno_target::host::free_bytes(server.data_directory()).ok());
    let suggested = || {
        u64::from(tpcb::suggest_scale(rollers.memory_bytes, Some(rollers.cpus), free_disk_bytes, plan.quick))
    };
    let scale = plan.scale.unwrap_or_else(suggested);
    let cpus = (rollers.same_host == Some(true)).then_some(rollers.cpus);
    let options = PrepareOptions { cpus, free_disk_bytes, ..PrepareOptions::new(NAME, scale) };
    prepare(context, rollers, &options)?;
    let state = cancellable(context, &mut rollers.connection, tpcb::state)?;
    Ok(state.ready(None)?)
}

fn prepare(context: &Context<'_>, rollers: &mut Rollers, options: &PrepareOptions) -> Result<(), Failure> {
    let stream = context.stream;
    cancellable(context, &mut rollers.connection, |connection| {
        tpcb::prepare(connection, options, &mut |progress| match progress {
            Progress::Begun { step } => stream.prepare_progress(step, 0, None),
            Progress::Rows { done, total } => stream.prepare_progress("data", done, Some(total)),
            Progress::Finished(step) => stream.emit(Event::Prepare(step)),
        })
    })?;
    checkpoint(context, rollers)
}

/// Has the server write what the preparation left in its cache, so that the load does not pay for it. Only on a
/// server of dyno's own: elsewhere it may not be allowed, and disturbs others.
fn checkpoint(context: &Context<'_>, rollers: &mut Rollers) -> Result<(), Failure> {
    if rollers.embedded.is_none() {
        return Ok(());
    }
    context.stream.prepare_progress("checkpoint", 0, None);
    let started = Instant::now();
    let url = &rollers.url;
    cancellable(context, &mut rollers.connection, |connection| {
        let failed = |source| Failure::Query { doing: "CHECKPOINT", url: url.clone(), source };
        connection.execute("CHECKPOINT").map_err(failed)
    })?;
    context.stream.emit(Event::Prepare(PrepareStep {
        target: NAME.to_owned(),
        workload: tpcb::NAME.to_owned(),
        step: "checkpoint".to_owned(),
        seconds: started.elapsed().as_secs_f64(),
        rows: None,
        bytes: None,
    }));
    Ok(())
}
