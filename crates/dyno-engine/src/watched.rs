//! What a load thread does with its driver, for the engine to watch: the thread itself cannot while the driver blocks.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{SECOND_NS, now_ns};
use crate::driver::{CancelSession, Driver, DriverSession, SessionProgress};
use crate::error::SessionError;
use crate::statement::Statement;

/// How often it is looked whether a session that is being opened is still waited for.
const OPEN_LOOK: Duration = Duration::from_millis(50);
/// How long opening a session may take: a library may write what a crash left in its log to its file first.
const OPENED_WITHIN_NS: u64 = 180 * SECOND_NS;
/// How long it takes until an operation is asked again to stop: it may have begun as it was asked, and not have heard it.
const CANCEL_AGAIN_NS: u64 = SECOND_NS / 10;

/// A load thread's session, and what it has under way.
#[derive(Default)]
pub(crate) struct Watched {
    /// When the operation under way began; 0 for none.
    began_ns: AtomicU64,
    /// When it was last asked to stop; 0 for never.
    cancelled_ns: AtomicU64,
    canceller: Mutex<Option<Arc<dyn CancelSession>>>,
    /// Somebody asks the session to stop.
    is_cancelling: AtomicBool,
    progress: Mutex<Option<Arc<dyn SessionProgress>>>,
    /// Somebody asks how far it is.
    is_asking: AtomicBool,
    /// What was last said of that, and when the operation began that it was said of.
    read_share: Mutex<Option<(u64, f64)>>,
    /// Sessions that began to be opened before then are waited for no longer.
    given_up_ns: AtomicU64,
    /// Commands of the engine that the thread has not taken yet. They are counted: the thread may take one before it is woken for it, and
    /// then must not believe that another waits.
    commands: AtomicU32,
}

impl Watched {
    /// Whether the thread is to take a command before it goes on.
    pub(crate) fn has_command(&self) -> bool {
        self.commands.load(Ordering::Acquire) > 0
    }

    /// The engine is about to send a command.
    pub(crate) fn add_command(&self) {
        self.commands.fetch_add(1, Ordering::Release);
    }

    /// The thread has taken one.
    pub(crate) fn take_command(&self) {
        self.commands.fetch_sub(1, Ordering::Release);
    }

    /// Opens a session, unless the engine does not wait for it. It is opened on a thread of its own, because a driver blocks, and
    /// one that nobody waits for ends by itself.
    pub(crate) fn open(
        &self,
        driver: &Arc<dyn Driver>,
        statements: Vec<Statement>,
    ) -> Result<Box<dyn DriverSession>, SessionError> {
        let began_ns = now_ns();
        let (sender, opened) = channel();
        let driver = Arc::clone(driver);
        let open = move || {
            // Where nobody waits the session ends.
            let _ = sender.send(driver.open(&statements));
        };
        let started = std::thread::Builder::new().name("dyno-open".to_owned()).spawn(open);
        started.map_err(|error| SessionError::Login(Box::new(error)))?;
        loop {
            match opened.recv_timeout(OPEN_LOOK) {
                Ok(opened) => return opened.map_err(SessionError::from),
                Err(RecvTimeoutError::Timeout) if self.is_given_up(began_ns, now_ns()) => {
                    return Err(SessionError::TimedOut(Duration::from_nanos(now_ns() - began_ns)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(SessionError::Closed),
            }
        }
    }

    /// Whether a session that began to be opened then is waited for no longer.
    fn is_given_up(&self, began_ns: u64, now: u64) -> bool {
        self.given_up_ns.load(Ordering::Acquire) > began_ns || now.saturating_sub(began_ns) > OPENED_WITHIN_NS
    }

    /// A session that is being opened is waited for no longer.
    pub(crate) fn give_up_opening(&self) {
        self.given_up_ns.store(now_ns(), Ordering::Release);
    }

    /// The thread has another session from now on.
    pub(crate) fn set_session(
        &self,
        canceller: Arc<dyn CancelSession>,
        progress: Option<Arc<dyn SessionProgress>>,
    ) {
        *lock(&self.canceller) = Some(canceller);
        *lock(&self.progress) = progress;
    }

    /// An operation begins.
    pub(crate) fn begin(&self, now: u64) {
        self.began_ns.store(now, Ordering::Release);
    }

    /// It has ended; when it was asked to stop, 0 for never.
    pub(crate) fn end(&self) -> u64 {
        self.began_ns.store(0, Ordering::Release);
        self.cancelled_ns.load(Ordering::Acquire)
    }

    /// Asks an operation to stop that began before then, now and then until it does. A server may take seconds to answer, for which
    /// nobody waits here.
    pub(crate) fn cancel_begun_before(self: &Arc<Self>, then_ns: u64) {
        let (began_ns, now) = (self.began_ns.load(Ordering::Acquire), now_ns());
        let is_due = began_ns > 0 && began_ns < then_ns;
        let cancelled_ns = self.cancelled_ns.load(Ordering::Relaxed);
        if !is_due || cancelled_ns >= began_ns && now < cancelled_ns + CANCEL_AGAIN_NS {
            return;
        }
        let Some(canceller) = lock(&self.canceller).clone() else { return };
        if self.is_cancelling.swap(true, Ordering::AcqRel) {
            return;
        }
        self.cancelled_ns.store(now, Ordering::Release);
        let watched = Arc::clone(self);
        let cancel = move || {
            // Another operation is not to be stopped.
            if watched.began_ns.load(Ordering::Acquire) == began_ns {
                canceller.cancel();
            }
            watched.is_cancelling.store(false, Ordering::Release);
        };
        if std::thread::Builder::new().name("dyno-cancel".to_owned()).spawn(cancel).is_err() {
            // It is asked again.
            self.is_cancelling.store(false, Ordering::Release);
        }
    }

    /// What an operation that began before then has read of its rows, as it was last said; and asks for it anew, for the next time.
    /// A server may take seconds to answer, for which nobody waits here.
    pub(crate) fn read_share_begun_before(self: &Arc<Self>, then_ns: u64) -> Option<f64> {
        let began_ns = self.began_ns.load(Ordering::Acquire);
        if began_ns == 0 || began_ns >= then_ns {
            return None;
        }
        let progress = lock(&self.progress).clone()?;
        let said = *lock(&self.read_share);
        if !self.is_asking.swap(true, Ordering::AcqRel) {
            let watched = Arc::clone(self);
            let ask = move || {
                let share = progress.read_share();
                // What another operation has read by now says nothing of this one.
                let is_same = watched.began_ns.load(Ordering::Acquire) == began_ns;
                *lock(&watched.read_share) = share.filter(|_| is_same).map(|share| (began_ns, share));
                watched.is_asking.store(false, Ordering::Release);
            };
            if std::thread::Builder::new().name("dyno-progress".to_owned()).spawn(ask).is_err() {
                self.is_asking.store(false, Ordering::Release);
            }
        }
        said.filter(|(said_of_ns, _)| *said_of_ns == began_ns).map(|(_, share)| share)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::mpsc::{Receiver, Sender};

    use dyno_wire::server_error::DriverError;

    use super::*;

    #[test]
    fn a_command_waits_until_it_is_taken() {
        let watched = Watched::default();
        watched.add_command();
        watched.add_command();
        watched.take_command();
        assert!(watched.has_command());
        watched.take_command();
        assert!(!watched.has_command());
    }

    /// Takes until somebody lets it go on.
    #[derive(Debug)]
    struct Slow {
        begun: Sender<()>,
        goes_on: Mutex<Receiver<()>>,
    }

    impl Slow {
        fn new() -> (Arc<Self>, Receiver<()>, Sender<()>) {
            let ((begun, begins), (go_on, goes_on)) = (channel(), channel());
            (Arc::new(Self { begun, goes_on: Mutex::new(goes_on) }), begins, go_on)
        }

        fn wait(&self) {
            self.begun.send(()).unwrap();
            let _ = self.goes_on.lock().unwrap().recv();
        }
    }

    impl CancelSession for Slow {
        fn cancel(&self) {
            self.wait();
        }
    }

    impl SessionProgress for Slow {
        fn read_share(&self) -> Option<f64> {
            self.wait();
            Some(0.25)
        }
    }

    impl Driver for Slow {
        fn kind(&self) -> &'static (dyn Any + Sync) {
            &()
        }

        fn place(&self) -> String {
            "nowhere".to_owned()
        }

        fn open(&self, _: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError> {
            self.wait();
            Err(DriverError::new("no", "no"))
        }
    }

    #[test]
    fn nobody_waits_for_a_server_that_is_slow_to_cancel() {
        let (slow, begins, go_on) = Slow::new();
        let watched = Arc::<Watched>::default();
        watched.set_session(slow, None);
        watched.begin(now_ns());
        watched.cancel_begun_before(u64::MAX);
        begins.recv().unwrap();
        // It is asked once at a time, however often that is due.
        watched.cancelled_ns.store(1, Ordering::Release);
        watched.cancel_begun_before(u64::MAX);
        assert!(begins.try_recv().is_err() && watched.end() == 1);
        go_on.send(()).unwrap();
    }

    #[test]
    fn what_was_said_of_an_operation_is_known_the_next_time_and_of_no_other() {
        let (slow, begins, go_on) = Slow::new();
        let watched = Arc::<Watched>::default();
        watched.set_session(Arc::<Slow>::clone(&slow), Some(slow));
        let share = || watched.read_share_begun_before(100);
        let answered = || {
            begins.recv().unwrap();
            go_on.send(()).unwrap();
            while watched.is_asking.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        };
        // Nothing is under way, or not for long.
        assert_eq!(share(), None);
        watched.begin(100);
        assert_eq!(share(), None);
        assert!(begins.try_recv().is_err());
        watched.begin(7);
        // It is asked once at a time, and nobody waits for the answer.
        assert_eq!((share(), share()), (None, None));
        answered();
        assert!(begins.try_recv().is_err());
        assert_eq!(share(), Some(0.25));
        // The operation ends before the answer comes, which is of none then.
        watched.begin(8);
        answered();
        assert_eq!(share(), None);
        answered();
        assert_eq!(share(), Some(0.25));
        answered();
    }

    #[test]
    fn a_session_that_is_not_waited_for_is_given_up() {
        let (slow, begins, go_on) = Slow::new();
        let watched = Arc::<Watched>::default();
        let driver: Arc<dyn Driver> = slow;
        let opening = std::thread::spawn({
            let watched = Arc::clone(&watched);
            move || watched.open(&driver, Vec::new()).map(|_| ())
        });
        begins.recv().unwrap();
        watched.give_up_opening();
        assert!(matches!(opening.join().unwrap(), Err(SessionError::TimedOut(_))));
        go_on.send(()).unwrap();
        // Nor one that takes too long.
        let watched = Arc::<Watched>::default();
        assert!(
            !watched.is_given_up(1, 1 + OPENED_WITHIN_NS) && watched.is_given_up(1, 2 + OPENED_WITHIN_NS)
        );
        // What was given up before is not this.
        let (slow, begins, go_on) = Slow::new();
        let driver: Arc<dyn Driver> = slow;
        go_on.send(()).unwrap();
        let opened = watched.open(&driver, Vec::new()).map(|_| ());
        assert!(begins.recv().is_ok() && matches!(opened, Err(SessionError::Server(_))));
    }
}
