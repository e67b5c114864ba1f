//! The story of a run: a database is put on the rollers, described, filled, loaded series by series, verified,
//! judged. Each step is told to the stream as it happens; measuring itself is the engine's and the probe's.

pub(crate) mod admin;
mod data;
pub(crate) mod rollers;
mod room;
mod series;
pub(crate) mod stages;
mod stream;
mod verification;

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_results::event::{Event, Finished, Outcome};
use dyno_results::judge::judge;

pub(crate) use self::stream::Stream;
use crate::failure::Failure;
use crate::plan::Plan;
use rollers::Rollers;

/// What every part of the campaign needs.
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) stream: &'a Stream,
    /// Set when the user asks to stop.
    pub(crate) stop: &'a AtomicBool,
}

impl Context<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The target's short name in the report.
    fn target(&self) -> &'static str {
        rollers::short_name(self.plan.is_mysql())
    }

    fn check_stopped(&self) -> Result<(), Failure> {
        if self.is_stopped() { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

/// Runs the plan to its end, or as far as it goes. The stream then holds all that was measured, the findings and
/// how it ended.
pub(crate) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let ended = measure(context);
    if ended.is_err() {
        // The reason is told by who called, once.
        context.stream.close_live();
    }
    finish(context.stream, ended.as_ref().err().map(ToString::to_string));
    ended
}

/// Ends a run's stream with what is to be found in it, and why it ended if that was too early.
pub(crate) fn finish(stream: &Stream, reason: Option<String>) {
    let outcome = if reason.is_none() { Outcome::Complete } else { Outcome::Incomplete };
    let finished = Finished { outcome, reason, seconds: stream.seconds() };
    for finding in judge(&stream.report_ending(&finished)) {
        stream.emit(Event::Finding(finding));
    }
    stream.emit(Event::Finished(finished));
}

fn measure(context: &Context<'_>) -> Result<(), Failure> {
    let mut rollers = Rollers::set_up(context)?;
    let measured = load_and_verify(context, &mut rollers);
    if rollers.embedded.is_some() {
        context.stream.activity("stopping");
    }
    // What was measured counts more than a server that does not stop: its failure is told, not returned.
    if let Err(error) = rollers.clear() {
        context.stream.notice(context.target(), None, error.to_string());
    }
    measured
}

fn load_and_verify(context: &Context<'_>, rollers: &mut Rollers) -> Result<(), Failure> {
    context.check_stopped()?;
    rollers.describe(context)?;
    // Before the data, which may take long to make.
    room::connections(context, rollers)?;
    let data = data::provide(context, rollers)?;
    rollers.describe_data(context, data.as_ref())?;
    let probe = rollers.watch(context);
    let mut stages = stages::Stages::default();
    for load in data.loads() {
        context.check_stopped()?;
        series::run(context, rollers, &mut stages, load.as_ref())
            .map_err(|failure| stages.explain(failure))?;
    }
    drop(probe);
    Ok(())
}
