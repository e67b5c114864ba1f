//! A session of a driver, which blocks: another thread looks meanwhile whether it has had its time, or the user wants to stop.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dyno_engine::driver::{Batch, CancelSession, Driver, DriverSession, Operation, Route};
use dyno_wire::server_error::{DriverError, ServerError};

use super::error::{ConnectError, QueryError, shorten};
use super::rows::{Collector, TextRows};
use super::stream::Closer;
use super::wire::{ANSWER_BYTES_MAX, AnswerLimits};
use crate::deadline::Deadline;
use crate::interruption::{self, Apart, LOOK};

/// What is asked briefly must be answered within this time.
const BRIEF: Duration = Duration::from_secs(60);

/// Opening has this time where nobody says another: a library may write what a crash left in its log to its file first.
const OPENED_WITHIN: Duration = Duration::from_secs(180);

/// An open session of a driver.
pub(super) struct DriverConnection {
    driver: Arc<dyn Driver>,
    /// The connection may be looked at from other threads; only one uses it.
    session: Mutex<Box<dyn DriverSession>>,
    canceller: Arc<dyn CancelSession>,
    /// When what is asked must be answered in full.
    deadline: Deadline,
    /// It was opened for what is to be done although the user wants to stop.
    lingers: bool,
    broken: bool,
}

/// Where it has a server that may be the host's or the firewall's fault, else the library's.
fn not_opened(driver: &dyn Driver, timeout: Duration) -> String {
    let seconds = timeout.as_secs_f64();
    let advice = match driver.server() {
        Some(_) => "check host and firewall",
        None => {
            "look whether another program holds the database, whether its disk answers, and whether the library is the right one"
        }
    };
    format!("it was not opened within {seconds} s: {advice}")
}

type Opened = Result<Box<dyn DriverSession>, DriverError>;

impl fmt::Debug for DriverConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverConnection").field("driver", &self.driver).finish_non_exhaustive()
    }
}

impl DriverConnection {
    /// Opens one, within `timeout` if there is one. A driver blocks: where the user wants to stop, or the time is over, it is left
    /// alone.
    pub(super) fn open(driver: Arc<dyn Driver>, timeout: Option<Duration>) -> Result<Self, ConnectError> {
        let timeout = timeout.unwrap_or(OPENED_WITHIN);
        Self::open_apart(driver, timeout, |opening| opening.end_within(timeout))
    }

    /// The same for what is asked behind a load; all of that has this time.
    pub(super) fn open_after_load(driver: Arc<dyn Driver>, timeout: Duration) -> Result<Self, ConnectError> {
        let deadline = Deadline::within(timeout);
        let opened = Self::open_apart(driver, timeout, |opening| opening.end_behind(timeout))?;
        Ok(Self { deadline, lingers: true, ..opened })
    }

    fn open_apart(
        driver: Arc<dyn Driver>,
        timeout: Duration,
        wait: impl FnOnce(&Apart<Opened>) -> io::Result<Option<Opened>>,
    ) -> Result<Self, ConnectError> {
        let opening = Arc::clone(&driver);
        let opened = Apart::begin("dyno-open", move || opening.open(&[])).and_then(|opening| wait(&opening));
        let place = driver.place();
        let failed = |message: String| DriverError::lost("NO_CONNECTION", message);
        let error = match opened {
            Ok(Some(Ok(session))) => {
                let (canceller, session) = (session.canceller(), Mutex::new(session));
                return Ok(Self {
                    driver,
                    session,
                    canceller,
                    deadline: Deadline::default(),
                    lingers: false,
                    broken: false,
                });
            }
            Ok(Some(Err(error))) => error,
            Ok(None) => failed(not_opened(&*driver, timeout)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(ConnectError::Interrupted { place });
            }
            Err(error) => failed(error.to_string()),
        };
        Err(ConnectError::Driver { place, error: error.into() })
    }

    pub(super) fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    pub(super) fn route(&self) -> Route {
        Route::Driver(Arc::clone(&self.driver))
    }

    pub(super) fn place(&self) -> String {
        self.driver.place()
    }

    pub(super) fn query(&mut self, sql: &str) -> Result<TextRows, QueryError> {
        let (bytes, mut collector) = (ANSWER_BYTES_MAX, Collector::within(ANSWER_BYTES_MAX));
        let over = collector.over();
        let ran = self.watched(sql, &over, |session| session.execute(Operation::Sql(sql), &mut collector));
        match (collector.into_rows(), ran) {
            // It was stopped for that, which is not the reason to tell.
            (None, _) => Err(QueryError::TooLarge { bytes, statement: shorten(sql) }),
            (Some(rows), ran) => ran.map(|_| rows),
        }
    }

    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, QueryError> {
        let never = AtomicBool::new(false);
        let ran = self.watched(sql, &never, |session| session.execute(Operation::Sql(sql), &mut ()));
        Ok(ran?.affected)
    }

    pub(super) fn set_answer_timeout(&mut self, timeout: Duration) {
        self.deadline = Deadline::within(timeout);
    }

    pub(super) fn limit_briefly(&mut self) -> AnswerLimits {
        self.limit(BRIEF)
    }

    pub(super) fn limit(&mut self, time: Duration) -> AnswerLimits {
        let deadline = self.deadline.or_earlier(Deadline::within(time));
        AnswerLimits { deadline: std::mem::replace(&mut self.deadline, deadline), ..AnswerLimits::default() }
    }

    pub(super) fn set_limits(&mut self, limits: AnswerLimits) {
        self.deadline = limits.deadline;
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    pub(super) fn closer(&self) -> io::Result<Closer> {
        Ok(Closer::Driver(Arc::clone(&self.canceller)))
    }

    /// Adds a batch of rows to the columns of a table; returns how many were taken.
    pub(super) fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, QueryError> {
        let (never, what) = (AtomicBool::new(false), format!("(bulk load into {table})"));
        self.watched(&what, &never, |session| session.load(table, columns, rows))
    }

    /// Has the session do something, and stops it when its time is up, the user wants to stop or it has said too much.
    fn watched<T>(
        &mut self,
        statement: &str,
        said_too_much: &AtomicBool,
        run: impl FnOnce(&mut dyn DriverSession) -> Result<T, DriverError>,
    ) -> Result<T, QueryError> {
        if self.broken {
            return Err(QueryError::Broken);
        }
        if self.is_interrupted() {
            return Err(QueryError::Interrupted);
        }
        let canceller = &self.canceller;
        let session = self.session.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (deadline, lingers) = (self.deadline, self.lingers);
        let outcome = std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                    let is_over = deadline.is_over() || said_too_much.load(Ordering::Relaxed);
                    if is_over || is_stopped(lingers) {
                        canceller.cancel();
                    }
                }
            });
            let outcome = run(&mut **session);
            drop((done, started));
            outcome
        });
        outcome.map_err(|error| self.failed(error, statement))
    }

    fn failed(&mut self, error: DriverError, sql: &str) -> QueryError {
        let error = ServerError::from(error);
        self.broken |= error.ends_session();
        let statement = shorten(sql);
        match error.is_cancellation() {
            true if self.is_interrupted() => QueryError::Interrupted,
            true if self.deadline.is_over() => QueryError::TimedOut { statement },
            _ => QueryError::Server { error, statement },
        }
    }

    fn is_interrupted(&self) -> bool {
        interruption::is_requested() && !self.lingers
    }
}

/// Whether the user wants to stop, and there is no more time for what is asked behind the load either.
fn is_stopped(lingers: bool) -> bool {
    match lingers {
        false => interruption::is_requested(),
        true => interruption::deadline_behind().is_some_and(|deadline| Instant::now() >= deadline),
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::time::Duration;

    use dyno_engine::driver::Statement;

    use super::*;

    /// Its library never comes back.
    #[derive(Debug)]
    struct Hangs;

    impl Driver for Hangs {
        fn kind(&self) -> &'static (dyn Any + Sync) {
            &()
        }

        fn place(&self) -> String {
            "nowhere".to_owned()
        }

        fn open(&self, _: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError> {
            loop {
                std::thread::park();
            }
        }
    }

    #[test]
    fn a_library_that_does_not_open_is_given_up() {
        let error = DriverConnection::open(Arc::new(Hangs), Some(Duration::from_millis(50))).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("not opened within 0.05 s") && said.contains("another program"), "{said}");
    }
}
