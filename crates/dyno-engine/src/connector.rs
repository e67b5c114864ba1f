//! How a thread's sessions are connected, and connected again when they break: so many at a time, each through socket,
//! login and preparation.

use std::collections::VecDeque;
use std::time::Duration;

use dyno_wire::my::reply::Expect;
use dyno_wire::server_error::ServerError;
use rustix::io::Errno;

use crate::clock::nanoseconds;
use crate::config::{EngineConfig, Share};
use crate::connection::Opened;
use crate::dialogue::LoginDialogue;
use crate::driver::Route;
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::message::Report;
use crate::poller::Ready;
use crate::recorder::Recorder;
use crate::request::SentRequest;
use crate::session::{Session, SessionState, Timers};

/// Connections that one thread opens at a time: a server forks or logs in for each, and its queue of connections
/// that wait to be accepted is short.
const OPENING_MAX: u32 = 16;
/// Wait before the second attempt to reconnect; doubled at each further one.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// Pause while the server's queue of new connections is full.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(5);

/// Connects a thread's sessions.
#[derive(Debug)]
pub(crate) struct Connector {
    /// The clients are dealt to these in turn.
    routes: Vec<Route>,
    pub(crate) share: Share,
    /// Sessions that wait for their turn to connect.
    queue: VecDeque<u32>,
    /// Sessions between socket and prepared.
    opening: u32,
    /// How many sessions are to be connected; `None` once they are.
    wanted: Option<u32>,
}

impl Connector {
    pub(crate) fn new(route: &Route, share: Share, config: &EngineConfig) -> Self {
        let further = config.further_endpoints.iter().map(Route::from);
        let routes = std::iter::once(route.clone()).chain(further).collect();
        Self { routes, share, queue: VecDeque::new(), opening: 0, wanted: None }
    }

    /// Sees to it that these sessions are connected, those that were lost included. `later`: not before they ask for it.
    pub(crate) fn want(&mut self, sessions: &mut [Session], wanted: u32, later: bool) {
        self.wanted = Some(wanted);
        // Nothing is to grow while the load runs.
        self.queue.reserve(sessions.len());
        for session in sessions {
            // New, or gave up in an earlier stage. Those that were lost are waiting for their turn already.
            let fresh = matches!(session.state, SessionState::Disconnected) && session.lost_ns.is_none();
            if session.connection.is_open() || !(fresh || matches!(session.state, SessionState::Aborted)) {
                continue;
            } else if later {
                session.state = SessionState::Idle;
            } else {
                self.enqueue(session);
            }
        }
    }

    /// Tells once when all are connected that were wanted.
    pub(crate) fn tell_if_fulfilled(&mut self, sessions: &[Session], recorder: &Recorder) {
        if self.wanted.is_some_and(|wanted| sessions[..wanted as usize].iter().all(Session::is_connected)) {
            self.wanted = None;
            recorder.report(Report::Connected);
        }
    }

    /// A session waits for its turn to connect.
    pub(crate) fn enqueue(&mut self, session: &mut Session) {
        session.state = SessionState::Disconnected;
        self.queue.push_back(session.index);
    }

    /// A session whose connection broke waits for its turn. One that brought nothing since it was last opened waits
    /// longer: a server that closes every connection is not hurried.
    pub(crate) fn open_again(&mut self, session: &mut Session, timers: &mut Timers, now: u64) {
        if session.attempts == 0 {
            self.enqueue(session);
        } else {
            timers.set(session, now + backoff_ns(session));
        }
    }

    /// Begins to connect the next ones, as many as may be under way. Comes back with one that is there at once or failed; there
    /// may be more.
    pub(crate) fn open_next(
        &mut self,
        sessions: &mut [Session],
        io: &mut Io,
        timers: &mut Timers,
        now: u64,
    ) -> Option<(u32, Result<(), SessionError>)> {
        while self.opening < OPENING_MAX {
            let index = self.queue.pop_front()?;
            let session = &mut sessions[index as usize];
            if !matches!(session.state, SessionState::Disconnected) {
                continue;
            }
            session.attempts = session.attempts.saturating_add(1);
            session.opened_ns = now;
            match session.connection.open(self.route_of(session), io) {
                Ok(Opened::Connecting) => {
                    session.state = SessionState::Connecting;
                    self.opening += 1;
                    timers.set(session, now + nanoseconds(self.timeout(session)));
                }
                Ok(Opened::Ready) => {
                    session.state = SessionState::Idle;
                    session.timer_ns = None;
                    return Some((index, Ok(())));
                }
                // The queue of a Unix socket is full: nothing is wrong, it is only too early.
                Err(SessionError::Io { source: Errno::AGAIN, .. }) => {
                    timers.set(session, now + nanoseconds(QUEUE_FULL_PAUSE));
                }
                Err(error) => return Some((index, Err(error))),
            }
        }
        None
    }

    /// Moves a session on that is connecting, logging in or preparing. True when it is there.
    pub(crate) fn advance(
        &mut self,
        session: &mut Session,
        io: &mut Io,
        ready: Ready,
    ) -> Result<bool, SessionError> {
        let advanced = self.handle(session, io, ready);
        if !matches!(advanced, Ok(false)) {
            self.opening -= 1;
        }
        if let Ok(true) = advanced {
            session.state = SessionState::Idle;
            session.timer_ns = None;
        }
        advanced
    }

    /// A session has taken too long to connect.
    pub(crate) fn timed_out(&mut self, session: &Session) -> SessionError {
        self.opening -= 1;
        SessionError::TimedOut(self.timeout(session))
    }

    /// A session is closed, whatever it was at.
    pub(crate) fn forget(&mut self, session: &Session) {
        if session.is_opening() {
            self.opening -= 1;
        }
    }

    fn handle(&self, session: &mut Session, io: &mut Io, ready: Ready) -> Result<bool, SessionError> {
        let wire = session.connection.wire()?;
        match &mut session.state {
            SessionState::Connecting => {
                wire.finish_connect(&io.poller)?;
                let Route::Wire(endpoint) = &self.routes[self.route_index(session.index)] else {
                    return Err(SessionError::Closed);
                };
                let mut login = Box::new(LoginDialogue::new(endpoint));
                wire.flush(&mut io.poller)?;
                wire.log_in(&mut login, io, false)?;
                session.state = SessionState::LoggingIn(login);
                Ok(false)
            }
            _ if ready.writable => wire.flush(&mut io.poller).map(|()| false),
            SessionState::LoggingIn(login) => {
                if !wire.log_in(login, io, true)? {
                    return Ok(false);
                }
                if let SessionState::LoggingIn(login) =
                    std::mem::replace(&mut session.state, SessionState::Preparing)
                {
                    wire.logged_in(*login);
                }
                prepare(session, io)
            }
            SessionState::Preparing => match session.receive(io)? {
                Received::Answered => match session.connection.take_error() {
                    Some(error) => Err(not_prepared(session, io, error)),
                    None => Ok(true),
                },
                Received::Partly | Received::Nothing => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// What becomes of a session that could not be connected: it is tried again later, or all are given up, with the error
    /// back. That is fatal for one that never was there, and for one that is wanted and was lost too long ago.
    pub(crate) fn failed(
        &mut self,
        session: &mut Session,
        timers: &mut Timers,
        patience: Duration,
        now: u64,
    ) -> bool {
        let fatal = session.lost_ns.is_none_or(|lost_ns| {
            self.wanted.is_some() && now.saturating_sub(lost_ns) >= nanoseconds(patience)
        });
        if fatal {
            self.queue.clear();
            self.wanted = None;
        } else {
            timers.set(session, now + backoff_ns(session));
        }
        fatal
    }

    fn route_index(&self, index: u32) -> usize {
        self.share.client_id(index) as usize % self.routes.len()
    }

    fn route_of(&self, session: &Session) -> &Route {
        &self.routes[self.route_index(session.index)]
    }

    /// How long a connection may take to open, log in and prepare.
    fn timeout(&self, session: &Session) -> Duration {
        match self.route_of(session) {
            Route::Wire(endpoint) => endpoint.connect_timeout.unwrap_or(Duration::MAX),
            Route::Driver(_) => Duration::MAX,
        }
    }
}

/// Has all statements parsed, in one go; true if there are none.
fn prepare(session: &mut Session, io: &mut Io) -> Result<bool, SessionError> {
    let outbox = &mut io.outbox;
    outbox.clear();
    let answers = outbox.statements.write_preparation(&mut outbox.bytes);
    if answers == 0 {
        return Ok(true);
    }
    outbox.statements.expect(&mut outbox.expects, Expect::Prepared, answers);
    session.connection.request(SentRequest { syncs: 1, ..SentRequest::default() }, io).map(|()| false)
}

/// The server refused one of the statements.
fn not_prepared(session: &Session, io: &Io, said: ServerError) -> SessionError {
    match session.connection.refused_behind().map_or("", |slot| io.outbox.statements.place_of_prepared(slot))
    {
        "" => SessionError::Prepare(said),
        place => SessionError::At { place: place.into(), said },
    }
}

/// The pause after as many attempts in vain as the session has made.
pub(crate) fn backoff_ns(session: &Session) -> u64 {
    let doubled = 1u32 << session.attempts.saturating_sub(1).min(10);
    nanoseconds(BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_MAX))
}
