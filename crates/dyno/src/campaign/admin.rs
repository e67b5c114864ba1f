//! dyno's own statements on the database under test, which may run for minutes: a user who wants to stop has them
//! cancelled. Nothing of the load is done here.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dyno_target::connection::{CancelHandle, Connection};

use super::Context;
use crate::failure::Failure;

/// How often it is told how long something takes that may take minutes.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// A request to cancel is a connection of its own, and one that came between two statements is lost: so it is made
/// again, but not more often than this.
const CANCEL_AGAIN: Duration = Duration::from_secs(1);

/// Does `work` on the connection, unless the user wants to stop: then it is not begun, or its statement cancelled.
pub(super) fn cancellable<T, E: Into<Failure>>(
    context: &Context<'_>,
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, E>,
) -> Result<T, Failure> {
    context.check_stopped()?;
    let done = cancelling(context.stop, connection, work);
    done.map_err(|error| if context.is_stopped() { Failure::Interrupted } else { error.into() })
}

/// Does `work`, and says what it is and from time to time for how long it goes on. No server tells how far it is with a
/// count.
pub(super) fn telling<T>(context: &Context<'_>, what: &str, work: impl FnOnce() -> T) -> T {
    context.stream.activity(what);
    std::thread::scope(|scope| {
        // Hung up when the work has ended, by a panic too: nothing is ever sent.
        let (working, end) = channel::<Infallible>();
        let begun = Instant::now();
        scope.spawn(move || {
            while end.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
                context.stream.activity(&format!("{what}, for {} s so far", begun.elapsed().as_secs()));
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Does `work` on the connection; once `stop` is set, its statements are cancelled.
pub(crate) fn cancelling<T>(
    stop: &AtomicBool,
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> T,
) -> T {
    let cancels = Cancels::default();
    cancels.note(connection);
    cancels.cancelling(stop, || work(connection))
}

/// Connections whose statements are cancelled together. More may join while they work.
#[derive(Default)]
pub(crate) struct Cancels(Mutex<Vec<CancelHandle>>);

impl Cancels {
    pub(crate) fn note(&self, connection: &Connection) {
        self.lock().push(connection.cancel_handle());
    }

    /// A connection that has just been opened.
    pub(crate) fn noting(&self, connection: Connection) -> Connection {
        self.note(&connection);
        connection
    }

    /// Does `work`; once `stop` is set, the statements of all connections are cancelled.
    pub(crate) fn cancelling<T>(&self, stop: &AtomicBool, work: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            // Hung up when the work has ended, by a panic too: nothing is ever sent.
            let (working, end) = channel::<Infallible>();
            scope.spawn(move || {
                let mut pause = STOP_LOOK;
                while end.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    if stop.load(Ordering::Relaxed) {
                        self.cancel();
                        pause = CANCEL_AGAIN;
                    }
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    fn cancel(&self) {
        let handles = self.lock().clone();
        for handle in handles {
            // If it cannot be cancelled, the statement ends by itself.
            let _ = handle.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CancelHandle>> {
        // A list of handles is whole whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
