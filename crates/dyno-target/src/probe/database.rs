//! Reading the database's statistics from a session of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_wire::endpoint::{Endpoint, Login};

use super::outage::Outage;
use super::{Schedule, Speaker, lock};
use crate::connection::{ConnectError, Connection, QueryError};
use crate::inspect::Statistics;
use crate::interruption;

/// A server that needs longer is asked anew, so that a lost answer does not end the series.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const APPLICATION_NAME: &str = "dyno probe";

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("the session's socket could not be shared: {0}")]
    Socket(#[from] io::Error),
}

pub(super) struct DatabaseWatch {
    route: Route,
    tables: Vec<String>,
    speaker: Speaker,
    session: Option<(Connection, Statistics)>,
    outage: Outage,
    /// What was said to be missing.
    told: BTreeSet<String>,
}

impl DatabaseWatch {
    pub(super) fn new(route: &Route, tables: Vec<String>, speaker: Speaker) -> Self {
        Self {
            route: renamed(route),
            tables,
            speaker,
            session: None,
            outage: Outage::default(),
            told: BTreeSet::new(),
        }
    }

    pub(super) fn run(&mut self, schedule: Schedule) {
        loop {
            match self.read() {
                Ok(values) => {
                    self.recovered();
                    self.speaker.sample(values);
                }
                Err(error) => self.fail(&error),
            }
            if !self.speaker.wait(schedule) {
                return;
            }
        }
    }

    fn read(&mut self) -> Result<BTreeMap<String, f64>, ReadError> {
        let (connection, statistics) = match &mut self.session {
            Some(session) => session,
            None => {
                let mut connection = Connection::open_within(&self.route, Some(CONNECT_TIMEOUT))?;
                connection.set_answer_timeout(ANSWER_TIMEOUT);
                *lock(&self.speaker.control.closer) = Some(connection.closer()?);
                if self.speaker.stopped() {
                    // Too late for the closer to be seen.
                    return Err(QueryError::Broken.into());
                }
                let statistics = Statistics::prepare(&mut connection, &self.tables)?;
                for missing in statistics.missing() {
                    if self.told.insert(missing.clone()) {
                        self.speaker.notice(missing.clone());
                    }
                }
                self.session.insert((connection, statistics))
            }
        };
        Ok(statistics.read(connection)?)
    }

    fn recovered(&mut self) {
        if let Some(missing) = self.outage.is_over() {
            self.speaker.notice(format!(
                "the database is read again; its statistics were missing for {:.1} s",
                missing.as_secs_f64()
            ));
        }
    }

    fn fail(&mut self, error: &ReadError) {
        self.session = None;
        if !self.speaker.stopped() && !interruption::is_requested() && self.outage.goes_on() {
            self.speaker.notice(format!("statistics of the database are missing for a while: {error}"));
        }
    }
}

/// The same endpoint under a name that shows in `pg_stat_activity`, or in `session_connect_attrs`, what the session is
/// for.
fn renamed(route: &Route) -> Route {
    let Route::Wire(endpoint) = route else { return route.clone() };
    let parameter = endpoint.wire.name_parameter();
    let mut login = Login::clone(&endpoint.login);
    login.parameters.retain(|(name, _)| name != parameter);
    login.parameters.push((parameter.to_owned(), APPLICATION_NAME.to_owned()));
    Route::Wire(Endpoint { login: Arc::new(login), ..endpoint.clone() })
}
