//! A session of a driver, which blocks: another thread looks meanwhile whether it has had its time, or the user wants to stop.

use std::fmt;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dyno_engine::driver::{Batch, CancelSession, Driver, DriverSession, Executed, Operation, Route, RowSink};
use dyno_wire::server_error::{DriverError, DriverErrorKind, ServerError};

use super::error::{ConnectError, QueryError, shorten};
use super::rows::{Collector, TextRows};
use super::stream::Closer;
use super::wire::AnswerLimits;
use crate::deadline::Deadline;
use crate::interruption::{self, Apart, LOOK};

/// What is asked briefly must be answered within this time.
const BRIEF: Duration = Duration::from_secs(60);

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

type Opened = Result<Box<dyn DriverSession>, DriverError>;

impl fmt::Debug for DriverConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverConnection").field("driver", &self.driver).finish_non_exhaustive()
    }
}

impl DriverConnection {
    /// Opens one, within `timeout` if there is one. A driver blocks: where the user wants to stop it is left alone.
    pub(super) fn open(driver: Arc<dyn Driver>, timeout: Option<Duration>) -> Result<Self, ConnectError> {
        Self::open_apart(driver, |opening| match timeout {
            Some(timeout) => opening.end_within(timeout),
            None => opening.end().map(Some),
        })
    }

    /// The same for what is asked behind a load; all of that has this time.
    pub(super) fn open_after_load(driver: Arc<dyn Driver>, timeout: Duration) -> Result<Self, ConnectError> {
        let deadline = Deadline::within(timeout);
        let opened = Self::open_apart(driver, |opening| opening.end_behind(timeout))?;
        Ok(Self { deadline, lingers: true, ..opened })
    }

    fn open_apart(
        driver: Arc<dyn Driver>,
        wait: impl FnOnce(&Apart<Opened>) -> io::Result<Option<Opened>>,
    ) -> Result<Self, ConnectError> {
        let opening = Arc::clone(&driver);
        let opened = Apart::begin("dyno-open", move || opening.open(&[])).and_then(|opening| wait(&opening));
        let place = driver.place();
        let failed = |message: String| {
            let (code, kind) = ("NO_CONNECTION", DriverErrorKind::SessionLost);
            DriverError { code, message, kind }
        };
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
            Ok(None) => failed("it did not answer in time: check host and firewall".to_owned()),
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
        let mut collector = Collector::default();
        self.run(sql, &mut collector)?;
        Ok(collector.into_rows())
    }

    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, QueryError> {
        Ok(self.run(sql, &mut ())?.affected)
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
        self.watched(&format!("(bulk load into {table})"), |session| session.load(table, columns, rows))
    }

    fn run(&mut self, sql: &str, rows: &mut dyn RowSink) -> Result<Executed, QueryError> {
        self.watched(sql, |session| session.execute(Operation::Sql(sql), rows))
    }

    /// Has the session do something, and stops it when its time is up or the user wants to stop.
    fn watched<T>(
        &mut self,
        statement: &str,
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
        let (deadline, stops) = (self.deadline, !self.lingers);
        let outcome = std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                    if deadline.is_over() || stops && interruption::is_requested() {
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
