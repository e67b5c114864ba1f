//! dyno's own statements on the database under test, which may run for minutes. Nothing of the load is done here.

use std::convert::Infallible;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use dyno_target::connection::Connection;

use super::Context;
use crate::failure::Failure;

/// How often it is told how long something takes that may take minutes.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Does `work` on the connection, unless the user wants to stop: then it is not begun, or the connection ends it.
pub(super) fn cancellable<T, E: Into<Failure>>(
    context: &Context<'_>,
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, E>,
) -> Result<T, Failure> {
    context.check_stopped()?;
    work(connection).map_err(|error| if context.is_stopped() { Failure::Interrupted } else { error.into() })
}

/// Does `work`, and says what it is and from time to time for how long it goes on. No server tells how far it is with a
/// count.
pub(super) fn telling<T>(context: &Context<'_>, what: &str, work: impl FnOnce() -> T) -> T {
    context.stream.activity(what);
    std::thread::scope(|scope| {
        // Hung up when the work has ended, by a panic too: nothing is ever sent.
        let (working, end) = channel::<Infallible>();
        let begun = Instant::now();
        let tell = move || {
            while end.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
                context.stream.activity(&format!("{what}, for {} s so far", begun.elapsed().as_secs()));
            }
        };
        // The work needs no thread that tells of it.
        let _ = std::thread::Builder::new().spawn_scoped(scope, tell);
        let done = work();
        drop(working);
        done
    })
}
