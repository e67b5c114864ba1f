//! `--cold`: before a series a server of dyno's own is restarted, and what the kernel keeps of its files is dropped, so
//! that reading begins at the disk.

use std::sync::Arc;
use std::time::Instant;

use dyno_results::event::{Event, Hook, HookTime};

use super::Context;
use super::describe;
use super::system::System;
use crate::failure::Failure;

/// What a hook's action says for it.
const COLD: &str = "cold";

/// Restarts the embedded server of a target. What could not be dropped is told.
pub(super) fn restart(context: &Context<'_>, system: &mut System<'_>, series: &str) -> Result<(), Failure> {
    context.check_stopped()?;
    let watched = system.is_watched();
    // It would only tell that its server is gone for a while.
    system.unwatch();
    let name = system.name();
    // It is nobody else's: that is refused before.
    let Some(server) = system.server.embedded.as_mut().and_then(Arc::get_mut) else { return Ok(()) };
    let started = Instant::now();
    let restarted = server.restart_cold(&mut |text| context.stream.activity(text));
    let (succeeded, said) = match &restarted {
        Ok(dropped) => (true, dropped.to_string()),
        Err(error) => (false, error.to_string()),
    };
    context.stream.emit(Event::Hook(Hook {
        target: name.to_owned(),
        about: series.to_owned(),
        when: HookTime::Before,
        action: COLD.to_owned(),
        seconds: started.elapsed().as_secs_f64(),
        succeeded,
        said: Some(said.clone()),
    }));
    if !restarted?.is_whole() {
        context.stream.notice(name, None, format!("--cold: {said}"));
    }
    system.server.wait_until_back(context)?;
    if watched {
        system.watch(context);
    }
    describe::renew(context, system)
}
