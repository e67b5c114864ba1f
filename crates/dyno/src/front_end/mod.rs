//! What `dyno pgbench` and `dyno sysbench` have in common: what dyno adds to a run of another program's command line,
//! and how such a run is connected, driven and stored. Their options, words, scripts and exit statuses are their own.

pub(crate) mod connect;
mod extras;
mod finished;
mod recording;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use dyno_engine::error::EngineError;
use dyno_report::visible_lines;
use dyno_results::event::Distribution;
use dyno_results::spec::Arrivals;

pub(crate) use extras::{Extras, ExtrasError};
pub(crate) use recording::{LoadDescription, Recording, Tables, stored_script};

use crate::{command, secrets};

/// How long a run that the user stops waits for what is under way.
pub(crate) const STOPPED_WAIT: Duration = Duration::from_secs(1);
/// A run waits for its last transactions however long they take, as the other program does.
pub(crate) const WAIT_FOREVER: Duration = Duration::MAX;
/// Why a run is incomplete whose load could not go on.
pub(crate) const BROKE_OFF: &str = "the load broke off";
/// Why a run ends that the user stops before anything was measured.
pub(crate) const INTERRUPTED_BEFORE: &str = "interrupted before the load began";

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: u8,
    /// Why it is incomplete.
    pub(crate) reason: Option<String>,
}

impl Ended {
    pub(crate) fn incomplete(code: u8, reason: impl Into<String>) -> Self {
        Self { code, reason: Some(reason.into()) }
    }
}

/// Whole lines on standard error.
pub(crate) fn say(text: &str) {
    command::write_err(&fit_to_print(text));
}

/// Words of a server or of dyno as the real program prints them, but without secrets and with visible control characters.
pub(crate) fn fit_to_print(text: &str) -> String {
    let shown = secrets::hidden_in_words(text);
    shown.split('\t').map(visible_lines).collect::<Vec<_>>().join("\t")
}

/// As many transactions as the server can do, or so many a second.
pub(crate) fn arrivals(rate_per_s: Option<f64>) -> Arrivals {
    match rate_per_s {
        None => Arrivals::Closed { think_time: Duration::ZERO },
        Some(rate_per_s) => {
            Arrivals::Open { rate_per_s, rate_end_per_s: rate_per_s, distribution: Distribution::Poisson }
        }
    }
}

/// Runs `load`, and `watch` on a thread beside it until the load says when it has ended, or drops its end of the channel.
pub(crate) fn beside<R, W: Send>(
    watch: impl FnOnce(&Receiver<Duration>) -> W + Send,
    load: impl FnOnce(Sender<Duration>) -> Result<R, EngineError>,
) -> Result<(R, W), EngineError> {
    std::thread::scope(|scope| {
        let (running, end) = channel();
        let watching = std::thread::Builder::new().spawn_scoped(scope, move || watch(&end));
        let watching = watching.map_err(EngineError::Start)?;
        let ran = load(running);
        match watching.join() {
            Ok(watched) => Ok((ran?, watched)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The intervals of lines that tell how a load goes, with what was counted at the line before.
pub(crate) struct Intervals<T> {
    every: Duration,
    pub(crate) next: Duration,
    pub(crate) since: T,
    pub(crate) since_at: Duration,
}

impl<T> Intervals<T> {
    pub(crate) fn new(every: Duration, since: T) -> Self {
        Self { every, next: every, since, since_at: Duration::ZERO }
    }

    pub(crate) fn passed(&mut self, counts: T, now: Duration) {
        (self.since, self.since_at) = (counts, now);
        while self.next <= now {
            self.next += self.every;
        }
    }
}
