//! `--cold`: before a load, what is cached of its data is dropped, so that reading begins at the disk. A server of dyno's own is
//! restarted. Of any other, what can be dropped from here is; what cannot is told with its reason.

use std::sync::Arc;
use std::time::Instant;

use dyno_results::event::{Cold, Event, Hook, HookTime};
use dyno_target::connection::QueryError;
use dyno_target::host::drop_file_cache;

use super::Context;
use super::describe;
use super::system::System;
use super::target_server::TargetServer;
use crate::failure::Failure;

/// What a hook's action says for it.
const COLD: &str = "cold";
/// What nothing here can drop.
const BEYOND: &str = "What the disk and a hypervisor keep cannot be dropped from here";
const OWN_CACHE: &str = "the server's own cache";
const FILE_CACHE: &str = "the system's cache of files";

/// Drops what is cached on a target before a load of a phase. A hook of the user's may have `restarted` the server.
pub(super) fn begin(
    context: &Context<'_>,
    system: &mut System<'_>,
    (phase, series): (u32, &str),
    restarted: bool,
) -> Result<(), Failure> {
    context.check_stopped()?;
    let started = Instant::now();
    let done = match system.server.embedded {
        Some(_) => restart(context, system),
        None => empty(&mut system.server, restarted),
    };
    let said = match &done {
        Ok(cold) => told(cold),
        Err(failure) => failure.to_string(),
    };
    context.stream.emit(Event::Hook(Hook {
        target: system.name().to_owned(),
        about: series.to_owned(),
        phase: Some(phase),
        when: HookTime::Before,
        action: COLD.to_owned(),
        seconds: started.elapsed().as_secs_f64(),
        succeeded: done.is_ok(),
        said: Some(said),
        cold: done.as_ref().ok().cloned(),
    }));
    done.map(|_| ())
}

fn told(cold: &Cold) -> String {
    let dropped = (!cold.dropped.is_empty()).then(|| format!("dropped: {}", cold.dropped.join("; ")));
    let kept = (!cold.kept.is_empty()).then(|| format!("Not dropped: {}", cold.kept.join("; ")));
    [dropped, kept, Some(BEYOND.to_owned())].into_iter().flatten().collect::<Vec<_>>().join(". ")
}

/// Restarts a server of dyno's own, and drops what the kernel keeps of its files meanwhile.
fn restart(context: &Context<'_>, system: &mut System<'_>) -> Result<Cold, Failure> {
    let watched = system.is_watched();
    // It would only tell that its server is gone for a while.
    system.unwatch();
    // It is no other system's: that is refused before.
    let server = system.server.embedded.as_mut().and_then(Arc::get_mut);
    let Some(server) = server else { return Ok(Cold::default()) };
    let dropped = server.restart_cold(&mut |text| context.stream.activity(text))?;
    system.server.wait_until_back(context)?;
    if watched {
        system.watch(context);
    }
    describe::renew(context, system)?;
    Ok(Cold {
        dropped: vec![format!("{OWN_CACHE} (restarted)"), dropped.to_string()],
        kept: dropped.left().into_iter().map(|why| format!("{FILE_CACHE}: {why}")).collect(),
    })
}

/// Drops what can be dropped of a server that dyno did not start, and goes on running.
fn empty(server: &mut TargetServer, restarted: bool) -> Result<Cold, Failure> {
    let mut cold = Cold::default();
    if restarted {
        cold.dropped.push(format!("{OWN_CACHE} (restarted by a hook)"));
    } else {
        empty_own_cache(server, &mut cold)?;
    }
    if server.described.as_ref().is_some_and(describe::Description::bypasses_system_cache) {
        return Ok(cold);
    }
    let why = match (server.same_host, &server.data_directory) {
        (Some(true), Some(directory)) => {
            // A library's file may lie among others' directories.
            let dropped = drop_file_cache(directory, !server.is_in_process());
            cold.dropped.push(dropped.to_string());
            dropped.left()
        }
        (Some(true), None) => Some("it is not known where the server has its files".to_owned()),
        (Some(false), _) => Some("the server is on another host".to_owned()),
        (None, _) => Some("it is not known whether the server is on this host".to_owned()),
    };
    cold.kept.extend(why.map(|why| format!("{FILE_CACHE}: {why}")));
    Ok(cold)
}

fn empty_own_cache(server: &mut TargetServer, cold: &mut Cold) -> Result<(), Failure> {
    let url = server.url.clone();
    let in_process = server.is_in_process();
    let connection = server.reconnect_if_broken()?;
    let statements = match connection.dialect().empty_cache {
        Some([]) => {
            cold.dropped.push(format!("{OWN_CACHE} (each session has its own, and the load opens new ones)"));
            return Ok(());
        }
        Some(statements) => statements,
        None => {
            let why = match in_process {
                true => "it is in dyno's own process, which goes on",
                false => "the server was not restarted, because dyno did not start it",
            };
            cold.kept.push(format!("{OWN_CACHE}: {why}"));
            return Ok(());
        }
    };
    for sql in statements {
        match connection.execute(sql) {
            Ok(_) => cold.dropped.push(format!("{OWN_CACHE} ({sql})")),
            Err(QueryError::Server { error, .. }) if !error.ends_session() => {
                cold.kept.push(format!("{OWN_CACHE}: {sql} was refused: {}", error.message()));
            }
            Err(source) => return Err(Failure::query("emptying the server's cache", &url, source)),
        }
    }
    Ok(())
}
