//! How a load thread opens its connections, and opens them again when they break.

use std::time::Duration;

use dyno_wire::endpoint::Endpoint;
use dyno_wire::my::reply::Expect;
use rustix::io::Errno;

use crate::clock::{nanoseconds, now_ns};
use crate::config::OnLoss;
use crate::error::SessionError;
use crate::message::ReportKind;
use crate::poller::Ready;
use crate::pool::Nobody;
use crate::record::ErrorCode;
use crate::session::{Received, Session, SessionState};
use crate::thread::LoadThread;
use crate::workload::ClientIdentity;

/// Connections that one thread opens at a time: a server forks or logs in for each, and its queue of connections
/// that wait to be accepted is short.
const OPENING_MAX: u32 = 16;
/// Wait before the second attempt to reconnect; doubled at each further one.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// Pause while the server's queue of new connections is full.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(5);

impl LoadThread {
    /// Sees to it that this thread's share of `clients` clients is connected, those that were lost included.
    pub(crate) fn connect_clients(&mut self, clients: u32) {
        let connections = self.config.connections.map_or(clients, |connections| connections.min(clients));
        self.connecting = Some(self.share_of(connections));
        let now = now_ns();
        while (self.sessions.len() as u32) < self.share_of(connections) {
            let client = match self.pool {
                Some(_) => Box::new(Nobody),
                None => {
                    let identity = ClientIdentity {
                        id: self.client_id(self.sessions.len() as u32),
                        thread: self.number,
                    };
                    self.workload.client(identity, self.config.seed)
                }
            };
            self.sessions.push(Session::new(client));
        }
        self.make_members(clients);
        for (session, index) in self.sessions.iter_mut().zip(0..) {
            // New, or gave up in an earlier stage. Those that were lost are waiting for their turn already.
            let fresh = matches!(session.state, SessionState::Disconnected) && session.lost_ns.is_none();
            if (fresh || matches!(session.state, SessionState::Aborted)) && !session.is_open() {
                if self.config.connect_per_transaction || self.config.connect_when_asked {
                    session.state = SessionState::Idle;
                } else {
                    session.state = SessionState::Disconnected;
                    self.to_open.push_back(index);
                }
            }
        }
        // Nothing is to grow while the load runs.
        self.timers.reserve(2 * self.sessions.len());
        self.idle.reserve(self.sessions.len());
        self.to_open.reserve(self.sessions.len());
        self.just_sent.reserve(self.sessions.len());
        self.open_more(now);
        self.tell_if_connected();
    }

    /// How many of `clients` clients are this thread's.
    pub(crate) fn share_of(&self, clients: u32) -> u32 {
        match self.config.clients_in_blocks {
            None => clients.saturating_sub(self.number).div_ceil(self.config.threads),
            Some(all) => clients.saturating_sub(self.block_start(all)).min(self.block_len(all)),
        }
    }

    /// The number among all clients of this thread's client number `index`.
    pub(crate) fn client_id(&self, index: u32) -> u32 {
        match self.config.clients_in_blocks {
            None => self.number + self.config.threads * index,
            Some(all) => self.block_start(all) + index,
        }
    }

    /// Where this thread's client number `index` connects to.
    pub(crate) fn endpoint_of(&self, index: u32) -> Endpoint {
        let further = &self.config.further_endpoints;
        match self.client_id(index) as usize % (further.len() + 1) {
            0 => self.endpoint.clone(),
            place => further[place - 1].clone(),
        }
    }

    /// Blocks differ by one client at most, and the first are the larger ones.
    fn block_len(&self, clients: u32) -> u32 {
        clients.saturating_sub(self.number).div_ceil(self.config.threads)
    }

    fn block_start(&self, clients: u32) -> u32 {
        let (each, larger) = (clients / self.config.threads, clients % self.config.threads);
        each * self.number + larger.min(self.number)
    }

    fn tell_if_connected(&mut self) {
        let Some(share) = self.connecting else { return };
        if self.sessions[..share as usize].iter().all(Session::is_connected) {
            self.connecting = None;
            self.report(ReportKind::Connected);
        }
    }

    /// Begins to connect the next ones, as many as may be under way.
    pub(crate) fn open_more(&mut self, now: u64) {
        while self.opening < OPENING_MAX {
            let Some(index) = self.to_open.pop_front() else { break };
            let endpoint = self.endpoint_of(index);
            let session = &mut self.sessions[index as usize];
            if !matches!(session.state, SessionState::Disconnected) {
                continue;
            }
            session.attempts = session.attempts.saturating_add(1);
            session.opened_ns = now;
            self.opening += 1;
            match session.open(&endpoint.address, &self.poller, u64::from(index)) {
                Ok(()) => self.set_timer(index, now + nanoseconds(connect_timeout(&endpoint))),
                // The queue of a Unix socket is full: nothing is wrong, it is only too early.
                Err(SessionError::Io { source: Errno::AGAIN, .. }) => {
                    self.opening -= 1;
                    session.close();
                    self.set_timer(index, now + nanoseconds(QUEUE_FULL_PAUSE));
                }
                Err(error) => self.connect_failed(index, error, now),
            }
        }
    }

    /// Moves a session on that is connecting, logging in or preparing.
    pub(crate) fn login_ready(&mut self, index: u32, ready: Ready) {
        let token = u64::from(index);
        let endpoint = self.endpoint_of(index);
        let session = &mut self.sessions[index as usize];
        let step = match session.state {
            SessionState::Connecting => session.finish_connect().and_then(|()| {
                session.begin_login(&endpoint);
                session.flush(&self.poller, token)?;
                session.log_in(&mut self.inbox, &mut self.outbox.bytes, &self.poller, token, false)
            }),
            SessionState::LoggingIn(_) if ready.writable => {
                session.flush(&self.poller, token).map(|()| false)
            }
            SessionState::LoggingIn(_) => {
                session.log_in(&mut self.inbox, &mut self.outbox.bytes, &self.poller, token, true)
            }
            SessionState::Preparing if ready.writable => session.flush(&self.poller, token).map(|()| false),
            SessionState::Preparing => {
                session.receive(&mut self.inbox, &self.poller, token).and_then(|received| {
                    if received != Received::Answered {
                        return Ok(false);
                    }
                    match session.scanner.take_error() {
                        Some(error) => Err(SessionError::Prepare(error)),
                        None => Ok(true),
                    }
                })
            }
            _ => return,
        };
        match step {
            Ok(false) => {}
            Ok(true) if matches!(self.sessions[index as usize].state, SessionState::Preparing) => {
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
        if !self.statements.write_preparation(&mut self.outbox.bytes) {
            return self.connected(index);
        }
        let prepared = self.statements.prepared();
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Preparing;
        if self.statements.is_mysql() {
            session.prepared_statements.reserve_fixed(prepared);
            self.outbox.expects.resize(prepared, Expect::Prepared);
        }
        session.scanner.start(1, &self.outbox.expects);
        if let Err(error) = session.send(&self.outbox.bytes, &self.poller, u64::from(index)) {
            self.connect_failed(index, error, now_ns());
        }
    }

    /// The session is there and prepared.
    fn connected(&mut self, index: u32) {
        let now = now_ns();
        self.opening -= 1;
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Idle;
        session.timer_ns = None;
        session.client.connected(now.saturating_sub(session.opened_ns));
        if session.transaction.is_some() {
            self.begin_connected(index, now);
        } else if let Some(lost_ns) = session.lost_ns.take() {
            let record = &mut self.recorder.current;
            record.reconnects += 1;
            // What passed before this interval is in those before it.
            record.lost_ns += now.saturating_sub(lost_ns.max(record.start_ns));
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
        let attempts = session.attempts;
        if session.transaction.is_some() {
            return self.transaction_without_connection(index, error, now);
        }
        let given_up = session.lost_ns.is_none_or(|lost_ns| {
            let lost_for_ns = now.saturating_sub(lost_ns);
            self.connecting.is_some() && lost_for_ns >= nanoseconds(self.config.reconnect_timeout)
        });
        if given_up {
            self.to_open.clear();
            self.connecting = None;
            self.report(ReportKind::ConnectFailed(error));
            return;
        }
        self.tell_error(error);
        self.set_timer(index, now + backoff_ns(attempts));
    }

    /// A connection broke. What was under way on it has failed, or nobody knows.
    pub(crate) fn lost(&mut self, index: u32, error: SessionError, now: u64) {
        let session = &mut self.sessions[index as usize];
        let error = session.last_words(error, &mut self.inbox, &self.poller, u64::from(index));
        session.close();
        session.lost_ns = Some(now);
        let attempts = session.attempts;
        if self.stage.is_some() {
            let code = error.server_error().map_or(ErrorCode::Connection, ErrorCode::from);
            self.recorder.current.error(code);
        }
        let aborts = self.config.on_loss == OnLoss::Abort && self.pool.is_none();
        let session = &mut self.sessions[index as usize];
        // One that has done its part and will not come back has lost nothing.
        if session.active || session.transaction.is_some() || !aborts {
            session.client.lost(&error);
        }
        self.tell_error(error);
        self.end_lost_transaction(index, now);
        self.withdraw(index, now);
        if aborts {
            return self.give_up(index);
        }
        if attempts == 0 {
            self.to_open.push_back(index);
            self.open_more(now);
        } else {
            // It brought nothing since it was last opened: a server that closes every connection is not hurried.
            self.set_timer(index, now + backoff_ns(attempts));
        }
    }

    /// Opens the connection that a transaction has begun with.
    pub(crate) fn connect_for_transaction(&mut self, index: u32, now: u64) {
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Disconnected;
        self.to_open.push_back(index);
        self.open_more(now);
    }

    /// A transaction's own connection could not be opened. Unless the client goes on without it is tried again where clients
    /// are to reconnect, else the client gives up.
    fn transaction_without_connection(&mut self, index: u32, error: SessionError, now: u64) {
        let code = error.server_error().map_or(ErrorCode::Connection, ErrorCode::from);
        self.recorder.current.error(code);
        let session = &mut self.sessions[index as usize];
        let goes_on = session.client.not_connected(&error);
        let attempts = session.attempts;
        if goes_on {
            session.state = SessionState::Sleeping;
            self.tell_error(error);
            // Not from here: one that tries again at once, and fails at once, would never return.
            return self.set_timer(index, now);
        }
        self.tell_error(error);
        self.fail_transaction(index, now);
        if self.config.on_loss == OnLoss::Abort {
            return self.give_up(index);
        }
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Sleeping;
        self.set_timer(index, now + backoff_ns(attempts));
    }

    /// Reports the first error of each kind with its text.
    pub(crate) fn tell_error(&mut self, error: SessionError) {
        let first = match error.server_error() {
            Some(error) => self.told.insert_code(error.into()),
            None => self.told.insert_text(error.to_string()),
        };
        if first {
            self.report(ReportKind::Error(error));
        }
    }
}

/// How long a connection may take to open, log in and prepare.
pub(crate) fn connect_timeout(endpoint: &Endpoint) -> Duration {
    endpoint.connect_timeout.unwrap_or(Duration::MAX)
}

/// The pause after `attempts` attempts in vain.
fn backoff_ns(attempts: u32) -> u64 {
    let doubled = 1u32 << attempts.saturating_sub(1).min(10);
    nanoseconds(BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_MAX))
}
