//! The workload's data: what is there is used, what is missing is made.

use std::time::Instant;

use dyno_report::live::Progressed;
use dyno_results::event::{Event, NotDone, PrepareStep};
use dyno_results::spec::Prepare;
use dyno_target::connection::Connection;
use dyno_workload::benchmark::{BenchmarkError, Dataset, Progress, Site};

use super::Context;
use super::admin::cancellable;
use super::target_server::TargetServer;
use crate::failure::Failure;
use crate::plan::SystemPlan;

/// Sees to it that the data is there.
pub(super) fn provide(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
) -> Result<Dataset, Failure> {
    let benchmark = plan.benchmark.as_ref();
    let find = |connection: &mut Connection| benchmark.find(connection);
    if context.plan.prepare() != Prepare::Always
        && let Some(found) = cancellable(context, &mut server.connection, find)?
    {
        return Ok(found);
    }
    if context.plan.prepare() == Prepare::Never {
        return Err(benchmark.missing().into());
    }
    prepare(context, plan, server)?;
    let made = cancellable(context, &mut server.connection, find)?;
    made.ok_or_else(|| benchmark.missing().into())
}

fn prepare(context: &Context<'_>, plan: &SystemPlan, server: &mut TargetServer) -> Result<(), Failure> {
    at_site(context, plan, server, |connection, site, tell| plan.benchmark.prepare(connection, site, tell))?;
    checkpoint(context, plan, server)
}

/// Adds rows until each table has so many.
pub(super) fn top_up(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
    rows: &[u64],
) -> Result<(), Failure> {
    at_site(context, plan, server, |connection, site, tell| {
        plan.benchmark.top_up(connection, site, rows, tell)
    })?;
    checkpoint(context, plan, server)
}

/// Does what makes rows on the server, and tells how far it is.
fn at_site(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
    work: impl FnOnce(&mut Connection, &Site<'_>, &mut dyn FnMut(Progress)) -> Result<(), BenchmarkError>,
) -> Result<(), Failure> {
    let (stream, target) = (context.stream, plan.name.as_str());
    let route = server.route.clone();
    let open = || Connection::open(&route);
    let site = Site {
        target,
        open: &open,
        cpus: server.cpus,
        memory_bytes: server.memory_bytes,
        same_host: server.same_host == Some(true),
        free_disk_bytes: server
            .data_directory
            .as_deref()
            .and_then(|directory| dyno_target::host::free_bytes(directory).ok()),
        quick: context.plan.spec.quick,
        seed: context.plan.seed,
        stop: context.stop,
    };
    let mut tell = |progress| match progress {
        Progress::Begun { step } => stream.prepare_progress(target, step, Progressed::Begun),
        Progress::Table { .. } => {}
        Progress::Rows { done, total } => {
            stream.prepare_progress(target, "data", Progressed::Rows { done, total: Some(total) });
        }
        Progress::Statements { step, done, total, share } => {
            stream.prepare_progress(target, step, Progressed::Statements { done, total, share });
        }
        Progress::Remark(text) => stream.notice(target, None, text),
        Progress::NotDone { step, said } => {
            let (target, what) = (target.to_owned(), step.to_owned());
            stream.emit(Event::NotDone(NotDone { target, what, series: false, said }));
        }
        Progress::Finished(step) => stream.emit(Event::Prepare(step)),
    };
    cancellable(context, &mut server.connection, |connection| work(connection, &site, &mut tell))
}

/// Has the server write what the preparation left in its cache, so that the load does not pay for it. Only on a
/// server of dyno's own: elsewhere it may not be allowed, and disturbs others.
fn checkpoint(context: &Context<'_>, plan: &SystemPlan, server: &mut TargetServer) -> Result<(), Failure> {
    if server.embedded.is_none() {
        return Ok(());
    }
    context.stream.prepare_progress(&plan.name, "checkpoint", Progressed::Begun);
    let started = Instant::now();
    let url = &server.url;
    cancellable(context, &mut server.connection, |connection| {
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
