//! How a load thread opens its connections, and opens them again when they break.

use std::time::Duration;

use crate::clock::now_ns;
use crate::error::SessionError;
use crate::poller::Ready;
use crate::recorder::ErrorCode;
use crate::session::{Received, Session, State};
use crate::thread::{LoadThread, ReportKind};

/// Connections that one thread opens at a time: a server forks or logs in for each, and its queue of connections
/// that wait to be accepted is short.
const OPENING_MAX: u32 = 16;
/// Wait before the second attempt to reconnect; doubled at each further one.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

impl LoadThread {
    /// Sees to it that this thread's share of `clients` clients is connected.
    pub(crate) fn connect_clients(&mut self, clients: u32) {
        self.connecting = true;
        let now = now_ns();
        loop {
            // Clients are dealt to the threads in turn.
            let id = self.number + self.config.threads * self.sessions.len() as u32;
            if id >= clients {
                break;
            }
            self.to_open.push_back(self.sessions.len() as u32);
            self.sessions.push(Session::new(self.workload.client(id, self.config.seed)));
        }
        self.open_more(now);
        self.tell_if_connected();
    }

    fn tell_if_connected(&mut self) {
        if self.connecting && self.to_open.is_empty() && self.opening == 0 {
            self.connecting = false;
            self.report(ReportKind::Connected);
        }
    }

    /// Begins to connect the next ones, as many as may be under way.
    pub(crate) fn open_more(&mut self, now: u64) {
        while self.opening < OPENING_MAX {
            let Some(index) = self.to_open.pop_front() else { break };
            let session = &mut self.sessions[index as usize];
            if !matches!(session.state, State::Disconnected) {
                continue;
            }
            session.attempts += 1;
            self.opening += 1;
            match session.open(&self.endpoint.address, &self.poller, u64::from(index)) {
                Ok(()) => self.set_timer(index, now + nanoseconds(self.config.connect_timeout)),
                Err(error) => self.connect_failed(index, error, now),
            }
        }
    }

    /// Moves a session on that is connecting, logging in or preparing.
    pub(crate) fn login_ready(&mut self, index: u32, ready: Ready) {
        let token = u64::from(index);
        let session = &mut self.sessions[index as usize];
        let step = match session.state {
            State::Connecting => session.finish_connect().and_then(|()| {
                session.begin_login(&self.endpoint);
                session.flush(&self.poller, token)?;
                session.log_in(&mut self.inbox, &mut self.outbox, &self.poller, token, false)
            }),
            State::LoggingIn(_) if ready.writable => session.flush(&self.poller, token).map(|()| false),
            State::LoggingIn(_) => {
                session.log_in(&mut self.inbox, &mut self.outbox, &self.poller, token, true)
            }
            State::Preparing if ready.writable => session.flush(&self.poller, token).map(|()| false),
            State::Preparing => session.receive(&mut self.inbox, &self.poller, token).and_then(|received| {
                if received != Received::Answered {
                    return Ok(false);
                }
                match session.scanner.take_error() {
                    Some(error) => Err(SessionError::Prepare(error)),
                    None => Ok(true),
                }
            }),
            _ => return,
        };
        match step {
            Ok(false) => {}
            Ok(true) if matches!(self.sessions[index as usize].state, State::Preparing) => {
                self.connected(index);
            }
            Ok(true) => self.prepare(index),
            Err(error) => self.connect_failed(index, error, now_ns()),
        }
        self.open_more(now_ns());
    }

    /// Has all statements parsed, in one go.
    fn prepare(&mut self, index: u32) {
        self.outbox.clear();
        if !self.statements.write_preparation(&mut self.outbox) {
            return self.connected(index);
        }
        let session = &mut self.sessions[index as usize];
        session.state = State::Preparing;
        session.scanner.start(1);
        if let Err(error) = session.send(&self.outbox, &self.poller, u64::from(index)) {
            self.connect_failed(index, error, now_ns());
        }
    }

    /// The session is there and prepared.
    fn connected(&mut self, index: u32) {
        let now = now_ns();
        self.opening -= 1;
        let session = &mut self.sessions[index as usize];
        session.state = State::Idle;
        session.timer_ns = None;
        session.attempts = 0;
        if let Some(lost_ns) = session.lost_ns.take() {
            self.recorder.current.reconnects += 1;
            self.recorder.current.lost_ns += now.saturating_sub(lost_ns);
            self.next_transaction(index, now);
        } else {
            self.report(ReportKind::ClientConnected);
        }
        self.tell_if_connected();
    }

    /// An attempt to connect failed: fatal for a client that never was there, else tried again later.
    /// The caller then opens more.
    pub(crate) fn connect_failed(&mut self, index: u32, error: SessionError, now: u64) {
        self.opening -= 1;
        let session = &mut self.sessions[index as usize];
        session.close();
        if session.lost_ns.is_none() {
            self.to_open.clear();
            self.connecting = false;
            self.report(ReportKind::ConnectFailed(error));
            return;
        }
        let doubled = 1u32 << session.attempts.saturating_sub(1).min(10);
        let backoff = BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_MAX);
        self.tell_error(error);
        self.set_timer(index, now + nanoseconds(backoff));
    }

    /// A connection broke. What was under way on it has failed, or nobody knows.
    pub(crate) fn lost(&mut self, index: u32, error: SessionError, now: u64) {
        let session = &mut self.sessions[index as usize];
        session.close();
        session.lost_ns = Some(now);
        session.attempts = 0;
        // What a draining stage has abandoned is told once and is no error of the server's.
        if self.stage.is_some() {
            let code =
                error.server_error().map_or(ErrorCode::Connection, |error| ErrorCode::SqlState(error.code));
            self.recorder.current.error(code);
        }
        self.tell_error(error);
        self.end_lost_transaction(index, now);
        self.to_open.push_back(index);
        self.open_more(now);
    }

    /// Reports the first error of each kind with its text.
    pub(crate) fn tell_error(&mut self, error: SessionError) {
        let kind =
            error.server_error().map_or_else(|| error.to_string(), |error| error.code.as_str().to_owned());
        if !self.told.contains(&kind) {
            self.told.push(kind);
            self.report(ReportKind::Error(error));
        }
    }
}

/// A duration in whole nanoseconds; beyond 584 years it is for ever.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 2).min(u64::MAX / 2)
}
