//! The workload's data: what is there is used, what is missing is made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_results::event::{Event, PrepareStep};
use dyno_workload::tpcb::{self, PrepareOptions, Progress, State};

use super::Context;
use super::rollers::{NAME, Rollers};
use crate::failure::Failure;
use crate::scenario::Prepare;

/// How often it is looked whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Sees to it that the data is there, and says its scale.
pub(super) fn provide(context: &Context<'_>, rollers: &mut Rollers) -> Result<u32, Failure> {
    let plan = context.plan;
    if plan.prepare != Prepare::Always {
        let state = tpcb::state(&mut rollers.connection)?;
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
    let state = tpcb::state(&mut rollers.connection)?;
    Ok(state.ready(None)?)
}

fn prepare(context: &Context<'_>, rollers: &mut Rollers, options: &PrepareOptions) -> Result<(), Failure> {
    let stream = context.stream;
    let ended = AtomicBool::new(false);
    let canceller = rollers.connection.cancel_handle();
    let prepared = std::thread::scope(|scope| {
        // A statement that runs for minutes is cancelled when the user asks to stop.
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if context.is_stopped() {
                    // If it cannot be cancelled, the statement ends by itself.
                    let _ = canceller.cancel();
                }
                std::thread::sleep(STOP_LOOK);
            }
        });
        let prepared = tpcb::prepare(&mut rollers.connection, options, &mut |progress| match progress {
            Progress::Begun { step } => stream.prepare_progress(step, 0, None),
            Progress::Rows { done, total } => stream.prepare_progress("data", done, Some(total)),
            Progress::Finished(step) => stream.emit(Event::Prepare(step)),
        });
        ended.store(true, Ordering::Relaxed);
        prepared
    });
    context.check_stopped()?;
    prepared?;
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
    rollers.connection.execute("CHECKPOINT").map_err(|source| rollers.query_failed("CHECKPOINT", source))?;
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
