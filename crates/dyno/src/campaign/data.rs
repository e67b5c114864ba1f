//! The workload's data: what is there is used, what is missing is made.

use std::time::Instant;

use dyno_results::event::{Event, PrepareStep};
use dyno_results::spec::Prepare;
use dyno_target::connection::Connection;
use dyno_workload::benchmark::{Dataset, Progress, Site};

use super::Context;
use super::admin::cancellable;
use super::rollers::Rollers;
use crate::failure::Failure;
use crate::plan::TargetPlan;

/// Sees to it that the data is there.
pub(super) fn provide(
    context: &Context<'_>,
    plan: &TargetPlan,
    rollers: &mut Rollers,
) -> Result<Box<dyn Dataset>, Failure> {
    let benchmark = plan.benchmark.as_ref();
    let find = |connection: &mut Connection| benchmark.find(connection);
    if context.plan.prepare() != Prepare::Always
        && let Some(found) = cancellable(context, &mut rollers.connection, find)?
    {
        return Ok(found);
    }
    if context.plan.prepare() == Prepare::Never {
        return Err(benchmark.missing().into());
    }
    prepare(context, plan, rollers)?;
    let made = cancellable(context, &mut rollers.connection, find)?;
    made.ok_or_else(|| benchmark.missing().into())
}

fn prepare(context: &Context<'_>, plan: &TargetPlan, rollers: &mut Rollers) -> Result<(), Failure> {
    let (stream, target) = (context.stream, plan.name.as_str());
    let endpoint = rollers.endpoint.clone();
    let open = || Connection::open(&endpoint);
    let site = Site {
        target,
        open: &open,
        cpus: rollers.cpus,
        memory_bytes: rollers.memory_bytes,
        same_host: rollers.same_host == Some(true),
        free_disk_bytes: rollers
            .embedded
            .as_ref()
            .and_then(|server| dyno_target::host::free_bytes(server.data_directory()).ok()),
        quick: context.plan.spec.quick,
        seed: context.plan.seed,
        stop: context.stop,
    };
    let mut tell = |progress| match progress {
        Progress::Begun { step } => stream.prepare_progress(target, step, 0, None),
        Progress::Rows { done, total } => stream.prepare_progress(target, "data", done, Some(total)),
        Progress::Remark(text) => stream.notice(target, None, text),
        Progress::Finished(step) => stream.emit(Event::Prepare(step)),
    };
    cancellable(context, &mut rollers.connection, |connection| {
        plan.benchmark.prepare(connection, &site, &mut tell)
    })?;
    checkpoint(context, plan, rollers)
}

/// Has the server write what the preparation left in its cache, so that the load does not pay for it. Only on a
/// server of dyno's own: elsewhere it may not be allowed, and disturbs others.
fn checkpoint(context: &Context<'_>, plan: &TargetPlan, rollers: &mut Rollers) -> Result<(), Failure> {
    if rollers.embedded.is_none() {
        return Ok(());
    }
    context.stream.prepare_progress(&plan.name, "checkpoint", 0, None);
    let started = Instant::now();
    let url = &rollers.url;
    cancellable(context, &mut rollers.connection, |connection| {
        let failed = |source| Failure::query("CHECKPOINT", url, source);
        connection.execute("CHECKPOINT").map_err(failed)
    })?;
    context.stream.emit(Event::Prepare(PrepareStep {
        target: plan.name.clone(),
        workload: plan.benchmark.name().to_owned(),
        step: "checkpoint".to_owned(),
        seconds: started.elapsed().as_secs_f64(),
        rows: None,
        bytes: None,
    }));
    Ok(())
}
