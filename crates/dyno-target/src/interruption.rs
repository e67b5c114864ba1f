//! The user's wish to stop, for all that waits. There is one for the process, as the signals are that bring it: nothing
//! waits on a socket, for a name, for a node_exporter or for a time without looking at it. After [`GRACE`] nothing waits on a
//! socket but what is then asked behind the load, and what cancels a statement; each has as long for itself.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;

/// How often a wait looks whether the user wants to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// How long a statement that is being cancelled, and whatever else is under way then, may still take; and then all that is
/// asked behind the load.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// How long a server that is asked to stop a statement may take for that, from the first request.
const OBEYED_WITHIN: Duration = Duration::from_secs(2);

static REQUESTED: OnceLock<Instant> = OnceLock::new();

/// The user wants to stop: connections cancel what they are doing, and begin nothing new.
pub fn request() {
    REQUESTED.get_or_init(Instant::now);
}

/// Whether the user wants to stop.
pub fn is_requested() -> bool {
    REQUESTED.get().is_some()
}

/// When waiting ends altogether; `None` as long as the user does not want to stop.
pub(crate) fn deadline() -> Option<Instant> {
    REQUESTED.get().map(|requested| *requested + GRACE)
}

/// When waiting ends for what began then and is done although the user wants to stop: it has its own time.
pub(crate) fn deadline_since(began: Instant) -> Option<Instant> {
    REQUESTED.get().map(|requested| (*requested).max(began) + GRACE)
}

/// When a server that is asked now to stop a statement is to have done so; then its connection is closed.
pub(crate) fn obeyed_by() -> Deadline {
    Deadline::within(if is_requested() { GRACE } else { OBEYED_WITHIN })
}

/// When waiting for what is asked behind the load ends; `None` as long as the user does not want to stop. The time counts from
/// the first such wait: transactions that were under way may have taken all of that before [`deadline`].
pub(crate) fn deadline_behind() -> Option<Instant> {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    is_requested().then(|| *BEGUN.get_or_init(Instant::now) + GRACE)
}

/// Sleeps, and wakes up when the user wants to stop; true where it was not for that.
pub fn sleep(time: Duration) -> bool {
    let began = Instant::now();
    loop {
        if is_requested() {
            return false;
        }
        match time.checked_sub(began.elapsed()) {
            Some(left) if !left.is_zero() => thread::sleep(left.min(LOOK)),
            _ => return true,
        }
    }
}

/// Work that cannot be ended, on a thread of its own: where the user wants to stop it is left alone, and ends with the
/// process.
pub(crate) struct Apart<T>(Receiver<T>);

impl<T: Send + 'static> Apart<T> {
    pub(crate) fn begin(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let work = move || {
            // Nobody listens any more where it was left alone.
            let _ = sender.send(work());
        };
        thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self(receiver))
    }

    /// Waits for what comes of it.
    ///
    /// # Errors
    /// `Interrupted` where the user wants to stop.
    pub(crate) fn end(&self) -> io::Result<T> {
        loop {
            if let Some(done) = self.end_within(LOOK)? {
                return Ok(done);
            }
        }
    }

    /// The same for so long; `None` where it still goes on.
    ///
    /// # Errors
    /// As [`Apart::end`].
    pub(crate) fn end_within(&self, time: Duration) -> io::Result<Option<T>> {
        self.end_before(time, is_requested)
    }

    /// The same for what is asked behind the load, as far as there is time for that.
    ///
    /// # Errors
    /// `Interrupted` where that time is over.
    pub(crate) fn end_behind(&self, time: Duration) -> io::Result<Option<T>> {
        self.end_before(time, || deadline_behind().is_some_and(|deadline| Instant::now() >= deadline))
    }

    fn end_before(&self, time: Duration, is_over: impl Fn() -> bool) -> io::Result<Option<T>> {
        let began = Instant::now();
        loop {
            if is_over() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            }
            let left = time.saturating_sub(began.elapsed());
            match self.0.recv_timeout(left.min(LOOK)) {
                Ok(done) => return Ok(Some(done)),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("its thread failed")),
            }
        }
    }
}
